"""Whether the cited archive entries contain a claim: the heart of the write gate.

Every asserted value must occur in the entries, of names one suffices, and what the claim is about
must be what the entries are about. A claim with neither value nor name is compared by meaning.
Claims about runs must agree with counts and exit status; claims of absence with empty searches.
"""

import re
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from keepthread.validators.absence import judge_absence
from keepthread.validators.attributes import other_attribute
from keepthread.validators.bindings import (
    commit_agrees,
    created_elsewhere,
)
from keepthread.validators.blocks import other_block
from keepthread.validators.evidence import Evidence, Passage
from keepthread.validators.finding import Found, find_all
from keepthread.validators.lists import other_compound
from keepthread.validators.outcomes import OUTCOME_STEMS, Outcome, judge_outcome
from keepthread.validators.passages import (
    PASSAGES_MAX,
    Window,
    best_windows,
    word_weight,
)
from keepthread.validators.polarity import (
    denies_name,
    judge_order,
    judge_polarity,
    judge_state,
    judge_substitution,
)
from keepthread.validators.refutation import find_refutation
from keepthread.validators.relations import other_relation
from keepthread.validators.rivals import find_rival
from keepthread.validators.sources import Source
from keepthread.validators.tables import other_row
from keepthread.validators.values import Claim, is_question, parse_claim
from keepthread.validators.verbatim import said_by_user


class Grounding(NamedTuple):
    """The verdict, with what a refusal or the stored fact needs.

    ``passages`` support the claim, the best first; ``missing`` is what was not found, in the
    claim's own words; ``nearest`` (at most 3) is what to quote in a refusal.
    """

    grounded: bool
    passages: tuple[Passage, ...] = ()
    missing: tuple[str, ...] = ()
    why: str = ""
    nearest: tuple[Passage, ...] = ()
    model_written: bool = False
    against: bool = False  # the entries say the contrary


# Cosine of a claim with passages, one figure a passage, in [-1, 1].
Similarity = Callable[[str, Sequence[str]], Sequence[float]]

_VALUES_MAX: Final = 40
# The score of a claim against entries is a sum of log odds, rounded from a logistic fit to true and
# mismatched pairs: what was found, less what was not; a generic word counts half.
_LOST_WORD: Final = 1.0
_LOST_NAME: Final = 2.0
_LOCAL: Final = 1.4  # how much it counts that the words stand together
_AGREED: Final = 1.0  # an outcome, an empty search or an order that agrees
_SAID: Final = 0.2  # a user's message is short and speaks of few things
_ENOUGH: Final = -0.9
_ENOUGH_WORDS: Final = -0.5  # of a claim of which neither value nor name was found
_CLOSE, _CLOSE_SAID = 0.65, 0.5  # cosines (all-MiniLM-L6-v2) that mean the same
_NEARLY: Final = 2.0  # what closeness in meaning may make up for
_SOME_WORDS: Final = 0.25  # the least share of words before embeddings are asked
_TELLS_OF_QUESTION: Final = re.compile(
    r"(?i)\b(?:ask(?:s|ed)?|wonders?|wondered) (?:if|whether|how|what|why|when)\b"
)
_RAN: Final = re.compile(
    r"(?i)\b(?:ran|(?:was|were|been) (?:run|executed|invoked|called|searched)|searched|executed)\b"
)
_DEED: Final = re.compile(r"(?i)\b(?:remov|delet|mov|renam|copi|creat|made)\w*")
_DOES: Final = re.compile(r"(?:^|\s)(?:rm|rmdir|mv|cp|mkdir|touch|ln|git (?:rm|mv))\s")


