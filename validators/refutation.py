"""Whether a short statement of the entry says the contrary of a claim, of the same subject.

"Deploys run from the branch main" has every word but one in "Deploys run from the branch release".
Each rule compares the claim with one sentence or clause of it; one that is as near to the claim and
does not speak against it silences them all.
"""

import itertools
import re
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from keepthread.validators.config_lines import judge_settings
from keepthread.validators.evidence import Passage
from keepthread.validators.exchanges import find_exchange
from keepthread.validators.judges import lexicon
from keepthread.validators.judges.alignment import opposite
from keepthread.validators.sources import Source
from keepthread.validators.statements import (
    HAPPENS,
    TIMES,
    Stated,
    Statement,
    Term,
    read_statement,
    statements_of,
)
from keepthread.validators.values import Claim
from keepthread.validators.vocabulary import opposites, stem, synonyms

_NEAREST_MAX: Final = 12
_ABOUT: Final = 0.5  # share of the claim's words that a sentence must have to be about the same
_APART: Final = 0.5  # share of a clause
_CROSSED_SHARE: Final = 0.6
_REPORTS: Final = re.compile(
    r"(?i)^(?:the )?(?:user|[\w./-]+\.(?:md|rst|txt)|readme|contributing|docs?|page|guide|document)"
    r" (?:wants?|wanted|prefers?|asks?|asked|says?|said|likes?|states?|tells?)(?: that| us| for| to)*\s"
)
_LIGHT: Final = lexicon.LIGHT - lexicon.keys("config")
_RESUMES: Final = re.compile(r"(?i)[;,:] (?:they|it|these|this|which|that) ")
_DENIED: Final = "not "


class Refuted(NamedTuple):
    """Why the entry says the contrary, and the passage that does; ``why`` is "" where none does."""

    why: str = ""
    passage: Passage | None = None


class _Compared(NamedTuple):
    """One sentence or clause of the entry: how much of the claim it has, and what it says against it.

    ``neutral``: it has the opposite of a word and still is no contrary; it speaks for nothing.
    """

    cover: float
    stated: Stated
    why: str
    neutral: bool


class _Match(NamedTuple):
    """A claim's words beside a sentence's: those it has, those it has the opposite of, and the rest."""

    same: tuple[tuple[Term, Term], ...]
    opposite: tuple[tuple[Term, Term], ...]
    lost: tuple[Term, ...]

    @property
    def cover(self) -> float:
        """Share of the claim's words, by weight, that the sentence has or has the opposite of."""
        found = sum(_weight(said) for said, _ in (*self.same, *self.opposite))
        return found / max(found + sum(map(_weight, self.lost)), 0.01)


def find_refutation(claim: Claim, sources: Sequence[Source], *, settled: bool = False) -> Refuted:
    """The setting or sentence of the entries that says the contrary of the claim, if nothing bears it out.

    ``settled``: an outcome, a search or an order agrees already, so that no sentence is asked.
    """
    why, passage = judge_settings(claim, sources)
    if why:
        return Refuted(why, passage)
    said = read_statement(_REPORTS.sub("", claim.text))
    if settled or not any(_weight(term) == 1 for term in said.terms):
        return Refuted()
    near = _nearest(said, sources, claim.words)
    against = next((n for n in near if n.why), None)
    if against is None or any(not (n.why or n.neutral) and n.cover >= against.cover for n in near):
        return Refuted()
    stated = against.stated
    entry = sources[stated.source].evidence.entry
    return Refuted(against.why, Passage(entry, stated.start, stated.stop))


def _nearest(said: Statement, sources: Sequence[Source], words: Sequence[str]) -> list[_Compared]:
    """Sentences and clauses that have most of the claim, the best first, each compared with it.

    A sentence of several clauses is compared as a whole only where no clause has as much of the claim.
    """
    found: list[tuple[float, Statement, Stated, _Match]] = []
    for stated in statements_of(sources, words):
        best = 0.0
        for shown in (*stated.parts, stated.statement):
            match = _matched(said, shown)
            whole = shown is stated.statement
            if match.cover >= _ABOUT and not (whole and match.cover <= best):
                found.append((match.cover, shown, stated, match))
            best = max(best, match.cover)
            if whole and match.cover == best and _crossed(said, shown, match):
                found.append((match.cover, shown, stated, match))
    found.sort(key=lambda item: -item[0])
    return [
        _Compared(cover, stated, _contrary(said, shown, match), bool(match.opposite))
        for cover, shown, stated, match in found[:_NEAREST_MAX]
    ]


def _weight(term: Term) -> float:
    return 0.0 if term.key in HAPPENS else 0.3 if term.key in _LIGHT else 1.0


def _matched(said: Statement, shown: Statement) -> _Match:
    """Pair the words of both, each once: equal ones first, then synonyms, then opposites."""
    left, free = list(said.terms), list(shown.terms)
    pairs: list[list[tuple[Term, Term]]] = []
    for alike in (_equal, _synonymous, _opposed):
        found = []
        for term in list(left):
            other = next((o for o in free if alike(term, o)), None)
            if other is not None:
                found.append((term, other))
                left.remove(term)
                free.remove(other)
        pairs.append(found)
    return _Match((*pairs[0], *pairs[1]), tuple(pairs[2]), tuple(left))


