"""What the user says outside the chat: through a prompt or a form of the client, or at a terminal.

The words are archived as a message of the user and then pass the same gate, citing it.
"""

from collections.abc import Sequence
from typing import Any

from keepthread.server.capture.append import append_message
from keepthread.server.context.frame import quote
from keepthread.server.memory import Memory
from keepthread.stores.decisions import drop_decision, find_decision, load_decisions
from keepthread.stores.doubts import doubt
from keepthread.stores.errors import UnknownRecord
from keepthread.stores.facts import add_fact_event, find_fact, load_facts, suspects
from keepthread.stores.launch import command_line
from keepthread.stores.ledger import find_item, plan_items, skip_item
from keepthread.stores.records import Decision, Fact, PlanItem, Stamp, Task, parse_id
from keepthread.stores.tasks import add_task_version, find_task
from keepthread.validators.gate_view import Caller
from keepthread.validators.verdict import Outcome
from keepthread.validators.writes.facts import record_fact, retract_fact
from keepthread.validators.writes.tasks import start_task as begin


def start_task(
    memory: Memory,
    goal: str,
    constraints: Sequence[str],
    *,
    via: str,
    caller: Caller | None = None,
) -> Outcome:
    """Begin a task in the user's words. Raises Refused."""
    caller, message = say(memory, "\n\n".join((goal, *constraints)), via=via, caller=caller)
    return begin(memory.gate, caller, goal=goal, constraints=constraints, source=message.id)


def remember(
    memory: Memory, instruction: str, *, via: str, caller: Caller | None = None, **more: Any
) -> Outcome:
    """Keep a standing instruction in the user's words. Raises Refused.

    ``more`` are further arguments of validators.writes.facts.record_fact.
    """
    caller, message = say(memory, instruction.strip(), via=via, caller=caller)
    return record_fact(
        memory.gate,
        caller,
        text=instruction,
        kind="instruction-from-user",
        source=message.id,
        **more,
    )


def confirm(memory: Memory, record: str, *, via: str) -> str:
    """Confirm a fact or a proposed task; return what was done. Raises UnknownRecord or Refused.

    A fact that a model reported, or that cites a suspect message, becomes the user's instruction, a proposed
    goal the user's goal.
    """
    found = _find(memory, record)
    if isinstance(found, Decision | PlanItem):
        raise UnknownRecord(f"{found.id} needs no confirmation; --deny drops it.")
    if isinstance(found, Task):
        if found.state != "proposed":
            return f"{found.id} is {found.state}: only a proposed task waits for you"
        caller, message = say(memory, "\n\n".join((found.goal, *found.constraints)), via=via)
        with memory.capture.transaction() as tx:
            author = caller.author._replace(origin="user", task=found.task)
            add_task_version(tx, author, found, state="active", source=message.seq)
        kept = "".join(f", constraint {quote(c)}" for c in found.constraints)
        return f"confirmed: {found.id}, goal {quote(found.goal)}{kept}"
    if found.reported or (found.kind == "instruction-from-user" and _is_suspect(memory, found)):
        made = remember(
            memory,
            found.text,
            via=via,
            scope=[f"{name}:{value}" for name, value in found.scope],
            subject=found.subject,
            expires_when=found.expires_when,
            supersedes=found.id,
        )
        return f"{done(made)}, your instruction {quote(found.text)}"
    # Its text stays out of the message: the user says that it is true, not that it is to be obeyed.
    caller, message = say(memory, f"{found.id} is right.", via=via)
    with memory.capture.transaction() as tx:
        user = caller.author._replace(origin="user")
        add_fact_event(tx, user, found.seq, "confirmed", source=message.seq)
    return f"confirmed: {found.id}, {quote(found.text)}"


def deny(memory: Memory, record: str, why: str, *, via: str) -> str:
    """Say that a record is wrong; return what was done. Raises UnknownRecord or Refused.

    A decision or plan item is dropped: it is served no more, and what rests on it is weakened.
    Of a fact, evidence and user disagree: it goes to the re-verify queue with what rests on it. What
    only the user's word stands behind is taken back.
    """
    found = _find(memory, record)
    if isinstance(found, Task):
        raise UnknownRecord(
            f"{found.id} is a task, which is not denied. Begin another: {command_line('task', 'GOAL')}"
        )
    caller, message = say(memory, f"{found.id} is wrong{f': {why}' if why else ''}", via=via)
    user = caller.author._replace(origin="user")
    if isinstance(found, Decision):
        with memory.capture.transaction() as tx:
            drop_decision(tx, user, found.seq, message.seq, why)
        return (
            f"dropped: {found.id}, {quote(found.decision)}; it is no longer served as settled, "
            "and what rests on it is weakened"
        )
    if isinstance(found, PlanItem):
        with memory.capture.transaction() as tx:
            skip_item(tx, user, found, why or "dropped by the user")
        return f"dropped: {found.id}, {quote(found.title)}; no agent takes it up again"
    if found.kind == "instruction-from-user":
        reason = why or "denied by the user"
        outcome = retract_fact(memory.gate, caller, fact=found.id, reason=reason, source=message.id)
        return done(outcome)
    with memory.capture.transaction() as tx:
        doubt(tx, user, [found.seq], message.seq, why)
    return f"denied: {found.id} is to be verified again, and so is what rests on it"


def _is_suspect(memory: Memory, fact: Fact) -> bool:
    return bool(suspects(memory.reader, [fact.seq]))


def _find(memory: Memory, record: str) -> Fact | Task | Decision | PlanItem:
    """Return the task, current fact, active decision or plan item with this id. Raises UnknownRecord."""
    parsed, workspace = parse_id(record.strip()), memory.onlooker().author.workspace
    if parsed is not None and parsed.kind == "task":
        task = find_task(memory.reader, workspace, parsed)
        if task is not None:
            return task
    if parsed is not None and parsed.kind == "fact":
        seq = find_fact(memory.reader, workspace, parsed)
        fact = load_facts(memory.reader, [seq])[seq] if seq is not None else None
        if fact is not None and fact.current:
            return fact
    if parsed is not None and parsed.kind == "decision":
        seq = find_decision(memory.reader, workspace, parsed)
        decision = load_decisions(memory.reader, [seq])[seq] if seq is not None else None
        if decision is not None and decision.active:
            return decision
    if parsed is not None and parsed.kind == "plan":
        place = find_item(memory.reader, workspace, parsed)
        item = plan_items(memory.reader, workspace, items=[place])[0] if place is not None else None
        if item is not None and not item.dropped:
            return item
    raise UnknownRecord(
        f"{record[:40]!r} is no current fact, active decision, plan item or task of this workspace; "
        "memory://facts, memory://decisions and memory://plan list them."
    )


def done(outcome: Outcome) -> str:
    """Return what was done, as the user is told: the action and the record."""
    return "\n".join((f"{outcome.action}: {outcome.id}", *outcome.remarks))


def say(
    memory: Memory, words: str, *, via: str, caller: Caller | None = None
) -> tuple[Caller, Stamp]:
    """Archive words of the user (``via`` is one of DOORS); return (caller, stamp of the message)."""
    caller = caller or memory.caller()
    with memory.capture.transaction() as tx:
        stamp = append_message(
            tx,
            caller.author._replace(origin="user"),
            "msg",
            words,
            channel="user",
            key=memory.capture.anchor.key,
            tool=via,
        )
    return caller, stamp
