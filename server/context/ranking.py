"""The rank of facts: 0.6 relevance + 0.25 recency + 0.15 confidence (settings).

Relevance is hybrid: cosine between the stored vectors of the focus and the fact, and BM25 of the
focus's words, each in 0..1. Recency halves every seven days, counted from the newest fact in
scope, so that the same database gives the same order on any day.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import apsw

from keepthread.stores.clock import seconds
from keepthread.stores.facts import Candidate
from keepthread.stores.fulltext import match_any
from keepthread.stores.query import fetch_all, fetch_one

HALF_LIFE_DAYS = 7.0
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


def relevance(
    connection: apsw.Connection, workspace: int, query: str, focus: int | None
) -> dict[int, float]:
    """Return relevance by fact seq, 0..1, for the words of the focus and its stored vector.

    Facts left out have none.
    """
    found: dict[int, float] = {}
    if focus is not None:
        vector = fetch_one(connection, "SELECT vec FROM record_vector WHERE seq = ?", (focus,))
        if vector is not None:
            rows = fetch_all(
                connection,
                "SELECT v.seq, 1.0 - vec_distance_cosine(v.vec, ?) FROM fact_current f CROSS JOIN record_vector v "
                "USING(seq) WHERE f.workspace IN (?, 0)",
                (vector[0], workspace),
            )
            for seq, cosine in rows:
                if cosine is not None and cosine > COSINE_FLOOR:
                    found[seq] = (cosine - COSINE_FLOOR) / (1 - COSINE_FLOOR)
    match = match_any(query)
    if match:
        rows = fetch_all(
            connection,
            "SELECT rowid, -bm25(record_fts, 1.0, 2.0, 0.5) FROM record_fts WHERE record_fts MATCH ? "
            "AND +rowid IN (SELECT seq FROM fact_current WHERE workspace IN (?, 0)) ORDER BY 2 DESC LIMIT 500",
            (match, workspace),
        )
        best = max((r[1] for r in rows), default=0.0)
        for seq, bm25 in rows:
            lexical = 0.8 * bm25 / best if best > 0 else 0.0
            found[seq] = max(found.get(seq, 0.0), lexical)
    return found


def rank(
    facts: Sequence[Candidate], related: Mapping[int, float], weights: Weights
) -> dict[int, Score]:
    """Return the score of each candidate."""
    times = {f.seq: seconds(f.observed_at) for f in facts}
    newest = max(times.values(), default=0.0)
    scores = {}
    for fact in facts:
        age_days = max(0.0, newest - times[fact.seq]) / 86_400
        recency = math.pow(0.5, age_days / HALF_LIFE_DAYS)
        near = related.get(fact.seq, 0.0)
        total = (
            weights.relevance * near
            + weights.recency * recency
            + weights.confidence * fact.confidence
        )
        scores[fact.seq] = Score(round(total, 6), near, recency, fact.confidence)
    return scores
