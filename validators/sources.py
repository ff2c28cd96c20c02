"""Cited entries prepared for search: echoes and questions blanked out, offsets kept.

A call's own arguments prove only what was run or searched. Output that repeats them (``echo``,
``printf``, a here-document, a printed literal, the terminal's echo of the command) is blanked,
so that nothing can be found in it.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from keepthread.validators.echoes import is_echo, without_echo
from keepthread.validators.evidence import Evidence
from keepthread.validators.vocabulary import surface_forms

SCAN_CHARS_MAX: Final = 400_000  # of one entry's output
_HITS_MAX: Final = 64

_WRITER: Final = re.compile(
    r"(?i)^(?:write|edit|multi_?edit|notebook_?edit|create_?file|apply_?patch|str_replace\w*|"
    r"write_?file|edit_?file|insert|replace)$"
)
_NAMES_FILE: Final = re.compile(r"(?i)path|file_?name|^file$|uri")
_SEARCHER: Final = re.compile(r"(?i)^(?:grep|glob|search\w*|find\w*|list\w*|codebase_search)$")
_SEARCH_COMMAND: Final = re.compile(
    r"(?:^|[;&|(\n]|\bxargs |\bexec |\bgit )[^\S\n]*"
    r"(?:grep|egrep|fgrep|rg|ag|ack|find|fd|ls|pgrep|locate|which)\b"
)
_SEGMENT: Final = re.compile(r"&&|\|\||[;|\n]")
_QUOTED: Final = re.compile(r"(?<=does not contain )'[^'\n]{1,400}'|(?<=does not contain )\"[^\"\n]{1,400}\"")
_ESCAPED: Final = re.compile(r"\\([.()\[\]])")
_QUESTION: Final = re.compile(
    r"(?im)(?:^|(?<=[.!?]\s))(?!(?:can|could|would|will)\s+(?:you\b|we\s+please\b))(?:[^\w\n]{0,4})"
    r"(?:is|are|was|were|do|does|did|has|have|should|shall|can|could|would|will|may|might|what|which|who|"
    r"whose|where|when|why|how|if|whether|so)\b[^.!?\n]*(?:[.][^.!?\s][^.!?\n]*)*\?"
)


class Source:
    """One entry: ``text`` and ``low`` are its output with what proves nothing blanked out."""

    __slots__ = (
        "arg_values",
        "args",
        "args_low",
        "command",
        "evidence",
        "lists_paths",
        "low",
        "runs",
        "searches",
        "text",
        "writes",
    )

    def __init__(self, evidence: Evidence, *, keep_questions: bool = False) -> None:
        self.evidence = evidence
        self.arg_values = _arguments(evidence.args)
        given = "\n".join([*self.arg_values.values(), evidence.path])
        self.args = _ESCAPED.sub(r"\1", given)  # ``print\(`` searches for "print("
        self.args_low = _fold(self.args)
        self.command = next(
            (self.arg_values[k] for k in ("command", "cmd", "script", "code", "input")
             if k in self.arg_values), "")  # fmt: skip
        self.runs = "\n".join(p for p in _SEGMENT.split(self.command) if not is_echo(p))
        self.writes = bool(_WRITER.match(evidence.tool)) and "view" != self.command
        self.searches = bool(_SEARCHER.match(evidence.tool) or _SEARCH_COMMAND.search(self.command))
        text = evidence.output[:SCAN_CHARS_MAX]
        if self.writes and (evidence.is_error or text.lstrip()[:5].lower() == "error"):
            self.writes = False  # a failed edit proves nothing, and quotes what it was given
            given = "\n".join(v for k, v in self.arg_values.items() if not _NAMES_FILE.search(k))
            for line in filter(lambda line: len(line) > 8, map(str.strip, given.splitlines())):
                text = text.replace(line, " " * len(line))
        elif evidence.kind == "capture" and not self.command:
            # What the server saw itself echoes nothing, but a failed check quotes what it looked for.
            text = _QUOTED.sub(lambda m: _blank_if_asked(m, self.args), text)
        elif not self.writes and self.args:
            text = without_echo(
                text, self.command, self.args, evidence.tool, failed=evidence.is_error
            )
        if not keep_questions and "?" in text and evidence.kind == "message":
            text = _QUESTION.sub(lambda m: " " * len(m.group()), text)
        self.lists_paths = self.searches and _is_listing(text)
        self.text = text
        self.low = _fold(text)

    def find(self, needle: str, *, in_args: bool = False, loose: bool = False) -> list[int]:
        """Offsets where lower-case ``needle`` stands as a whole token; an empty one stands nowhere."""
        low = self.args_low if in_args else self.low
        hits: list[int] = []
        for at in _places(low, needle):
            if loose or _bounded(low, at, at + len(needle)):
                hits.append(at)
                if len(hits) == _HITS_MAX:
                    break
        return hits

    def find_within(self, needle: str) -> list[int]:
        """Output offsets where ``needle`` is part of a compound: ``cp39`` in ``x-cp39_y``."""
        hits: list[int] = []
        for at in _places(self.low, needle):
            around = self.low[at - 1 : at] + self.low[at + len(needle) : at + len(needle) + 1]
            if not any(c.isalnum() for c in around):
                hits.append(at)
                if len(hits) == _HITS_MAX:
                    break
        return hits

    def find_word(self, stemmed: str, *, in_args: bool = False) -> int:
        """First offset of a word with this stem, or -1; parts of identifiers are words too."""
        low = self.args_low if in_args else self.low
        original = self.args if in_args else self.text
        return find_stem(low, original, stemmed)

    def word_places(self, stemmed: str) -> list[int]:
        """Some offsets in the output of words with this stem, in order."""
        places: list[int] = []
        at = self.find_word(stemmed)
        while at >= 0 and len(places) < 12:
            places.append(at)
            at = find_stem(self.low, self.text, stemmed, at + 150)
        return places


def line_at(text: str, start: int, stop: int, reach: int) -> str:
    """The line of ``text[start:stop]``, cut to ``reach`` characters on either side."""
    first = text.rfind("\n", max(0, start - reach), start) + 1
    last = text.find("\n", stop, stop + reach)
    return text[max(first, start - reach) : last if last >= 0 else stop + reach]


def _blank_if_asked(quoted: re.Match[str], args: str) -> str:
    return " " * len(quoted.group()) if quoted.group()[1:-1] in args else quoted.group()


def _places(low: str, needle: str) -> Iterator[int]:
    """Offsets of ``needle``, as many as fit side by side: overlapping ones cost their square."""
    at = low.find(needle) if needle else -1
    tries = SCAN_CHARS_MAX // max(1, len(needle))
    while at >= 0 and tries:
        yield at
        at, tries = low.find(needle, at + 1), tries - 1


def _is_listing(text: str) -> bool:
    """Whether the lines of an output are paths, which are made of words but say nothing."""
    lines = text.split("\n", 40)[:40]
    return 2 * sum("/" in line and " " not in line.strip() for line in lines) > len(lines)


def find_stem(low: str, original: str, stemmed: str, start: int = 0, stop: int = -1) -> int:
    """First offset in ``low[start:stop]`` of a word that reduces to ``stemmed``, or -1."""
    end = len(low) if stop < 0 else stop
    best = -1
    for prefix, check in surface_forms(stemmed):
        at, tries = low.find(prefix, start, end), 0
        while at >= 0 and tries < 200 and (best < 0 or at < best):
            if _word_starts(low, original, at) and check(_word_at(low, original, at)):
                best = at
                break
            at, tries = low.find(prefix, at + 1, end), tries + 1
    return best


def _word_starts(low: str, original: str, at: int) -> bool:
    if at == 0 or not low[at - 1].isalpha():
        return True
    return original[at].isupper() and original[at - 1].islower()


def _word_at(low: str, original: str, at: int) -> str:
    stop = at + 1
    while stop < len(low) and stop - at < 32 and low[stop].isalpha():
        if original[stop].isupper() and original[stop - 1].islower():
            break
        stop += 1
    return low[at:stop]


def _bounded(low: str, start: int, stop: int) -> bool:
    """Whether ``low[start:stop]`` is no part of a longer word, flag or number."""
    first, last = low[start], low[stop - 1]
    before = low[start - 1] if start else " "
    after = low[stop] if stop < len(low) else " "
    beyond = low[stop + 1] if stop + 1 < len(low) else " "
    if (first.isalnum() or first == "_") and (before.isalnum() or before == "_"):
        return False
    if last.isalnum() or last == "_":
        if after.isalnum() or after == "_":
            return False
        if after == "-" and beyond.isalnum():
            return False
        if last.isdigit() and after == "." and beyond.isdigit():
            return False
    return not (first.isdigit() and before == "." and start > 1 and low[start - 2].isdigit())


def _fold(text: str) -> str:
    low = text.lower()
    if len(low) != len(text):
        low = "".join(c if len(c.lower()) != 1 else c.lower() for c in text)
    return low


def _arguments(args: str) -> dict[str, str]:
    """Argument values as text, by name; unparsable arguments count as one command."""
    if not args:
        return {}
    try:
        decoded = json.loads(args)
    except ValueError:
        return {"command": args}
    if not isinstance(decoded, dict):
        return {"command": str(decoded)}
    return {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in decoded.items()
    }
