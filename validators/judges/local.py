"""The local judge: can an old and a new statement both be the current belief?

Deterministic, without network or model. Each pair of clauses is aligned; the rules of
``conflicts`` say why both cannot hold; what is left is judged by how much each statement repeats
of the other.
"""

from typing import Final, NamedTuple

from keepthread.validators.judges import lexicon
from keepthread.validators.judges.alignment import Alignment, Gap, align
from keepthread.validators.judges.conflicts import (
    TOPIC_MIN,
    Pair,
    find_conflict,
    same_type,
    typed,
)
from keepthread.validators.judges.reading import Clause, read
from keepthread.validators.judges.tokens import TOKENS_MAX

PAIRS_MAX: Final = 6
"""How many pairs of clauses of two longer texts are compared: those with most in common."""


class Statement(NamedTuple):
    """A fact as the judge sees it; ``subject`` is a short key with aliases ("a | b")."""

    text: str
    subject: str = ""
    kind: str = "observation"


class Judgement(NamedTuple):
    """``label`` is contradiction, duplicate, refinement or unrelated; ``score`` 0..1 trust in it.

    A contradiction that is not ``sure`` is a dispute: both statements stay. A duplicate that is
    not ``sure`` says the same in other words or says less: not safe to merge. ``why`` is a phrase
    for people.
    """

    label: str
    score: float
    sure: bool
    why: str


def judge(old: Statement, new: Statement, similarity: float | None = None) -> Judgement:
    """Judge ``new`` against ``old``.

    ``similarity`` is the cosine of the two texts' sentence embeddings (all-MiniLM), or None when
    no model is loaded. Takes well under a millisecond for a fact of one sentence; never raises.
    """
    first, second = read(old.text), read(new.text)
    if not first or not second:
        return Judgement("unrelated", 0.5, False, "nothing to compare")
    whole = _pair(_joined(first), _joined(second), old, new, similarity)
    if _repeats(first, second, whole.both):
        return Judgement("duplicate", 1.0, True, "says the same")
    pairs = [whole]
    if len(first) + len(second) > 2:
        best = _nearest_clauses(first, second)
        pairs = [_pair(one, two, old, new, similarity) for one, two in best]
    found = [conflict for pair in pairs if (conflict := find_conflict(pair))]
    if found:
        return Judgement("contradiction", *max(found, key=lambda one: (one.sure, one.score)))
    return _agreement(whole)


def _pair(
    one: Clause, two: Clause, old: Statement, new: Statement, similarity: float | None
) -> Pair:
    names = _aliases(old.subject), _aliases(new.subject)
    same = bool(names[0] & names[1])
    words = [frozenset[str]().union(*name) for name in names]
    return Pair(
        old=one,
        new=two,
        both=align(one, two),
        same_subject=same,
        other_subject=bool(words[0] - words[1] and words[1] - words[0]) and not same,
        attribute=same and any(name & lexicon.FUNCTIONAL for name in names[0] & names[1]),
        similarity=similarity,
    )


def _aliases(subject: str) -> frozenset[frozenset[str]]:
    names = (name.split() for name in subject.lower().split("|"))
    return frozenset(
        frozenset(lexicon.key(word) for word in name if word not in lexicon.STOP)
        for name in names
        if name
    )


def _repeats(first: tuple[Clause, ...], second: tuple[Clause, ...], both: Alignment) -> bool:
    """The same words in the same order, denied or retracted alike."""
    if both.left_old or both.left_new or both.reordered or both.flipped or both.finer:
        return False
    denied = [sum(clause.negated for clause in reading) % 2 for reading in (first, second)]
    over = [
        frozenset[str]().union(*(clause.retracted for clause in reading))
        for reading in (first, second)
    ]
    return denied[0] == denied[1] and over[0] == over[1]


def _nearest_clauses(
    first: tuple[Clause, ...], second: tuple[Clause, ...]
) -> list[tuple[Clause, Clause]]:
    said = {_said(clause) for clause in first} & {_said(c) for c in second}
    old, new = (
        [clause for clause in reading if _said(clause) not in said] for reading in (first, second)
    )
    ranked = sorted(
        ((_overlap(one, two), one, two) for one in old for two in new),
        key=lambda item: -item[0],
    )
    return [(one, two) for overlap, one, two in ranked[:PAIRS_MAX] if overlap > 0]


def _said(clause: Clause) -> tuple[str | bool, ...]:
    return (clause.negated, *(token.key for token in clause.tokens))


def _overlap(one: Clause, two: Clause) -> float:
    keys = {token.key for token in two.tokens} | two.retracted
    shared = sum(t.weight for t in one.tokens if t.key in keys and t.kind != "number")
    return shared + len(one.retracted & keys)


def _joined(reading: tuple[Clause, ...]) -> Clause:
    if len(reading) == 1:
        return reading[0]
    tokens = tuple(token for clause in reading for token in clause.tokens)
    return reading[0]._replace(tokens=tokens[:TOKENS_MAX])


def _agreement(pair: Pair) -> Judgement:
    """No conflict was found: how much does each statement repeat of the other?"""
    both = pair.both
    mean = (both.cover_old + both.cover_new) / 2
    close = pair.similarity if pair.similarity is not None else 0.1 + 0.85 * mean
    least = min(both.cover_old, both.cover_new)
    opposed = bool(both.contrasts or both.values or both.opposites or both.negation)
    corrected = len(both.exchanged) == 1 and (same_type(both.exchanged[0]) or not pair.synonymous)
    news = min(len(pair.old.tokens), len(pair.new.tokens)) >= 8 and not pair.personal
    adds = both.new_only >= 1.0 or (both.new_only > 0.6 and typed(both.left_new))
    adds = adds or (not news and any(t.link in ("and", "or", ",") for t in both.left_new))
    adds = (adds or both.finer > 0) and both.finer >= 0
    reworded = close >= 0.85 and (len(both.exchanged) > 1 or both.reordered > 1)
    if both.cover_old >= 0.85 and adds and not reworded:
        return Judgement("refinement", both.cover_old, True, "keeps the statement and adds to it")
    if not opposed and not corrected:
        if both.cover_new >= 0.85 and both.cover_old >= 0.6:
            safe = both.new_only < 0.5 and both.cover_old >= 0.85 and not both.finer
            return Judgement("duplicate", mean, safe, "says the same")
        near = close >= (0.64 if news else 0.75) and least >= (0.25 if news else 0.35)
        near = near or (pair.similarity or 0.0) >= 0.85
        plain = {"word", "date", "name"} if news else {"word", "date"}
        if near and not same_type(Gap(both.left_old, both.left_new, 0, 0), plain):
            alike = not (typed(both.left_old + both.left_new) or both.exchanged or adds)
            safe = alike and (pair.similarity or 0.0) >= 0.9 and least >= 0.6
            return Judgement("duplicate", close, safe, "says the same in other words")
    if both.cover_old >= 0.7 and both.topic >= TOPIC_MIN:
        return Judgement("refinement", both.cover_old, True, "keeps the statement and adds to it")
    topical = 0.3 if pair.personal else 0.45
    if close >= topical and (both.topic >= 1.5 or pair.same_subject):
        return Judgement("refinement", 0.5, False, "same topic, another side of it")
    return Judgement("unrelated", 1.0 - least, False, "little in common")
