"""Why two clauses cannot both hold now: six rules over an alignment, strongest first.

Each rule is a function ``Pair -> Conflict | None``. A conflict is ``sure`` only where the rest of
the two clauses says the same of the same subject: a wrong supersession hides a true fact.
"""

from collections.abc import Collection
from typing import Final, NamedTuple

from keepthread.validators.judges import lexicon
from keepthread.validators.judges.alignment import Alignment, Gap
from keepthread.validators.judges.reading import Clause
from keepthread.validators.judges.tokens import TOKENS_MAX, Token

TOPIC_MIN: Final = 1.0
"""Shared content (in token weights) below which two clauses have no topic in common."""
COVER_SURE: Final = 0.6
NEAR_IN_MEANING: Final = 0.58
SAME_IN_MEANING: Final = 0.9

_SCOPES: Final = frozenset({"always", "never", "often", "sometimes", "rarely"})


class Pair(NamedTuple):
    """Two clauses, their alignment, and what is known of the statements they come from.

    ``same_subject`` / ``other_subject``: the statements' subject keys agree, or name other things.
    """

    old: Clause
    new: Clause
    both: Alignment
    same_subject: bool = False
    other_subject: bool = False
    attribute: bool = False
    similarity: float | None = None

    @property
    def personal(self) -> bool:
        """Both clauses are about the speaker."""
        return self.old.personal and self.new.personal

    @property
    def episodic(self) -> bool:
        """Both clauses tell of something going on with anyone of a kind."""
        return self.old.episodic and self.new.episodic

    @property
    def current(self) -> bool:
        return not (self.old.past or self.new.past)

    @property
    def synonymous(self) -> bool:
        """So near in meaning that a plain word exchanged for another is a synonym."""
        return (self.similarity or 0.0) >= SAME_IN_MEANING

    @property
    def shared_keys(self) -> frozenset[str]:
        return frozenset(t.key for t in self.old.tokens) & {t.key for t in self.new.tokens}


class Conflict(NamedTuple):
    """``score`` 0..1; not ``sure``: worth a dispute, not enough to supersede."""

    score: float
    sure: bool
    why: str


def find_conflict(pair: Pair) -> Conflict | None:
    """The first rule that finds a conflict, or None."""
    for rule in (_retraction, _polarity, _scope):
        if conflict := rule(pair):
            return conflict
    if pair.both.negation:
        return None  # denied of something else
    for rule in (_measure, _attribute, _slot, _framed, _roles):
        if conflict := rule(pair):
            return conflict
    return None


def cover(shared: float, alone: float) -> float:
    """Share of a weight that is common (0..1)."""
    return shared / max(shared + alone, 0.01)


def typed(tokens: tuple[Token, ...]) -> bool:
    """Whether a value or the name of a thing is among the tokens."""
    return any(token.kind != "word" for token in tokens)


def same_type(gap: Gap, but: Collection[str] = ("word",)) -> bool:
    """Whether tokens of one kind, other than ``but``, stand on both sides of the gap."""
    kinds = {token.kind for token in gap.old} & {token.kind for token in gap.new}
    return bool(kinds.difference(but))


def _retraction(pair: Pair) -> Conflict | None:
    """One clause says that what the other states is over."""
    old, new, both = pair.old, pair.new, pair.both
    said = {t.key for t in old.tokens} & new.retracted - {t.key for t in new.tokens}
    again = {t.key for t in new.tokens} & old.retracted - {t.key for t in old.tokens}
    gone = {key for key in said or again if key not in lexicon.LIGHT}
    topical = both.topic >= TOPIC_MIN or pair.same_subject
    if not topical and not pair.personal:
        stated = old.tokens[old.subject :] if said else new.tokens[new.subject :]
        gone = {token.key for token in stated if token.key in gone and token.kind == "code"}
    if not gone or pair.other_subject:
        return None
    side = both.left_old if said else both.left_new
    rest = sum(token.weight for token in side if token.key not in gone)
    sure = topical and rest <= both.shared + 0.5
    why = f"{' '.join(sorted(gone))[:60]} is said to be over"
    return Conflict(0.9 if said else 0.7, sure, why)


def _polarity(pair: Pair) -> Conflict | None:
    """One clause denies what the other states, by a negation or by an opposite word."""
    both = pair.both
    negation = both.negation
    if both.flipped or negation == bool(both.opposites):
        return None
    scoped = any(_SCOPES & {one.key, two.key} for one, two in both.opposites)
    if not scoped and _different_things(pair, both.opposites):
        return None
    known = sum(min(one.weight, two.weight) for one, two in both.opposites)
    least, most = sorted(cover(both.shared, alone - known) for alone in both.alone)
    if both.topic < TOPIC_MIN and not (pair.same_subject or least >= COVER_SURE):
        return None
    if negation:
        near = (pair.similarity or 0.0) >= NEAR_IN_MEANING
        if not (pair.episodic or (pair.similarity or 0.0) >= 0.7) and _other_object(pair):
            return None
        if least < 0.45 and not (both.topic >= 1.5 and (most >= 0.7 or near)):
            return None
        why = "negation differs"
    else:
        if least < 0.35:
            return None
        one, two = both.opposites[0]
        why = f"{one.text.lower()} became {two.text.lower()}"
    sure = least >= 0.7 and pair.current and not _differs_elsewhere(pair, both.opposites)
    return Conflict(0.5 + least / 2, sure, why)


