"""What of a claim stands in the cited entries, how telling that is, and what is missing."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from keepthread.validators.absence import is_denial
from keepthread.validators.bindings import is_assigned
from keepthread.validators.counting import Count, counts_of
from keepthread.validators.lists import lost_complement, unlisted
from keepthread.validators.locating import Hit, locate, locate_joined
from keepthread.validators.outcomes import Outcome
from keepthread.validators.passages import is_joined, topic_words, weight_of, word_weight
from keepthread.validators.sources import Source
from keepthread.validators.values import Claim, Value, is_code_name
from keepthread.validators.vocabulary import ALIASED, aliases, stem

_ANCHORS_MAX: Final = 24
_ASSIGNED: Final = 1.5  # a value that stands right behind a word of the claim
_COMPOUND: Final = 1.0
_HYPHEN_WORDS: Final = re.compile(r"(?<![\w/.-])[A-Za-z]{2,}(?:-[A-Za-z]{2,})+(?![\w/-])")
_ONLY_ASKED: Final = 0.5  # what stands in the arguments alone tells only what was asked
_LISTED: Final = 0.2  # a path in a list of paths tells that it is there, nothing of its content
_NEXT_NAME: Final = 0.3  # names come in company: each after the first tells less
_NUMBERED: Final = frozenset(
    "pr issue order ticket invoice user customer account job run build request pull mr task card"
    " revision page case".split()
)
_SPECIFICITY: Final = {"quoted": 3.0, "code": 2.0, "path": 2.0, "url": 3.0, "hash": 3.0,
                       "date": 2.0, "day": 1.5, "version": 2.0, "number": 0.5}  # fmt: skip
_BEFOREHAND: Final = re.compile(
    r"(?i)\b(?:after|despite|following|even with)\b[^.;,]{0,20}?\b(?:\w+ing|change|edit|fix|patch|update)\b"
)
_SAYS_WHAT_RAN: Final = re.compile(
    r"(?i)\b(?:ran|run|executed|invoked|searched|grepped|looked|opened|viewed|read|edited|created|wrote|"
    r"lines?|command|requested|called with|queried|listed)\b"
)


class Found(NamedTuple):
    """What of a claim was found: hits, points for what is telling, and words by weight."""

    hits: tuple[Hit, ...]
    placed: tuple[tuple[Value, tuple[Hit, ...]], ...]  # values and names, each with its hits
    missing: tuple[str, ...]
    strength: float
    words: float  # sum of the weights of words found anywhere in the entries
    lost_words: float
    lost_names: float
    in_output: bool


def find_all(claim: Claim, sources: Sequence[Source], agreed: Outcome | None) -> Found:
    """Look every value, name and word of a claim up; what ``agreed`` accounts for need not stand there."""
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
            strength += _specificity(value) * (_tells(proven, sources) if shown else _ONLY_ASKED)
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
    missing += [
        n for n in lost if re.search(r"[A-Za-z]\d|\d[A-Za-z]", n) and n.lower() not in ALIASED
    ]
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
        telling.append((2.0 if is_code_name(name) else 1.2) * (_tells(places, sources) if shown else _ONLY_ASKED))
    telling.sort(reverse=True)
    strength += sum(telling[:1]) + _NEXT_NAME * sum(telling[1:])
    strength += _COMPOUND * any(s.find(m) for m in _compounds(claim) for s in sources)
    words, lost_words, shown = _covered(claim, sources)
    in_output = in_output or shown
    return Found(
        tuple(hits),
        tuple(placed),
        tuple(missing),
        strength,
        words,
        lost_words,
        float(len(lost)),
        in_output,
    )


def _tells(hits: Sequence[Hit], sources: Sequence[Source]) -> float:
    """What a value that was found tells: in a list of paths no more than that it exists."""
    shown = [sources[h.source] for h in hits if not h.in_args]
    return _LISTED if shown and all(source.lists_paths for source in shown) else 1.0


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
    # "PR 482 is open", "the v2 endpoint": it only says which one was asked for, and there was an answer
    asked = value.before in _NUMBERED or f"/v{value.text}/" in f"{source.args_low}/"
    return asked and not source.evidence.is_error and bool(source.text.strip())


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
