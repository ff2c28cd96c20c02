"""A memory with a record of every kind in it, written through the doors that production uses."""

from keepthread.server.capture.append import append_call, append_message
from keepthread.server.capture.events import Call
from keepthread.server.memory import Memory
from keepthread.server.users_word import deny
from keepthread.stores.journal import Journal, head
from keepthread.stores.records import Author, Stamp
from keepthread.stores.workspaces import ensure_workspace
from keepthread.validators.verdict import Refused
from keepthread.validators.writes.decisions import record_decision
from keepthread.validators.writes.facts import record_fact, retract_fact
from keepthread.validators.writes.plan import update_plan_item
from keepthread.validators.writes.questions import add_open_question, answer_question
from keepthread.validators.writes.tasks import hand_off, start_task


def see_call(
    memory: Memory, output: str, *, tool: str = "Bash", command: str = "cat settings.ini"
) -> Stamp:
    """Archive a call as a hook would, in the window of ``memory``."""
    author = memory.caller().author._replace(origin="hook")
    call = Call(tool=tool, args=f'{{"command":"{command}"}}', output=output)
    with memory.capture.transaction() as tx:
        key = memory.capture.anchor.key
        return append_call(tx, author, call, channel="hook", level=1, tree="", key=key)


def say(memory: Memory, text: str) -> Stamp:
    """Archive a prompt of the user, in the window of ``memory``."""
    author = memory.caller().author._replace(origin="user")
    with memory.capture.transaction() as tx:
        key = memory.capture.anchor.key
        return append_message(tx, author, "msg", text, channel="user", key=key)


def append(journal: Journal, output: str, *, ref: str = "", workspace: str = "/w") -> Stamp:
    """Archive a call without any window: the least that a channel writes."""
    call = Call(tool="Bash", args='{"command":"make"}', output=output)
    with journal.transaction() as tx:
        author = Author(ensure_workspace(tx.connection, workspace), "hook")
        key = journal.anchor.key
        return append_call(
            tx, author, call, channel="hook", level=1, tree="", key=key, outer_ref=ref
        )


def fill(memory: Memory) -> int:
    """Write one record of every kind; return the head of the journal."""
    see_call(memory, "port = 8080\nworkers = 4\n")
    say(memory, "Move the billing service to port 9090. Keep commits small.")
    caller, gate = memory.caller(), memory.gate
    start_task(gate, caller, goal="Move the billing service to port 9090", source="user")
    caller = memory.caller()
    record_fact(
        gate, caller, text="The port is 8080", kind="observation", source="call-1",
        scope=["service:billing"], subject="port",
    )  # fmt: skip
    record_fact(gate, caller, text="The service has 4 workers", kind="observation", source="call-1")
    record_fact(
        gate, caller, text="Load is spread well", kind="inference", supports=["fact-1", "fact-2"]
    )
    record_fact(
        gate, caller, text="Keep commits small", kind="instruction-from-user", source="user"
    )
    see_call(memory, "port = 9090\n")
    record_fact(
        gate, caller, text="The port is 9090", kind="observation", source="call-2", subject="port"
    )
    retract_fact(gate, caller, fact="fact-2", reason="it counted threads")
    record_decision(gate, caller, decision="Bind to 9090 only", reason="8080 is taken by the proxy")
    record_decision(gate, caller, decision="Restart by hand", reason="nobody automated it yet")
    deny(memory, "decision-2", "it is automated", via="terminal")
    update_plan_item(gate, caller, titles=["Change the port", "Restart the service"])
    update_plan_item(gate, caller, item="plan-1", status="in_progress")
    add_open_question(gate, caller, question="Who owns the proxy?", blocks="plan-2")
    answer_question(gate, caller, question="question-1", answer="the platform team")
    try:
        record_fact(gate, caller, text="The port is 7070", kind="observation", source="call-2")
    except Refused:
        pass  # the refusal is a record too
    hand_off(gate, caller, doing="changing the port", next_step="restart the service")
    return head(memory.reader)[0]
