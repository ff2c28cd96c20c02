"""The local judge: can an old and a new statement both be the current belief?

Deterministic, without network or model. Each pair of clauses is aligned and a short list of
rules, strongest first, says why both cannot hold; what is left is judged by how much each
statement repeats of the other. A wrong supersession hides a true fact, so ``sure`` is kept for
conflicts in statements that otherwise say the same of the same subject.
"""

from typing import Final, NamedTuple

from keepthread.validators.judges import lexicon
from keepthread.validators.judges.alignment import Alignment, Gap, align
from keepthread.validators.judges.reading import Clause, Reading, Token, read

PAIRS_MAX: Final = 6
TOPIC_MIN: Final = 1.0


class Statement(NamedTuple):
    """A fact as the judge sees it; ``subject`` is a short key with aliases ("a | b")."""

    text: str
    subject: str = ""
    kind: str = "observation"


class Judgement(NamedTuple):
    """``label`` is contradiction, duplicate, refinement or unrelated; ``score`` 0..1.

    A contradiction that is not ``sure`` is filed as a dispute, both statements stay. ``why`` is
    a phrase for people.
    """

    label: str
    score: float
    sure: bool
    why: str


class _Pair(NamedTuple):
    old: Clause
    new: Clause
    both: Alignment
    same_subject: bool
    similarity: float | None


def judge(old: Statement, new: Statement, similarity: float | None = None) -> Judgement:
    """Judge ``new`` against ``old``.

    ``similarity`` is the cosine of the two texts' sentence embeddings (all-MiniLM), or None when
    no model is loaded. Takes well under a millisecond and never raises.
    """
    first, second = read(old.text), read(new.text)
    if not first.clauses or not second.clauses:
        return Judgement("unrelated", 0.5, False, "nothing to compare")
    shared_subject = bool(_aliases(old.subject) & _aliases(new.subject))
    whole = _whole(first, second, shared_subject, similarity)
    if _repeats(first, second, whole.both):
        return Judgement("duplicate", 1.0, True, "says the same")
    pairs = _clause_pairs(first, second, shared_subject, similarity)
    found = [conflict for pair in pairs if (conflict := _conflict(pair))]
    if found:
        return max(found, key=lambda judgement: (judgement.sure, judgement.score))
    return _agreement(whole)


def _repeats(first: Reading, second: Reading, both: Alignment) -> bool:
    """The same words in the same order, denied or retracted alike."""
    if both.left_old or both.left_new or both.reordered:
        return False
    denied = [sum(clause.negated for clause in reading.clauses) % 2 for reading in (first, second)]
    over = [frozenset().union(*(c.retracted for c in r.clauses)) for r in (first, second)]
    return denied[0] == denied[1] and over[0] == over[1]


def _aliases(subject: str) -> frozenset[frozenset[str]]:
    names = (name.split() for name in subject.lower().split("|"))
    return frozenset(
        frozenset(lexicon.key(word) for word in name if word not in lexicon.STOP)
        for name in names
        if name
    )


def _clause_pairs(
    first: Reading, second: Reading, shared_subject: bool, similarity: float | None
) -> list[_Pair]:
    """The pairs of clauses with most in common; of short texts all of them."""
    ranked = sorted(
        ((_overlap(one, two), one, two) for one in first.clauses for two in second.clauses),
        key=lambda item: -item[0],
    )
    best = [item for item in ranked[:PAIRS_MAX] if item[0] > 0 or shared_subject]
    return [_Pair(one, two, align(one, two), shared_subject, similarity) for _, one, two in best]


def _overlap(one: Clause, two: Clause) -> float:
    keys = {token.key for token in two.tokens} | two.retracted
    return sum(t.weight for t in one.tokens if t.key in keys and t.kind != "number") + len(
        one.retracted & keys
    )


def _whole(
    first: Reading, second: Reading, shared_subject: bool, similarity: float | None
) -> _Pair:
    one, two = _joined(first), _joined(second)
    return _Pair(one, two, align(one, two), shared_subject, similarity)


def _joined(reading: Reading) -> Clause:
    if len(reading.clauses) == 1:
        return reading.clauses[0]
    tokens = tuple(token for clause in reading.clauses for token in clause.tokens)
    return reading.clauses[0]._replace(tokens=tokens[:64])


