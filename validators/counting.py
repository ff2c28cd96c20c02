"""Counts that a number may stand for: listed lines, matches, items under a heading."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, NamedTuple

from keepthread.validators.sources import Source
from keepthread.validators.values import Claim, Value
from keepthread.validators.vocabulary import stem

_LISTED_KINDS: Final = frozenset({"modul", "dir", "migr", "imag", "file"})
_OCCURRENCE: Final = frozenset(
    stem(w) for w in "matches occurrences hits places usages references lines results times".split()
)
_GREPPED: Final = re.compile(r"[\w./-]+(?=:)")
# What a line or an item looks like that counts as one of these, with what it must contain.
_FUNCTION: Final = (("def ", "func ", "fn ", "function "), r"\b(?:def|func|fn|function)\s+\w")
_KIND_OF_LINE: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "modul": ((".py", ".js", ".ts", ".go", ".rs"), r"\.pyx?\b|\.[jt]sx?\b|\.go\b|\.rs\b"),
    "dir": (("d", "/"), r"^d[rwx-]{9}|/:?\s*$"),
    "class": (("class ",), r"\bclass\s+\w"),
    "func": _FUNCTION,
    "function": _FUNCTION,
    "method": (("def ",), r"\bdef\s+\w"),
    "test": (
        ("test", "it(", "Test"),
        r"\btest_\w+|\bdef test|::test|\bit\(|#\[test\]|\bfunc Test",
    ),
    "migr": (("_", ".sql"), r"\d{4}_\w+|\.sql\b"),
    "imag": ((".png", ".jp", ".svg"), r"\.(?:png|jpe?g|svg)\b"),
    "file": (("",), r"\S"),
}
_HEADING_END: Final = re.compile(r"[:\]][ \r]*\n")
_BLANK_LINE: Final = re.compile(r"\n[ \t\r]*(?:\n|$)")
_HEADINGS_MAX: Final = 200
_ITEMS_A_LINE: Final = 8
_LISTS: Final = re.compile(
    r"\b(?:wc|tree|du|ps|list|ls-files|branch|log|get|images|status|remote|tag|top|jobs)\b"
)
_HEAD_OR_TOTAL: Final = re.compile(r"^[A-Z][A-Z /]+$|^\s*NAME\b|\btotal\b|^[\s|+-]+$")
_NO_ITEM: Final = re.compile(r"total \d+\s*$|\S{0,16}[rwx-]{9}.* \.\.?/?\s*$|\.\.?/?\s*$")
_NO_ITEM_CHARS_MAX: Final = 400


class Count(NamedTuple):
    """A count that an entry shows; ``telling`` where it is known to be of the claimed kind."""

    source: int
    number: int
    telling: bool = False


def counts_of(value: Value, claim: Claim, sources: Sequence[Source]) -> Iterable[Count]:
    """Counts that a number may stand for: listed lines, matches, items; the telling ones first."""
    if not value.number:
        return
    noun = stem(value.noun) if value.noun else ""
    marks, kind = _KIND_OF_LINE.get(noun, ((), r"(?!)"))
    pattern = re.compile(kind)
    untold: list[Count] = []
    total_kind = total_lines = 0
    for n, source in enumerate(sources):
        yield from (Count(n, count, True) for count in _blocks(source.text, claim.words))
        lists = source.searches or bool(_LISTS.search(source.command))
        counted = value.noun.endswith("s") or value.number == 1
        by_kind = noun in _KIND_OF_LINE and (lists or noun not in _LISTED_KINDS)
        occurs = noun in _OCCURRENCE
        by_line = occurs or (lists and counted and value.noun != "in")
        by_line = by_line and value.number <= source.low.count("\n") + 1
        if source.low.count("\n") * _ITEMS_A_LINE < value.number - _ITEMS_A_LINE:
            continue  # the entry is too short to show so many
        lines = _listed(source.text) if by_line else []
        if by_kind:
            of_kind = _lines_of_kind(pattern, marks, source.text)
            items = [item for line in of_kind for item in line.split() if pattern.search(item)]
            modules = sum("__init__" not in item for item in items)
            yield from (Count(n, k, lists) for k in (len(of_kind), len(items), modules))
            total_kind += len(of_kind)
        if by_line:
            total_lines += len(lines)
            listed = sum(not _HEAD_OR_TOTAL.search(line) for line in lines)
            files = len({m.group() for line in lines if (m := _GREPPED.match(line))})
            asked = occurs or source.find_word(noun, in_args=True) >= 0
            untold += [Count(n, k, asked) for k in (len(lines), listed, files)]
        for term in _terms(claim, value, anywhere=by_line):
            occurrences = source.low.count(term)
            untold.append(Count(n, occurrences))
            if occurrences > value.number:
                untold.append(Count(n, sum(term in line for line in source.low.splitlines())))
    yield from untold
    yield Count(0, total_kind)
    yield Count(0, total_lines)


def _lines_of_kind(pattern: re.Pattern[str], marks: Sequence[str], text: str) -> list[str]:
    return [
        line
        for line in text.splitlines()
        if any(mark in line for mark in marks) and pattern.search(line) and not _is_no_item(line)
    ]


def _terms(claim: Claim, value: Value, *, anywhere: bool) -> list[str]:
    """What is counted by its occurrences: "two except ImportError clauses"."""
    named = [v.text.lower() for v in claim.values if v.kind in ("code", "quoted")]
    named += [name.lower() for name in claim.names]
    near = claim.text[value.start : value.start + 40].lower()
    return [term for term in named if anywhere or term in near]


def _blocks(text: str, words: Sequence[str]) -> Iterable[int]:
    """Lengths of the lists that stand under a heading with one of the words: "Steps:"."""
    for match in islice(_HEADING_END.finditer(text), _HEADINGS_MAX):
        heading = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].lower()
        if any(word in heading for word in words if len(word) > 3):
            end = _BLANK_LINE.search(text, match.end())
            block = text[match.end() : end.start() if end else len(text)]
            yield len(block.splitlines())


def _listed(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip() and not _is_no_item(line)]


def _is_no_item(line: str) -> bool:
    """Whether a line of a listing counts nothing: its total, or the folder itself."""
    return len(line) <= _NO_ITEM_CHARS_MAX and _NO_ITEM.match(line) is not None
