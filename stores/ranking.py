"""The rank of passages: their words and their meaning, and those of the conversation they stand in.

A passage counts by its BM25, divided by the best found, and by COSINE_WEIGHT times its cosine with the
query. A turn is often about what the turn before it said, so each takes a share of the words of the
passages before and after it, and of the best in its conversation: passages that follow each other
within CONVERSATION_SECONDS. An identifier of the query that stands in a passage to the letter counts
extra, and a query that asks for the latest prefers the newest. Weights were set on held-in
conversations (docs/evaluation.md).
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

COSINE_WEIGHT = 2.5
COSINE_MIN = 0.2
"""Below it, and with no word in common, a passage is no candidate (unrelated pairs reach .217)."""

SENTENCE_SHARE = 0.8
"""Of the cosine of a passage whose sentences have vectors of their own: the nearest one's."""

SHARE_OF_PREVIOUS, SHARE_OF_NEXT, SHARE_OF_CONVERSATION = 0.5, 0.25, 0.5
CONVERSATION_SECONDS = 3_600.0
IDENTIFIER_BONUS = 0.5
RECENCY_BONUS = 0.6

_TOKEN = re.compile(r"[A-Za-z0-9_./:\\-]+")
_CODE = re.compile(r"[A-Za-z0-9][_./\\][A-Za-z0-9]|[a-z][A-Z]|[0-9][A-Za-z]|[A-Za-z][0-9]|__")
_PLAIN = re.compile(r"\d+(?:st|nd|rd|th|[ap]m)|(?:[A-Za-z]\.)+[A-Za-z]", re.I)
_LATEST = re.compile(
    r"\b(?:latest|newest|most recent|last (?:edit|change|write|run|call|command|output|version|time|error))\b",
    re.I,
)


class Place(NamedTuple):
    """Where a passage stands: its entry, and when that was seen."""

    entry: int
    seconds: float


def identifiers(query: str) -> list[str]:
    """Return the words of a query that only code or a file system spells so: ``a_b``, ``aB``, ``a/b.py``, ``v2``."""
    words = [w.strip(".:-").rstrip("/\\") for w in _TOKEN.findall(query)]
    return [w for w in words if len(w) > 2 and _CODE.search(w) and not _PLAIN.fullmatch(w)]


def totals(
    lexical: Mapping[int, float], cosine: Mapping[int, float], places: Mapping[int, Place]
) -> dict[int, float]:
    """Return what each passage counts that has a word in common or is near in meaning.

    ``lexical`` is BM25, higher is better; a passage that one of the mappings lacks has 0 there.
    """
    best = max(lexical.values(), default=0.0) or 1.0
    words = {p: lexical.get(p, 0.0) / best for p in places}
    conversation = _best_of_conversation(words, places)
    return {
        p: words[p]
        + SHARE_OF_PREVIOUS * _beside(words, places, p, p - 1)
        + SHARE_OF_NEXT * _beside(words, places, p, p + 1)
        + SHARE_OF_CONVERSATION * conversation[p]
        + COSINE_WEIGHT * cosine.get(p, 0.0)
        for p in places
        if words[p] > 0 or cosine.get(p, 0.0) >= COSINE_MIN
    }


def bonuses(query: str, texts: Mapping[int, str], places: Mapping[int, Place]) -> dict[int, float]:
    """Return what passages count beyond that: the query's identifiers, and recency where it asks for it."""
    names = identifiers(query)
    found = {p: 0.0 for p in texts}
    if names:
        for passage, text in texts.items():
            found[passage] += IDENTIFIER_BONUS * sum(n in text for n in names) / len(names)
    if _LATEST.search(query):
        order = {e: n for n, e in enumerate(sorted({places[p].entry for p in texts}))}
        for passage in texts:
            found[passage] += RECENCY_BONUS * order[places[passage].entry] / len(order)
    return found


def _beside(
    words: Mapping[int, float], places: Mapping[int, Place], passage: int, other: int
) -> float:
    if other not in places:
        return 0.0
    apart = abs(places[other].seconds - places[passage].seconds)
    return words[other] if apart <= CONVERSATION_SECONDS else 0.0


def _best_of_conversation(
    words: Mapping[int, float], places: Mapping[int, Place]
) -> dict[int, float]:
    best: dict[int, float] = {}
    conversation: list[int] = []
    for passage in sorted(places):
        if conversation:
            apart = abs(places[passage].seconds - places[conversation[-1]].seconds)
            if apart > CONVERSATION_SECONDS:
                best.update(dict.fromkeys(conversation, max(words[p] for p in conversation)))
                conversation = []
        conversation.append(passage)
    best.update(dict.fromkeys(conversation, max((words[p] for p in conversation), default=0.0)))
    return best
