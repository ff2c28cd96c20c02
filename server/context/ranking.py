"""The rank of facts: 0.6 relevance + 0.25 recency + 0.15 confidence (settings).

Relevance is the best of three, each in 0..1: whether the focus names the fact's subject, the cosine
between the stored vectors of focus and fact, and how much of the focus's rare words the fact holds.
None of them depends on how the other facts fare, and below a floor it is nothing: no fact is
relevant only because no other is more so. Recency halves every seven days, counted from the newest
fact in scope, so that the same database gives the same order on any day.
"""

import heapq
import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import apsw

from keepthread.stores.fact_index import FactIndex
from keepthread.stores.fulltext import terms
from keepthread.stores.query import fetch_all, fetch_one
from keepthread.stores.records import Tags

HALF_LIFE_DAYS = 7.0
_HALF_LIFE_SECONDS = HALF_LIFE_DAYS * 86_400
NAMED = 0.8  # of a fact whose subject the focus names; the cosine gives the rest
LEXICAL_MAX = 0.8  # words in common alone never make a fact fully relevant
COSINE_UNRELATED = 0.25
"""Unrelated pairs of texts never exceeded .217 in measurement."""
RELEVANCE_FLOOR = 0.3  # a cosine of .475, or seven tenths of the rare words
RARE_WORDS = 4
"""A fact that holds as much of the focus as its four rarest words weigh holds enough of it."""
POSTINGS_MAX = 1000
"""A word that stands in more records than this tells nothing about any of them."""


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
    near = _relevance(cosines, _lexical(connection, query, len(facts)), index.named_in(query))
    newest = max((f.observed for f in facts), default=0)
    relevant, fresh, sure = weights
    totals = [  # plain numbers: there may be ten thousand
        (
            relevant * near.get(seq, 0.0) + fresh * _recency(newest - observed) + sure * confidence,
            seq,
            place,
        )
        for place, (seq, observed, confidence, _, _) in enumerate(facts)
    ]
    found = {}
    for total, seq, place in heapq.nlargest(limit, totals):
        fact = facts[place]
        recency = _recency(newest - fact.observed)
        found[seq] = Score(total, near.get(seq, 0.0), recency, fact.confidence)
    return found, len(facts)


def _recency(age_seconds: int) -> float:
    return math.exp2(age_seconds / -_HALF_LIFE_SECONDS)


def _relevance(
    cosines: Mapping[int, float], lexical: Mapping[int, float], named: Iterable[int]
) -> dict[int, float]:
    """Return the relevance of facts by seq; those below the floor are left out."""
    def near_of(cosine: float) -> float:
        return (cosine - COSINE_UNRELATED) / (1 - COSINE_UNRELATED)

    near = {seq: near_of(c) for seq, c in cosines.items() if c > COSINE_UNRELATED}
    found = {seq: NAMED + (1 - NAMED) * near.get(seq, 0.0) for seq in named}
    for shares in (near, lexical):
        for seq, share in shares.items():
            if share >= RELEVANCE_FLOOR and share > found.get(seq, 0.0):
                found[seq] = share
    return found


def _lexical(connection: apsw.Connection, query: str, facts: int) -> dict[int, float]:
    """Return by fact how much of the query's words it holds, each weighed by its rarity among
    so many ``facts``; at most LEXICAL_MAX.

    Half of it is nothing yet: two statements of one workspace often share as much.
    """
    weights: list[float] = []
    held: dict[int, float] = {}
    for word in terms(query):
        rows = fetch_all(
            connection,
            "SELECT rowid FROM record_fts WHERE record_fts MATCH ? LIMIT ?",
            (f'"{word}"', POSTINGS_MAX + 1),
        )
        if len(rows) > POSTINGS_MAX:
            continue
        weight = math.log(1 + facts / (1 + len(rows)))
        weights.append(weight)
        for (seq,) in rows:
            held[seq] = held.get(seq, 0.0) + weight
    enough = sum(sorted(weights, reverse=True)[:RARE_WORDS]) or 1.0
    return {seq: LEXICAL_MAX * min(1.0, 2 * mass / enough - 1) for seq, mass in held.items()}
