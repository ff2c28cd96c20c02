"""Windows: the context windows of agents, and what ended each.

Contract: opened once; events are appended and never change it. A window is closed by
``compacted``, ``handed_off``, ``ended`` or ``found_dead``; the newest of its events tells.
"""

import json
from typing import Any

import apsw

from keepthread.stores.journal import TABLES, Transaction
from keepthread.stores.parts import words_of
from keepthread.stores.query import fetch_all, fetch_one
from keepthread.stores.records import TERMINAL, Author, Draft, RecordId, Stamp, Window

CLOSING = ("compacted", "handed_off", "ended", "found_dead")


def add_window(
    tx: Transaction,
    author: Author,
    *,
    client: str,
    session: str,
    host_pid: int = 0,
    host_started: str = "",
    work_tree: str = "",
) -> Stamp:
    """Open a window."""
    row = {"client": client, "session": session, "host_pid": host_pid, "host_started": host_started}
    return tx.append(author, Draft("window", "window", row, {"work_tree": work_tree}))


def add_window_event(
    tx: Transaction,
    author: Author,
    window: int,
    event: str,
    *,
    target: int | None = None,
    **words: str,
) -> Stamp:
    """Append what happened to a window. ``words``: doing, next, noticed, summary, reason."""
    row = {"window": window, "event": event, "target": target}
    return tx.append(author, Draft("window_event", "window_event", row, words, numbered=False))


def get_window(connection: apsw.Connection, seq: int) -> Window:
    """Return a window known to exist."""
    row = fetch_one(connection, _SELECT + "WHERE w.seq = ?", (seq,))
    return _window_from_row(connection, row)


def find_window(connection: apsw.Connection, workspace: int, record: RecordId) -> Window | None:
    """Return the window with this id in this workspace."""
    row = fetch_one(
        connection, _SELECT + "WHERE j.number = ? AND j.workspace = ?", (record.number, workspace)
    )
    return None if row is None else _window_from_row(connection, row)


def windows(
    connection: apsw.Connection,
    workspace: int,
    *,
    session: str = "",
    open_only: bool = False,
    agents_only: bool = False,
    limit: int = 20,
) -> list[Window]:
    """Return the windows of a workspace, newest first; ``session`` narrows to one client session,
    ``agents_only`` leaves those of a person's commands out."""
    sql, values = _SELECT + "WHERE j.workspace = ?", [workspace, *([session] if session else [])]
    if session:
        sql += " AND w.session = ?"
    if open_only:
        sql += f" AND {_CLOSED} = ''"
    if agents_only:
        sql += f" AND w.client <> '{TERMINAL}'"
    rows = fetch_all(connection, sql + f" ORDER BY w.seq DESC LIMIT {limit:d}", values)
    return [_window_from_row(connection, row) for row in rows]


def sessions_window(connection: apsw.Connection, session: str) -> Window | None:
    """Return the newest open window of a client session, whatever its workspace."""
    row = fetch_one(
        connection,
        _SELECT + f"WHERE w.session = ? AND {_CLOSED} = '' ORDER BY w.seq DESC LIMIT 1",
        (session,),
    )
    return None if row is None else _window_from_row(connection, row)


def newest_windows(connection: apsw.Connection, session: str, limit: int = 1) -> list[Window]:
    """Return the newest windows of a client session, open or closed, whatever their workspace."""
    rows = fetch_all(
        connection, _SELECT + f"WHERE w.session = ? ORDER BY w.seq DESC LIMIT {limit:d}", (session,)
    )
    return [_window_from_row(connection, row) for row in rows]


def joined_task(connection: apsw.Connection, window: int) -> int | None:
    """Return the task a window works on; None when it never joined one."""
    row = fetch_one(
        connection,
        "SELECT target FROM window_event WHERE window = ? AND event = 'joined_task' ORDER BY seq DESC LIMIT 1",
        (window,),
    )
    return None if row is None else row[0]


