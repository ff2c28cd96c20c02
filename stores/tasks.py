"""Tasks: one goal with its constraints, kept in versions.

Contract: a version is active only with a message of the user as its source (the schema holds
it), and only while that message is not suspect; a proposal never replaces a confirmed goal; old versions
are kept. A version like the one before makes its task the newest again.
"""

import json
from typing import Any

import apsw

from keepthread.stores.archive import SUSPECT
from keepthread.stores.journal import Transaction
from keepthread.stores.parts import words_of
from keepthread.stores.query import fetch_all, fetch_one
from keepthread.stores.records import Author, Draft, RecordId, Stamp, Task


def add_task(
    tx: Transaction, author: Author, goal: str, constraints: tuple[str, ...], source: int | None
) -> Stamp:
    """Begin a task: active when ``source`` is a user's message, else proposed."""
    state = "proposed" if source is None else "active"
    row = {"task": tx.seq + 1, "version": 1, "state": state, "source": source}
    return tx.append(author, Draft("task", "task", row, _bodies(goal, constraints)))


def add_task_version(tx: Transaction, author: Author, task: Task, **change: object) -> Stamp:
    """Append the next version of ``task`` with ``goal``, ``constraints``, ``state`` or ``source`` changed."""
    new = task._replace(**change)  # type: ignore[arg-type]
    row = {"task": task.task, "version": task.version + 1, "state": new.state, "source": new.source}
    draft = Draft("task_event", "task", row, _bodies(new.goal, new.constraints), numbered=False)
    return tx.append(author, draft)


def get_task(connection: apsw.Connection, task: int) -> Task:
    """Return the current version of a task known to exist."""
    row = fetch_one(connection, _SELECT + "WHERE t.task = ?", (task,))
    return _task_from_row(connection, row)


def find_task(connection: apsw.Connection, workspace: int, record: RecordId) -> Task | None:
    """Return the task with this id in this workspace."""
    row = fetch_one(
        connection, _SELECT + "WHERE j.number = ? AND t.workspace = ?", (record.number, workspace)
    )
    return None if row is None else _task_from_row(connection, row)


def unfinished_tasks(connection: apsw.Connection, workspace: int) -> list[Task]:
    """Return the unfinished tasks of a workspace: the confirmed ones before those only proposed, each
    the newest first. The first is the one that a new window works on.
    """
    rows = fetch_all(
        connection,
        _SELECT
        + "WHERE t.workspace = ? AND t.state <> 'done' ORDER BY t.state = 'active' DESC, t.seq DESC",
        (workspace,),
    )
    return [_task_from_row(connection, row) for row in rows]


def current_task(connection: apsw.Connection, workspace: int) -> Task | None:
    """Return the task that a new window works on, see ``unfinished_tasks``."""
    return next(iter(unfinished_tasks(connection, workspace)), None)


def last_finished_task(connection: apsw.Connection, workspace: int) -> Task | None:
    """Return the newest done task of a workspace."""
    row = fetch_one(
        connection,
        _SELECT + "WHERE t.workspace = ? AND t.state = 'done' ORDER BY t.seq DESC LIMIT 1",
        (workspace,),
    )
    return None if row is None else _task_from_row(connection, row)


def setter(task: Task) -> str:
    """Return who set a task: its goal is the user's, or proposed by a model and not confirmed."""
    return "proposed, not confirmed" if task.source is None else "the user's"


_SELECT = (
    f"SELECT t.seq, t.task, j.number, t.version, t.state, t.source, t.at, coalesce(t.source IN ({SUSPECT}), 0) "
    "FROM task_current t JOIN journal j ON j.seq = t.task "
)


def _task_from_row(connection: apsw.Connection, row: Any) -> Task:
    words, suspect = words_of(connection, row[0]), row[4] == "active" and bool(row[7])
    return Task(
        task=row[1],
        id=f"task-{row[2]}",
        version=row[3],
        state="proposed" if suspect else str(row[4]),
        goal=words.get("goal", ""),
        constraints=tuple(json.loads(words.get("constraints", "[]"))),
        source=row[5],
        at=str(row[6]),
        suspect=suspect,
    )


def _bodies(goal: str, constraints: tuple[str, ...]) -> dict[str, str]:
    listed = json.dumps(constraints, ensure_ascii=False) if constraints else ""
    return {"goal": goal, "constraints": listed}
