"""Declarative checks of plan items against the world: pass, fail, or cannot be told.

``path_exists:PATH``, ``path_changed:PATH`` (since the item started), ``file_contains:PATH:TEXT``,
``commit_mentions:TEXT``, ``command:NAME``.
"""

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from keepthread.server.capture.files import FileRefused, read_file, relative_path
from keepthread.server.handoff.commands import Ran
from keepthread.server.handoff.git_truth import Change

Run = Callable[[str], Ran | None]
"""Runs a command by its name; None when commands are not run now, or the name is not known."""

PASS, FAIL, UNKNOWN = "pass", "fail", "unknown"

_WEAK = ("path_exists", "path_changed")


class Checked(NamedTuple):
    """The verdict on one check and what was seen, in a sentence."""

    check: str
    verdict: str
    seen: str


class World(NamedTuple):
    """What checks look at. ``changes`` and ``messages`` are None where git cannot tell."""

    tree: str
    changes: Sequence[Change] | None
    messages: Sequence[str] | None
    run: Run
    ignored: Callable[[str], bool] = lambda path: False


def proof(checks: Sequence[str]) -> str:
    """Return which kinds of checks these are: ``command, path_changed``.

    ``path_changed only`` where files are there or changed and nothing tells what is in them.
    """
    kinds = list(dict.fromkeys(check.partition(":")[0].strip() for check in checks))
    return ", ".join(kinds) + (" only" if kinds and all(k in _WEAK for k in kinds) else "")


def run_check(check: str, world: World) -> Checked:
    """Return the verdict on one check."""
    kind, _, rest = check.strip().partition(":")
    run = {
        "path_exists": _path_exists,
        "path_changed": _path_changed,
        "file_contains": _file_contains,
        "commit_mentions": _commit_mentions,
        "command": _command,
    }.get(kind)
    if run is None:
        return Checked(check, UNKNOWN, "this check is not known")
    verdict, seen = run(rest.strip(), world)
    return Checked(check, verdict, seen)


def _path_exists(path: str, world: World) -> tuple[str, str]:
    relative = relative_path(world.tree, path)
    if not relative:
        return UNKNOWN, f"{path} is outside the workspace"
    if os.path.lexists(os.path.join(world.tree, relative)):
        return PASS, f"{relative} exists"
    return FAIL, f"{relative} does not exist"


def _path_changed(path: str, world: World) -> tuple[str, str]:
    if world.changes is None:
        return UNKNOWN, "git cannot tell what changed"
    wanted = path.strip("/").removeprefix("./")
    hits = [
        c
        for c in world.changes
        if not wanted or c.path == wanted or c.path.startswith(wanted + "/")
    ]
    if not hits and wanted and world.ignored(wanted):
        return UNKNOWN, f"{path} is kept out of version control"
    if not hits:
        return FAIL, f"nothing under {path} changed since the item started"
    return PASS, ", ".join(f"{c.path} {c.how}" for c in hits[:5])


def _file_contains(rest: str, world: World) -> tuple[str, str]:
    path, _, text = rest.partition(":")
    try:
        data = read_file(world.tree, path).data.decode("utf-8", "replace")
    except FileRefused as error:
        relative = relative_path(world.tree, path)
        missing = relative and not os.path.lexists(os.path.join(world.tree, relative))
        return FAIL if missing else UNKNOWN, str(error)
    if text in data:
        return PASS, f"{path} contains it"
    return FAIL, f"{path} does not contain {text!r}"


def _commit_mentions(text: str, world: World) -> tuple[str, str]:
    if world.messages is None:
        return UNKNOWN, "git cannot tell"
    found = next((m for m in world.messages if text.lower() in m.lower()), None)
    if found is not None:
        return PASS, f"commit: {found.splitlines()[0]}"
    return UNKNOWN, f"no commit since the item started mentions {text!r}"


def _command(name: str, world: World) -> tuple[str, str]:
    ran = world.run(name)
    if ran is None:
        return UNKNOWN, f"command {name} was not run"
    last = next((line.strip() for line in reversed(ran.output.splitlines()) if line.strip()), "")
    if ran.status is None:
        return UNKNOWN, f"command {name} did not end: {last}"
    return (PASS if ran.status == 0 else FAIL), f"command {name} exited {ran.status}" + (
        f": {last}" if last else ""
    )
