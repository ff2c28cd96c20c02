"""One place of two otherwise equal clauses holds something else: is it a replacement?

"The linter is flake8" / "The linter is ruff" replaces; "The API uses JWT for authentication" /
"... Redis for caching" differs in two places, and "supports CSV" / "supports Parquet" adds up.
"""

from typing import Final, NamedTuple

from keepthread.validators.judges import lexicon
from keepthread.validators.judges.alignment import Gap
from keepthread.validators.judges.pairs import (
    Pair,
    cover,
    in_subject,
    is_narrowed,
    one_holder,
    opens_order,
    other_predicate,
    same_type,
    typed,
)
from keepthread.validators.judges.tokens import TOKENS_MAX, Token

_PREPOSITIONS: Final = frozenset("for in on at by with from to as via over per".split())
_MEANS: Final = frozenset("with by via over".split())
_PLACES: Final = frozenset("in on at to".split())


class Replacement(NamedTuple):
    """What stands in place of what; ``score`` 0..1, ``sure`` enough to supersede."""

    old: str
    new: str
    score: float
    sure: bool


def find_replacement(pair: Pair) -> Replacement | None:
    """The one replaced place of the pair, or None."""
    gap = _only_gap(pair)
    if gap is None or not _can_be_replaced(pair, gap):
        return None
    functional = _is_functional(pair, gap)
    named = same_type(gap, {"word", "number"}) or _contrasted(pair, gap)
    if not (functional or typed(gap.old + gap.new)) and pair.synonymous:
        return None
    if not named and (_is_counted(gap) or _verb_against_noun(pair, gap)):
        return None
    both = pair.both
    longest = max(len(gap.old), len(gap.new))
    weights = [sum(token.weight for token in side) for side in gap[:2]]
    extra = max(0.0, sum(both.alone) - sum(weights))
    tight = extra == 0 and len(pair.old.tokens) <= 8 and not _has_verb(pair, gap)
    if longest > (4 if named or functional else 2 if tight else 1):
        return None
    if both.shared < (0.5 if functional else 1.0) and not pair.same_subject:
        return None
    part = cover(both.shared, extra + max(0.0, max(weights) - 1.5) / 3)
    if part < (0.7 if not (named or functional) else 0.5 if both.topic else 0.3):
        return None
    one_value = named or (longest == 1 and not lexicon.ROLES & pair.shared_keys)
    sure = (functional or pair.attribute) and one_value and part >= 0.75 and extra <= 0.5
    sure = sure and pair.current and not both.contrasts and not is_narrowed(pair)
    return Replacement(phrase(gap.old), phrase(gap.new), 0.4 + 0.5 * part, sure)


def phrase(tokens: tuple[Token, ...] | list[Token]) -> str:
    """The tokens as a short text for people."""
    return " ".join(token.text for token in tokens)[:40]


def _only_gap(pair: Pair) -> Gap | None:
    """The one place where the clauses differ, also if the rest was said in another order."""
    both = pair.both
    if len(both.exchanged) == 1:
        return both.exchanged[0]
    gap = Gap(both.left_old, both.left_new, TOKENS_MAX, TOKENS_MAX)
    if both.exchanged or not gap.old or not gap.new or max(map(len, gap[:2])) > 2:
        return None
    inverted = pair.old.definite or pair.new.definite
    return gap if same_type(gap) or (inverted and len(gap.old) == len(gap.new) == 1) else None


def _can_be_replaced(pair: Pair, gap: Gap) -> bool:
    """Nothing speaks for two things, two predicates or an object that is only added."""
    if pair.episodic or pair.other_subject or pair.both.flipped:
        return False
    if opens_order(pair, gap) and (len(gap.old + gap.new) > 2 or not typed(gap.old + gap.new)):
        return False  # something else is to be done with it
    relation = _relation(gap.new)
    if pair.additive and relation != "from":
        return False
    if relation in _PLACES and {pair.old.verb, pair.new.verb} & lexicon.REPEATABLE:
        return False
    if pair.old.negated != pair.new.negated or other_predicate(pair) or _two_slots(gap):
        return False
    if in_subject(pair, gap):
        return one_holder(pair)
    if gap.start_old == TOKENS_MAX:
        return True
    old, new = (_relation(side) for side in gap[:2])
    if not _same_relation(old, new):
        return False
    if "prefer" in pair.shared_keys and not typed(gap.old + gap.new):
        return False  # two tastes, unless they are opposite
    owned = pair.shared_keys & lexicon.INVERSE_FUNCTIONAL
    return not owned or old in ("by", "with")  # one may own two things


def _relation(tokens: tuple[Token, ...]) -> str:
    return next((token.link for token in tokens if token.link in _PREPOSITIONS), "")


def _same_relation(old: str, new: str) -> bool:
    """ "over HTTP" and "via gRPC" answer one question, "on Jenkins" and "make ci" do not."""
    if old == new or {old, new} <= _MEANS or {old, new} <= _PLACES:
        return True
    return False


def _two_slots(gap: Gap) -> bool:
    """Two things differ: "JWT for authentication" / "Redis for caching"."""
    return all(any(token.link in _PREPOSITIONS for token in side[1:]) for side in gap[:2])


def _has_verb(pair: Pair, gap: Gap) -> bool:
    verbs = pair.old.verb, pair.new.verb
    return any(t.key == verb for side, verb in zip(gap[:2], verbs, strict=True) for t in side)


def _verb_against_noun(pair: Pair, gap: Gap) -> bool:
    """The same said in another form: "is exposed on 5432", "the port is 5432"."""
    verbs = [
        any(token.key == verb for token in side)
        for side, verb in zip(gap[:2], (pair.old.verb, pair.new.verb), strict=True)
    ]
    return verbs[0] != verbs[1]


def _is_counted(gap: Gap) -> bool:
    """A number is among the tokens; two of them are for the rule on measures to compare."""
    return any(
        token.kind in ("number", "version") and token.dimension != "frequency"
        for side in gap[:2]
        for token in side
    )


def _contrasted(pair: Pair, gap: Gap) -> bool:
    """Two qualifiers of one kind in the gap ("on Tuesdays", "in the morning")."""
    if not pair.personal and (len(gap.old) > 1 or len(gap.new) > 1):
        return False
    return any(one in gap.old and two in gap.new for one, two in pair.both.contrasts)


def _is_functional(pair: Pair, gap: Gap) -> bool:
    """The gap is the value of an attribute named in the subject or right beside the gap."""
    shared = pair.shared_keys
    if pair.personal and shared & lexicon.PERSONAL_FUNCTIONAL:
        return True
    tokens, start = pair.old.tokens, gap.start_old
    if start == TOKENS_MAX:
        return bool(shared & (lexicon.FUNCTIONAL | lexicon.INVERSE_FUNCTIONAL))
    named = [*tokens[: pair.old.subject], *tokens[max(0, start - 1) : start]]
    named += tokens[start + len(gap.old) :][:1]
    return any(token.key in shared & lexicon.FUNCTIONAL for token in named)