def _conflict(pair: _Pair) -> Judgement | None:
    """The first reason found why both clauses cannot hold now."""
    for rule in (_retraction, _polarity, _measure, _slot, _framed, _roles):
        if judgement := rule(pair):
            return judgement
    return None


def _contradiction(score: float, sure: bool, why: str) -> Judgement:
    return Judgement("contradiction", score, sure and score >= 0.6, why)


def _retraction(pair: _Pair) -> Judgement | None:
    """One clause says that what the other states is over."""
    old, new, both = pair.old, pair.new, pair.both
    said = {token.key for token in old.tokens} & new.retracted - {t.key for t in new.tokens}
    again = {token.key for token in new.tokens} & old.retracted - {t.key for t in old.tokens}
    gone = said or again
    if not gone or not (both.topic >= TOPIC_MIN or pair.same_subject):
        return None
    return _contradiction(0.9 if said else 0.7, True, f"{_listed(gone)} is said to be over")


def _listed(keys: set[str]) -> str:
    return " ".join(sorted(keys))[:60]


def _polarity(pair: _Pair) -> Judgement | None:
    """One clause denies what the other states, by a negation or by an opposite word."""
    both = pair.both
    negation = _denies(pair.old, both.left_old) != _denies(pair.new, both.left_new)
    if negation == bool(both.opposites) or _different_things(pair, both.opposites):
        return None
    known = sum(min(one.weight, two.weight) for one, two in both.opposites)
    cover, wide = sorted(
        _cover(both.shared, alone - known) for alone in (both.old_only, both.new_only)
    )
    if both.topic < TOPIC_MIN and not (pair.same_subject or cover >= 0.6):
        return None
    near = pair.similarity is not None and pair.similarity >= 0.58
    enough = cover >= 0.45 or (both.topic >= 1.5 and (wide >= 0.7 or near))
    if negation and not enough:
        return None
    if not negation and cover < 0.35:
        return None
    why = "negation differs"
    if not negation:
        one, two = both.opposites[0]
        why = f"{one.text.lower()} became {two.text.lower()}"
    return _contradiction(0.5 + cover / 2, cover >= 0.7 and not pair.old.past, why)


def _cover(shared: float, alone: float) -> float:
    return shared / max(shared + alone, 0.01)


def _denies(clause: Clause, alone: tuple[Token, ...]) -> bool:
    dropped = any(token.key in lexicon.NEGATIVE_VERBS for token in alone)
    return clause.negated != dropped


def _different_things(pair: _Pair, known: tuple[tuple[Token, Token], ...] = ()) -> bool:
    """The clauses speak of two subjects, or of two qualified cases of one subject."""
    both = pair.both
    if pair.old.personal and pair.new.personal:
        return False  # both speak of the speaker
    if any(contrast not in known for contrast in both.contrasts):
        return True
    explained = {token for couple in known for token in couple}
    for gap in both.gaps:
        if gap.start_old < pair.old.subject and gap.start_new < pair.new.subject:
            old = [t for t in gap.old if t not in explained and t.weight > 0.5]
            new = [t for t in gap.new if t not in explained and t.weight > 0.5]
            if old and new:
                return True
    return False


def _measure(pair: _Pair) -> Judgement | None:
    """One quantity or version with two values."""
    both = pair.both
    if not both.values or _different_things(pair) or (pair.old.episodic and pair.new.episodic):
        return None
    personal = pair.old.personal and pair.new.personal
    one, two = both.values[0]
    couple = one.weight + two.weight
    cover = _cover(both.shared, max(0.0, both.old_only + both.new_only - couple) / 2)
    if both.topic < TOPIC_MIN and not (pair.same_subject or cover >= 0.6):
        return None
    if cover < (0.1 if personal else 0.25):
        return None
    sure = cover >= 0.6 and len(both.values) <= 2 and not pair.old.past
    return _contradiction(0.55 + 0.4 * cover, sure, f"{one.text} became {two.text}")


