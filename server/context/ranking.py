"""The rank of facts: 0.6 relevance + 0.25 recency + 0.15 confidence (settings).

Relevance is hybrid: cosine between the stored vectors of the focus and the fact, and BM25 of the
focus's words, each in 0..1. Recency halves every seven days, counted from the newest fact in
scope, so that the same database gives the same order on any day.
"""

import heapq
import math
from typing import NamedTuple

import apsw

from keepthread.stores.fact_index import FactIndex
from keepthread.stores.fulltext import match_any
from keepthread.stores.query import fetch_all, fetch_one
from keepthread.stores.records import Tags

HALF_LIFE_DAYS = 7.0
LEXICAL_MAX = 0.8  # words in common alone never make a fact fully relevant
COSINE_FLOOR = 0.25
"""Unrelated pairs of texts never exceeded .217 in measurement; below the floor nothing is relevant."""


class Weights(NamedTuple):
    """Shares of the rank."""

    relevance: float = 0.6
    recency: float = 0.25
    confidence: float = 0.15


class Score(NamedTuple):
    """A rank with its parts, each in 0..1."""

    total: float
    relevance: float
    recency: float
    confidence: float

    def parts(self) -> str:
        """Return the parts as ``explain`` shows them."""
        return (
            f"{self.total:.3f} = relevance {self.relevance:.2f}, recency {self.recency:.2f}, "
            f"confidence {self.confidence:.2f}"
        )


def rank_facts(
    connection: apsw.Connection,
    index: FactIndex,
    scope: Tags,
    query: str,
    focus: int | None,
    weights: Weights,
    now: str,
    limit: int,
) -> tuple[dict[int, Score], int]:
    """Return the best facts with their scores, best first, and how many there are in scope.

    The scope rule comes before any similarity. ``query`` and the stored vector of the record
    ``focus`` are what relevance is measured against.
    """
    facts = index.candidates(connection, scope, now)
    row = fetch_one(connection, "SELECT vec FROM record_vector WHERE seq = ?", (focus,))
    cosines = index.cosines(connection, row[0]) if row is not None else {}
    near = {
        seq: (cosine - COSINE_FLOOR) / (1 - COSINE_FLOOR)
        for seq, cosine in cosines.items()
        if cosine > COSINE_FLOOR
    }
    for seq, share in _lexical(connection, query).items():
        near[seq] = max(near.get(seq, 0.0), share)
    newest = max((f.observed for f in facts), default=0)
    share, fresh, sure = weights
    half_life = HALF_LIFE_DAYS * 86_400
    totals = [  # plain numbers: there may be ten thousand
        (
            round(
                share * near.get(f.seq, 0.0)
                + fresh * math.pow(0.5, (newest - f.observed) / half_life)
                + sure * f.confidence,
                6,
            ),
            f.seq,
            f,
        )
        for f in facts
    ]
    return {
        seq: Score(
            total,
            near.get(seq, 0.0),
            math.pow(0.5, (newest - fact.observed) / half_life),
            fact.confidence,
        )
        for total, seq, fact in heapq.nlargest(limit, totals)
    }, len(facts)


def _lexical(connection: apsw.Connection, query: str) -> dict[int, float]:
    """Return BM25 of the query's words by fact, as a share of the best, at most LEXICAL_MAX."""
    match = match_any(query)
    if not match:
        return {}
    rows = fetch_all(
        connection,
        "SELECT rowid, -bm25(record_fts, 1.0, 2.0, 0.5) FROM record_fts WHERE record_fts MATCH ? "
        "ORDER BY 2 DESC LIMIT 1000",
        (match,),
    )
    best = max((r[1] for r in rows), default=0.0)
    return {seq: LEXICAL_MAX * bm25 / best for seq, bm25 in rows} if best > 0 else {}