def _equal(one: Term, other: Term) -> bool:
    return one.key == other.key


def _synonymous(one: Term, other: Term) -> bool:
    return stem(other.text) in synonyms(stem(one.text)) and not _opposed(one, other)


def _opposed(one: Term, other: Term) -> bool:
    return opposite(one.key, other.key) or stem(other.text) in opposites(stem(one.text))


def _contrary(said: Statement, shown: Statement, match: _Match) -> str:
    why = _negation(said, shown, match) or _crossed(said, shown, match)
    why = why or _antonym(said, shown, match)
    return why or find_exchange(said.text, shown.text)


def _negation(said: Statement, shown: Statement, match: _Match) -> str:
    """One denies what the other states, in the same words."""
    if not (said.settled and shown.settled) or said.half_denials != shown.half_denials:
        return ""
    if match.opposite or any(_weight(term) for term in match.lost):
        return ""
    if not said.negations and any(term.denied and other.denied for term, other in match.same):
        return ""  # both say "instead of X"
    denied = [
        all(o.denied for o in shown.terms if o.key == other.key)
        for term, other in match.same
        if _weight(term) and (said.negations or not term.denied)
    ]
    first = next((t for t in shown.terms if t.denied and _weight(t)), None)
    if _RESUMES.search(shown.text) and first not in [other for _, other in match.same]:
        return ""  # "do not edit X; it is overwritten" denies nothing of "X is overwritten"
    if not said.negations and any(denied) and shown.negations != 2:
        return "the cited entry denies what the claim affirms"
    stated = said.negations % 2 and any(t.denied for t, _ in match.same)
    twice = shown.negations > 0 and shown.negations % 2 == 0
    if stated and (twice or not any(denied)):
        return "the cited entry affirms what the claim denies"
    return ""


def _crossed(said: Statement, shown: Statement, match: _Match) -> str:
    """The claim joins the head of one clause of the sentence to the tail of another."""
    clauses: dict[int, list[str]] = {}
    for term in shown.terms:
        clause = clauses.setdefault(term.segment, [])
        clause += [_DENIED] if term.denied and _DENIED not in clause else []
        clause.append(term.key)
    plain = said.settled and said.half_denials <= shown.half_denials
    if len(clauses) < 2 or match.cover < _CROSSED_SHARE or not plain:
        return ""
    keys = {other.key for term, other in match.same if term.key == other.key} | (
        {_DENIED} if said.negations else set()
    )
    pairs = itertools.permutations(clauses.values(), 2)
    if any(_joins(keys, one, two) for one, two in pairs):
        return "the cited sentence says it of something else"
    return ""


def _joins(keys: Collection[str], one: Sequence[str], two: Sequence[str]) -> bool:
    """Whether a claim has the head of ``one`` and the tail of ``two``, and neither's other end.

    "Docs are built on every push" of "Docs are built nightly, images on every push". What the claim
    leaves out must be little, so that the two run in parallel.
    """
    first, second = _own(one, two), _own(two, one)
    if min(len(first), len(second)) < 2 or not _are_alike(one, two):
        return False
    if first[0].isdigit() or second[0].isdigit():
        return False  # "48 tests completed, 1 failed"
    light = HAPPENS | _LIGHT
    left = [sum(k not in keys and k not in light for k in part) for part in (first, second)]
    few = max(left) <= (2 if abs(len(first) - len(second)) < 2 else 1)
    tail = second[-2:] if len(second) > 2 else second[-1:]
    head = first[0] in keys and first[-1] not in keys
    return few and head and second[0] not in keys and any(key in keys for key in tail)


def _own(clause: Sequence[str], other: Sequence[str]) -> list[str]:
    """What only the one clause has, without light words where enough is left."""
    own = [key for key in clause if key not in other]
    telling = [key for key in own if key not in _LIGHT]
    return telling if len(telling) > 1 else own


def _are_alike(one: Sequence[str], two: Sequence[str]) -> bool:
    """Whether what two clauses share stands in the same part of both, so that they run in parallel."""
    places = [(one.index(k) / len(one), two.index(k) / len(two)) for k in one if k in two]
    return all(abs(first - second) < _APART for first, second in places)


def _antonym(said: Statement, shown: Statement, match: _Match) -> str:
    """The same words, but one of them replaced by its opposite."""
    if said.negations or shown.negations or _times(said) != _times(shown):
        return ""
    if len(match.opposite) != 1 or any(_weight(term) == 1 for term in match.lost):
        return ""
    ((term, other),) = match.opposite
    return f'the cited entry says "{other.text}", not "{term.text}"'


def _times(statement: Statement) -> frozenset[str]:
    return TIMES.intersection(statement.text.lower().split())
