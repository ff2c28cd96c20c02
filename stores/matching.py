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

MATCHES_MAX = 30_000
COUNTED_MAX = 200_000
"""How far matches of one word are counted, at 30 million a second."""


class Match(NamedTuple):
    """What to look up: an FTS5 expression (``""``: no words), in passages from ``first`` on."""

    expression: str
    first: int = 0


def bounded_match(connection: apsw.Connection, query: str) -> Match:
    """Return what to look up in ``passage_fts`` for ``query``, with about MATCHES_MAX matches at most."""
    words = [f'"{w}"' for w in terms(query)]
    passages = int(fetch_value(connection, "SELECT coalesce(max(id), 0) FROM passage"))
    if passages * len(words) <= MATCHES_MAX:
        return Match(" OR ".join(words))
    counts = {w: _count(connection, w, COUNTED_MAX) for w in words}
    rare: list[str] = []
    left = MATCHES_MAX
    for word in sorted(words, key=lambda w: counts[w]):
        if counts[word] > left:
            break
        rare.append(word)
        left -= counts[word]
    if len(rare) == len(words):
        return Match(" OR ".join(words))
    common = sorted(set(words) - set(rare), key=lambda w: (counts[w], w))
    together = _together(common, counts, passages, left)
    if _count(connection, together, left + 1) <= left:
        return Match(" OR ".join([*rare, together]))
    if rare:
        return Match(" OR ".join(rare))
    return Match(together, _newest(connection, together))


def _together(words: list[str], counts: dict[str, int], passages: int, most: int) -> str:
    """Return the rarest of these words joined by AND, so many that they should match ``most``
    passages if they were independent."""
    expected, joined = float(passages), 0
    while joined < len(words) and expected > most:
        expected *= counts[words[joined]] / passages
        joined += 1
    return f"({' AND '.join(words[:joined])})"


def _count(connection: apsw.Connection, expression: str, most: int) -> int:
    sql = "SELECT count(*) FROM (SELECT 1 FROM passage_fts WHERE passage_fts MATCH ?1 LIMIT ?2)"
    return int(fetch_value(connection, sql, (expression, most)))


def _newest(connection: apsw.Connection, expression: str) -> int:
    """Return where the newest MATCHES_MAX matches begin."""
    sql = (
        "SELECT min(rowid) FROM (SELECT rowid FROM passage_fts WHERE passage_fts MATCH ?1 "
        "ORDER BY rowid DESC LIMIT ?2)"
    )
    return int(fetch_value(connection, sql, (expression, MATCHES_MAX)))
