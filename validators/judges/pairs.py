"""Two clauses side by side, and whether they speak of the same subject at all."""

from collections.abc import Collection
from typing import Final, NamedTuple

from keepthread.validators.judges import grammar, lexicon
from keepthread.validators.judges.alignment import Alignment, Gap
from keepthread.validators.judges.reading import Clause
from keepthread.validators.judges.tokens import Token

TOPIC_MIN: Final = 1.0
"""Shared content (in token weights) below which two clauses have no topic in common."""
SAME_IN_MEANING: Final = 0.9
"""Similarity from which one plain word in place of another is taken for a synonym."""

LONG: Final = 8
"""Content words from which a sentence counts as long: it has side details."""

_CASES: Final = frozenset("for in on at".split())


class Pair(NamedTuple):
    """Two clauses, their alignment, and what is known of the statements they come from.

    ``same_subject`` / ``other_subject``: the statements' subject keys agree, or name other
    things. ``attribute``: the subject they share is one attribute ("build command").
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
        """Neither clause tells of something past."""
        return not (self.old.past or self.new.past)

    @property
    def additive(self) -> bool:
        """The verb has many objects at a time ("supports", "reads"), or the new one is said to be one more."""
        return self.new.adds or bool({self.old.verb, self.new.verb} & lexicon.ADDITIVE)

    @property
    def synonymous(self) -> bool:
        """So near in meaning that a plain word exchanged for another is a synonym.

        In a long sentence one word hardly moves the embedding, whatever it means.
        """
        short = max(len(self.old.tokens), len(self.new.tokens)) < LONG
        return short and (self.similarity or 0.0) >= SAME_IN_MEANING

    @property
    def shared_keys(self) -> frozenset[str]:
        """Keys of the words that both clauses have."""
        return frozenset(t.key for t in self.old.tokens) & {t.key for t in self.new.tokens}


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


def in_subject(pair: Pair, gap: Gap) -> bool:
    """Whether the gap opens in the subject of both clauses."""
    return gap.start_old < pair.old.subject and gap.start_new < pair.new.subject


def opens_order(pair: Pair, gap: Gap) -> bool:
    """Whether the gap begins with the verbs of two orders ("pin pydantic", "upgrade pydantic")."""
    if any((gap.start_old, gap.start_new, pair.old.subject, pair.new.subject)):
        return False
    return any(grammar.is_base_verb(side[0].text.lower()) for side in gap[:2] if side)


def one_holder(pair: Pair) -> bool:
    """The shared predicate holds of one subject at a time ("owns billing", "is the default")."""
    if len(pair.both.exchanged) > 1:
        return False
    held = pair.shared_keys & lexicon.INVERSE_FUNCTIONAL
    return (pair.old.definite and pair.new.definite) or any(
        token.key in held for token in pair.old.tokens[pair.old.subject :]
    )


def different_things(pair: Pair, known: tuple[tuple[Token, Token], ...] = ()) -> bool:
    """Whether the clauses speak of two subjects, or of two qualified cases of one subject.

    ``known``: contrasting words that were accounted for already.
    """
    both = pair.both
    if pair.other_subject or pair.same_subject:
        return pair.other_subject
    if pair.personal and not (pair.old.possessive and pair.new.possessive):
        return False  # both speak of the speaker
    if any(contrast not in known for contrast in both.contrasts):
        return True
    if one_holder(pair):
        return False
    rest = _subject_rests(pair)
    if all(any(token.weight > 0.5 for token in side) for side in rest):
        return True
    return any(gap.old and gap.new and in_subject(pair, gap) for gap in both.gaps)


def _subject_rests(pair: Pair) -> tuple[list[Token], list[Token]]:
    """What the subject of each clause names and the other clause does not."""
    old: list[Token] = []
    new: list[Token] = []
    for gap in pair.both.gaps:
        old += gap.old[: max(0, pair.old.subject - gap.start_old)]
        new += gap.new[: max(0, pair.new.subject - gap.start_new)]
    return old, new


def is_narrowed(pair: Pair) -> bool:
    """One clause has a narrower subject or a case of its own ("in staging", "for guests")."""
    if pair.same_subject:
        return False
    rests = [any(token.weight > 0.5 for token in side) for side in _subject_rests(pair)]
    if rests[0] != rests[1]:
        return True
    for gap in pair.both.gaps:
        alone = not (gap.old and gap.new)
        if any(token.link in _CASES for side in gap[:2] for token in side[0 if alone else 1 :]):
            return True
    return False


def other_predicate(pair: Pair) -> bool:
    """Both clauses have a main verb or participle of their own, and they differ."""
    old, new = pair.old.verb, pair.new.verb
    if not old or not new or pair.personal:
        return False
    return old != new and not {old, new} & pair.shared_keys