def _slot(pair: _Pair) -> Judgement | None:
    """One place of an otherwise shared statement holds something else."""
    both = pair.both
    replaced = [gap for gap in both.gaps if gap.old and gap.new]
    if len(replaced) != 1 or (pair.old.episodic and pair.new.episodic):
        return None
    gap = replaced[0]
    before = gap.start_old < pair.old.subject and gap.start_new < pair.new.subject
    shared = {token.key for token in pair.old.tokens} & {token.key for token in pair.new.tokens}
    if before and not shared & lexicon.INVERSE_FUNCTIONAL:
        return None
    if any(contrast for contrast in both.contrasts) and not shared & lexicon.FUNCTIONAL:
        return None
    old_gap, new_gap = (sum(t.weight for t in side) for side in (gap.old, gap.new))
    extra = both.old_only - old_gap + both.new_only - new_gap
    cover = _cover(both.shared, max(0.0, extra) + max(0.0, max(old_gap, new_gap) - 1.5))
    typed = _same_type(gap)
    functional = bool(shared & lexicon.FUNCTIONAL)
    enough = 0.5 if typed or functional else 0.7
    if not (pair.same_subject or both.shared >= 1.0) or cover < enough:
        return None
    if max(len(gap.old), len(gap.new)) > (4 if typed or functional else 1):
        return None
    if not typed and not functional and pair.similarity is not None and pair.similarity >= 0.92:
        return None
    sure = cover >= 0.75 and (functional or pair.same_subject) and extra <= 0.5
    return _contradiction(0.4 + 0.5 * cover, sure, f"{_phrase(gap.old)} became {_phrase(gap.new)}")


def _typed(tokens: tuple[Token, ...]) -> bool:
    return any(token.kind in ("code", "name", "version", "number") for token in tokens)


def _same_type(gap: Gap) -> bool:
    kinds = [{token.kind for token in side} - {"word"} for side in (gap.old, gap.new)]
    return bool(kinds[0] & kinds[1])


def _phrase(tokens: tuple[Token, ...]) -> str:
    return " ".join(token.text for token in tokens)[:40]


def _roles(pair: _Pair) -> Judgement | None:
    """The same words with two participants exchanged ("A calls B" / "B calls A")."""
    both = pair.both
    if both.reordered != 1 and both.reordered != 2:
        return None
    if both.left_old or both.left_new or pair.old.passive != pair.new.passive:
        return None
    first, last = pair.old.tokens[0], pair.old.tokens[-1]
    if first.key == pair.new.tokens[-1].key or last.key == pair.new.tokens[0].key:
        return _contradiction(0.6, False, "the roles are exchanged")
    return None


def _framed(pair: _Pair) -> Judgement | None:
    """One name between two words that both clauses share ("Premier _ status")."""
    for gap in pair.both.gaps:
        if len(gap.old) != 1 or len(gap.new) != 1 or gap.old[0].kind == "word":
            continue
        if gap.old[0].kind != gap.new[0].kind or not gap.start_old or not gap.start_new:
            continue
        around = [
            [t.key for t in clause.tokens[start - 1 : start + 2 : 2]]
            for clause, start in ((pair.old, gap.start_old), (pair.new, gap.start_new))
        ]
        if len(around[0]) == 2 and around[0] == around[1]:
            why = f"{_phrase(gap.old)} became {_phrase(gap.new)}"
            return _contradiction(0.5, False, why)
    return None


def _agreement(pair: _Pair) -> Judgement:
    """No conflict was found: how much does each statement repeat of the other?"""
    both, similarity = pair.both, pair.similarity
    cover_old, cover_new = both.cover_old, both.cover_new
    mean = (cover_old + cover_new) / 2
    close = similarity if similarity is not None else 0.1 + 0.85 * mean
    exchanged = [gap for gap in both.gaps if gap.old and gap.new]
    replaced = len(exchanged) == 1 and _same_type(exchanged[0])
    adds = both.new_only > 0.6 and (both.new_only >= 1.5 or _typed(both.left_new))
    reworded = len(exchanged) > 1 and close >= 0.85
    if cover_old >= 0.85 and adds and not reworded:
        return Judgement("refinement", cover_old, True, "keeps the statement and adds to it")
    if cover_new >= 0.85 and cover_old >= 0.6 and not replaced:
        return Judgement("duplicate", mean, not both.gaps or not adds, "says the same")
    if close >= 0.75 and min(cover_old, cover_new) >= 0.35 and not replaced:
        return Judgement("duplicate", close, False, "says the same in other words")
    if cover_old >= 0.7 and both.topic >= TOPIC_MIN:
        return Judgement("refinement", cover_old, True, "keeps the statement and adds to it")
    if close >= 0.45 and (both.topic >= 1.5 or pair.same_subject):
        return Judgement("refinement", 0.5, False, "same topic, another side of it")
    return Judgement("unrelated", 1.0 - max(cover_old, cover_new), False, "little in common")
