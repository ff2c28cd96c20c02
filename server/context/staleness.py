"""Is the file behind a fact still the one that was read? Asked at each look, without a model.

First by a cheap signature (size, time, inode), and only when that moved by the file's hash.
Files are read inside the work tree only.
"""

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import apsw

from keepthread.server.capture.files import FileRefused, file_signature, read_file
from keepthread.stores.facts import rests_on, weakened
from keepthread.stores.query import fetch_all


class FileSource(NamedTuple):
    """A file that an entry showed: its path, and hash and signature at that time."""

    path: str
    sha256: str
    signature: str


class Changed(NamedTuple):
    """How a file differs from what was read. ``now`` is its hash, ``""`` when it is gone."""

    path: str
    was: str
    now: str


class FileWatch:
    """Answers whether files changed; remembers hashes by signature, so each state is read once."""

    def __init__(self, tree: str) -> None:
        self._tree = tree
        self._hashes: dict[tuple[str, str], str] = {}

    def changed(self, source: FileSource) -> Changed | None:
        """Return how the file changed since ``source`` was captured; None when it did not."""
        if not self._tree or not source.path or not source.sha256:
            return None
        signature = file_signature(self._tree, source.path)
        if signature and signature == source.signature:
            return None
        now = self._hash(source.path, signature) if signature else ""
        return None if now == source.sha256 else Changed(source.path, source.sha256, now)

    def _hash(self, path: str, signature: str) -> str:
        key = (path, signature)
        if key not in self._hashes:
            try:
                self._hashes[key] = read_file(self._tree, path).sha256
            except FileRefused:
                self._hashes[key] = ""
        return self._hashes[key]


class Soundness(NamedTuple):
    """What no longer holds of the records asked about: facts whose file changed, with the first
    change found; and facts and decisions that rest, at any depth, on one such, or on a superseded,
    retracted or doubted fact."""

    stale: Mapping[int, Changed]
    weak: frozenset[int]


def check_soundness(
    connection: apsw.Connection, seqs: Iterable[int], watch: FileWatch
) -> Soundness:
    """Look at the files behind facts and decisions (seqs), and behind all that they rest on."""
    asked = set(seqs)
    links = rests_on(connection, asked)
    below = {lower for _, lower in links}
    stale = find_stale(connection, asked | below, watch)
    return Soundness(stale, frozenset(weakened(connection, links, stale)))


def find_stale(
    connection: apsw.Connection, facts: Iterable[int], watch: FileWatch
) -> dict[int, Changed]:
    """Return which of these facts rest on a changed file, with the first change found."""
    known: dict[FileSource, Changed | None] = {}
    found: dict[int, Changed] = {}
    for fact, sources in file_sources(connection, facts).items():
        for source in sources:
            if source not in known:
                known[source] = watch.changed(source)
            change = known[source]
            if change is not None:
                found.setdefault(fact, change)
    return found


def file_sources(connection: apsw.Connection, facts: Iterable[int]) -> dict[int, list[FileSource]]:
    """Return, for each of these facts that cites files, how it saw each of them last.

    A later entry that was found to say the same (a corroboration) counts as a look at the file.
    """
    rows = fetch_all(
        connection,
        "WITH asked(fact) AS (SELECT value FROM json_each(?)), "
        "seen(fact, entry) AS (SELECT c.owner, c.entry FROM asked JOIN citation c ON c.owner = asked.fact "
        "UNION SELECT e.fact, e.source FROM asked JOIN fact_event e ON e.fact = asked.fact "
        "WHERE e.event IN ('corroborated', 'verified') AND e.source IS NOT NULL) "
        "SELECT seen.fact, p.text, h.text, coalesce(s.text, '') FROM seen "
        "JOIN body h ON h.seq = seen.entry AND h.field = 'file_sha256' "
        "JOIN body p ON p.seq = seen.entry AND p.field = 'path' "
        "LEFT JOIN body s ON s.seq = seen.entry AND s.field = 'file_signature' ORDER BY seen.entry",
        (json.dumps(list(facts)),),
    )
    newest: dict[int, dict[str, FileSource]] = {}
    for fact, path, sha256, signature in rows:
        newest.setdefault(fact, {})[path] = FileSource(path, sha256, signature)
    return {fact: list(sources.values()) for fact, sources in newest.items()}


def last_seen(
    connection: apsw.Connection, workspace: int, path: str, before: int
) -> FileSource | None:
    """Return a file as the newest entry up to ``before`` showed it; for ``expires_when=changed:PATH``."""
    rows = fetch_all(
        connection,
        "SELECT t.value, h.text, coalesce(s.text, '') FROM tag t JOIN entry e USING(seq) "
        "JOIN body h ON h.seq = e.seq AND h.field = 'file_sha256' "
        "LEFT JOIN body s ON s.seq = e.seq AND s.field = 'file_signature' "
        "WHERE t.name = 'path' AND t.value = ? AND e.workspace = ? AND e.seq <= ? ORDER BY e.seq DESC LIMIT 1",
        (path, workspace, before),
    )
    return FileSource(*rows[0]) if rows else None
