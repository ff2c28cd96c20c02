"""``keepthread guard CLIENT``: refuses calls that would touch the memory behind its channels.

A PreToolUse hook, waited for at every shell call and edit: standard library only, no database.
It stops the straightforward ways; a program that runs as the user has others (SECURITY.md).
"""

import json
import os
import re
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from keepthread.server.places import database_path, user_config_file

_TEXT_MAX = 100_000
_PATHS = ("file_path", "notebook_path", "path", "filename", "destination", "source")
_SETTINGS = ("/.claude/settings.json", "/.claude/settings.local.json", "/.claude.json")
_OUR_HOOK = re.compile(r"keepthread(?:\.exe)?[\"'\\]*\s+(?:hook|guard)\s")
_OFF = "disableAllHooks"

_WRITES = re.compile(
    r">|\b(?:rm|mv|cp|tee|truncate|ln|unlink|install|rsync|dd|ed|ex|vi|vim|nano|perl|ruby|node|sponge)\b"
    r"|\bpython[\d.]*\b|\bsed\s+(?:-\w*i|--in-place)"
)
_FORGES = re.compile(
    r"""keepthread["']?\s+(?:--workspace[ =]\S+\s+)?"""
    r"""(?:(?:hook|guard)\s+(?:claude-code|codex|gemini|cursor)\b|relay\s+-)""",
    re.IGNORECASE,
)
_AUTHORITY = re.compile(
    r"""(?:^|[;&|({`\n"']|(?:\b(?:env|nohup|xargs|exec|command|sudo|uvx)|\s-m)\s)\s{0,9}(?:\w+=\S*\s+){0,5}"""
    r"""(?:[\w./~-]{0,200}/)?keepthread["']?\s+(?:--workspace[ =]\S+\s+)?"""
    r"""(?:task|remember|confirm|trust|forget|restore|import|init|token|verify\s[^;&|\n]*--accept)\b"""
)

_UNMARKS = re.compile(r"(?:-u|\bunset)\s+(?:CLAUDECODE|AI_AGENT|CLAUDE_CODE_SESSION_ID)\b")


class Protected(NamedTuple):
    """What must not be touched: the database with the files named after it, and whole folders."""

    database: str
    folders: tuple[str, ...]
    home: str


def main(environ: Mapping[str, str]) -> int:
    """Answer one PreToolUse event on stdin; print nothing where there is nothing to refuse."""
    try:
        payload = json.loads(sys.stdin.buffer.read().decode("utf-8", "replace"))
        if not isinstance(payload, dict):
            raise ValueError("it is no JSON object")
        reason = refusal(
            str(payload.get("tool_name", "")),
            payload.get("tool_input") or {},
            protected(environ),
            folder=str(payload.get("cwd") or os.getcwd()),
        )
    except ValueError as error:
        print(f"keepthread guard: what came on stdin is no event: {error}; nothing was refused", file=sys.stderr)
        return 0
    except Exception as error:  # noqa: BLE001  (outermost: the client must go on whatever happens here)
        print(f"keepthread guard: {type(error).__name__}: {error}", file=sys.stderr)
        return 0
    if reason:
        answer = {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
        print(json.dumps({"hookSpecificOutput": answer}))
    return 0


def protected(environ: Mapping[str, str]) -> Protected:
    """Return what to protect on this machine."""
    database = database_path(environ)
    folders = [os.path.dirname(user_config_file(environ))]
    if os.path.basename(os.path.dirname(database)) == "keepthread":
        folders.append(os.path.dirname(database))
    plugin = environ.get("CLAUDE_PLUGIN_ROOT")
    if plugin:
        folders.append(os.path.join(plugin, ".claude-plugin"))
    home = environ.get("HOME") or os.path.expanduser("~")
    return Protected(database, tuple(folders), home)


def refusal(tool: str, args: Mapping[str, Any], kept: Protected, *, folder: str) -> str:
    """Return why the call must not run; ``""`` when it may. ``folder`` is where it would run."""
    command = args.get("command")
    if isinstance(command, str):
        touched = _touched_by_command(command[:_TEXT_MAX], kept)
    else:
        touched = ""
        for name in _PATHS:
            value = args.get(name)
            if isinstance(value, str) and value:
                touched = touched or _touched_by_edit(os.path.join(folder, value), args, kept)
    if not touched:
        return ""
    return (
        f"Keepthread refuses this call: it would touch {touched}. The memory is read and written through "
        "its tools (get_context, search_archive, read_record, record_fact). If the user wants this "
        "done, they do it in a terminal of their own."
    )


def _touched_by_command(command: str, kept: Protected) -> str:
    if _FORGES.search(command):
        return "the archive, by calling its hook or relay by hand"
    if _AUTHORITY.search(command) or ("keepthread" in command and _UNMARKS.search(command)):
        return "what only the user's own word may change"
    bare = re.sub(r"[\"'\\]", "", command)
    bare = bare.replace("${HOME}", kept.home).replace("$HOME", kept.home)
    bare = re.sub(r"(?<![\w/])~(?=/)", kept.home.replace("\\", "\\\\"), bare)
    bare = re.sub(r"/(?:\.?/)+", "/", bare)
    parent, name = os.path.split(kept.database)
    near = f"{os.path.basename(parent)}/{name}"
    if any(n in bare for n in (kept.database, near, f"{name}.key", f"{name}.anchor")):
        return "its database, key or anchor"
    if any(folder in bare for folder in kept.folders):
        return "its data, configuration or plugin"
    if any(name[1:] in bare for name in _SETTINGS) and _WRITES.search(bare):
        return "the settings that hold its hooks"
    return ""


def _touched_by_edit(path: str, args: Mapping[str, Any], kept: Protected) -> str:
    real = os.path.realpath(os.path.expanduser(path))
    if real.startswith(os.path.realpath(kept.database)):
        return "its database, key or anchor"
    if any(real.startswith(os.path.realpath(folder) + os.sep) for folder in kept.folders):
        return "its data, configuration or plugin"
    if real.replace(os.sep, "/").endswith(_SETTINGS) and _unhooks(real, args):
        return "the settings that hold its hooks"
    return ""


def _unhooks(path: str, args: Mapping[str, Any]) -> bool:
    """True when an edit of the client's settings takes our hooks away or turns hooks off."""
    said = json.dumps(args, ensure_ascii=False)
    if _OFF in said:
        return True
    whole = args.get("content")
    if not isinstance(whole, str):
        return bool(_OUR_HOOK.search(said)) or '"hooks' in str(args.get("old_string", ""))
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            hooked = bool(_OUR_HOOK.search(file.read(_TEXT_MAX)))
    except OSError:
        return False
    return hooked and not _OUR_HOOK.search(whole)