def ground(
    claim: str, evidence: Sequence[Evidence], similarity: Similarity | None = None
) -> Grounding:
    """Judge whether ``evidence`` contains ``claim``.

    ``similarity`` gives the cosine of the claim with passages; without it the comparison by
    meaning falls back to stems and synonyms. Linear in the length of the evidence.
    """
    if is_question(claim):
        return Grounding(False, why="a question asserts nothing; state what the source says")
    if not evidence:
        return Grounding(False, why="no archive entry is cited")
    usable = [e for e in evidence if e.kind != "message" or e.role == "user"]
    if not usable:
        return Grounding(False, why="messages of the assistant or of the client are no evidence")
    said = said_by_user(claim, usable)
    if said is not None:
        return Grounding(True, (said,))
    asks = _TELLS_OF_QUESTION.search(claim) is not None
    sources = [Source(e, keep_questions=asks) for e in usable]
    parsed = parse_claim(claim)
    if len(parsed.values) > _VALUES_MAX:
        return Grounding(False, why="one fact is one conclusion; this asserts too many values")
    refused, agreed = _judge_statements(parsed, sources)
    if agreed:
        parsed = _without_what_agrees(parsed)
    found = find_all(parsed, sources, agreed)
    windows = best_windows(parsed, sources, found.hits)
    nearest = tuple(w.passage for w in windows[:3])
    if not (refused or agreed or found.in_output) and _tells_what_ran(parsed, found, sources):
        agreed = Outcome("agrees")
    why, missing = (
        (refused.why, found.missing)
        if refused
        else _objection(parsed, sources, found, windows, agreed, similarity)
    )
    against = refused is not None and refused.verdict == "contradicts"
    if not why:
        shown = agreed and sources[agreed.source]
        ran = shown is not None and bool(shown.command or shown.searches)
        why, passage = find_refutation(parsed, sources, settled=ran)
        missing, against = ((claim,), True) if why else ((), False)
        nearest = (passage, *nearest[:2]) if passage else nearest
    if why:
        return Grounding(False, missing=missing, why=why, nearest=nearest, against=against)
    passages = nearest or (_whole(sources, agreed),)
    return Grounding(True, passages, model_written=_model_wrote(passages, sources, found))


def _objection(
    claim: Claim,
    sources: Sequence[Source],
    found: Found,
    windows: Sequence[Window],
    agreed: Outcome | None,
    similarity: Similarity | None,
) -> tuple[str, tuple[str, ...]]:
    """Why the entries do not contain the claim, with what is missing; ("", ()) where they do."""
    if found.missing:
        return _what_is_missing(found, sources), found.missing
    if not found.in_output and not agreed:
        return _why_nothing(sources), (claim.text,)
    said = {s.evidence.entry for s in sources if s.evidence.kind == "message"}
    if not _about_it(claim, sources, found, windows, similarity, agreed, said):
        return "the cited entries do not speak of this", _unmatched(claim, sources)
    if not commit_agrees(claim, sources, found.hits):
        return "the cited entry says it of another commit", (claim.text,)
    against = created_elsewhere(claim, sources) or other_row(claim, found.placed, sources)
    against = against or judge_state(claim, sources) or denies_name(found.placed, sources)
    against = against or find_rival(claim, found.placed, sources) or other_compound(claim, sources)
    against = against or other_relation(claim, found.placed, sources)
    against = against or other_block(claim, found.placed, sources)
    against = against or other_attribute(claim, found.placed, sources)
    if against or agreed or not windows:
        return against, (claim.text,) if against else ()
    prose = windows[0].passage.entry in said
    against = judge_substitution(claim, windows[0].text, prose=True) if prose else ""
    against = against or judge_polarity(claim, [w.text for w in windows[:8]], prose=prose)
    return against, (claim.text,) if against else ()


def _judge_statements(
    claim: Claim, sources: Sequence[Source]
) -> tuple[Outcome | None, Outcome | None]:
    """The first refusal among outcomes, absence and order, and the first agreement."""
    agreed = None
    for outcome in (
        judge_outcome(claim, sources),
        judge_absence(claim, sources) if claim.absence else None,
        judge_order(claim, sources),
    ):
        if outcome is None:
            continue
        if outcome.verdict in ("contradicts", "unproven"):
            return outcome, None
        if outcome.verdict == "agrees" and agreed is None:
            agreed = outcome
    return None, agreed


def _without_what_agrees(claim: Claim) -> Claim:
    """The claim without the words that an outcome, or the absence of a thing, accounts for."""
    words = (w for w in claim.words if w not in OUTCOME_STEMS and w not in claim.negated)
    return claim._replace(words=tuple(words))


