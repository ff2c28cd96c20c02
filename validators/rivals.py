"""Whether the entry gives what a claim says to something else.

All parts of "redis is at 2.11" may stand in an entry whose rows are "redis 7.2" and "search 2.11".
So each value and name is held against its *rivals*: tokens of the same shape that stand in a like
place, behind the same key or in the same column. Where a rival has more of the claim around it
than the claim's own value has, the entry says it of the rival.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from keepthread.validators.locating import Hit
from keepthread.validators.sources import Source
from keepthread.validators.values import Claim, Value
from keepthread.validators.vocabulary import content_words, is_generic, stem, synonyms

_MARGIN: Final = 0.3
_PLACES_MAX: Final = 12  # of one value, and of one word
_LINE_CHARS_MAX: Final = 400
_KEY_CHARS_MAX: Final = 48
_LINES_UP: Final = 40  # that are searched for a parent
_PARENTS_MAX: Final = 3
_ABOVE: Final = 0.6  # what a word in a parent line counts, against one in the line itself
_ADJACENT: Final = 1.4  # the word right behind a number
_BESIDE: Final = 0.6  # and one in another part of the line
_FAR: Final = 0.15  # how fast a word of the claim loses weight with its distance to the value
_OTHER_CLAUSE: Final = 0.4

_NAMED: Final = 0.25  # weight from which a word counts as said of the value
_WORD: Final = re.compile(r"[A-Za-z]+")
_CLAUSE: Final = re.compile(
    r"[,;:()]|\b(?:and|but|while|whereas|because|since|after|before|when|then)\b"
)
_PART: Final = re.compile(r"\s*[|;]\s*|\t+|\s{2,}(?![\s=:])|,\s?|\s(?:and|but)\s")
_KEY: Final = re.compile(
    r"([A-Za-z][\w-]*)(?:\[\w,]*\])?[\"']?\s*(?:\w+ \w+\()?[:=(<\s\"'\[~^>@!-]*$"
)
_EXPECTED: Final = re.compile(r"(?i)\bexpect\w*\b.{1,80}\b(?:got|received|was|found)\b")
_NEXT: Final = re.compile(r" ?(?:to )?([a-z][a-z]+)")
_SHAPES: Final = {
    "hash": re.compile(r"(?<![\w-])[0-9a-f]{7,40}(?![\w-])"),
    "version": re.compile(r"(?<![\w.])v?\d+(?:\.\d+)+[\w-]*(?![\w.])"),
    "number": re.compile(r"(?<![\w.:/[-])\d+(?:[,_]\d{3})*(?:\.\d+)?(?![\d:/])"),
    "gutter": re.compile(r"(?m)^ {0,8}\d+(?=[\t:\u2192])"),
    "place": re.compile(r"(?<![\w/.-])[\w./-]*\w\.\w+:\d+"),
    "compound": re.compile(r"(?<![\w./-])[a-z][a-z0-9]*(?:-[a-z0-9]+)+(?![\w/])"),
}
_LABELS: Final = frozenset(
    "adr decision ticket issue pr case test step phase level rule section chapter page rev".split()
)
_UNIT: Final = re.compile(r" ?(%|[a-zµ]+)")


class _Cue(NamedTuple):
    """A word of the claim near a value: how it may be spelled, and how much it tells."""

    forms: frozenset[str]
    weight: float


class _Spot(NamedTuple):
    """A token in a source, with its line and where the line begins."""

    source: int
    start: int
    stop: int
    line: int
    end: int


def find_rival(
    claim: Claim, placed: Sequence[tuple[Value, Sequence[Hit]]], sources: Sequence[Source]
) -> str:
    """Why a value or name of the claim belongs to something else there, or ""."""
    # What was expected and what came is told by the words before each, where the entry has them.
    told = bool(_EXPECTED.search(claim.text)) and any("expect" in s.low for s in sources)
    for value, hits in placed:
        shape = _shape(value)
        shown = [h for h in hits if not h.in_args][:_PLACES_MAX]
        if not shape or not shown or value.negated or value.about:
            continue
        if value.before in _LABELS:
            continue
        if value.of_line and shape == "number":
            shape = "gutter"
        cues = _cues(claim, value)
        own = [_spot(sources, h.source, h.start, h.stop) for h in shown]
        if shape == "gutter" and not _is_odd_line(claim, own, cues, sources):
            continue
        best_own = max(_support(cues, spot, sources) for spot in own)
        for rival in _rivals(shape, own, cues, sources):
            said = sources[rival.source].text[rival.start : rival.stop].strip()
            if _keeps_order(claim, value, said, own, rival):
                continue
            if told and said.lower() in claim.text.lower():
                continue
            if _support(cues, rival, sources) >= best_own + _MARGIN:
                return f'the cited entry says it of "{said}", not of "{value.text}"'
    return ""


def _is_odd_line(
    claim: Claim, own: Sequence[_Spot], cues: Sequence[_Cue], sources: Sequence[Source]
) -> bool:
    """Whether the one line number of a claim leads to lines that have nothing of the claim."""
    one = sum(value.of_line and value.kind == "number" for value in claim.values) == 1
    return one and all(
        not sources[s.source].low[s.line : s.start].strip() and not _support(cues, s, sources)
        for s in own
    )


def _keeps_order(claim: Claim, value: Value, said: str, own: Sequence[_Spot], rival: _Spot) -> bool:
    """Whether the claim names the rival too, on the same side of the value as the entry does."""
    at = claim.text.lower().find(said.lower())
    beside = [spot for spot in own if (spot.source, spot.line) == (rival.source, rival.line)]
    return (
        at >= 0
        and bool(beside)
        and all((at < value.start) == (rival.start < spot.start) for spot in beside)
    )


def _shape(value: Value) -> str:
    if value.kind in ("code", "path", "quoted"):
        text = value.text.lower().lstrip("^~>=<v")
        shapes = ("version", "place", "compound")
        return next((shape for shape in shapes if _SHAPES[shape].fullmatch(text)), "")
    return value.kind if value.kind in _SHAPES else ""


def _cues(claim: Claim, value: Value) -> list[_Cue]:
    """Words of the claim, each with the more weight the nearer it stands to the value."""
    text = claim.text
    cues: dict[str, _Cue] = {}
    stop = value.start + len(value.text)
    for match in re.finditer(r"[\w.-]*\w", text):
        at = match.start()
        if value.start <= at < stop:
            continue
        between = text[stop:at] if at >= stop else text[match.end() : value.start]
        weight = 1.0 / (1.0 + _FAR * len(_WORD.findall(between)))
        weight *= _OTHER_CLAUSE if _CLAUSE.search(between) else 1.0
        token = match.group().lower()
        coded = not token.isalpha()
        parts = re.split(r"[._/-]", token)[:2] if coded and not token[0].isdigit() else []
        words = content_words(match.group()) or ([token] if token[0].isdigit() else [])
        for word in dict.fromkeys((*words, *filter(str.isalpha, parts))):
            stemmed = stem(word)
            forms = frozenset({token}) if token[0].isdigit() else synonyms(stemmed)
            told = weight * (0.6 if is_generic(stemmed) else 1.0) * (1.5 if coded else 1.0)
            if stemmed not in cues or cues[stemmed].weight < told:
                cues[stemmed] = _Cue(forms, told)
    return list(cues.values())


def _rivals(
    shape: str, own: Sequence[_Spot], cues: Sequence[_Cue], sources: Sequence[Source]
) -> Iterator[_Spot]:
    """Tokens of the shape on lines that speak of the cues, in a place like one of ``own``."""
    said = {sources[s.source].low[s.start : s.stop].removeprefix("v") for s in own}
    for n, start in sorted(_lines_of(cues, own, sources)):
        source = sources[n]
        end = _line_end(source.low, start)
        for match in _SHAPES[shape].finditer(source.low, start, end):
            rival = _Spot(n, match.start(), match.end(), start, end)
            token = match.group().strip().removeprefix("v")
            if any(token.startswith(s) for s in said):
                continue
            if any(_is_alike(shape, spot, rival, cues, sources) for spot in own):
                yield rival


def _lines_of(
    cues: Sequence[_Cue], own: Sequence[_Spot], sources: Sequence[Source]
) -> set[tuple[int, int]]:
    """Where lines begin that have one of the cues, or stand right below one that has."""
    lines = {(spot.source, spot.line) for spot in own}
    for n, source in enumerate(sources):
        for cue in cues:
            for form in cue.forms:
                for at in source.word_places(form)[:_PLACES_MAX]:
                    start = _spot(sources, n, at, at).line
                    for _ in range(4):
                        lines.add((n, start))
                        start = _line_end(source.low, start) + 1
                        if start >= len(source.low):
                            break
    return lines


def _is_alike(
    shape: str, one: _Spot, other: _Spot, cues: Sequence[_Cue], sources: Sequence[Source]
) -> bool:
    """Whether two tokens stand in a like place: behind the same word, or before the same.

    Also where the claim names the word before the rival, and not the one before its own value.
    """
    a, b = sources[one.source].low, sources[other.source].low
    if shape == "number" and _unit(a, one.stop) != _unit(b, other.stop):
        return False
    same_line = (one.source, one.line) == (other.source, other.line)
    if shape in ("hash", "place", "gutter"):
        return not same_line
    if shape == "version" and one.start == one.line and other.start == other.line:
        return not same_line
    after, other_after = _next(a, one.stop), _next(b, other.stop)
    if same_line and shape == "number" and after and other_after:
        return after != other_after  # "Plan: 1 to add, 2 to destroy"
    key, other_key = _key(a, one), _key(b, other)
    said, other_said = _named(key, cues), _named(other_key, cues)
    if other_said > said and (shape == "version" or not said):
        return not same_line or key != ""
    if same_line:
        return False
    if shape == "number" and after == other_after != "":
        return True
    return key == other_key != ""


def _key(low: str, spot: _Spot) -> str:
    return _key_of(low[max(spot.line, spot.start - _KEY_CHARS_MAX) : spot.start])


@lru_cache(maxsize=1024)
def _key_of(before: str) -> str:
    match = _KEY.search(before)
    return match.group(1) if match else ""


def _next(low: str, stop: int) -> str:
    match = _NEXT.match(low, stop, stop + 24)
    return match.group(1) if match else ""


def _named(key: str, cues: Sequence[_Cue]) -> float:
    """How near to the value the claim names a key; 0 where it does not, or only far away."""
    words = {stem(w) for w in content_words(key)} | {stem(key)}
    weight = max((cue.weight for cue in cues if cue.forms & words), default=0.0)
    return weight if key and weight >= _NAMED else 0.0


def _unit(low: str, stop: int) -> str:
    match = _UNIT.match(low, stop, stop + 12)
    return match.group(1) if match else ""


def _support(cues: Sequence[_Cue], spot: _Spot, sources: Sequence[Source]) -> float:
    """How much of the claim stands around a token: in its part of the line, the line, above it."""
    source = sources[spot.source]
    line = source.text[spot.line : spot.end]
    at = spot.start - spot.line
    parts = [0, *(m.end() for m in _PART.finditer(line)), len(line) + 1]
    begin = max(p for p in parts if p <= at)
    stop = min(p for p in parts if p > at)
    near = _stems(line[begin:stop])
    beside = _stems(line)
    adjacent = _stems(_next(source.low, spot.stop))
    above: set[str] = set()
    for parent in _parents(source, spot):
        above |= _stems(parent)
    total = 0.0
    for cue in cues:
        if cue.forms & adjacent:
            total += _ADJACENT * cue.weight
        elif cue.forms & near:
            total += cue.weight
        elif cue.forms & beside:
            total += _BESIDE * cue.weight
        elif cue.forms & above:
            total += _ABOVE * cue.weight
    return total


def _stems(text: str) -> set[str]:
    words = {stem(w) for w in content_words(text)}
    return words | set(re.findall(r"\d[\w.]*", text.lower()))


def _parents(source: Source, spot: _Spot) -> Iterator[str]:
    """Lines above that are indented less, the nearest first."""
    depth = _indent(source.text[spot.line : spot.end])
    start, found = spot.line, 0
    for _ in range(_LINES_UP):
        if not start or not depth or found == _PARENTS_MAX:
            return
        end = start - 1
        start = source.text.rfind("\n", max(0, end - _LINE_CHARS_MAX), end) + 1
        line = source.text[start:end]
        if line.strip() and _indent(line) < depth:
            depth, found = _indent(line), found + 1
            yield line


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _line_end(low: str, start: int) -> int:
    stop = min(len(low), start + _LINE_CHARS_MAX)
    end = low.find("\n", start, stop)
    return end if end >= 0 else stop


def _spot(sources: Sequence[Source], n: int, start: int, stop: int) -> _Spot:
    low = sources[n].low
    first = max(0, start - _LINE_CHARS_MAX)
    line = low.rfind("\n", first, start) + 1 or first
    return _Spot(n, start, stop, line, _line_end(low, stop))
