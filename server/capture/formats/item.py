"""What a line of an imported file tells, whatever the file's format."""

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from keepthread.server.capture.events import Call
from keepthread.server.capture.files import relative_path
from keepthread.server.places import find_place
from keepthread.stores.clock import seconds, stamp

Row = Mapping[str, Any]


class BadLine(ValueError):
    """A line is not of its file's format; the message says why."""


class LeftOut(BadLine):
    """A record of an export that only a restored database may hold."""


class Item(NamedTuple):
    """One entry to be. ``kind``: call, msg (user), say (assistant), sys (machine).

    ``ref`` is its identity among imports (``""``: none, stored each time). ``known_as`` are pairs
    of channel and reference under which a hook or relay would have archived the same event; where
    there is none, ``session`` is the one whose hooks may have told of it. ``name`` is what the file's
    author calls it.
    """

    kind: str
    ref: str
    at: str = ""
    agent: str = ""
    text: str = ""
    speaker: str = ""
    tool: str = ""
    args: str = ""
    call: Call | None = None
    known_as: tuple[tuple[str, str], ...] = ()
    session: str = ""
    name: str = ""


class Reader(Protocol):
    """Reads one file of a format, row by row, in memory that does not grow with the file."""

    def read(self, row: Row) -> Iterable[Item]:
        """Return what a row tells. Raises BadLine."""

    def end(self) -> Iterable[Item]:
        """Return what only the whole file tells."""


def text_of(value: Any) -> str:
    """Return a field as text; ``""`` for anything but a string."""
    return value if isinstance(value, str) else ""


def time_of(given: Any) -> str:
    """Return a time as the stores write it; ``""`` for none. Raises BadLine."""
    if given in (None, ""):
        return ""
    try:
        return stamp(seconds(str(given)))
    except ValueError as error:
        raise BadLine(f"ts is no ISO 8601 time with a zone: {error}") from error


def time_told(row: Row) -> str:
    """Return a row's ``timestamp`` as the stores write it; ``""`` where it has none that can be read."""
    try:
        return time_of(row.get("timestamp"))
    except BadLine:
        return ""


def within_project(call: Call, cwd: str) -> Call:
    """Return the call with paths relative to the project it ran in, as a hook would have told them.

    Nothing is read: what lies on the disk today is not what the call saw.
    """
    if not cwd:
        return call
    tree = find_place(cwd).tree if os.path.isdir(cwd) else cwd

    def relative(path: str) -> str:
        return relative_path(tree, path) or path if path and "\0" not in path else path

    return call._replace(
        path=relative(call.path),
        wrote=tuple(map(relative, call.wrote)),
        shows=tuple(map(relative, call.shows)),
    )
