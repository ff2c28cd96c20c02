"""``keepthread import FILE``: what happened elsewhere, into the archive at level 1.

The format is told by the content: the import format, a session file of Claude Code, Codex or Gemini CLI, or
the file of the official memory server. What was imported, or captured by a hook or relay, is not stored twice.
Messages that came by import back no instruction.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import apsw

from keepthread.server.capture.already_here import AlreadyHere
from keepthread.server.capture.append import append_call, append_message, clean_value
from keepthread.server.capture.formats.claude_code import ClaudeCode
from keepthread.server.capture.formats.codex import Codex
from keepthread.server.capture.formats.gemini import Gemini
from keepthread.server.capture.formats.item import BadLine, Item, LeftOut, Reader
from keepthread.server.capture.formats.official_memory import OfficialMemory
from keepthread.server.capture.formats.plain import Plain
from keepthread.stores.archive import find_by_ref, find_in_session
from keepthread.stores.clock import stamp
from keepthread.stores.journal import Journal, Transaction
from keepthread.stores.records import Author, Stamp
from keepthread.stores.transfer import is_export_line
from keepthread.stores.workspaces import ensure_workspace

BATCH = 100
FAULTS_MAX = 1_000
"""So many bad lines are named; a file with more is of another kind."""

_HEAD_LINES = 50


class ImportFault(Exception):
    """A file is of no known format, or mostly of none; the message says what is wrong."""


class Imported(NamedTuple):
    """What an import did. ``ids`` maps each ``ref`` to the id of its entry; ``faults`` are (line, why)."""

    entries: int = 0
    known: int = 0
    ids: dict[str, str] = {}
    faults: tuple[tuple[int, str], ...] = ()
    left_out: int = 0  # records of an export that are no entries


class _Progress:
    """What was done so far, and the items that wait for the next transaction."""

    def __init__(self) -> None:
        self.batch: list[Item] = []
        self.ids: dict[str, str] = {}
        self.faults: list[tuple[int, str]] = []
        self.done = self.known = self.left_out = 0
        self.here: AlreadyHere | None = None


def import_file(
    journal: Journal,
    workspace_root: str,
    path: str,
    progress: Callable[[int], None] = lambda done: None,
) -> Imported:
    """Import a file of any known format. Raises OSError, and ImportFault as ``import_lines``."""
    with open(path, encoding="utf-8", errors="replace") as lines:
        written = stamp(os.fstat(lines.fileno()).st_mtime)
        folder = os.path.dirname(os.path.abspath(path))
        if os.path.basename(folder) == "subagents":
            folder = os.path.dirname(folder)
        return import_lines(
            journal, workspace_root, lines, progress, folder=folder, written=written
        )


def import_lines(
    journal: Journal,
    workspace_root: str,
    lines: Iterable[str],
    progress: Callable[[int], None] = lambda done: None,
    *,
    folder: str = "",
    written: str = "",
) -> Imported:
    """Import every line in transactions of BATCH entries; bad lines are named, and the rest goes on.

    ``folder`` is where a client keeps what its session file leaves out; ``written`` the file's time.
    Raises ImportFault where no line, or nearly none, is of a known format: earlier batches stay.
    """
    state = _Progress()
    for item in _items(lines, state, folder, written):
        state.batch.append(item)
        if len(state.batch) == BATCH:
            _flush(journal, workspace_root, state)
            progress(state.done)
    if state.batch:
        _flush(journal, workspace_root, state)
        progress(state.done)
    return Imported(
        state.done - state.known, state.known, state.ids, tuple(state.faults), state.left_out
    )


def read_items(lines: Iterable[str], folder: str = "", written: str = "") -> Iterator[Item]:
    """Yield what a file tells, and store nothing; bad lines tell nothing. Raises ImportFault."""
    return _items(lines, _Progress(), folder, written)


def is_known(connection: apsw.Connection, workspace: int, item: Item) -> Stamp | None:
    """Return the entry that the same event made before, whichever channel told of it."""
    for channel, ref in (*item.known_as, ("import", item.ref)):
        found = find_by_ref(connection, workspace, channel, ref) if ref else None
        if found is not None:
            return found
    if not item.session:
        return None
    said = (item.tool, "output", item.text)
    told = said if item.call is None else (item.call.tool, "args", item.call.args)
    return find_in_session(connection, workspace, item.session, *told)


def _items(lines: Iterable[str], state: _Progress, folder: str, written: str) -> Iterator[Item]:
    """Yield the items of all lines; what is wrong with a line goes to ``state.faults``."""
    numbered = ((n, line) for n, line in enumerate(lines, 1) if line.strip())
    reader, head = _recognised(numbered, folder, written)
    for number, line in chain(head, numbered):
        try:
            yield from reader.read(_row(line))
        except LeftOut:
            state.left_out += 1
        except BadLine as error:
            state.faults.append((number, str(error)))
            if len(state.faults) > FAULTS_MAX:
                raise ImportFault(
                    f"more than {FAULTS_MAX} lines are bad, up to line {number}: {error}"
                ) from error
    yield from reader.end()


def _recognised(
    numbered: Iterator[tuple[int, str]], folder: str, written: str
) -> tuple[Reader, list[tuple[int, str]]]:
    """Return the reader for the first line that is of a known format, and the lines read to find it."""
    head: list[tuple[int, str]] = []
    why = "it is empty"
    for number, line in numbered:
        head.append((number, line))
        try:
            row = _row(line)
        except BadLine as error:
            why = f"line {number}: {error}"
        else:
            reader = _reader_for(row, folder, written)
            if reader is not None:
                return reader, head
            why = f"line {number}: type {row.get('type')!r} is not known"
        if len(head) == _HEAD_LINES:
            break
    if not head:
        return Plain(), head
    raise ImportFault(
        f"no known format ({why}). A line is a tool_call or a message (see the README), a session of "
        "Claude Code, Codex or Gemini CLI, or the official memory server's."
    )


def _reader_for(row: dict[str, Any], folder: str, written: str) -> Reader | None:
    kind = row.get("type")
    if "sessionId" in row and "projectHash" in row:
        return Gemini(folder)
    if kind in ("tool_call", "message") or is_export_line(row):
        return Plain()
    if kind in ("entity", "relation"):
        return OfficialMemory(written)
    if isinstance(kind, str) and isinstance(row.get("payload"), dict):
        return Codex()
    if isinstance(kind, str) and ("sessionId" in row or "leafUuid" in row or "snapshot" in row):
        return ClaudeCode(folder)
    return None


def _row(line: str) -> dict[str, Any]:
    try:
        row = clean_value(json.loads(line))
    except (ValueError, RecursionError) as error:
        raise BadLine(f"no JSON: {error}") from error
    if not isinstance(row, dict):
        raise BadLine("no JSON object")
    return row


def _flush(journal: Journal, workspace_root: str, state: _Progress) -> None:
    with journal.transaction() as tx:
        author = Author(ensure_workspace(tx.connection, workspace_root), "import")
        state.here = state.here or AlreadyHere(tx.connection, author.workspace)
        for item in state.batch:
            made = is_known(tx.connection, author.workspace, item) or state.here.take(item)
            state.known += made is not None
            made = made or _append(tx, author._replace(agent=item.agent), item, journal.anchor.key)
            if item.name:
                state.ids[item.name] = made.id
    state.done += len(state.batch)
    state.batch.clear()


def _append(tx: Transaction, author: Author, item: Item, key: bytes) -> Stamp:
    if item.call is not None:
        return append_call(
            tx, author, item.call, channel="import", level=1, tree="", key=key,
            outer_ref=item.ref, seen_at=item.at,
        )  # fmt: skip
    return append_message(
        tx, author, item.kind, item.text, channel="import", key=key, outer_ref=item.ref,
        seen_at=item.at, speaker=item.speaker, tool=item.tool, args=item.args,
    )  # fmt: skip
