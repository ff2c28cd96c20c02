"""What was exchanged between a clause of an entry and a claim: who does it, the way, or one word.

"The ledger calls the gateway", "from B to A", "the branch main" beside "the branch release".
"""

import re
from typing import Final

from keepthread.validators.judges import grammar, lexicon
from keepthread.validators.judges.alignment import Gap, align
from keepthread.validators.judges.reading import Clause, read
from keepthread.validators.judges.tokens import Token
from keepthread.validators.statements import TIMES, read_statement
from keepthread.validators.vocabulary import aliases, stem, synonyms

_ABOUT: Final = 0.5  # share of the claim that the clause must have
_RELATIONS: Final = (
    frozenset({"in", "on", "at", "to"}),
    frozenset({"with", "by", "via", "over"}),
    frozenset({"from", "of"}),
    frozenset({"for"}),
    frozenset({"as"}),
    frozenset({"per"}),
)
_BENDING: Final = TIMES | {"except", "but"}
_WAY: Final = re.compile(
    r"(?i)\bfrom ([\w.+ -]{1,40}?) to ([\w.+ -]{1,40}?)(?=[,;.]?$|[,;.] | (?:in|on|at|since|when|for)\b)"
)
_BEING: Final = re.compile(r"(?i)\b(?:is|are|was|were|be|been|gets?)\b")
_OTHER_WAY: Final = "the cited entry says it the other way round"


def find_exchange(said: str, shown: str) -> str:
    """Why a sentence of the entry says the contrary of a claim, or ""; the claim must be one clause."""
    if _turned(said, shown):
        return _OTHER_WAY
    claims = [_voiced(clause, said) for clause in read(said)]
    if len(claims) != 1:
        return ""
    for clause in read(shown):
        clause = _voiced(clause, shown)
        if why := _exchanged(claims[0], clause) or _replaced(claims[0], clause):
            return why
    return ""


def _turned(said: str, shown: str) -> bool:
    """Whether both tell of a way "from A to B", one of them the other way round."""
    way, other = _WAY.search(said), _WAY.search(shown)
    if not way or not other:
        return False
    start, end = map(_keys, way.groups())
    begin, stop = map(_keys, other.groups())
    return bool(start and end) and start == stop and end == begin != start


def _keys(text: str) -> frozenset[str]:
    return frozenset(term.key for term in read_statement(text).terms)


def _voiced(clause: Clause, text: str) -> Clause:
    """A clause that is passive also where its participle looks like the verb itself ("are cut by")."""
    return clause._replace(passive=clause.passive or _BEING.search(text) is not None)


def _verb_of(clause: Clause) -> str:
    """The verb, or the participle of a passive that is on no list."""
    if clause.verb or not clause.passive or clause.subject >= len(clause.tokens):
        return clause.verb
    return clause.tokens[clause.subject].key


def _sides(clause: Clause, verb: str) -> tuple[set[str], set[str]]:
    """Keys of what stands before the verb and behind it; empty where nothing stands before it."""
    place = next((n for n, t in enumerate(clause.tokens) if t.key == verb), 0)
    if not place or clause.tokens[place].link:
        return set(), set()
    sides = clause.tokens[:place], clause.tokens[place + 1 :]
    before, after = ({t.key for t in side if t.key != "only"} for side in sides)
    return before, after


def _roles(clause: Clause, verb: str) -> tuple[set[str], set[str]]:
    """Keys of who does it and of whom it is done to; empty where that is not said."""
    before, after = _sides(clause, verb)
    if not clause.passive:
        return before, after
    by = any(t.link == "by" and t.key in after for t in clause.tokens)
    return (after, before) if by else (set(), set())


def _exchanged(claim: Clause, clause: Clause) -> str:
    """Who does it and to whom, exchanged."""
    verb = _verb_of(claim)
    if not verb or clause.verb not in ("", verb) or verb not in {t.key for t in clause.tokens}:
        return ""
    roles = _sides if claim.passive and clause.passive else _roles
    (doer, done), (agent, patient) = roles(claim, verb), roles(clause, verb)
    if doer & agent or not (doer and doer <= patient and agent & done):
        return ""
    return _OTHER_WAY if done <= agent | patient else ""


def _replaced(claim: Clause, clause: Clause) -> str:
    """One place of two otherwise equal clauses holds something else."""
    both = align(clause, claim)
    gaps = [gap for gap in both.gaps if gap.new]
    if len(gaps) != 1 or not gaps[0].old or claim.negated or clause.negated:
        return ""
    gap = _same_place(gaps[0])
    if any("/" in t.text or t.text.lower() in _BENDING for t in (*gap.old, *gap.new)):
        return ""
    if any(all(t.key in lexicon.LIGHT for t in side) for side in (gap.old, gap.new)):
        return ""  # "below" and "under"
    if max(len(gap.old), len(gap.new)) > 2 or both.topic < 1.0 or both.cover_new < _ABOUT:
        return ""
    if all(_stands(token, clause) for token in gap.new) or not _answers_alike(gap, claim, clause):
        return ""
    return f'the cited entry says "{_shown(gap.old)}", not "{_shown(gap.new)}"'


def _same_place(gap: Gap) -> Gap:
    """The gap without what the entry says before and behind the place that the claim fills otherwise."""
    for place, token in enumerate(gap.old):
        if token.link == gap.new[0].link or _related(token.link, gap.new[0].link):
            rest = gap.old[place:]
            end = next((n for n, t in enumerate(rest) if n and t.link), len(rest))
            return gap._replace(old=rest[:end], start_old=gap.start_old + place)
    return gap


def _related(one: str, other: str) -> bool:
    return any(one in group and other in group for group in _RELATIONS)


def _answers_alike(gap: Gap, claim: Clause, clause: Clause) -> bool:
    """Whether two stretches answer one question: behind one preposition, before or behind one noun."""
    tokens = (*gap.old, *gap.new)
    if any(t.kind == "number" for t in tokens):
        return all(t.dimension == "frequency" for t in tokens) and len(tokens) == 2
    if clause.scope == "only" and gap.start_old == gap.start_new == 0:
        return True
    verbs = {claim.verb, clause.verb}
    if any(
        side[0].key in verbs or grammar.is_finite(side[0].text.lower(), "", "")
        for side in (gap.old, gap.new)
        if not side[0].link
    ):
        return False
    if _related(gap.old[0].link, gap.new[0].link):
        return True
    if gap.old[0].link != gap.new[0].link:
        return False
    before = _key_at(clause, gap.start_old - 1)
    if before == _key_at(claim, gap.start_new - 1) and before in lexicon.FUNCTIONAL:
        return True  # "the branch main"
    after = _key_at(clause, gap.start_old + len(gap.old))
    same = after == _key_at(claim, gap.start_new + len(gap.new)) != ""
    return (
        same and gap.start_old < clause.subject and after != clause.verb
    )  # "the search team owns"


def _key_at(clause: Clause, place: int) -> str:
    return clause.tokens[place].key if 0 <= place < len(clause.tokens) else ""


def _stands(token: Token, clause: Clause) -> bool:
    """Whether a clause has a word in some form or under another name."""
    forms = synonyms(stem(token.text)) | {stem(a) for a in aliases(token.text)}
    said = {stem(t.text) for t in clause.tokens} | {stem(t.key) for t in clause.tokens}
    return bool(forms & said) or any(token.text.lower() in t.text.lower() for t in clause.tokens)


def _shown(tokens: tuple[Token, ...]) -> str:
    return " ".join(token.text for token in tokens)[:60]
