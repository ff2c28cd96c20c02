"""The rank of facts: 0.6 relevance + 0.25 recency + 0.15 confidence (settings).

Relevance is hybrid: cosine between the stored vectors of the focus and the fact, and BM25 of the
focus's words, each in 0..1. Recency halves every seven days, counted from the newest fact in
scope, so that the same database gives the same order on any day.
"""

import heapq
import math
from typing import NamedTuple

import apsw

from keepthread.stores.facts import candidates, out_of_scope
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
    workspace: int,
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
    row = fetch_one(connection, "SELECT vec FROM record_vector WHERE seq = ?", (focus,))
    rows = candidates(connection, workspace, now, row[0] if row is not None else None)
    if scope:
        foreign = out_of_scope(connection, scope)
        rows = [r for r in rows if r[0] not in foreign]
    lexical = _lexical(connection, query)
    newest = max((r[1] for r in rows), default=0)
    scores: list[tuple[float, int, Score]] = []
    for seq, observed, confidence, cosine in rows:
        near = max(0.0, (cosine or 0.0) - COSINE_FLOOR) / (1 - COSINE_FLOOR)
        near = max(near, lexical.get(seq, 0.0))
        recency = math.pow(0.5, (newest - observed) / (HALF_LIFE_DAYS * 86_400))
        total = (
            weights.relevance * near + weights.recency * recency + weights.confidence * confidence
        )
        scores.append((round(total, 6), seq, Score(total, near, recency, confidence)))
    best = heapq.nlargest(limit, scores, key=lambda s: s[:2])
    return {seq: score for _, seq, score in best}, len(rows)


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
