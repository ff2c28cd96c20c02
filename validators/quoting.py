"""Stored text as one JSON string on one line, wherever it is shown: it cannot leave its line.

Characters that a reader cannot see are written out as ``\\u{200b}``; ``unquote`` is exact.
"""

import json
import re
import unicodedata

_HIDDEN = frozenset(("Cf", "Co", "Cn", "Cs", "Cc", "Zl", "Zp"))
_BLANK = re.compile(  # letters, marks and symbols without a glyph, and variation selectors
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U0001d159\U000e0100-\U000e01ef]"
)
_ESCAPED = re.compile(r"((?:^|[^\\])(?:\\\\)*)\\u\{([0-9a-f]+)\}")


def quote(text: str, limit: int = 0) -> str:
    """Return ``text`` as a JSON string on one line, hidden characters visible; cut to ``limit`` characters."""
    if limit and len(text) > limit:
        text = text[: limit - 1] + "…"
    quoted = json.dumps(text, ensure_ascii=False)
    if quoted.isprintable() and not _BLANK.search(quoted):
        return quoted
    return "".join(f"\\u{{{ord(c):x}}}" if _is_hidden(c) else c for c in quoted)


def unquote(quoted: str) -> str:
    """Return the text that ``quote`` (without a limit) was given."""

    def restore(match: re.Match[str]) -> str:
        return match[1] + json.dumps(chr(int(match[2], 16)))[1:-1]

    previous = ""
    while previous != quoted:  # neighbouring escapes share a border that one pass consumes
        previous, quoted = quoted, _ESCAPED.sub(restore, quoted)
    return str(json.loads(quoted))


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in _HIDDEN or bool(_BLANK.match(char))
