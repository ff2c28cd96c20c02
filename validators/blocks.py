"""Lines and blocks that belong to something: a row, a grepped file, a section, a paragraph with a heading.

"The db runs 4 workers" has all its words in a file whose service ``api`` has ``WORKERS: 4`` and whose ``db``
has none. Where the claim names another line or block of the same kind than those that hold its value, and
not those, the entry says it of the other.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from keepthread.validators.locating import Hit
from keepthread.validators.sources import Source
from keepthread.validators.values import Claim, Value
from keepthread.validators.vocabulary import stem

_LINES_MAX: Final = 400
_LINE_CHARS_MAX: Final = 400
_FIRST: Final = re.compile(r"^([\w./@-]*\w)(?=:\d+:|[:\s]|$)")
_BLOCK: Final = re.compile(r"^(\s*)(?:- )?(?:[\w-]+ )?[\"']?([\w./@-]+)[\"']?\s*[:={(\[]+\s*$")
_PLACE: Final = re.compile(
    r"(?<![\w/.-])(?:[\w.-]{1,80}/){0,12}[\w-]{1,80}\.[a-z]\w{0,5}(?![\w/])"
)
_TOKEN: Final = re.compile(r"[\w./@-]*\w")
_SHAPED: Final = ("number", "version", "code", "quoted", "hash", "url", "path")
_OF_LINE: Final = re.compile(r"(?i)\blines?\b")
_NO_NAMES: Final = frozenset("the a an and or of to in on is are was no not all each error warning note".split())


class _Line(NamedTuple):
    start: int
    text: str
    indent: int


def other_block(
    claim: Claim, placed: Sequence[tuple[Value, Sequence[Hit]]], sources: Sequence[Source]
) -> str:
    """Why every place of a value belongs to something that the claim does not name, or ""."""
    named = {t.lower().strip("/") for t in _TOKEN.findall(claim.text)}
    named |= {part for t in named for part in re.split(r"[./]", t)}
    named |= {stem(t) for t in named if t.isalpha()}
    for value, hits in placed:
        shown = [h for h in hits if not h.in_args]
        if value.kind not in _SHAPED or value.negated or not shown:
            continue
        of_line = value.kind == "number" and _OF_LINE.search(claim.text)
        if len({h.source for h in shown}) > 1 or of_line:
            continue
        lines = _lines(sources[shown[0].source].low)
        places = [n for n in (_line_at(lines, h.start) for h in shown) if n is not None]
        if len(places) < len(shown):
            continue
        owner = _other_row(lines, places, named, value) or _other_section(lines, places, named)
        if not owner and value.kind != "path":
            owner = _other_file(lines, places, claim)
        if owner:
            return f'the cited entry says it of something else than "{owner}"'
    return ""


def _lines(low: str) -> list[_Line]:
    found, start = [], 0
    for line in low.split("\n", _LINES_MAX)[:_LINES_MAX]:
        found.append(_Line(start, line[:_LINE_CHARS_MAX], len(line) - len(line.lstrip())))
        start += len(line) + 1
    return found


def _line_at(lines: Sequence[_Line], at: int) -> int | None:
    return next(
        (n for n, line in enumerate(lines) if line.start <= at <= line.start + len(line.text)), None
    )


def _other_row(
    lines: Sequence[_Line], places: Sequence[int], named: set[str], value: Value
) -> str:
    """The name before another line that has a like token, where the claim names it and not these lines."""
    rows = {n: m[1] for n, line in enumerate(lines) if (m := _FIRST.match(line.text))}
    if any(n not in rows or _is_named(rows[n], named) for n in places):
        return ""
    shape = _shape(value.text.lower())
    if value.kind == "number" or "9" not in shape:
        return ""  # a plain number is told by its noun, a word may stand anywhere
    for n, name in rows.items():
        if n in places or not _is_named(name, named) or name in _NO_NAMES or name.isdigit():
            continue
        rest = lines[n].text[len(name) :]
        rest = re.sub(r"^:\d+:", "", rest)
        alike = any(_shape(t) == shape for t in re.findall(r"[\w.:/@-]*\w", rest))
        if alike and not any(rows[p] == name for p in places):
            return name
    return ""


def _other_section(lines: Sequence[_Line], places: Sequence[int], named: set[str]) -> str:
    """A section beside those that hold the value, where the claim names it and not the one that holds it."""
    beside = [_sibling_named(lines, place, named) for place in places]
    return beside[0] if beside and all(beside) else ""


def _sibling_named(lines: Sequence[_Line], place: int, named: set[str]) -> str:
    own = {t.strip("/") for t in _TOKEN.findall(lines[place].text)}
    for at, section in _sections(lines, place):
        if _is_named(section, named):
            continue
        for name in _beside(lines, at):
            if _is_named(name, named) and name not in own and name not in _NO_NAMES:
                return name
    return ""


def _other_file(lines: Sequence[_Line], places: Sequence[int], claim: Claim) -> str:
    """A file that the claim names, where each line with the value is of another one of its kind."""
    said = {m.group().lower() for m in _PLACE.finditer(claim.text)}
    for name in said:
        ending = name[name.rindex(".") :]
        whole = re.compile(rf"(?<![\w.-]){re.escape(name)}(?!\w)")
        if not any(whole.search(line.text) for line in lines):
            continue
        others = [
            {m.group() for m in _PLACE.finditer(lines[p].text) if m.group().endswith(ending)}
            for p in places
        ]
        if all(o and not any(x.endswith(n) or n.endswith(x) for x in o for n in said) for o in others):
            return name
    return ""


def _sections(lines: Sequence[_Line], place: int) -> Iterator[tuple[int, str]]:
    """The sections above a line, the nearest first: (line, name)."""
    depth = lines[place].indent
    for n in range(place - 1, -1, -1):
        line = lines[n]
        if line.text.strip() and line.indent < depth:
            depth = line.indent
            if match := _BLOCK.match(line.text):
                yield n, match[2].strip("/")


def _beside(lines: Sequence[_Line], section: int) -> Iterator[str]:
    """Names of the other sections under the same parent, which have lines of their own."""
    depth = lines[section].indent
    for step in (-1, 1):
        n = section + step
        while 0 <= n < len(lines):
            line = lines[n]
            if line.text.strip() and line.indent < depth:
                break
            match = _BLOCK.match(line.text) if line.indent == depth else None
            deeper = n + 1 < len(lines) and lines[n + 1].indent > depth
            if match and deeper:
                yield match[2].strip("/")
            n += step


def _is_named(name: str, named: set[str]) -> bool:
    parts = {name, *re.split(r"[./]", name)}
    return any(len(part) > 1 and (part in named or stem(part) in named) for part in parts)


def _shape(token: str) -> str:
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", token))
