"""What each window was shown: best effort, apart from the window itself, never chained.

``why`` answers from it, the useful-entry ratio counts it, and a plan item's version "last
served to this window" is read here.
"""

from collections.abc import Iterable
from typing import NamedTuple

import apsw

from keepthread.stores.query import fetch_all, fetch_one


class Served(NamedTuple):
    """One record shown: its section, rank score (None where unranked) and tokens."""

    section: str
    ref: int
    score: float | None
    tokens: int


def log_served(
    connection: apsw.Connection, window: int, head: int, shown: Iterable[Served]
) -> None:
    """Append what a window was shown when the journal ended at ``head``."""
    connection.executemany(
        "INSERT INTO served VALUES(?,?,?,?,?,?)",
        [(window, head, s.section, s.ref, s.score, s.tokens) for s in shown],
    )


def last_served_version(connection: apsw.Connection, window: int, item: int) -> int | None:
    """Return the newest version of a plan item that a window was shown or wrote itself."""
    row = fetch_one(
        connection,
        "SELECT max(p.version) FROM plan_event p JOIN journal j USING(seq) WHERE p.item = ?1 AND (j.window = ?2 "
        "OR p.seq IN (SELECT ref FROM served WHERE window = ?2))",
        (item, window),
    )
    return None if row is None else row[0]


def times_served(connection: apsw.Connection, ref: int) -> list[tuple[str, str, float | None, int]]:
    """Return (window id, section, score, tokens) of each time a record was shown, newest first."""
    rows = fetch_all(
        connection,
        "SELECT 'window-' || j.number, s.section, s.score, s.tokens FROM served s JOIN journal j ON j.seq = s.window "
        "WHERE s.ref = ? ORDER BY s.rowid DESC LIMIT 20",
        (ref,),
    )
    return [(str(r[0]), str(r[1]), r[2], r[3]) for r in rows]
