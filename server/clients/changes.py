"""Changes of clients' files: a file's text before and after, planned first, then made whole or not at all.

What is ours is known by what it says, so that a second run changes nothing and a removal leaves
everything else alone.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from typing import NamedTuple

from keepthread.server.clients.jsonc import find

BACKUP = ".before-keepthread"


class Change(NamedTuple):
    """One file: ``before`` is None where it is new, ``after`` None where it goes."""

    file: str
    before: str | None
    after: str | None
    backup: str = ""  # to write: the text is the user's own
    restores: bool = False  # back to the bytes of the backup, which goes
    stripped: bool = False  # our entries go, the rest stays


class Step(NamedTuple):
    """One of our entries in a file: its text with the entry, and without."""

    file: str
    add: Callable[[str], str]
    strip: Callable[[str], str]


def plan_change(file: str, steps: Sequence[Step], remove: bool) -> Change | None:
    """Return what the steps change in ``file``; None when it says so already."""
    before = read(file)
    text = before or ""
    bare = added = text
    for step in steps:
        bare = step.strip(bare)
        added = step.add(added)
    if not remove:
        if added == before:
            return None
        own = before is not None and bare == text
        return Change(file, before, added, backup=file + BACKUP if own else "")
    if before is None or bare == text:
        return None
    kept = read(file + BACKUP)
    again = kept or ""
    for step in steps:
        again = step.add(again)
    if kept is not None and again == text:
        return Change(file, before, kept, restores=True)
    nothing_left = file.endswith(".json") and find(bare, ()) in ({}, {"version": 1})
    gone = kept is None and (nothing_left or not bare.strip())
    return Change(file, before, None if gone else bare, stripped=True)


def make(change: Change) -> None:
    """Write a change: the backup first, then the file whole or not at all, its rights kept."""
    file = os.path.realpath(change.file)  # people link their settings into a repository
    if change.backup:
        shutil.copy2(file, change.file + BACKUP)
    if change.after is None:
        os.unlink(file)
    else:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        _write(file, change.after)
    if change.restores:
        os.unlink(change.file + BACKUP)


def read(file: str) -> str | None:
    """Return a file's text with its line ends as they are; None when there is none."""
    try:
        with open(file, encoding="utf-8", newline="") as handle:
            return handle.read()
    except FileNotFoundError:
        return None


def _write(file: str, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=os.path.dirname(file), prefix=".keepthread-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
            out.write(text)
        if os.path.exists(file):
            shutil.copymode(file, name)
        os.replace(name, file)
    except BaseException:
        os.unlink(name)
        raise
