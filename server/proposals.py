"""What a model says that the user wants, put to the user before it is kept as only proposed or reported.

The question shows what would be stored as JSON strings, which cannot leave their lines. Accepted, just
that is archived as a message of the user and stored from it; declined, nothing is, and it is not asked again.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from keepthread.server.memory import Memory
from keepthread.server.users_word import remember
from keepthread.server.users_word import start_task as begin
from keepthread.stores.tasks import current_task
from keepthread.validators.citations import REPORTED
from keepthread.validators.gate_view import Caller
from keepthread.validators.quoting import quote
from keepthread.validators.verdict import Outcome, Refusal
from keepthread.validators.writes.facts import record_fact
from keepthread.validators.writes.tasks import start_task

VIA = "elicitation"


class Proposal(NamedTuple):
    """A question to the user; ``keep`` stores what it shows as the user's own, ``drop`` raises Refused."""

    question: str
    keep: Callable[[], Outcome]
    drop: Callable[[], NoReturn]


def propose_task(
    memory: Memory, caller: Caller, goal: str, constraints: Sequence[str]
) -> Proposal | None:
    """Return what to ask before a task without a source is stored; None for a repeated call. Raises Refused."""
    told = start_task(memory.gate, caller, goal=goal, constraints=constraints, rehearse=True)
    if told.action != "rehearsed":
        return None
    goal, limits = goal.strip(), [c.strip() for c in constraints if c.strip()]
    lines = [
        "Keepthread: your agent wants to begin this task. Accept: goal and constraints count as your own words "
        "and stand in every window. Decline: nothing is stored.",
        f"Goal: {quote(goal)}",
        *(f"Constraint: {quote(c)}" for c in limits),
    ]
    before = current_task(memory.reader, caller.author.workspace)
    if before is not None and before.state == "active":
        lines.append(f"Instead of {before.id}: {quote(before.goal)}")

    def keep() -> Outcome:
        return begin(memory, goal, limits, via=VIA, caller=caller)

    return _proposal(memory, caller, "start_task", lines, keep)


def propose_instruction(memory: Memory, caller: Caller, **given: Any) -> Proposal | None:
    """Return what to ask before a reported instruction is stored; None where it is known. Raises Refused.

    ``given`` are arguments of record_fact, beside ``kind`` and ``source``.
    """
    told = record_fact(
        memory.gate, caller, kind="instruction-from-user", source=REPORTED, rehearse=True, **given
    )
    if told.action != "rehearsed":
        return None
    lines = [
        "Keepthread: your agent reports this as an instruction of yours. Accept: it is kept as your own words "
        "and stands in every window of this workspace. Decline: nothing is stored.",
        f"Instruction: {quote(given['text'].strip())}",
    ]
    if given["scope"]:
        lines.append(f"Only for: {', '.join(map(quote, given['scope']))}")
    if given["expires_when"].strip():
        lines.append(f"Until: {quote(given['expires_when'].strip())}")
    lines += _instead_of(memory, caller, told)

    def keep() -> Outcome:
        text, more = given["text"], {k: v for k, v in given.items() if k != "text"}
        return remember(memory, text, via=VIA, caller=caller, given_source=REPORTED, **more)

    return _proposal(memory, caller, "record_fact", lines, keep)


def _instead_of(memory: Memory, caller: Caller, told: Outcome) -> list[str]:
    """Return the user's instructions that the new one would supersede, a line each."""
    view, rivals = memory.gate.view(caller), told.fields["disputed_with"]
    assert isinstance(rivals, list)
    found = [f for f in map(view.fact, rivals) if f is not None and not f.reported]
    return [
        f"Instead of {f.id}: {quote(f.text)}" for f in found if f.kind == "instruction-from-user"
    ]


def _proposal(
    memory: Memory, caller: Caller, tool: str, lines: Sequence[str], keep: Callable[[], Outcome]
) -> Proposal:
    question = "\n".join(lines)
    refusal = Refusal(
        "declined_by_user",
        "the user was shown this and declined. Nothing was stored.",
        "Do not call again with the same words: ask the user in the conversation what to keep instead.",
    )

    def drop() -> NoReturn:
        memory.gate.refuse(caller, tool, refusal, {"question": question})

    if memory.gate.was_refused(caller, tool, refusal.code, {"question": question}):
        drop()
    return Proposal(question, keep, drop)
