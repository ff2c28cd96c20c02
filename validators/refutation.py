"""Whether a short statement of the entry says the contrary of a claim, of the same subject.

"Deploys run from the branch main" has every word but one in "Deploys run from the branch release".
Each rule compares the claim with one sentence or clause of it; one that is as near to the claim and
does not speak against it silences them all.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from keepthread.validators.config_lines import judge_settings
from keepthread.validators.evidence import Passage
from keepthread.validators.judges import grammar, lexicon
from keepthread.validators.judges.alignment import Gap, align, opposite
from keepthread.validators.judges.reading import Clause, read
from keepthread.validators.judges.tokens import Token
from keepthread.validators.sources import Source
from keepthread.validators.statements import (
    HAPPENS,
    Stated,
    Statement,
    read_statement,
    statements_of,
)
from keepthread.validators.values import Claim
from keepthread.validators.vocabulary import aliases, opposites, stem, synonyms

_NEAREST_MAX: Final = 12
_ABOUT: Final = 0.5  # share of the claim's words that a sentence must have to be about the same
_CROSSED_SHARE: Final = 0.6
_RELATIONS: Final = (
    frozenset({"in", "on", "at", "to"}),
    frozenset({"with", "by", "via", "over"}),
    frozenset({"from", "of"}),
    frozenset({"for"}),
    frozenset({"as"}),
)
_TIMES: Final = frozenset("before after during until since when while".split())


class Refuted(NamedTuple):
    """Why the entry says the contrary, and the passage that does; ``why`` is "" where none does."""

    why: str = ""
    passage: Passage | None = None


class _Compared(NamedTuple):
    """One sentence or clause of the entry: how much of the claim it has, and what it says against it."""

    cover: float
    stated: Stated
    why: str


def find_refutation(claim: Claim, sources: Sequence[Source], *, settled: bool = False) -> Refuted:
    """The setting or sentence of the entries that says the contrary of the claim, if nothing bears it out.

    ``settled``: an outcome, a search or an order agrees already, so that no sentence is asked.
    """
    why, passage = judge_settings(claim, sources)
    if why:
        return Refuted(why, passage)
    said = read_statement(claim.text)
    if settled or not said.weighty:
        return Refuted()
    near = _nearest(said, sources, claim.words)
    if not near or not near[0].why or any(not n.why and n.cover >= near[0].cover for n in near):
        return Refuted()
    stated = near[0].stated
    entry = sources[stated.source].evidence.entry
    return Refuted(near[0].why, Passage(entry, stated.start, stated.stop))


def _nearest(said: Statement, sources: Sequence[Source], words: Sequence[str]) -> list[_Compared]:
    """Sentences and clauses that have most of the claim, the best first, each compared with it."""
    found: list[tuple[float, Statement, Stated]] = []
    for stated in statements_of(sources, words):
        for shown in (stated.statement, *stated.parts):
            cover = _cover(said, shown)
            if cover >= _ABOUT:
                found.append((cover, shown, stated))
    found.sort(key=lambda item: -item[0])
    return [
        _Compared(cover, stated, _contrary(said, shown)) for cover, shown, stated in found[:_NEAREST_MAX]
    ]  # fmt: skip


def _cover(said: Statement, shown: Statement) -> float:
    """Share of the claim's words that a sentence has, or has the opposite of."""
    terms = said.weighty
    found = sum(_has(shown.keys, t.key) or _opposite(shown.keys, t.key) != "" for t in terms)
    return found / len(terms)


def _has(keys: frozenset[str], key: str) -> bool:
    return key in keys or any(stem(other) in synonyms(stem(key)) for other in keys)


def _opposite(keys: frozenset[str], key: str) -> str:
    contrary = opposites(stem(key))
    return next((k for k in sorted(keys) if opposite(key, k) or stem(k) in contrary), "")


def _contrary(said: Statement, shown: Statement) -> str:
    for rule in (_negation, _crossed, _antonym):
        if why := rule(said, shown):
            return why
    claims = read(said.text)
    if len(claims) != 1:
        return ""
    for clause in read(shown.text):
        if why := _exchanged(claims[0], clause) or _replaced(claims[0], clause):
            return why
    return ""


def _negation(said: Statement, shown: Statement) -> str:
    """One denies what the other states, in the same words."""
    if not (said.settled and shown.settled) or said.half_denials != shown.half_denials:
        return ""
    terms = [t for t in said.terms if t.key not in HAPPENS]
    if not all(_has(shown.keys, t.key) for t in terms):
        return ""
    denied = [_is_denied(t.key, shown) for t in terms]
    if not said.denies and any(denied):
        return "the cited entry denies what the claim affirms"
    if said.denies and any(t.denied for t in terms) and not any(denied):
        return "the cited entry affirms what the claim denies"
    return ""


def _is_denied(key: str, shown: Statement) -> bool:
    """Whether a word stands in a sentence under a negation, and nowhere else."""
    return all(t.denied for t in shown.terms if _has(frozenset({t.key}), key))


