"""Why two clauses cannot both hold now: rules over an alignment, strongest first.

Each rule is a function ``Pair -> Conflict | None``. A conflict is ``sure`` only where the rest of
the two clauses says the same of the same subject: a wrong supersession hides a true fact.
"""

from typing import Final, NamedTuple

from keepthread.validators.judges import lexicon
from keepthread.validators.judges.pairs import (
    TOPIC_MIN,
    Pair,
    cover,
    different_things,
    in_subject,
    is_narrowed,
    opens_order,
    other_predicate,
)
from keepthread.validators.judges.slots import find_replacement, phrase
from keepthread.validators.judges.tokens import Token

COVER_SURE: Final = 0.6
"""Share of the two clauses that must agree before a conflict may be sure."""
NEAR_IN_MEANING: Final = 0.58
"""Similarity from which a denial in other words still denies the same."""

_REACTS: Final = lexicon.keys("retry handle ignore catch alert")
_COMMAND: Final = lexicon.key("command")
_SCOPES: Final = frozenset({"always", "never", "often", "sometimes", "rarely"})


class Conflict(NamedTuple):
    """``score`` 0..1; not ``sure``: worth a dispute, not enough to supersede."""

    score: float
    sure: bool
    why: str


def find_conflict(pair: Pair) -> Conflict | None:
    """The first rule that finds a conflict, or None."""
    if _two_days(pair):
        return None
    for rule in (_retraction, _polarity, _scope):
        if conflict := rule(pair):
            return conflict
    if pair.both.negation:
        return None  # denied of something else
    for rule in (_measure, _attribute, _slot, _framed, _roles, _command):
        if conflict := rule(pair):
            return conflict
    return None


def _two_days(pair: Pair) -> bool:
    """Two days, each with an outcome of its own ("failed on 3 May", "succeeded on 4 May")."""
    sides = pair.both.left_old, pair.both.left_new
    dated = all(any(token.kind == "date" for token in side) for side in sides)
    return dated and bool(pair.both.opposites or pair.both.negation)


def _retraction(pair: Pair) -> Conflict | None:
    """One clause says that what the other states is over."""
    old, new, both = pair.old, pair.new, pair.both
    said = {t.key for t in old.tokens} & new.retracted - {t.key for t in new.tokens}
    again = {t.key for t in new.tokens} & old.retracted - {t.key for t in old.tokens}
    gone = {key for key in said or again if key not in lexicon.LIGHT}
    topical = both.topic >= TOPIC_MIN or pair.same_subject
    subject = {token.key for token in old.tokens[: old.subject]} if said else set()
    succeeded = bool(subject) and subject <= gone
    if not (topical or pair.personal or succeeded):
        stated = old.tokens[old.subject :] if said else new.tokens[new.subject :]
        gone = {token.key for token in stated if token.key in gone and token.kind == "code"}
    if not gone or (different_things(pair) and not succeeded):
        return None
    side = both.left_old if said else both.left_new
    rest = sum(token.weight for token in side if token.key not in gone)
    sure = topical and rest <= both.shared + 0.5 and not is_narrowed(pair)
    why = f"{' '.join(sorted(gone))[:60]} is said to be over"
    return Conflict(0.9 if said else 0.7, sure, why)


def _polarity(pair: Pair) -> Conflict | None:
    """One clause denies what the other states, by a negation or by an opposite word."""
    both = pair.both
    negation = both.negation
    if both.flipped or negation == bool(both.opposites):
        return None
    scoped = any(_SCOPES & {one.key, two.key} for one, two in both.opposites)
    if not scoped and different_things(pair, both.opposites):
        return None
    known = sum(min(one.weight, two.weight) for one, two in both.opposites)
    least, most = sorted(cover(both.shared, alone - known) for alone in both.alone)
    if both.topic < TOPIC_MIN and not (pair.same_subject or least >= COVER_SURE):
        return None
    if negation:
        near = (pair.similarity or 0.0) >= NEAR_IN_MEANING
        going_on = pair.old.episodic or pair.new.episodic
        if not (going_on or (pair.similarity or 0.0) >= 0.7) and _other_object(pair):
            return None
        denying = both.cover_old if pair.old.negated else both.cover_new
        if not (least >= 0.45 or denying >= 0.75 or (both.topic >= 1.5 and (most >= 0.7 or near))):
            return None
        why = "negation differs"
    else:
        # The shorter clause says nothing else: what the longer one adds tells how it came about.
        if least < (0.35 if most < 1 else 0.2):
            return None
        one, two = both.opposites[0]
        why = f"{one.text.lower()} became {two.text.lower()}"
    sure = least >= 0.7 and not _differs_elsewhere(pair, both.opposites)
    sure = sure and pair.current and not is_narrowed(pair)
    return Conflict(0.5 + least / 2, sure, why)


