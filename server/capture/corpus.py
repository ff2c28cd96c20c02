"""``keepthread import docs/``: reference documents into the archive, so that facts can cite them.

Markdown, text and code of the work tree become entries of the tool ``import``, read by the server
itself (level ``checked``), with path, hash and signature: ``file:docs/x.md`` cites them, and a fact
goes stale when its file changes. What version control ignores, what is no text, what is too large
and what holds keys by its name stays out, each with its reason; secrets inside are removed as
everywhere. Symbolic links are never followed. A file that did not change is not read again.
"""

import fnmatch
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import apsw

from keepthread.server.capture.append import append_call
from keepthread.server.capture.events import Call
from keepthread.server.capture.files import (
    FileRead,
    FileRefused,
    file_signature,
    read_file,
    relative_path,
)
from keepthread.server.handoff.git_truth import GitFailed, listed_files
from keepthread.server.places import Place
from keepthread.stores.journal import Journal, Transaction
from keepthread.stores.query import fetch_all
from keepthread.stores.records import Author
from keepthread.stores.workspaces import ensure_workspace

TOOL = "import"
FILES_MAX = 20_000
FILE_BYTES_MAX = 2 << 20
PART_CHARS = 100_000
"""Of a longer file every so many characters are an entry: an entry's output is cut beyond twice that."""

BATCH = 50

_TRANSCRIPTS = (".jsonl", ".json", ".ndjson")
_KEYS = (
    ".env .env.* *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx id_rsa* id_dsa* id_ecdsa* id_ed25519* "
    ".netrc _netrc .pgpass .npmrc .pypirc .htpasswd credentials credentials.* secrets.* .git-credentials"
).split()
_MADE = (
    "*.lock package-lock.json npm-shrinkwrap.json pnpm-lock.yaml go.sum *.min.js *.min.css *.map *.svg"
).split()
_NOT_SOURCES = frozenset(("node_modules", "__pycache__", "site-packages", "venv", "build", "dist"))


class CorpusFault(Exception):
    """The documents cannot be imported from there; the message says why and what to do."""


class Skipped(NamedTuple):
    """A file that was left out."""

    path: str
    why: str


class CorpusImported(NamedTuple):
    """What an import did: files whose text was archived, and as how many entries; files that had not
    changed; and what was left out."""

    files: int
    entries: int
    unchanged: int
    skipped: tuple[Skipped, ...]


class _Known(NamedTuple):
    sha256: str
    signature: str


class _Seen(NamedTuple):
    """A batch of files: what is new, what is left out, and how many had not changed."""

    reads: list[FileRead]
    skipped: tuple[Skipped, ...]
    unchanged: int


def is_corpus(path: str) -> bool:
    """True for a folder, and for a file that neither by its name nor by its beginning is JSON Lines."""
    if os.path.isdir(path):
        return True
    if not os.path.isfile(path) or path.lower().endswith(_TRANSCRIPTS):
        return False
    with open(path, "rb") as file:
        return not file.read(4_096).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")


def import_corpus(
    journal: Journal,
    place: Place,
    path: str,
    progress: Callable[[int], None] = lambda done: None,
) -> CorpusImported:
    """Archive the documents at ``path`` (a folder or a file of the work tree), BATCH files a transaction.

    ``progress`` gets how many files were looked at. Raises CorpusFault.
    """
    found = _documents(place.tree, path)
    known = _imported(journal.connection, place.workspace)
    done = CorpusImported(0, 0, 0, ())
    for at in range(0, len(found), BATCH):
        seen = _look(place.tree, found[at : at + BATCH], known)
        entries = 0
        if seen.reads:
            with journal.transaction() as tx:
                author = Author(ensure_workspace(tx.connection, place.workspace), "check")
                entries = sum(
                    _append(tx, author, r, place.tree, journal.anchor.key) for r in seen.reads
                )
        done = _sum(done, seen, entries)
        progress(min(at + BATCH, len(found)))
    return done


def count_corpus(connection: apsw.Connection | None, place: Place, path: str) -> CorpusImported:
    """Return what ``import_corpus`` would do, and do nothing; None where there is no database yet.

    Raises CorpusFault.
    """
    found = _documents(place.tree, path)
    known = _imported(connection, place.workspace) if connection is not None else {}
    done = CorpusImported(0, 0, 0, ())
    for at in range(0, len(found), BATCH):
        seen = _look(place.tree, found[at : at + BATCH], known)
        done = _sum(done, seen, sum(len(list(_parts(_text(r) or ""))) for r in seen.reads))
    return done


