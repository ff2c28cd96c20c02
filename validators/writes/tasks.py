"""Tasks and handoffs through the gate."""

from collections.abc import Sequence

from keepthread.stores.journal import Transaction
from keepthread.stores.launch import command_line
from keepthread.stores.records import Author, Task
from keepthread.stores.tasks import (
    add_task,
    add_task_version,
    get_task,
    setter,
    unfinished_tasks,
)
from keepthread.stores.windows import add_window_event
from keepthread.validators.gate import Gate
from keepthread.validators.gate_view import Caller, GateView
from keepthread.validators.quoting import quote
from keepthread.validators.user_words import find_users_passage
from keepthread.validators.verdict import Outcome, Refusal, Write


def start_task(
    gate: Gate,
    caller: Caller,
    *,
    goal: str,
    constraints: Sequence[str] = (),
    source: str = "",
    rehearse: bool = False,
) -> Outcome:
    """Begin a task, or come back to an unfinished one with the same words. Raises Refused.

    With a source the goal and constraints are passages of the user's message; without one the task is
    proposed, and never replaces a confirmed one. The answer names the task that steps aside.
    ``rehearse`` stores nothing and answers ``rehearsed`` where a task would be begun.
    """
    goal, kept = goal.strip(), [c.strip() for c in constraints if c.strip()]

    def prepare(write: Write, view: GateView) -> Write | Refusal:
        known = _same_task(view.unfinished_tasks(), goal, kept)
        if known is not None and known.source is not None:
            return write._replace(cited=tuple(view.entries_by_seq([known.source]).values()))
        excess = view.pinned_fits(goal, kept)
        if excess > 0:
            return Refusal(
                "too_long",
                f"goal and constraints are {excess} tokens too many for the pinned section, "
                "which is always shown whole.",
                "Say the goal in one or two sentences; details go into plan items.",
            )
        return _in_the_users_words(write, view, (goal, *kept)) if source.strip() else write

    def commit(tx: Transaction, author: Author, write: Write) -> tuple[Outcome, int | None]:
        words = tuple(  # goal and constraints are the user's own passages by now, where a source is given
            v for k, v in sorted(write.others.items(), key=_position) if k.startswith("constraints")
        )
        unfinished = unfinished_tasks(tx.connection, author.workspace)
        before = next((t for t in unfinished if t.task == author.task), None) or next(
            iter(unfinished), None
        )
        known = _same_task(unfinished, goal, kept) or _same_task(unfinished, write.text, words)
        if rehearse:
            return Outcome("merged" if known else "rehearsed", known.id if known else ""), None
        source_seq = write.cited[0].seq if write.cited else None
        if known is not None:
            return _come_back(tx, author, known, before, source_seq)
        stamp = add_task(tx, author, write.text, words, source_seq)
        remarks: tuple[str, ...] = () if source_seq else (_proposed(),)
        remarks += _enter(tx, author, get_task(tx.connection, stamp.seq), before)
        return Outcome("added" if source_seq else "proposed", stamp.id, remarks), stamp.seq

    others = {f"constraints[{i}]": c for i, c in enumerate(kept)}
    write = Write("start_task", "task", text=goal, others=others, source=source)
    arguments = {"goal": goal, "constraints": kept, "source": source}
    return gate.admit(
        caller, write, commit, arguments=arguments, prepare=prepare, repeatable=True
    )


def _proposed() -> str:
    return (
        "proposed: shown as such until the user confirms it "
        f"(the user's message as source, or: {command_line('task', 'GOAL')})"
    )


def _in_the_users_words(write: Write, view: GateView, words: Sequence[str]) -> Write | Refusal:
    """Return the write with the user's own passages for goal and constraints."""
    passages, message = [], None
    for wanted in words:
        found = find_users_passage(wanted, write.source, view)
        if isinstance(found, Refusal):
            where = "" if wanted == words[0] else f"{wanted[:80]!r}: "
            return found._replace(what=f"{where}{found.what}")
        message = message or found[0]
        passages.append(found[0].output[found[1] : found[2]])
    others = {f"constraints[{i}]": p for i, p in enumerate(passages[1:])}
    return write._replace(text=passages[0], others=others, cited=(message,) if message else ())


def _same_task(unfinished: Sequence[Task], goal: str, constraints: Sequence[str]) -> Task | None:
    """Return the unfinished task with these words; without constraints, whatever constraints it has."""
    return next(
        (
            task
            for task in unfinished
            if _plain(task.goal) == _plain(goal)
            and (not constraints or [*map(_plain, task.constraints)] == [*map(_plain, constraints)])
        ),
        None,
    )


def _plain(words: str) -> str:
    return " ".join(words.split()).rstrip(".").casefold()


def _come_back(
    tx: Transaction, author: Author, task: Task, before: Task | None, source: int | None
) -> tuple[Outcome, int | None]:
    """Make an unfinished task the one worked on; with a source, a proposed one becomes the user's."""
    made = None
    remarks = [f"{task.id} has these words already and is unfinished ({setter(task)})"]
    if task.source is None and source is not None:
        made = add_task_version(tx, author, task, state="active", source=source).seq
        remarks.append(f"{task.id} is confirmed: these are the user's words")
    elif before is None or before.task != task.task:
        made = add_task_version(tx, author, task).seq  # the newest again, for windows to come
    remarks += _enter(tx, author, get_task(tx.connection, task.task), before)
    return Outcome("merged", task.id, tuple(remarks)), made


def _enter(
    tx: Transaction, author: Author, task: Task, before: Task | None
) -> tuple[str, ...]:
    """Have the window work on ``task``, unless that would put a proposal before the user's own task;
    say which task steps aside and how to come back to it.
    """
    other = before if before is not None and before.task != task.task else None
    if task.source is None and other is not None and other.source is not None:
        return (f"{other.id} stays the task at hand, the user's: {quote(other.goal)}",)
    if author.window is not None and author.task != task.task:
        joined = author._replace(task=task.task)
        add_window_event(tx, joined, author.window, "joined_task", target=task.task)
    if other is None:
        return (f"{task.id} is the task at hand",)
    return (
        f"{task.id} is the task at hand; {other.id} steps aside, unfinished ({setter(other)}): "
        f"{quote(other.goal)}. start_task with those words, or {command_line('task', 'GOAL')}, comes back to it",
    )


def hand_off(
    gate: Gate,
    caller: Caller,
    *,
    doing: str,
    next_step: str,
    noticed: str = "",
    task_done: bool = False,
) -> Outcome:
    """Close the window with a note for the next one; ``task_done`` ends the task too. Raises Refused."""

    def commit(tx: Transaction, author: Author, write: Write) -> tuple[Outcome, int | None]:
        assert author.window is not None  # every caller has a window
        stamp = add_window_event(
            tx, author, author.window, "handed_off", doing=doing, next=next_step, noticed=noticed
        )
        remarks = ["the note is stored; this window is closed, get_context opens the next"]
        if task_done and author.task is not None:
            task = get_task(tx.connection, author.task)
            if task.state != "done":
                add_task_version(tx, author, task, state="done")
            remarks.append(f"{task.id} is done")
        return Outcome("closed", "", tuple(remarks)), stamp.seq

    others = {"next": next_step.strip(), "noticed": noticed.strip()}
    write = Write("hand_off", "handoff", text=doing.strip(), others=others)
    arguments = {"doing": doing, "next": next_step, "noticed": noticed, "task_done": task_done}
    return gate.admit(caller, write, commit, arguments=arguments, repeatable=True)


def _position(item: tuple[str, str]) -> int:
    digits = "".join(c for c in item[0] if c.isdigit())
    return int(digits or 0)
