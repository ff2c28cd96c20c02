"""Past sessions of this repository, as the clients on this machine keep them, and their import.

``keepthread init`` and ``keepthread import --sessions`` call ``find_sessions``, then ``import_sessions``.
"""

import glob
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apsw

from keepthread.server.capture.formats.gemini import project_root
from keepthread.server.capture.imports import (
    Imported,
    ImportFault,
    import_file,
    is_known,
    read_items,
)
from keepthread.server.clients.machine import roots
from keepthread.server.places import find_place
from keepthread.stores.journal import Journal
from keepthread.stores.workspaces import find_workspace

_HEAD_BYTES = 256 * 1024
_HEAD_LINES = 40
_UUID_CHARS = 36


class Session(NamedTuple):
    """One session of a client: its own file first, then those of its sub-agents. ``begun`` is ISO 8601."""

    client: str
    id: str
    begun: str
    size_bytes: int
    files: tuple[str, ...]


class Count(NamedTuple):
    """What an import of a session would do."""

    calls: int = 0
    messages: int = 0
    known: int = 0


def find_sessions(folder: str, environ: Mapping[str, str]) -> list[Session]:
    """Return the sessions that ran in the repository of ``folder`` (its worktrees too), oldest first.

    The names of a client's folders are ambiguous, so each file is asked where it ran.
    """
    wanted = find_place(folder).workspace
    homes = roots(environ, "")
    found = []
    for home, below, make in (
        (homes["claude"], ("projects", "*", "*.jsonl"), _claude_session),
        (homes["codex"], ("sessions", "**", "rollout-*.jsonl"), _codex_session),
        (os.path.join(homes["home"], ".gemini"), ("tmp", "*", "chats", "*.jsonl"), _gemini_session),
    ):
        for file in glob.glob(os.path.join(glob.escape(home), *below), recursive=True):
            began_in, begun = _head(file)
            if began_in and _workspace_of(began_in, wanted) == wanted:
                found.append(make(file, begun))
    return sorted(found, key=lambda session: (session.begun, session.id))


def new_sessions(
    connection: apsw.Connection, workspace_root: str, sessions: Sequence[Session]
) -> list[Session]:
    """Return those of which nothing is archived yet, told by what happened first in each."""
    workspace = find_workspace(connection, workspace_root)
    if workspace is None:
        return list(sessions)
    return [s for s in sessions if not _is_begun(connection, workspace, s)]


def import_sessions(
    journal: Journal,
    workspace_root: str,
    sessions: Sequence[Session],
    progress: Callable[[int], None] = lambda done: None,
) -> Imported:
    """Import every file of ``sessions``; ``progress`` gets the entries done after each.

    Returns the sums; a fault's reason names the file. A file that cannot be read does not stop the rest.
    """
    entries = known = 0
    faults: list[tuple[int, str]] = []
    for file in (file for session in sessions for file in session.files):
        try:
            one = import_file(journal, workspace_root, file)
        except (OSError, ImportFault) as error:
            faults.append((0, f"{file}: {error}"))
            continue
        entries, known = entries + one.entries, known + one.known
        faults += [(line, f"{file}: {why}") for line, why in one.faults]
        progress(entries + known)
    return Imported(entries, known, {}, tuple(faults))


def count_session(
    connection: apsw.Connection | None, workspace_root: str, session: Session
) -> Count:
    """Return what an import would bring; without a database (None) all of it is new."""
    workspace = find_workspace(connection, workspace_root) if connection else None
    calls = messages = known = 0
    for item in _items_of(session):
        if connection and workspace and is_known(connection, workspace, item) is not None:
            known += 1
        elif item.kind == "call":
            calls += 1
        else:
            messages += 1
    return Count(calls, messages, known)


def _items_of(session: Session) -> Iterator[Any]:
    for file in session.files:
        try:
            with open(file, encoding="utf-8", errors="replace") as lines:
                yield from read_items(lines)
        except (OSError, ImportFault):
            continue  # the import itself names it


def _is_begun(connection: apsw.Connection, workspace: int, session: Session) -> bool:
    first = next(_items_of(session), None)
    return first is None or is_known(connection, workspace, first) is not None


def _claude_session(file: str, begun: str) -> Session:
    folder = file.removesuffix(".jsonl")
    agents = sorted(glob.glob(os.path.join(glob.escape(folder), "subagents", "*.jsonl")))
    files = (file, *agents)
    size = sum(os.path.getsize(one) for one in files)
    return Session("claude-code", os.path.basename(folder), begun, size, files)


def _codex_session(file: str, begun: str) -> Session:
    """A sub-agent's file is a session of its own; the name of each ends in its id."""
    name = os.path.basename(file).removesuffix(".jsonl")
    return Session("codex", name[-_UUID_CHARS:], begun, os.path.getsize(file), (file,))


def _gemini_session(file: str, begun: str) -> Session:
    name = os.path.basename(file).removesuffix(".jsonl")
    return Session("gemini", name, begun, os.path.getsize(file), (file,))


def _workspace_of(folder: str, wanted: str) -> str:
    """Return the workspace of a folder; one that is gone belongs to the repository that it lay in."""
    if os.path.isdir(folder):
        return find_place(folder).workspace
    inside = os.path.normpath(folder).startswith(wanted.rstrip(os.sep) + os.sep)
    return wanted if inside else ""


def _head(file: str) -> tuple[str, str]:
    """Return (folder, time) of the first rows that tell them; ``""`` for what none of them tells."""
    folder, begun = project_root(os.path.dirname(file)), ""
    try:
        with open(file, encoding="utf-8", errors="replace") as lines:
            for _ in range(_HEAD_LINES):
                row = _row(lines.readline(_HEAD_BYTES))
                about = row.get("payload")
                told = about if isinstance(about, dict) else row
                folder = folder or str(told.get("cwd") or "")
                begun = begun or str(row.get("timestamp") or row.get("startTime") or "")
                if folder and begun:
                    break
    except OSError:
        return "", ""
    return folder, begun


def _row(line: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}
