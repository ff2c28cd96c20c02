"""Counts that a number may stand for: listed lines, matches, items under a heading."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from keepthread.validators.sources import Source
from keepthread.validators.values import Claim, Value
from keepthread.validators.vocabulary import stem

_LISTED_KINDS: Final = frozenset({"modul", "dir", "migr", "imag", "fil"})
_OCCURRENCE: Final = frozenset(
    stem(w) for w in "matches occurrences hits places usages references lines results times".split()
)
_GREPPED: Final = re.compile(r"[\w./-]+(?=:)")
_KIND_OF_LINE: Final = {
    "modul": r"\.pyx?\b|\.[jt]sx?\b|\.go\b|\.rs\b", "dir": r"^d[rwx-]{9}|/:?\s*$", "class": r"\bclass\s+\w",
    "func": r"\b(?:def|func|fn|function)\s+\w", "function": r"\b(?:def|func|fn|function)\s+\w",
    "method": r"\bdef\s+\w", "test": r"\btest_\w+|\bdef test|::test|\bit\(|#\[test\]|\bfunc Test",
    "migr": r"\d{4}_\w+|\.sql\b", "imag": r"\.(?:png|jpe?g|svg)\b", "fil": r"\S",
}  # fmt: skip


def counts_of(value: Value, claim: Claim, sources: Sequence[Source]) -> Iterable[tuple[int, int]]:
    """Counts that a number may stand for, each with its entry: listed lines, matches, items."""
    if not value.number:
        return
    noun = stem(value.noun) if value.noun else ""
    pattern = re.compile(_KIND_OF_LINE.get(noun, r"(?!)"))
    totals = [0, 0]
    for n, source in enumerate(sources):
        lines = _listed(source.text)
        of_kind = [line for line in lines if pattern.search(line)]
        if source.searches or noun not in _LISTED_KINDS:
            items = [item for line in of_kind for item in line.split() if pattern.search(item)]
            yield n, len(of_kind)
            yield n, len(items)
            yield n, sum("__init__" not in item for item in items)
            totals[1] += len(of_kind)
        yield from ((n, count) for count in _blocks(source.text, claim.words))
        counted = value.noun.endswith("s") or value.number == 1
        if (source.searches and counted and value.noun not in ("in", "")) or noun in _OCCURRENCE:
            totals[0] += len(lines)
            yield n, len(lines)
            yield n, len({m.group() for line in lines if (m := _GREPPED.match(line))})
            for term in [name.lower() for name in claim.names] + [
                v.text.lower() for v in claim.values if v.kind in ("code", "quoted")
            ]:
                yield n, sum(term in line.lower() for line in lines)
                yield n, source.low.count(term)
    yield 0, totals[0]
    yield 0, totals[1]


def _blocks(text: str, words: Sequence[str]) -> Iterable[int]:
    """Lengths of the lists that stand under a heading with one of the words: "Steps:"."""
    lines = text.splitlines()
    for n, line in enumerate(lines):
        if line.rstrip().endswith(":") and any(w in line.lower() for w in words if len(w) > 3):
            rest = lines[n + 1 :]
            yield next((k for k, after in enumerate(rest) if not after.strip()), len(rest))


def _listed(text: str) -> list[str]:
    return [
        line for line in text.splitlines()
        if line.strip() and not re.match(r"total \d+\s*$|\S*[rwx-]{9}.* \.\.?/?\s*$|\.\.?/?\s*$", line)
    ]  # fmt: skip
