"""What the user says outside the chat: through a prompt of the client or at a terminal.

The words are archived as a message of the user and then pass the same gate, citing it.
"""

from keepthread.server.capture.append import append_message
from keepthread.server.memory import Memory
from keepthread.validators.gate_view import Caller
from keepthread.validators.writes.facts import record_fact
from keepthread.validators.writes.tasks import start_task as begin


def start_task(memory: Memory, goal: str, constraints: tuple[str, ...], *, via: str) -> str:
    """Begin a task in the user's words; return what was done. Raises Refused."""
    caller, message = say(memory, "\n\n".join((goal, *constraints)), via=via)
    outcome = begin(memory.gate, caller, goal=goal, constraints=constraints, source=message)
    return f"{outcome.action}: {outcome.id}"


def remember(memory: Memory, instruction: str, *, via: str, everywhere: bool = False) -> str:
    """Keep a standing instruction in the user's words; return what was done. Raises Refused."""
    caller, message = say(memory, instruction, via=via)
    outcome = record_fact(
        memory.gate,
        caller,
        text=instruction,
        kind="instruction-from-user",
        source=message,
        everywhere=everywhere,
    )
    return f"{outcome.action}: {outcome.id}"


def say(memory: Memory, words: str, *, via: str) -> tuple[Caller, str]:
    """Archive words of the user; return (caller, id of the message)."""
    caller = memory.caller()
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
    return caller, stamp.id
