"""A query's words for FTS5, held to a number of matches that can be ranked in time.

Ranking costs a microsecond a match, and in a large archive common words match nearly everything
while they say next to nothing of a passage's rank. So the rare words of a query are looked up as
they are; of the common ones only passages that hold several together, as many as it takes; and
where even that is too much, the newest passages. Below MATCHES_MAX nothing is left out.
"""

from typing import NamedTuple

import apsw

from keepthread.stores.fulltext import terms
from keepthread.stores.query import fetch_value

COUNTED_MAX = 200_000
"""How far matches of one word are counted, at 30 million a second."""


class Index(NamedTuple):
    """A full-text table, the query for about how many rows it has, and the matches that are ranked."""

    table: str
    size: str
    most: int


PASSAGES = Index("passage_fts", "SELECT coalesce(max(id), 0) FROM passage", 30_000)
RECORDS = Index(
    "record_fts",
    "SELECT coalesce(max(number), 0) FROM journal WHERE kind = 'fact' AND number IS NOT NULL",
    1_500,
)
"""Of the facts near another one, those that share its rare words; a search wants more."""


class Match(NamedTuple):
    """What to look up: an FTS5 expression (``""``: no words), in rows from ``first`` on."""

    expression: str
    first: int = 0


def bounded_match(connection: apsw.Connection, query: str, index: Index) -> Match:
    """Return what to look up in ``index`` for ``query``, with about ``index.most`` matches at most."""
    words = [f'"{w}"' for w in terms(query)]
    rows = int(fetch_value(connection, index.size))
    if rows * len(words) <= index.most:
        return Match(" OR ".join(words))
    counts = {w: _count(connection, index, w, COUNTED_MAX) for w in words}
    rare: list[str] = []
    left = index.most
    for word in sorted(words, key=lambda w: counts[w]):
        if counts[word] > left:
            break
        rare.append(word)
        left -= counts[word]
    if len(rare) == len(words):
        return Match(" OR ".join(words))
    common = sorted(set(words) - set(rare), key=lambda w: (counts[w], w))
    together = _together(common, counts, rows, left)
    if _count(connection, index, together, left + 1) <= left:
        return Match(" OR ".join([*rare, together]))
    if rare:
        return Match(" OR ".join(rare))
    return Match(together, _newest(connection, index, together))


def _together(words: list[str], counts: dict[str, int], rows: int, most: int) -> str:
    """Return the rarest of these words joined by AND, so many that they should match ``most``
    rows if they were independent."""
    expected, joined = float(rows), 0
    while joined < len(words) and expected > most:
        expected *= counts[words[joined]] / rows
        joined += 1
    return f"({' AND '.join(words[:joined])})"


def _count(connection: apsw.Connection, index: Index, expression: str, most: int) -> int:
    table = index.table
    sql = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ?1 LIMIT ?2)"
    return int(fetch_value(connection, sql, (expression, most)))


def _newest(connection: apsw.Connection, index: Index, expression: str) -> int:
    """Return where the newest ``index.most`` matches begin."""
    table = index.table
    sql = (
        f"SELECT min(rowid) FROM (SELECT rowid FROM {table} WHERE {table} MATCH ?1 "
        "ORDER BY rowid DESC LIMIT ?2)"
    )
    return int(fetch_value(connection, sql, (expression, index.most)))