def _look(tree: str, names: Sequence[str], known: Mapping[str, _Known]) -> _Seen:
    looked = [_read(tree, name, known.get(name)) for name in names]
    return _Seen(
        [found for found in looked if isinstance(found, FileRead)],
        tuple(found for found in looked if isinstance(found, Skipped)),
        sum(found is None for found in looked),
    )


def _sum(done: CorpusImported, seen: _Seen, entries: int) -> CorpusImported:
    return CorpusImported(
        done.files + len(seen.reads),
        done.entries + entries,
        done.unchanged + seen.unchanged,
        done.skipped + seen.skipped,
    )


def _documents(tree: str, path: str) -> list[str]:
    """Return the files at ``path``, relative to ``tree``."""
    whole = os.path.realpath(path)
    root = os.path.realpath(tree)
    relative = "" if whole == root else relative_path(root, whole)
    if not tree or (whole != root and not relative):
        raise CorpusFault(
            f"{path} is outside the workspace ({tree or 'no folder'}); only files inside it can be watched. "
            "Copy the documents into it, or go to their folder and import them into its workspace."
        )
    if os.path.isfile(whole):
        return [relative]
    under = f"{relative}/" if relative else ""
    try:
        listed = [f for f in listed_files(root) if f.startswith(under)]
    except GitFailed:
        listed = sorted(_walk(root, relative))
    if len(listed) > FILES_MAX:
        raise CorpusFault(
            f"{path} holds {len(listed):,} files; at most {FILES_MAX:,} at a time. Name a folder of them."
        )
    return listed


def _walk(root: str, relative: str) -> Iterator[str]:
    """Where there is no version control: every file but what is hidden or made by tools."""
    for folder, inner, names in os.walk(os.path.join(root, relative)):
        inner[:] = [d for d in inner if not d.startswith(".") and d not in _NOT_SOURCES]
        for name in names:
            if not name.startswith("."):
                yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")


def _imported(connection: apsw.Connection, workspace: str) -> dict[str, _Known]:
    """Return the state in which each file was imported last."""
    rows = fetch_all(
        connection,
        "SELECT p.text, h.text, coalesce(s.text, '') FROM workspace w JOIN entry e ON e.workspace = w.id "
        "JOIN body p ON p.seq = e.seq AND p.field = 'path' "
        "JOIN body h ON h.seq = e.seq AND h.field = 'file_sha256' "
        "LEFT JOIN body s ON s.seq = e.seq AND s.field = 'file_signature' "
        "WHERE w.root = ? AND e.tool = ? AND e.channel = 'check' ORDER BY e.seq",
        (workspace, TOOL),
    )
    return {str(path): _Known(str(sha256), str(signature)) for path, sha256, signature in rows}


def _read(tree: str, path: str, known: _Known | None) -> FileRead | Skipped | None:
    """Read a file whose content is not archived yet; None when it is."""
    if _named(path, _KEYS):
        return Skipped(path, "holds keys or passwords, by its name")
    if _named(path, _MADE):
        return Skipped(path, "is made by a tool, by its name")
    if not path.isprintable():
        return Skipped(repr(path)[1:-1], "its name cannot be shown")
    if known is not None and known.signature and known.signature == file_signature(tree, path):
        return None
    try:
        read = read_file(tree, path, FILE_BYTES_MAX)
    except FileRefused as refused:
        return Skipped(path, str(refused))
    if known is not None and known.sha256 == read.sha256:
        return None
    if _text(read) is None:
        return Skipped(path, "is no text in UTF-8")
    return read if read.data.strip() else Skipped(path, "is empty")


def _named(path: str, patterns: list[str]) -> bool:
    name = os.path.basename(path).lower()
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _text(read: FileRead) -> str | None:
    if b"\0" in read.data:
        return None
    try:
        return read.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _append(tx: Transaction, author: Author, read: FileRead, tree: str, key: bytes) -> int:
    """Archive one file, a long one in parts; return how many entries it made."""
    parts = list(_parts(_text(read) or ""))
    for number, part in enumerate(parts, 1):
        args: dict[str, object] = {"file_path": read.path}
        if len(parts) > 1:
            args["part"] = f"{number} of {len(parts)}"
        call = Call(TOOL, json.dumps(args, ensure_ascii=False), part, path=read.path)
        append_call(tx, author, call, channel="check", level=4, tree=tree, key=key, read=read)
    return len(parts)


def _parts(text: str) -> Iterator[str]:
    """Cut a text where a line ends."""
    while len(text) > PART_CHARS:
        end = text.rfind("\n", PART_CHARS // 2, PART_CHARS) + 1 or PART_CHARS
        yield text[:end]
        text = text[end:]
    yield text
