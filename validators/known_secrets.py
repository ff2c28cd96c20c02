"""Secrets that were redacted before and come back without the label that betrayed them.

The archive saw ``DB_PASSWORD=hunter2horse`` and redacted it; "deploy with hunter2horse" says nothing
of a password. Each redacted value is therefore kept as a keyed hash (``stores/redacted.py``), and
the words of every later text are looked up among them: linear in the text, and without one hash
where no word has the length of a known value.

A known value is redacted wherever it stands, so only what can hardly stand in a clean text is kept:
at least SIZE_MIN characters, letters with digits or marks between them or a generated run, no word
with a number behind it, no name, path or placeholder (``looks_unique``).
"""

import re
from collections.abc import Iterator

import apsw

from keepthread.stores.redacted import add_redacted, redacted_kind, redacted_sizes
from keepthread.validators.secret_rules import Secret
from keepthread.validators.secret_values import (
    DOUBTFUL,
    compiled,
    is_slug,
    is_stand_in,
    looks_random,
)

SIZE_MIN, SIZE_MAX = 8, 2_000
_PART_MIN = 16
"""A value that is no single word (a key of many lines) is known by its generated words of this length."""

_DIGEST_BYTES = 16
_WORD = r"[^\s\"'`<>,;()\[\]{}|\\]{8,}"
_PART = r"[^=:@/&?#]{8,}"
_MARKS = ".!?:*_~"


class KnownSecrets:
    """The redacted values of one database, for the texts of one write."""

    def __init__(self, connection: apsw.Connection, key: bytes) -> None:
        self._connection, self._key = connection, key
        self._sizes = redacted_sizes(connection)

    def find(self, text: str) -> list[Secret]:
        """Return where known values stand in ``text``, in order."""
        if not self._sizes:
            return []
        kinds: dict[str, str | None] = {}
        found: list[Secret] = []
        for start, stop in _words(text):
            if stop - start not in self._sizes:
                continue
            word = text[start:stop]
            if word not in kinds:
                kinds[word] = redacted_kind(self._connection, len(word), self._digest(word))
            kind = kinds[word]
            if kind is not None and (not found or start >= found[-1].stop):
                found.append(Secret(kind, start, stop))
        return found

    def add(self, kind: str, value: str) -> None:
        """Keep what was redacted, where that can hardly stand in a clean text."""
        if compiled(_WORD).fullmatch(value):
            values = [value] if looks_unique(value) else []
        else:
            words = (word[0] for word in compiled(_WORD).finditer(value))
            values = [w for w in words if len(w) >= _PART_MIN and looks_random(w, DOUBTFUL)]
        for word in values:
            if len(word) <= SIZE_MAX:
                self._sizes.add(len(word))
                add_redacted(self._connection, len(word), self._digest(word), kind)

    def _digest(self, value: str) -> bytes:
        import hmac  # noqa: PLC0415  5 ms that a clean text on the hook path does not pay

        data = b"redacted\0" + value.encode("utf-8", "surrogatepass")
        return hmac.digest(self._key, data, "sha256")[:_DIGEST_BYTES]


def looks_unique(value: str) -> bool:
    """Whether a redacted value can hardly be a part of a clean text."""
    if not SIZE_MIN <= len(value) <= SIZE_MAX or is_stand_in(value) or is_slug(value):
        return False
    if looks_random(value, DOUBTFUL):
        return True
    return re.search(r"[^\W\d_][^\W_]*\d|\d[^\W_]*[^\W\d_]", value) is not None and "/" not in value


def _words(text: str) -> Iterator[tuple[int, int]]:
    """Yield each word of ``text``, then without the marks around it, then the parts of a compound one."""
    for match in compiled(_WORD).finditer(text):
        start, stop = match.span()
        yield start, stop
        bare = match[0].strip(_MARKS)
        if len(bare) < stop - start:
            start += len(match[0]) - len(match[0].lstrip(_MARKS))
            yield start, start + len(bare)
        for part in compiled(_PART).finditer(bare):
            if len(part[0]) < len(bare):
                yield start + part.start(), start + part.end()