def _crossed(said: Statement, shown: Statement) -> str:
    """The claim joins the head of one clause of the sentence to the tail of another."""
    clauses: dict[int, list[str]] = {}
    for term in shown.terms:
        clauses.setdefault(term.segment, []).append(term.key)
    keys = said.keys
    if len(clauses) < 2 or sum(_has(shown.keys, k) for k in keys) < _CROSSED_SHARE * len(keys):
        return ""
    for one in clauses.values():
        for two in clauses.values():
            first = [k for k in one if k not in two]
            second = [k for k in two if k not in one]
            if min(len(first), len(second)) < 2 or second[0] in keys or first[-1] in keys:
                continue
            if first[0] in keys and second[-1] in keys:
                return "the cited sentence says it of something else"
    return ""


def _antonym(said: Statement, shown: Statement) -> str:
    """The same words, but one of them replaced by its opposite."""
    if said.denies or shown.denies or _times(said) != _times(shown):
        return ""
    if not all(_has(shown.keys, t.key) or _opposite(shown.keys, t.key) for t in said.weighty):
        return ""
    for term in said.terms:
        contrary = "" if _has(shown.keys, term.key) else _opposite(shown.keys - said.keys, term.key)
        if contrary:
            word = next(t.text for t in shown.terms if t.key == contrary)
            return f'the cited entry says "{word}", not "{term.text}"'
    return ""


def _times(statement: Statement) -> frozenset[str]:
    return _TIMES.intersection(statement.text.lower().split())


def _roles(clause: Clause) -> tuple[set[str], set[str]]:
    """Keys of who does it and of whom it is done to; empty where the clause has no plain verb."""
    place = next((n for n, t in enumerate(clause.tokens) if t.key == clause.verb), 0)
    if not clause.verb or not place:
        return set(), set()
    before = {t.key for t in clause.tokens[:place]}
    after = {t.key for t in clause.tokens[place + 1 :]}
    if not clause.passive:
        return before, after
    by = any(t.link == "by" for t in clause.tokens[place + 1 :])
    return (after, before) if by else (set(), set())


def _exchanged(claim: Clause, clause: Clause) -> str:
    """Who does it and to whom, exchanged."""
    if not claim.verb or claim.verb != clause.verb:
        return ""
    (doer, done), (agent, patient) = _roles(claim), _roles(clause)
    if doer & agent or not (doer and doer <= patient and agent & done):
        return ""
    if not done <= agent | patient:
        return ""
    return "the cited entry says it the other way round"


def _replaced(claim: Clause, clause: Clause) -> str:
    """One place of two otherwise equal clauses holds something else."""
    both = align(clause, claim)
    gaps = [gap for gap in both.gaps if gap.new]
    if len(gaps) != 1 or not gaps[0].old or claim.negated != clause.negated:
        return ""
    gap = _same_place(gaps[0])
    if any("/" in t.text or t.key in ("except", "but") for t in (*gap.old, *gap.new)):
        return ""
    if max(len(gap.old), len(gap.new)) > 2 or both.topic < 1.0 or both.cover_new < _ABOUT:
        return ""
    if any(_stands(token, clause) for token in gap.new) or not _answers_alike(gap, claim, clause):
        return ""
    return f'the cited entry says "{_shown(gap.old)}", not "{_shown(gap.new)}"'


def _same_place(gap: Gap) -> Gap:
    """The gap without what the entry says before the place that the claim fills otherwise."""
    for place, token in enumerate(gap.old):
        if token.link and _related(token.link, gap.new[0].link):
            return gap._replace(old=gap.old[place:], start_old=gap.start_old + place)
    return gap


def _related(one: str, other: str) -> bool:
    return any(one in group and other in group for group in _RELATIONS)


def _answers_alike(gap: Gap, claim: Clause, clause: Clause) -> bool:
    """Whether two stretches answer one question: behind one preposition, before or behind one noun."""
    tokens = (*gap.old, *gap.new)
    if any(t.kind == "number" for t in tokens):
        return False
    verbs = {claim.verb, clause.verb}
    if any(
        side[0].key in verbs or grammar.is_finite(side[0].text.lower(), "", "")
        for side in (gap.old, gap.new)
    ):
        return False
    if _related(gap.old[0].link, gap.new[0].link):
        return True
    if gap.old[0].link != gap.new[0].link:
        return False
    before = [
        c.tokens[start - 1].key if start else ""
        for c, start in ((clause, gap.start_old), (claim, gap.start_new))
    ]
    after = [
        c.tokens[start + len(side)].key if start + len(side) < len(c.tokens) else ""
        for c, start, side in (
            (clause, gap.start_old, gap.old),
            (claim, gap.start_new, gap.new),
        )
    ]
    named = before[0] == before[1] and before[0] in lexicon.FUNCTIONAL
    modified = (
        after[0] == after[1] != ""
        and gap.start_old < clause.subject
        and not clause.verb == after[0]
    )
    return named or modified


def _stands(token: Token, clause: Clause) -> bool:
    """Whether a clause has a word in some form or under another name."""
    forms = synonyms(stem(token.text)) | {stem(a) for a in aliases(token.text)}
    said = {stem(t.text) for t in clause.tokens} | {stem(t.key) for t in clause.tokens}
    return bool(forms & said) or any(token.text.lower() in t.text.lower() for t in clause.tokens)


def _shown(tokens: tuple[Token, ...]) -> str:
    return " ".join(token.text for token in tokens)[:60]
