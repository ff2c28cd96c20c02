"""Tasks: one goal with its constraints, kept in versions.

Contract: a version is active only with a message of the user as its source (the schema holds
it), and only while that message is not suspect; a proposal never replaces a confirmed goal; old versions
are kept.
"""

import json
from typing import Any

import apsw

from keepthread.stores.archive import SUSPECT
from keepthread.stores.journal import Transaction
from keepthread.stores.parts import words_of
from keepthread.stores.query import fetch_one
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


def newest_task(
    connection: apsw.Connection, workspace: int, *, finished: bool = False
) -> Task | None:
    """Return the newest unfinished task of a workspace; or, with ``finished``, the newest done one."""
    sign = "=" if finished else "<>"
    row = fetch_one(
        connection,
        _SELECT + f"WHERE t.workspace = ? AND t.state {sign} 'done' ORDER BY t.seq DESC LIMIT 1",
        (workspace,),
    )
    return None if row is None else _task_from_row(connection, row)


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