def _other_object(pair: Pair) -> bool:
    """The predicates speak of two things ("handles comments", "does not handle macros")."""
    return any(
        not _in_subject(pair, gap)
        and all(any(token.weight > 0.5 for token in side) for side in gap[:2])
        for gap in pair.both.exchanged
    )


def _differs_elsewhere(pair: Pair, known: tuple[tuple[Token, Token], ...]) -> bool:
    """Each clause says something else besides the known pairs: it may be about something else."""
    explained = {token for couple in known for token in couple}
    return all(
        any(token not in explained and token.weight > 0.5 for token in side)
        for side in (pair.both.left_old, pair.both.left_new)
    )


def _scope(pair: Pair) -> Conflict | None:
    """ "Only X" against "X and Y"."""
    both = pair.both
    scopes = pair.old.scope, pair.new.scope
    if (scopes[0] == "only") == (scopes[1] == "only") or both.negation:
        return None
    if both.topic < TOPIC_MIN or max(both.cover_old, both.cover_new) < 0.4:
        return None
    wider = both.left_new if scopes[0] == "only" else both.left_old
    if "all" not in scopes and not any(token.link in ("and", "or", ",") for token in wider):
        return None
    return Conflict(0.6, False, "one of them says only")


def _different_things(pair: Pair, known: tuple[tuple[Token, Token], ...] = ()) -> bool:
    """The clauses speak of two subjects, or of two qualified cases of one subject."""
    both = pair.both
    if pair.other_subject:
        return True
    if pair.same_subject:
        return False
    if pair.personal and not (pair.old.possessive and pair.new.possessive):
        return False  # both speak of the speaker
    if any(contrast not in known for contrast in both.contrasts):
        return True
    for gap in both.gaps:
        if not _in_subject(pair, gap) or _one_holder(pair):
            continue
        if any(one in gap.old and two in gap.new for one, two in both.opposites):
            return True
        sides = [[t for t in side if t.weight > 0.5] for side in gap[:2]]
        if sides[0] and sides[1]:
            return True
    return False


def _one_holder(pair: Pair) -> bool:
    """The shared predicate holds of one subject at a time ("owns billing", "is the default")."""
    if len(pair.both.exchanged) > 1:
        return False
    return (pair.old.definite and pair.new.definite) or any(
        token.key in lexicon.INVERSE_FUNCTIONAL and token.key in {t.key for t in pair.new.tokens}
        for token in pair.old.tokens[pair.old.subject :]
    )


def _in_subject(pair: Pair, gap: Gap) -> bool:
    return gap.start_old < pair.old.subject and gap.start_new < pair.new.subject


def _measure(pair: Pair) -> Conflict | None:
    """One quantity or version with two values."""
    both = pair.both
    if not both.values or pair.episodic or _different_things(pair) or _other_predicate(pair):
        return None
    one, two = both.values[0]
    rest = max(0.0, sum(both.alone) - one.weight - two.weight) / 2
    part = cover(both.shared, rest)
    if both.topic < TOPIC_MIN and not (pair.same_subject or part >= COVER_SURE):
        return None
    if part < (0.1 if pair.personal or both.topic >= 3.0 else 0.25):
        return None
    elsewhere = _differs_elsewhere(pair, both.values)
    if pair.personal and elsewhere and both.topic < 2.0 and not set(one.near) & set(two.near):
        return None
    sure = part >= COVER_SURE and pair.current and not elsewhere
    return Conflict(0.55 + 0.4 * part, sure, f"{one.text} became {two.text}")


def _other_predicate(pair: Pair) -> bool:
    """Both clauses have a main verb or participle of their own, and they differ."""
    old, new = pair.old.verb, pair.new.verb
    if not old or not new or pair.personal:
        return False
    return old != new and not {old, new} & pair.shared_keys


def _attribute(pair: Pair) -> Conflict | None:
    """Statements of one attribute ("build command", "owner") that give it two values."""
    both = pair.both
    if not (pair.same_subject and pair.attribute):
        return None
    left = [[t for t in side if t.weight > 0.5] for side in (both.left_old, both.left_new)]
    if not left[0] or not left[1] or max(map(len, left)) > 4:
        return None
    kinds = [{token.kind for token in side} for side in left]
    if not (kinds[0] & kinds[1] or "code" in kinds[0] | kinds[1]) or _other_predicate(pair):
        return None
    bare = all(not clause.verb and len(clause.tokens) <= 4 for clause in (pair.old, pair.new))
    single = kinds[0] == kinds[1] and len(kinds[0]) == 1 and (bare or kinds[0] != {"word"})
    why = f"same subject, {_phrase(left[0])} became {_phrase(left[1])}"
    return Conflict(0.85 if single else 0.6, single and pair.current, why)


