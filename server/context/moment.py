"""What the window is assembled from: one reading of the database for one window, at one moment."""

from collections.abc import Sequence
from typing import NamedTuple

import apsw

from keepthread.server.context.ranking import Weights
from keepthread.server.context.staleness import FileWatch
from keepthread.stores.fact_index import FactIndex
from keepthread.stores.facts import load_facts, standing_instructions, suspects
from keepthread.stores.ledger import plan_items
from keepthread.stores.questions import open_questions
from keepthread.stores.records import (
    Author,
    Fact,
    PlanItem,
    Question,
    Tags,
    Task,
    scope_agrees,
)
from keepthread.stores.tasks import get_task, last_finished_task, unfinished_tasks

FINISHED = ("done", "skipped")


class Kept:
    """What a process keeps between two windows so that it need not be read again."""

    def __init__(self) -> None:
        self._watches: dict[str, FileWatch] = {}
        self._facts: dict[int, FactIndex] = {}

    def watch(self, tree: str) -> FileWatch:
        """Return the file watch of a work tree: each state of a file is hashed once."""
        return self._watches.setdefault(tree, FileWatch(tree))

    def facts(self, workspace: int) -> FactIndex:
        """Return the index of a workspace's current facts."""
        return self._facts.setdefault(workspace, FactIndex(workspace))


class Moment(NamedTuple):
    """The reading: who asks, for which task and item, and the questions that several sections need."""

    connection: apsw.Connection
    author: Author
    now: float
    watch: FileWatch
    facts: FactIndex
    weights: Weights
    task: Task | None
    last_goal: Task | None
    other_tasks: tuple[Task, ...]  # unfinished, and not worked on here
    plan: tuple[PlanItem, ...]
    questions: tuple[Question, ...]
    focus: PlanItem | None
    instructions: tuple[Fact, ...]  # the user's own, that apply here, oldest first
    suspect_instructions: tuple[Fact, ...]  # those from messages that the client's transcript does not know
    explain: bool = False

    @property
    def workspace(self) -> int:
        return self.author.workspace

    def query(self) -> str:
        """Return the words that relevance is measured against."""
        if self.focus is not None:
            return f"{self.focus.title} {self.focus.description}"
        return self.task.goal if self.task is not None else ""


def read_moment(
    connection: apsw.Connection,
    author: Author,
    *,
    tree: str,
    now: float,
    weights: Weights,
    item: PlanItem | None = None,
    explain: bool = False,
    kept: Kept | None = None,
) -> Moment:
    """Read what all sections share. ``item`` is the focus asked for, else the one in progress."""
    task = get_task(connection, author.task) if author.task is not None else None
    if task is not None and task.state == "done":
        task = None
    items = tuple(plan_items(connection, author.workspace, author.task))
    questions = tuple(open_questions(connection, author.workspace))
    kept = kept or Kept()
    focus = item or pick_focus(items, questions)
    stated = _instructions(connection, author.workspace, focus.scope if focus else ())
    suspect = suspects(connection, [f.seq for f in stated])
    return Moment(
        connection=connection,
        author=author,
        now=now,
        watch=kept.watch(tree),
        facts=kept.facts(author.workspace),
        weights=weights,
        task=task,
        last_goal=last_finished_task(connection, author.workspace)
        if task is None
        else None,
        other_tasks=tuple(
            other
            for other in unfinished_tasks(connection, author.workspace)
            if task is None or other.task != task.task
        ),
        plan=items,
        questions=questions,
        focus=focus,
        instructions=tuple(f for f in stated if f.seq not in suspect),
        suspect_instructions=tuple(f for f in stated if f.seq in suspect),
        explain=explain,
    )


def _instructions(connection: apsw.Connection, workspace: int, scope: Tags) -> tuple[Fact, ...]:
    seqs = standing_instructions(connection, workspace)
    found = load_facts(connection, seqs)
    return tuple(found[s] for s in seqs if scope_agrees(found[s].scope, scope))


def pick_focus(items: Sequence[PlanItem], questions: Sequence[Question]) -> PlanItem | None:
    """Return the item in progress that changed last, else the first that is ready.

    An item that an open question blocks is taken only when no other is ready.
    """
    started = [i for i in items if i.status == "in_progress"]
    if started:
        return max(started, key=lambda i: i.seq)
    blocked = {q.blocks for q in questions}
    ready = ready_items(items)
    return min(ready, key=lambda i: i.item in blocked, default=None)


def ready_items(items: Sequence[PlanItem]) -> list[PlanItem]:
    """Return pending items whose dependencies are finished, in plan order."""
    finished = {i.item for i in items if i.status in FINISHED}
    return [i for i in items if i.status == "pending" and all(d in finished for d in i.depends_on)]
