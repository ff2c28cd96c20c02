"""Tasks and handoffs through the gate."""

from collections.abc import Sequence

from keepthread.stores.journal import Transaction
from keepthread.stores.launch import command_line
from keepthread.stores.records import Author
from keepthread.stores.tasks import add_task, add_task_version, get_task
from keepthread.stores.windows import add_window_event
from keepthread.validators.gate import Gate
from keepthread.validators.gate_view import Caller, GateView
from keepthread.validators.user_words import find_users_passage
from keepthread.validators.verdict import Outcome, Refusal, Write


def start_task(
    gate: Gate,
    caller: Caller,
    *,
    goal: str,
    constraints: Sequence[str] = (),
    source: str = "",
    given_source: str | None = None,
    rehearse: bool = False,
) -> Outcome:
    """Begin a task. With a source the goal and constraints are passages of the user's message; without
    one the task is proposed, and never replaces a confirmed one. Raises Refused.

    ``given_source`` is what the call gave, by which its repetition is known, where the server asked the
    user meanwhile. ``rehearse`` stores nothing and answers ``rehearsed``.
    """
    goal, kept = goal.strip(), [c.strip() for c in constraints if c.strip()]

    def prepare(write: Write, view: GateView) -> Write | Refusal:
        excess = view.pinned_fits(goal, kept)
        if excess > 0:
            return Refusal(
                "too_long",
                f"goal and constraints are {excess} tokens too many for the pinned section, "
                "which is always shown whole.",
                "Say the goal in one or two sentences; details go into plan items.",
            )
        if not source.strip():
            return write
        passages, message = [], None
        for words in (goal, *kept):
            found = find_users_passage(words, source, view)
            if isinstance(found, Refusal):
                return (
                    found._replace(what=f"{words[:80]!r}: {found.what}") if words != goal else found
                )
            message = message or found[0]
            passages.append(found[0].output[found[1] : found[2]])
        others = {f"constraints[{i}]": p for i, p in enumerate(passages[1:])}
        return write._replace(text=passages[0], others=others, cited=(message,) if message else ())

    def commit(tx: Transaction, author: Author, write: Write) -> tuple[Outcome, int | None]:
        words = tuple(
            v for k, v in sorted(write.others.items(), key=_position) if k.startswith("constraints")
        )
        if rehearse:
            return Outcome("rehearsed", ""), None
        cited = write.cited[0].seq if write.cited else None
        stamp = add_task(tx, author, write.text, words, cited)
        confirmed = (
            author.task is not None and get_task(tx.connection, author.task).state == "active"
        )
        if author.window is not None and (cited is not None or not confirmed):
            add_window_event(
                tx, author._replace(task=stamp.seq), author.window, "joined_task", target=stamp.seq
            )
        remarks = (
            ()
            if cited
            else (
                "proposed: shown as such until the user confirms it "
                f"(the user's message as source, or: {command_line('task', 'GOAL')})",
            )
        )
        return Outcome("added" if cited else "proposed", stamp.id, remarks), stamp.seq

    others = {f"constraints[{i}]": c for i, c in enumerate(kept)}
    write = Write("start_task", "task", text=goal, others=others, source=source)
    called_with = source if given_source is None else given_source
    arguments = {"goal": goal, "constraints": kept, "source": called_with}
    return gate.admit(caller, write, commit, arguments=arguments, prepare=prepare)


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