def window_words(
    connection: apsw.Connection, window: int, event: str
) -> tuple[dict[str, str], str]:
    """Return the words and time of a window's newest ``event``; ({}, "") when there is none."""
    row = fetch_one(
        connection,
        "SELECT e.seq, j.at FROM window_event e JOIN journal j USING(seq) WHERE e.window = ? AND e.event = ? "
        "ORDER BY e.seq DESC LIMIT 1",
        (window, event),
    )
    return ({}, "") if row is None else (words_of(connection, row[0]), str(row[1]))


def last_activity(connection: apsw.Connection, window: int) -> str:
    """Return the time of the newest record written in a window (or of its opening)."""
    row = fetch_one(
        connection,
        "SELECT at FROM journal WHERE seq = (SELECT max(coalesce((SELECT max(seq) FROM journal "
        "WHERE window = ?1 AND kind = k.value), ?1)) FROM json_each(?2) k)",
        (window, json.dumps(list(TABLES))),
    )
    return str(row[0]) if row else ""


def newest_written(connection: apsw.Connection, window: int, kind: str) -> str:
    """Return the time of the newest record of ``kind`` written in a window; ``""`` without one."""
    row = fetch_one(
        connection,
        "SELECT at FROM journal WHERE window = ? AND kind = ? ORDER BY seq DESC LIMIT 1",
        (window, kind),
    )
    return str(row[0]) if row else ""


def closed_at(connection: apsw.Connection, window: int) -> str:
    """Return when a window was last active: for a killed one that is earlier than its end was noticed."""
    row = fetch_one(
        connection,
        "SELECT max(at) FROM journal WHERE (window = ?1 OR seq = ?1) AND NOT EXISTS("
        "SELECT 1 FROM window_event e WHERE e.seq = journal.seq AND e.event = 'found_dead')",
        (window,),
    )
    return str(row[0]) if row else ""


def ids_written(connection: apsw.Connection, window: int, kind: str) -> list[str]:
    """Return the ids of the records of ``kind`` written in a window, oldest first."""
    rows = fetch_all(
        connection,
        "SELECT number FROM journal WHERE window = ? AND kind = ? AND number IS NOT NULL ORDER BY seq",
        (window, kind),
    )
    return [f"{kind}-{number}" for (number,) in rows]


def count_failed(connection: apsw.Connection, window: int) -> int:
    """Count the archived calls of a window that ended with an error."""
    row = fetch_one(
        connection,
        "SELECT count(*) FROM journal j JOIN entry e USING(seq) WHERE j.window = ? AND j.kind = 'call' "
        "AND e.is_error = 1",
        (window,),
    )
    return row[0] if row else 0


def count_records(
    connection: apsw.Connection, window: int, kinds: tuple[str, ...], after: int = 0
) -> int:
    """Count the records of ``kinds`` written in a window after record ``after``."""
    row = fetch_one(
        connection,
        "SELECT count(*) FROM journal WHERE window = ? AND seq > ? "
        "AND kind IN (SELECT value FROM json_each(?))",
        (window, after, json.dumps(kinds)),
    )
    return row[0] if row else 0


_CLOSED = (
    "coalesce((SELECT e.event FROM window_event e WHERE e.window = w.seq "
    f"AND e.event IN {CLOSING} ORDER BY e.seq DESC LIMIT 1), '')"
)
_SELECT = (
    f"SELECT w.seq, j.number, j.workspace, w.client, w.session, w.host_pid, w.host_started, j.at, {_CLOSED} "
    "FROM window w CROSS JOIN journal j USING(seq) "
)


def _window_from_row(connection: apsw.Connection, row: Any) -> Window:
    seq = row[0]
    return Window(
        seq=seq,
        id=f"window-{row[1]}",
        workspace=row[2],
        client=str(row[3]),
        session=str(row[4]),
        host_pid=row[5],
        host_started=str(row[6]),
        work_tree=words_of(connection, seq).get("work_tree", ""),
        at=str(row[7]),
        closed=str(row[8]),
    )
