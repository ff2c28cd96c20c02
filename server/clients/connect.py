"""Planning and making the changes that connect a client, or undo it.

A change is a file's text before and after. Ours is known by what it says, so that a second
run changes nothing and a removal leaves everything else alone.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from keepthread.server.clients.descriptions import Description, Hooks, Where
from keepthread.server.clients.jsonc import append, drop, find, put
from keepthread.server.clients.toml_table import drop_table, put_table, read_table

SERVER = "keepthread"
BACKUP = ".before-keepthread"

_OUR_HOOK = re.compile(r"keepthread(?:\.exe)?[\"']*\s+(?:hook|guard)\s")
_STARTUP_SECONDS = 30


class Launch(NamedTuple):
    """How a client starts us: an absolute path, and what stands before our own arguments."""

    command: str
    args: tuple[str, ...] = ()

    def line(self, *more: str) -> str:
        """Return the shell command line."""
        words = [self.command, *self.args, *more]
        return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


class Change(NamedTuple):
    """One file: ``before`` is None where it is new, ``after`` None where it goes."""

    file: str
    before: str | None
    after: str | None
    backup: str = ""  # to write: the text is the user's own
    restores: bool = False  # back to the bytes of the backup, which goes


def find_launch(environ: Mapping[str, str]) -> Launch:
    """Return how to start this very installation; through uvx where that made it for one run."""
    folder = os.path.dirname(os.path.abspath(sys.executable))
    if f"{os.sep}archive-v" in folder or f"{os.sep}environments-v" in folder:
        uvx = shutil.which("uvx", path=environ.get("PATH"))
        if uvx:
            return Launch(os.path.abspath(uvx), (SERVER,))
    script = os.path.join(folder, "keepthread.exe" if os.name == "nt" else "keepthread")
    if os.path.exists(script):
        return Launch(script)
    return Launch(os.path.abspath(sys.executable), ("-m", SERVER))


def roots(environ: Mapping[str, str], project: str) -> dict[str, str]:
    """Return what the templates of descriptions stand for on this machine."""
    home = environ.get("HOME") or os.path.expanduser("~")
    if sys.platform == "win32":
        config = environ.get("APPDATA") or os.path.join(home, "AppData", "Roaming")
    elif sys.platform == "darwin":
        config = os.path.join(home, "Library", "Application Support")
    else:
        config = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return {
        "home": home,
        "project": project,
        "claude": environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"),
        "claude_json": environ.get("CLAUDE_CONFIG_DIR") or home,
        "codex": environ.get("CODEX_HOME") or os.path.join(home, ".codex"),
        "desktop": os.path.join(config, "Claude"),
        "vscode": os.path.join(config, "Code", "User"),
    }


def is_there(client: Description, given: Mapping[str, str], environ: Mapping[str, str]) -> bool:
    """True when the client's folder or command is on this machine."""
    on_path = bool(client.command and shutil.which(client.command, path=environ.get("PATH")))
    return on_path or os.path.isdir(client.folder.format_map(given))


def has_plugin(client: Description, given: Mapping[str, str]) -> bool:
    """True when Claude Code has our plugin enabled, which brings server and hooks itself."""
    if client.name != "claude-code":
        return False
    try:
        enabled = find(
            _read(os.path.join(given["claude"], "settings.json")) or "", ("enabledPlugins",)
        )
    except ValueError:
        return False
    return isinstance(enabled, dict) and any(
        name.startswith(f"{SERVER}@") and on for name, on in enabled.items()
    )


def plan(
    client: Description, given: Mapping[str, str], launch: Launch, *, remove: bool = False
) -> list[Change]:
    """Return what would change. Raises NotJson or NotToml for a file that cannot be read."""
    steps: dict[str, list[_Step]] = {}
    for step in _steps(client, given, launch):
        steps.setdefault(step.file, []).append(step)
    changes = (_change(file, found, remove) for file, found in steps.items())
    return [change for change in changes if change is not None]


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


def connected(client: Description, given: Mapping[str, str]) -> dict[str, Any]:
    """Return what a client's files say of us: ``server`` (command and args) and ``hooks`` (their count)."""
    found: dict[str, Any] = {}
    for where, path in ((client.server.user, client.server.user_path),
                        (client.server.project, client.server.project_path)):  # fmt: skip
        text = _read(where.format_map(given)) or ""
        keys = tuple(k.format_map(given) for k in path) + (SERVER,)
        table = (
            read_table(text, (keys[0], keys[1])) if where.endswith(".toml") else find(text, keys)
        )
        if isinstance(table, dict):
            found["server"] = table
    for file in (client.hooks.where.user, client.hooks.where.project) if client.hooks else ():
        events = find(_read(file.format_map(given)) or "", ("hooks",))
        if isinstance(events, dict):
            found["hooks"] = found.get("hooks", 0) + sum(map(_ours_in, events.values()))
    return found


