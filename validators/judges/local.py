"""The local judge: can an old and a new statement both be the current belief?

Deterministic, without network or model. Each pair of clauses is aligned; the rules of
``conflicts`` say why both cannot hold; what is left is judged by how much each statement repeats
of the other.
"""

from typing import Final, NamedTuple

from keepthread.validators.judges import grammar, lexicon
from keepthread.validators.judges.alignment import Alignment, Gap, align
from keepthread.validators.judges.conflicts import find_conflict
from keepthread.validators.judges.pairs import LONG, TOPIC_MIN, Pair, same_type, typed
from keepthread.validators.judges.reading import Clause, read
from keepthread.validators.judges.tokens import TOKENS_MAX

PAIRS_MAX: Final = 4
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
    note: str = ""  # what the answer should say about how this was judged


def judge(old: Statement, new: Statement, similarity: float | None = None) -> Judgement:
    """Judge ``new`` against ``old``.

    ``similarity`` is the cosine of the two texts' sentence embeddings (all-MiniLM), or None when
    no model is loaded. Takes well under a millisecond for a fact of one sentence; never raises.
    """
    first, second = read(old.text), read(new.text)
    if not first or not second:
        return Judgement("unrelated", 0.5, False, "nothing to compare")
    if _repeats(first, second):
        return Judgement("duplicate", 1.0, True, "says the same")
    pairs = [_pair(one, two, old, new, similarity) for one, two in _nearest_clauses(first, second)]
    found = [conflict for pair in pairs if (conflict := find_conflict(pair))]
    if found:
        return Judgement("contradiction", *max(found, key=lambda one: (one.sure, one.score)))
    single = len(first) == len(second) == 1 and len(pairs) == 1
    return _agreement(
        pairs[0] if single else _pair(_joined(first), _joined(second), old, new, similarity)
    )


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
        frozenset(lexicon.key(word) for word in name if word not in grammar.STOP)
        for name in names
        if name
    )


def _repeats(first: tuple[Clause, ...], second: tuple[Clause, ...]) -> bool:
    """The same words in the same order, denied or retracted alike."""
    said = [
        [token.key for clause in reading for token in clause.tokens] for reading in (first, second)
    ]
    denied = [sum(clause.negated for clause in reading) % 2 for reading in (first, second)]
    over = [{key for clause in reading for key in clause.retracted} for reading in (first, second)]
    return said[0] == said[1] and denied[0] == denied[1] and over[0] == over[1]


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
    few = len(ranked) == 1  # two short statements may share only their subject key
    return [(one, two) for overlap, one, two in ranked[:PAIRS_MAX] if overlap > 0 or few]


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
    return reading[0]._replace(
        tokens=tokens[:TOKENS_MAX],
        negated=sum(clause.negated for clause in reading) % 2 == 1,
        personal=any(clause.personal for clause in reading),
    )


def _agreement(pair: Pair) -> Judgement:
    """No conflict was found: how much does each statement repeat of the other?"""
    both = pair.both
    long = min(len(pair.old.tokens), len(pair.new.tokens)) >= LONG and not pair.personal
    close = pair.similarity if pair.similarity is not None else _estimate(both, long)
    adds = _adds(both, long)
    reworded = len(both.exchanged) > 1 or both.reordered > 1 or _is_idle(pair)
    if both.cover_old >= 0.85 and adds and not (reworded and close >= (0.75 if long else 0.85)):
        return Judgement("refinement", both.cover_old, True, "keeps the statement and adds to it")
    opposed = both.contrasts or both.values or both.opposites or both.negation
    if not opposed and not _is_corrected(pair):
        if both.cover_new >= 0.85 and both.cover_old >= 0.6:
            safe = both.new_only < 0.5 and both.cover_old >= 0.85
            safe = safe and not (both.finer or both.general)
            return Judgement("duplicate", both.cover_new, safe, "says the same")
        if _paraphrases(pair, close, long):
            named = typed(both.left_old + both.left_new)
            safe = (
                not (named or both.exchanged or both.general or adds)
                and (pair.similarity or 0.0) >= 0.9
            )
            safe = safe and min(both.cover_old, both.cover_new) >= 0.6
            return Judgement("duplicate", close, safe, "says the same in other words")
    if both.cover_old >= 0.7 and both.topic >= TOPIC_MIN:
        return Judgement("refinement", both.cover_old, True, "keeps the statement and adds to it")
    topical = both.topic >= 1.5 or pair.same_subject
    if topical and close >= (0.3 if pair.personal else 0.45):
        return Judgement("refinement", 0.5, False, "same topic, another side of it")
    least = min(both.cover_old, both.cover_new)
    return Judgement("unrelated", 1.0 - least, False, "little in common")


def _estimate(both: Alignment, long: bool) -> float:
    """Stands in for the similarity of embeddings: fitted by eye to the overlap of words."""
    return 0.85 * (both.cover_old + both.cover_new) / 2 + (0.2 if long else 0.1)


def _adds(both: Alignment, long: bool) -> bool:
    """Whether the new statement says something of weight that the old one does not."""
    if both.finer:
        return both.finer > 0
    if both.new_only >= 1.0 or (both.new_only > 0.6 and typed(both.left_new)):
        return True
    return not long and any(token.link in ("and", "or", ",") for token in both.left_new)


def _is_idle(pair: Pair) -> bool:
    """One plain word more, and the embeddings say that it changes nothing ("is wearing")."""
    both = pair.both
    if both.old_only or both.new_only > 1.0 or typed(both.left_new):
        return False
    return (pair.similarity or 0.0) >= 0.96 and len(pair.new.tokens) < LONG


def _paraphrases(pair: Pair, close: float, long: bool) -> bool:
    """Near in meaning, and no value or name stands against another.

    In long sentences names and numbers are side details that a paraphrase may exchange.
    """
    both = pair.both
    least = min(both.cover_old, both.cover_new)
    details = ("word", "date", "name", "number", "score") if long else ("word", "date")
    if same_type(Gap(both.left_old, both.left_new, 0, 0), details):
        return False
    floor = 0.25 if long else 0.5 if pair.personal else 0.35
    return (pair.similarity or 0.0) >= 0.85 or (
        close >= (0.64 if long else 0.75) and least >= floor
    )


def _is_corrected(pair: Pair) -> bool:
    """The statements differ in one place, and not by a synonym."""
    if len(pair.both.exchanged) != 1:
        return False
    gap = pair.both.exchanged[0]
    elsewhere = sum(pair.both.alone) - sum(token.weight for side in gap[:2] for token in side)
    return elsewhere < 2.0 and (typed(gap.old + gap.new) or not pair.synonymous)