def _slot(pair: Pair) -> Conflict | None:
    """One place of an otherwise shared statement holds something else."""
    both = pair.both
    gap, shared = _only_gap(both), pair.shared_keys
    if gap is None or pair.episodic or pair.other_subject or both.flipped:
        return None
    if _in_subject(pair, gap) and not _one_holder(pair):
        return None
    if shared & lexicon.ADDITIVE or _other_predicate(pair):
        return None
    if "prefer" in shared and not typed(gap.old + gap.new):
        return None  # two tastes, unless they are opposite
    functional = _functional(pair, gap)
    named = same_type(gap, {"word", "number"}) or _contrasted(pair, gap)
    longest = max(len(gap.old), len(gap.new))
    weights = [sum(token.weight for token in side) for side in gap[:2]]
    extra = max(0.0, sum(both.alone) - sum(weights))
    tight = extra == 0 and len(pair.old.tokens) <= 8 and not _has_verb(pair, gap)
    if not (named or functional) and _counted(gap):
        return None
    if longest > (4 if named or functional else 2 if tight else 1) or _two_slots(gap):
        return None
    part = cover(both.shared, extra + max(0.0, max(weights) - 1.5) / 3)
    if both.shared < (0.5 if functional else 1.0) and not pair.same_subject:
        return None
    if part < (0.7 if not (named or functional) else 0.5 if both.topic else 0.3):
        return None
    if not (named or functional) and pair.synonymous:
        return None  # two plain words in one place, and the sentences mean the same: synonyms
    sure = part >= 0.75 and (functional or pair.attribute) and extra <= 0.5 and pair.current
    sure = sure and not pair.both.contrasts and (named or longest == 1)
    return Conflict(0.4 + 0.5 * part, sure, f"{_phrase(gap.old)} became {_phrase(gap.new)}")


def _only_gap(both: Alignment) -> Gap | None:
    """The one place where the clauses differ, also if the rest was said in another order."""
    if len(both.exchanged) == 1:
        return both.exchanged[0]
    gap = Gap(both.left_old, both.left_new, TOKENS_MAX, TOKENS_MAX)
    if both.exchanged or not gap.old or not gap.new or max(map(len, gap[:2])) > 2:
        return None
    return gap if same_type(gap) or len(gap.old) == len(gap.new) == 1 else None


def _has_verb(pair: Pair, gap: Gap) -> bool:
    verbs = pair.old.verb, pair.new.verb
    return any(t.key == verb for side, verb in zip(gap[:2], verbs, strict=True) for t in side)


def _counted(gap: Gap) -> bool:
    return all(any(token.kind in ("number", "version") for token in side) for side in gap[:2])


def _contrasted(pair: Pair, gap: Gap) -> bool:
    """Two qualifiers of one kind in the gap ("on Tuesdays", "in the morning")."""
    if not pair.personal and (len(gap.old) > 1 or len(gap.new) > 1):
        return False
    both = pair.both
    return any(one in gap.old and two in gap.new for one, two in both.contrasts)


def _two_slots(gap: Gap) -> bool:
    """Two things differ: "JWT for authentication" / "Redis for caching"."""
    return all(any(token.link in _PREPOSITIONS for token in side[1:]) for side in gap[:2])


_PREPOSITIONS: Final = frozenset("for in on at by with from to as via over per".split())


def _functional(pair: Pair, gap: Gap) -> bool:
    """The gap is the value of an attribute named in the subject or right beside the gap."""
    shared = pair.shared_keys
    if pair.personal and shared & lexicon.PERSONAL_FUNCTIONAL:
        return True
    tokens, start = pair.old.tokens, gap.start_old
    named = [*tokens[: pair.old.subject], *tokens[max(0, start - 1) : start]]
    named += tokens[start + len(gap.old) :][:1]
    if start == TOKENS_MAX:
        return bool(shared & (lexicon.FUNCTIONAL | lexicon.INVERSE_FUNCTIONAL))
    return any(token.key in shared & lexicon.FUNCTIONAL for token in named)


def _phrase(tokens: tuple[Token, ...] | list[Token]) -> str:
    return " ".join(token.text for token in tokens)[:40]


def _framed(pair: Pair) -> Conflict | None:
    """One name between two words that both clauses share ("Premier _ status")."""
    if _different_things(pair):
        return None
    for gap in pair.both.exchanged:
        if len(gap.old) != 1 or len(gap.new) != 1 or not (gap.start_old and gap.start_new):
            continue
        one, two = gap.old[0], gap.new[0]
        if one.kind != two.kind or one.kind not in ("name", "code"):
            continue
        around = [
            [t.key for t in clause.tokens[start - 1 : start + 2 : 2]]
            for clause, start in ((pair.old, gap.start_old), (pair.new, gap.start_new))
        ]
        if len(around[0]) == 2 and around[0] == around[1]:
            return Conflict(0.5, False, f"{one.text} became {two.text}")
    return None


def _roles(pair: Pair) -> Conflict | None:
    """The same words with two participants exchanged ("A calls B" / "B calls A")."""
    if not pair.both.swapped or pair.old.passive or pair.new.passive:
        return None
    return Conflict(0.6, False, "the roles are exchanged")