class _Step(NamedTuple):
    file: str
    add: Callable[[str], str]
    strip: Callable[[str], str]


def _steps(client: Description, given: Mapping[str, str], launch: Launch) -> Sequence[_Step]:
    file, path = _place(client.server, given)
    keys = (*path, SERVER)
    project = given["project"]
    args = ["--workspace", project, "serve"] if client.names_project and project else ["serve"]
    server: dict[str, Any] = {"command": launch.command, "args": [*launch.args, *args]}
    if client.typed:
        server = {"type": "stdio", **server}
    if file.endswith(".toml"):
        table = (keys[0], keys[1])
        server["startup_timeout_sec"] = _STARTUP_SECONDS
        steps = [
            _Step(
                file,
                lambda text: (
                    text if read_table(text, table) == server else put_table(text, table, server)
                ),
                lambda text: drop_table(text, table),
            )
        ]
    else:
        steps = [
            _Step(
                file,
                lambda text: text if find(text, keys) == server else put(text, keys, server),
                lambda text: drop(text, keys),
            )
        ]
    if client.hooks is not None:
        hooks, name = client.hooks, client.name
        steps.append(
            _Step(
                _place(hooks.where, given)[0],
                lambda text: _add_hooks(text, hooks, launch, name),
                _strip_hooks,
            )
        )
    return steps


def _place(where: Where, given: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    if given["project"]:
        return where.project.format_map(given), tuple(
            key.format_map(given) for key in where.project_path
        )
    return where.user.format_map(given), where.user_path


def _change(file: str, steps: Sequence[_Step], remove: bool) -> Change | None:
    before = _read(file)
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
    kept = _read(file + BACKUP)
    again = kept or ""
    for step in steps:
        again = step.add(again)
    if kept is not None and again == text:
        return Change(file, before, kept, restores=True)
    nothing_left = not file.endswith(".toml") and find(bare, ()) in ({}, {"version": 1})
    gone = kept is None and (nothing_left or not bare.strip())
    return Change(file, before, None if gone else bare)


def _add_hooks(text: str, hooks: Hooks, launch: Launch, client: str) -> str:
    wanted = {
        event: _hook(
            hooks, event, launch.line("guard" if event in hooks.guarded else "hook", client)
        )
        for event in hooks.events
    }
    present = find(text, ("hooks",))
    if isinstance(present, dict) and _all_there(present, wanted):
        return text
    text = _strip_hooks(text)
    if hooks.shape == "flat" and find(text, ("version",)) is None:
        text = put(text, ("version",), 1)
    for event, element in wanted.items():
        text = append(text, ("hooks", event), element)
    return text


def _all_there(present: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    ours = {event: _ours_in(found) for event, found in present.items()}
    return all(
        ours.get(event) == 1 and element in present[event] for event, element in wanted.items()
    ) and sum(ours.values()) == len(wanted)


def _hook(hooks: Hooks, event: str, line: str) -> dict[str, Any]:
    command = {"command": line, "timeout": hooks.events[event]}
    if hooks.shape == "flat":
        return command
    matcher = {"matcher": hooks.matcher[event]} if event in hooks.matcher else {}
    return {**matcher, "hooks": [{"type": "command", **command}]}


def _strip_hooks(text: str) -> str:
    present = find(text, ("hooks",))
    for event, found in present.items() if isinstance(present, dict) else ():
        for place in reversed(range(len(found) if isinstance(found, list) else 0)):
            if not _is_ours(found[place]):
                continue
            inner = found[place].get("hooks")
            if isinstance(inner, list) and len(inner) > 1:  # someone put theirs beside ours
                for n in reversed(range(len(inner))):
                    if _is_ours(inner[n]):
                        text = drop(text, ("hooks", event, place, "hooks", n))
            else:
                text = drop(text, ("hooks", event, place))
    return text


def _ours_in(found: Any) -> int:
    return sum(map(_is_ours, found)) if isinstance(found, list) else 0


def _is_ours(element: Any) -> bool:
    if not isinstance(element, dict):
        return False
    inner = element.get("hooks")
    if isinstance(inner, list):
        return any(map(_is_ours, inner))
    return bool(_OUR_HOOK.search(str(element.get("command", ""))))


def _read(file: str) -> str | None:
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
