"""A window's text as lines: which section each stands in, and which record it shows."""

import re
from typing import NamedTuple

from keepthread.server.context.frame import unquote

_SECTION = re.compile(r"^== (\w+) · .* ==$")
_RECORD = re.compile(
    r"^- (?:FOCUS |instruction |open |goal )?((?:fact|question|plan|decision|task)-\d+)\b"
)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


class Line(NamedTuple):
    """One line. ``section`` is lower case, ``""`` for the frame; ``record`` is an id, ``""`` for none;
    ``text`` has its quoted strings as they were, blanks folded; ``ours`` is the line without them,
    the words of the product's own code."""

    section: str
    record: str
    text: str
    ours: str


def window_lines(window: str) -> list[Line]:
    """Return the lines of a window that can show anything, headers left out."""
    found = []
    section = ""
    for line in window.splitlines():
        header = _SECTION.match(line)
        if header:
            section = header[1].lower()
            continue
        record = _RECORD.match(line)
        plain = _STRING.sub(lambda m: _unquoted(m[0]), line)
        found.append(
            Line(section, record[1] if record else "", folded(plain), _STRING.sub('""', line))
        )
    return found


def folded(text: str) -> str:
    """Return the text with every run of blanks as one space: how answers are compared."""
    return " ".join(text.split())


def _unquoted(string: str) -> str:
    try:
        return unquote(string)
    except ValueError:  # a quotation that our own words happen to hold
        return string