def _tells_what_ran(claim: Claim, found: Found, sources: Sequence[Source]) -> bool:
    """Whether a claim says no more than what arguments do prove: that something was run.

    A silent ``rm``, ``mv`` or ``mkdir`` did what it was asked to do.
    """
    if not found.hits or found.lost_words > found.words + 1.0:
        return False
    cited = [sources[hit.source] for hit in found.hits]
    silent = not any(s.text.strip() or s.evidence.is_error or s.searches for s in cited)
    done = silent and _DEED.search(claim.text) and any(_DOES.search(s.runs) for s in cited)
    return bool(_RAN.search(claim.text) or done)


def _about_it(
    claim: Claim,
    sources: Sequence[Source],
    found: Found,
    windows: Sequence[Window],
    similarity: Similarity | None,
    agreed: Outcome | None,
    said: Collection[str],
) -> bool:
    """Whether the entries speak of what the claim speaks of.

    What was found (values, names, words) must outweigh what was not; where it nearly does,
    closeness in meaning decides.
    """
    best = max(windows, key=lambda w: w.covered, default=None)
    prose = best is not None and best.passage.entry in said
    if agreed and not agreed.accounts and _is_of_another_run(claim, found, sources):
        return False
    if found.strength == 0 and not agreed:
        if best is None or not claim.words:
            return False
        if best.covered >= 0.5 and judge_substitution(claim, best.text, prose=prose):
            return False
    local = best.covered * (found.words + found.lost_words) if best else 0.0
    score = found.strength + found.words - _LOST_WORD * found.lost_words
    score += _LOCAL * (local - found.words) - _LOST_NAME * found.lost_names
    score += _AGREED * bool(agreed) + _SAID * prose
    short = (_ENOUGH if found.strength >= 1 or agreed else _ENOUGH_WORDS) - score
    if short <= 0 or similarity is None or best is None:
        return short <= 0
    if short > _NEARLY and best.covered < _SOME_WORDS:
        return False
    cosines = similarity(claim.text, [w.text for w in windows[:PASSAGES_MAX]])
    return max(cosines) >= (_CLOSE_SAID if prose else _CLOSE)


def _is_of_another_run(claim: Claim, found: Found, sources: Sequence[Source]) -> bool:
    """Whether neither the output nor what was run has anything of what the claim says went well or ill."""
    if found.strength or found.words or claim.absence or not any(claim.words):
        return False
    return not any(word and word in source.args_low for word in claim.words for source in sources)


def _unmatched(claim: Claim, sources: Sequence[Source]) -> tuple[str, ...]:
    missing = [
        m.group() for m in re.finditer(r"[A-Za-z][\w-]+", claim.text)
        if (w := next((w for w in claim.words if w and m.group().lower().startswith(w[:4])), ""))
        and word_weight(w, sources)[0] == 0
    ]  # fmt: skip
    return tuple(dict.fromkeys(missing)) or (claim.text,)


def _what_is_missing(found: Found, sources: Sequence[Source]) -> str:
    shown = ", ".join(f'"{item}"' for item in found.missing[:3])
    only_args = any(item.lower() in s.args_low for item in found.missing for s in sources)
    if only_args:
        return f"{shown} stands only in the call's own arguments, which prove only what was run"
    return f"the cited entries do not contain {shown}"


def _why_nothing(sources: Sequence[Source]) -> str:
    if any(s.evidence.output.strip() and not s.text.strip() for s in sources):
        return "the output only echoes the command's own arguments"
    if all(not s.text.strip() for s in sources):
        return "the cited output is empty; the call's arguments prove only what was run"
    return "the cited entries do not speak of this"


def _whole(sources: Sequence[Source], agreed: Outcome | None) -> Passage:
    source = sources[agreed.source if agreed else 0]
    stop = min(len(source.text), (agreed.stop if agreed else 0) or 200)
    return Passage(
        source.evidence.entry, agreed.start if agreed and agreed.start <= stop else 0, stop
    )


def _model_wrote(passages: Sequence[Passage], sources: Sequence[Source], found: Found) -> bool:
    entries = {p.entry for p in passages}
    written = [s.evidence.model_written for s in sources if s.evidence.entry in entries]
    only_args = bool(found.hits) and all(h.in_args and sources[h.source].writes for h in found.hits)
    return all(written) or only_args
