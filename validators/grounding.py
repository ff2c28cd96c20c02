"""Whether the cited archive entries contain a claim: the heart of the write gate.

Every asserted value must occur in the entries, of names one suffices, and what the claim is about
must be what the entries are about. A claim with neither value nor name is compared by meaning.
Claims about runs must agree with counts and exit status; claims of absence with empty searches.
"""

import re
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from keepthread.validators.absence import is_denial, judge_absence
from keepthread.validators.bindings import (
    commit_agrees,
    created_elsewhere,
    is_assigned,
)
from keepthread.validators.counting import Count, counts_of
from keepthread.validators.evidence import Evidence, Passage
from keepthread.validators.lists import lost_complement, other_compound, unlisted
from keepthread.validators.locating import Hit, locate, locate_joined
from keepthread.validators.outcomes import OUTCOME_STEMS, Outcome, judge_outcome
from keepthread.validators.passages import (
    PASSAGES_MAX,
    Window,
    best_windows,
    is_joined,
    topic_words,
    weight_of,
    word_weight,
)
from keepthread.validators.polarity import (
    denies_name,
    judge_order,
    judge_polarity,
    judge_state,
    judge_substitution,
)
from keepthread.validators.rivals import find_rival
from keepthread.validators.sources import Source
from keepthread.validators.tables import other_row
from keepthread.validators.values import Claim, Value, is_code_name, is_question, parse_claim
from keepthread.validators.verbatim import said_by_user
from keepthread.validators.vocabulary import ALIASED, aliases, stem


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


# Cosine of a claim with passages, one figure a passage, in [-1, 1].
Similarity = Callable[[str, Sequence[str]], Sequence[float]]

_VALUES_MAX: Final = 40
_ANCHORS_MAX: Final = 24
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
_ASSIGNED: Final = 1.5  # a value that stands right behind a word of the claim
_COMPOUND: Final = 1.0
_HYPHEN_WORDS: Final = re.compile(r"(?<![\w/.-])[A-Za-z]{2,}(?:-[A-Za-z]{2,})+(?![\w/-])")
_ONLY_ASKED: Final = 0.5  # what stands in the arguments alone tells only what was asked
_NEXT_NAME: Final = 0.3  # names come in company: each after the first tells less
_NUMBERED: Final = frozenset(
    "pr issue order ticket invoice user customer account job run build request pull mr task card"
    " revision page case".split()
)
_SPECIFICITY: Final = {"quoted": 3.0, "code": 2.0, "path": 2.0, "url": 3.0, "hash": 3.0,
                       "date": 2.0, "day": 1.5, "version": 2.0, "number": 0.5}  # fmt: skip
_TELLS_OF_QUESTION: Final = re.compile(
    r"(?i)\b(?:ask(?:s|ed)?|wonders?|wondered) (?:if|whether|how|what|why|when)\b"
)
_RAN: Final = re.compile(
    r"(?i)\b(?:ran|(?:was|were|been) (?:run|executed|invoked|called|searched)|searched|executed)\b"
)
_BEFOREHAND: Final = re.compile(
    r"(?i)\b(?:after|despite|following|even with)\b[^.;,]{0,20}?\b(?:\w+ing|change|edit|fix|patch|update)\b"
)
_DEED: Final = re.compile(r"(?i)\b(?:remov|delet|mov|renam|copi|creat|made)\w*")
_DOES: Final = re.compile(r"(?:^|\s)(?:rm|rmdir|mv|cp|mkdir|touch|ln|git (?:rm|mv))\s")
_SAYS_WHAT_RAN: Final = re.compile(
    r"(?i)\b(?:ran|run|executed|invoked|searched|grepped|looked|opened|viewed|read|edited|created|wrote|"
    r"lines?|command|requested|called with|queried|listed)\b"
)


class _Found(NamedTuple):
    """What of a claim was found: hits, points for what is telling, and words by weight."""

    hits: tuple[Hit, ...]
    placed: tuple[tuple[Value, tuple[Hit, ...]], ...]  # values and names, each with its hits
    missing: tuple[str, ...]
    strength: float
    words: float  # sum of the weights of words found anywhere in the entries
    lost_words: float
    lost_names: float
    in_output: bool


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
    found = _find_all(parsed, sources, agreed)
    windows = best_windows(parsed, sources, found.hits)
    nearest = tuple(w.passage for w in windows[:3])
    if not (refused or agreed or found.in_output) and _tells_what_ran(parsed, found, sources):
        agreed = Outcome("agrees")
    why, missing = (
        (refused.why, found.missing)
        if refused
        else _objection(parsed, sources, found, windows, agreed, similarity)
    )
    if why:
        return Grounding(False, missing=missing, why=why, nearest=nearest)
    passages = nearest or (_whole(sources, agreed),)
    return Grounding(True, passages, model_written=_model_wrote(passages, sources, found))


