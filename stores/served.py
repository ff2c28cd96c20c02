"""What each window was shown: best effort, apart from the window itself, never chained.

``why`` answers from it, the useful-entry ratio counts it, and a plan item's version "last
served to this window" is read here.
"""

import json
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


class Serving(NamedTuple):
    """What one window was shown of a record: how often, and section, score and tokens of the last time."""

    window: str
    section: str
    score: float | None
    tokens: int
    times: int

    def text(self) -> str:
        """Return it in words."""
        ranked = f", score {self.score:.3f}" if self.score is not None else ""
        return f"{self.window}, {self.times} time(s), under {self.section}{ranked}, {self.tokens} tokens"


def servings(connection: apsw.Connection, refs: Iterable[int]) -> list[Serving]:
    """Return the windows that a record (any of its versions ``refs``) was served to, last served first."""
    rows = fetch_all(
        connection,
        "SELECT 'window-' || j.number, s.section, s.score, s.tokens, count(*), max(s.rowid) FROM served s "
        "JOIN journal j ON j.seq = s.window WHERE s.ref IN (SELECT value FROM json_each(?)) "
        "GROUP BY s.window, s.section ORDER BY max(s.rowid) DESC",
        (json.dumps(list(refs)),),
    )
    return [Serving(str(r[0]), str(r[1]), r[2], r[3], r[4]) for r in rows]