def _other_object(pair: Pair, known: tuple[Token, ...] = ()) -> bool:
    """The predicates speak of two things ("handles comments", "does not handle macros")."""
    return any(
        not in_subject(pair, gap)
        and not (opens_order(pair, gap) and len(gap.old) == len(gap.new) == 1)
        and all(any(t.weight > 0.5 and t not in known for t in side) for side in gap[:2])
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


def _measure(pair: Pair) -> Conflict | None:
    """One quantity or version with two values."""
    both = pair.both
    if not both.values or pair.episodic or different_things(pair) or other_predicate(pair):
        return None
    one, two = both.values[0]
    rest = max(0.0, sum(both.alone) - one.weight - two.weight) / 2
    part = cover(both.shared, rest)
    if both.topic < TOPIC_MIN and not (pair.same_subject or part >= COVER_SURE):
        return None
    if part < (0.1 if pair.personal or both.topic >= 3.0 else 0.25):
        return None
    elsewhere = _differs_elsewhere(pair, both.values)
    if not pair.personal and elsewhere and _other_object(pair, (one, two)):
        return None  # "pins requests to 2.31", "pins pydantic to 2.7"
    if pair.personal and elsewhere and both.topic < 2.0 and not set(one.near) & set(two.near):
        return None
    if pair.additive and "version" in (one.kind, two.kind):
        return None  # supports one version and another
    if {pair.old.verb, pair.new.verb} <= _REACTS and all(map(_is_status, (one, two))):
        return None  # retries on 503 and on 429
    sure = part >= COVER_SURE and pair.current and not elsewhere and not is_narrowed(pair)
    sure = sure and one.link == two.link  # "up to 1,000" is no count
    return Conflict(0.55 + 0.4 * part, sure, f"{one.text} became {two.text}")


def _is_status(token: Token) -> bool:
    """An HTTP status that tells of an error."""
    return not token.dimension and 400 <= token.value < 600


def _attribute(pair: Pair) -> Conflict | None:
    """Statements of one attribute ("build command", "owner") that give it two values."""
    both = pair.both
    if not (pair.same_subject and pair.attribute):
        return None
    left = [[t for t in side if t.weight > 0.5] for side in (both.left_old, both.left_new)]
    if not left[0] or not left[1] or max(map(len, left)) > 4:
        return None
    kinds = [{token.kind for token in side} for side in left]
    if not (kinds[0] & kinds[1] or "code" in kinds[0] | kinds[1]) or other_predicate(pair):
        return None
    bare = all(not clause.verb and len(clause.tokens) <= 4 for clause in (pair.old, pair.new))
    single = kinds[0] == kinds[1] and len(kinds[0]) == 1 and (bare or kinds[0] != {"word"})
    why = f"same subject, {phrase(left[0])} became {phrase(left[1])}"
    return Conflict(0.85 if single else 0.6, single and pair.current, why)


def _slot(pair: Pair) -> Conflict | None:
    """One place of an otherwise shared statement holds something else."""
    found = find_replacement(pair)
    if not found:
        return None
    return Conflict(found.score, found.sure, f"{found.old} became {found.new}")


def _framed(pair: Pair) -> Conflict | None:
    """One name between two words that both clauses share ("Premier _ status")."""
    if different_things(pair):
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


def _command(pair: Pair) -> Conflict | None:
    """One command with other arguments: another command ("make ci", "make ci -j4")."""
    parts = [(c.tokens[: c.subject], c.tokens[c.subject :]) for c in (pair.old, pair.new)]
    named = [_COMMAND in {token.key for token in subject} for subject, _ in parts]
    left = pair.both.left_old + pair.both.left_new
    if not all(named) or not left or different_things(pair):
        return None
    if any(t.link or t.kind == "word" or t not in parts[0][1] + parts[1][1] for t in left):
        return None
    return Conflict(0.6, False, f"its arguments became {phrase(parts[1][1])}")


def _roles(pair: Pair) -> Conflict | None:
    """The same words with two participants exchanged ("A calls B" / "B calls A")."""
    if not pair.both.swapped or pair.old.passive or pair.new.passive:
        return None
    return Conflict(0.6, False, "the roles are exchanged")