def _objection(
    claim: Claim,
    sources: Sequence[Source],
    found: _Found,
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
    if not _about_it(claim, found, windows, similarity, agreed, said):
        return "the cited entries do not speak of this", _unmatched(claim, sources)
    if not commit_agrees(claim, sources, found.hits):
        return "the cited entry says it of another commit", (claim.text,)
    against = created_elsewhere(claim, sources) or other_row(claim, found.placed, sources)
    against = against or judge_state(claim, sources) or denies_name(found.placed, sources)
    against = against or find_rival(claim, found.placed, sources) or other_compound(claim, sources)
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


def _find_all(claim: Claim, sources: Sequence[Source], agreed: Outcome | None) -> _Found:
    hits: list[Hit] = []
    missing: list[str] = []
    strength, in_output = 0.0, False
    placed: list[tuple[Value, tuple[Hit, ...]]] = []
    told = bool(_SAYS_WHAT_RAN.search(claim.text))
    for value in claim.values:
        places = locate(value, sources) or locate_joined(value, sources)
        proven = [p for p in places if not p.in_args or _args_prove(value, sources[p.source], told)]
        if proven:
            hits += proven[:_ANCHORS_MAX]
            placed.append((value, tuple(proven)))
            if value.negated and claim.absence and not _is_denied(proven, sources):
                continue
            shown = any(not p.in_args or sources[p.source].writes for p in proven)
            in_output = in_output or shown
            strength += _specificity(value) * (1.0 if shown else _ONLY_ASKED)
            if any(is_assigned(claim, value, sources[p.source], p) for p in proven):
                strength += _ASSIGNED
        elif value.negated or (agreed and agreed.accounts):
            continue
        else:
            counted = _counted(value, claim, sources)
            if counted is None:
                missing.append(value.text)
            else:
                in_output, strength = True, strength + 2.5 * counted.telling
                hits.append(Hit(counted.source, 0, 1))
    named = _find_names(claim, sources)
    slashed = all(re.fullmatch(r"[a-z]+/[a-z]+", name) for name in claim.names)
    lost = [n for n in claim.names if n not in named and n.lower() not in claim.negated]
    lost = [n for n in lost if not _is_context(n, claim.text)]
    missing += [n for n in lost if re.search(r"[A-Za-z]\d|\d[A-Za-z]", n) and n.lower() not in ALIASED]
    missing += unlisted(claim, sources)
    missing += lost_complement(claim, sources)
    if not named and not agreed and not (slashed and hits):  # "try/except" need not be a path
        missing += lost[:3]
    telling: list[float] = []
    for name, places in named.items():
        hits += places
        placed.append((Value(name, "code", claim.text.find(name)), tuple(places)))
        shown = any(not p.in_args or sources[p.source].writes for p in places)
        in_output = in_output or shown
        if not any(_reads(name, hit, sources) for hit in places):
            continue  # only another word for it: that does not count against, nor for
        telling.append((2.0 if is_code_name(name) else 1.2) * (1.0 if shown else _ONLY_ASKED))
    telling.sort(reverse=True)
    strength += sum(telling[:1]) + _NEXT_NAME * sum(telling[1:])
    strength += _COMPOUND * any(s.find(m) for m in _compounds(claim) for s in sources)
    words, lost_words, shown = _covered(claim, sources)
    in_output = in_output or shown
    return _Found(
        tuple(hits), tuple(placed), tuple(missing), strength, words, lost_words, float(len(lost)), in_output
    )


def _is_context(name: str, text: str) -> bool:
    """Whether a name only tells what went before: "it still fails after the change to X"."""
    before = _BEFOREHAND.search(text)
    return before is not None and text.find(name) > before.start()


def _compounds(claim: Claim) -> list[str]:
    """Words joined by hyphens, which tell much where they stand as such: "allkeys-lru"."""
    return [m.group().lower() for m in _HYPHEN_WORDS.finditer(claim.text)]


def _args_prove(value: Value, source: Source, told: bool) -> bool:
    if source.writes or told or value.kind in ("path", "quoted", "code", "url"):
        return True
    # "PR 482 is open": the number only says which one was asked for, and there was an answer
    return value.before in _NUMBERED and not source.evidence.is_error and bool(source.text.strip())


def _is_denied(hits: Sequence[Hit], sources: Sequence[Source]) -> bool:
    return any(not h.in_args and is_denial(sources[h.source].low, h.start) for h in hits)


def _specificity(value: Value) -> float:
    if value.kind == "path" and value.text.strip("/").isalpha():
        return 1.0  # "/app" is part of many paths
    if value.kind != "number":
        return _SPECIFICITY[value.kind] * min(1.0, len(value.text) / 6)
    if "." in value.text:
        return 1.5
    digits = len(re.sub(r"\D", "", value.text)) or 1
    return 0.5 + 0.45 * (digits - 1) + 0.5 * bool(value.unit)


def _counted(value: Value, claim: Claim, sources: Sequence[Source]) -> Count | None:
    if value.kind != "number" or value.unit or value.number is None:
        return None
    counts = counts_of(value, claim, sources)
    return next((count for count in counts if count.number == value.number), None)


def _find_names(claim: Claim, sources: Sequence[Source]) -> dict[str, list[Hit]]:
    """Hits of the claim's names, of those that occur."""
    found = {
        name: locate(Value(name, "code", 0), sources)[:6] or _inflected(name, sources)
        for name in claim.names
        if name.lower() not in claim.negated
    }
    return {name: hits for name, hits in found.items() if hits}


def _reads(name: str, hit: Hit, sources: Sequence[Source]) -> bool:
    """Whether the name itself, not an alias, stands at a hit."""
    source = sources[hit.source]
    shown = (source.args_low if hit.in_args else source.low)[hit.start : hit.start + 3]
    return shown == name.lower()[:3] or name.lower() not in ALIASED


def _inflected(name: str, sources: Sequence[Source]) -> list[Hit]:
    """A name in another form: "Fridays" for "friday", ``cp39`` within a file name."""
    if is_code_name(name):
        places = [(n, at) for n, s in enumerate(sources) for at in s.find_within(name.lower())[:2]]
    else:
        places = [(n, source.find_word(stem(name))) for n, source in enumerate(sources)]
    hits = [Hit(n, at, at + len(name)) for n, at in places if at >= 0]
    for n, source in enumerate(() if hits or is_code_name(name) else sources):
        at = source.find_word(stem(name), in_args=True)  # Redis of ``redis-cli``
        hits += [Hit(n, at, at + len(name), True)] if at >= 0 else []
    for other in () if hits else aliases(name):
        for n, source in enumerate(sources):
            for in_args in (False, True):
                at = source.find_word(stem(other), in_args=in_args)
                at = next(iter(source.find(other, in_args=in_args)), at)
                if at >= 0:
                    hits.append(Hit(n, at, at + len(other), in_args))
    return hits


def _covered(claim: Claim, sources: Sequence[Source]) -> tuple[float, float, bool]:
    """The weight of the claim's words that stand in the entries, that of those which do not, and
    whether output has any."""
    found = lost = 0.0
    in_output = False
    for word in topic_words(claim):
        share, shown = word_weight(word, sources)
        if not share and is_joined(claim, word, sources):
            share, shown = 1.0, True
        found += share * weight_of(word)
        lost += (1.0 - share) * weight_of(word)
        in_output = in_output or shown
    return found, lost, in_output


def _tells_what_ran(claim: Claim, found: _Found, sources: Sequence[Source]) -> bool:
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
    found: _Found,
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


def _unmatched(claim: Claim, sources: Sequence[Source]) -> tuple[str, ...]:
    missing = [
        m.group() for m in re.finditer(r"[A-Za-z][\w-]+", claim.text)
        if (w := next((w for w in claim.words if w and m.group().lower().startswith(w[:4])), ""))
        and word_weight(w, sources)[0] == 0
    ]  # fmt: skip
    return tuple(dict.fromkeys(missing)) or (claim.text,)


def _what_is_missing(found: _Found, sources: Sequence[Source]) -> str:
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


def _model_wrote(passages: Sequence[Passage], sources: Sequence[Source], found: _Found) -> bool:
    entries = {p.entry for p in passages}
    written = [s.evidence.model_written for s in sources if s.evidence.entry in entries]
    only_args = bool(found.hits) and all(h.in_args and sources[h.source].writes for h in found.hits)
    return all(written) or only_args
