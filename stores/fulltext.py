"""What full text indexes and how a query is put to FTS5.

``index_text`` and ``identifier_parts`` run inside SQLite, in the views that feed the indexes.
A query is never FTS5 syntax: its words are quoted and joined by OR.
"""

import re
from typing import Any

TERMS_MAX = 16

WORD = re.compile(r"\w+")
# Begins where a run of letters and digits begins: from each letter of a long digest it is quadratic.
_CAMEL = re.compile(r"(?<![A-Za-z0-9])[0-9]*+([A-Za-z][a-z0-9]*+[A-Z][A-Za-z0-9]*)")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_JSON_ESCAPES = re.compile(r'\\[nrt"/]')

STOP_WORDS = frozenset(
    "a an and are as at be been but by can could did do does for from had has have he her his how i "
    "if in into is it its me my no not of on or our she should so that the their them then there "
    "these they this those to us was we were what when where which who why will with would you your".split()
)


def index_text(text: Any) -> str:
    """Return ``text`` with JSON's escapes as spaces, so that ``\\nclass`` is the word ``class``."""
    return _JSON_ESCAPES.sub(" ", text) if text and "\\" in text else text or ""


def identifier_parts(text: Any) -> str:
    """Return the parts of the CamelCase words in ``text``; snake_case splits by itself."""
    parts: list[str] = []
    for word in _CAMEL.findall(text or ""):
        parts.extend(_HUMP.findall(word))
    return " ".join(dict.fromkeys(parts))


def terms(query: str) -> list[str]:
    """Return the words of a query worth looking up: lower case, distinct, at most TERMS_MAX.

    Stop words are left out (their BM25 cost is every row), unless nothing else is there.
    """
    words = list(dict.fromkeys(w.lower() for w in WORD.findall(query) if len(w) < 64))
    useful = [w for w in words if w not in STOP_WORDS] or words
    if len(useful) > TERMS_MAX:  # the longest words are the rarest, as a rule
        keep = set(sorted(useful, key=len, reverse=True)[:TERMS_MAX])
        useful = [w for w in useful if w in keep]
    return useful


def match_any(query: str) -> str:
    """Return an FTS5 expression that matches any word of ``query``; ``""`` when it has none."""
    return " OR ".join(f'"{w}"' for w in terms(query))
