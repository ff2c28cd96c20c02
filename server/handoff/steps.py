"""One archived step on one line: what was called, how it ended, and the part of its output that tells."""

import json

from keepthread.server.context.frame import quote
from keepthread.stores.records import Entry

COMMAND_CHARS_MAX = 1_500
HEAD_CHARS, TAIL_CHARS = 160, 320
BRIEF_CHARS = 160

_EDITOR_COMMANDS = frozenset(
    "open goto scroll_up scroll_down create insert edit append str_replace_editor search_dir search_file "
    "find_file submit".split()
)
"""Tools that some agents (SWE-agent and its kin) write like shell commands, their own name first."""

_TELLING = ("command", "cmd", "script", "query", "pattern", "url", "prompt", "file_path", "path")


def step_line(entry: Entry) -> str:
    """Return ``- call-12 [Bash, 2026-11-30 20:15:00, hook level 1, failed]: "make test" → "2 failed"``."""
    trust = _trust(entry) + (", SUSPECT" if entry.suspect else "")
    if entry.role:
        who = {"user": "user", "assistant": "assistant, claimed", "machine": "machine"}[entry.role]
        return f"- {entry.id} [{who}, {_time(entry)}{trust}]: {shortened(entry)}\n"
    ended = trust + (", failed" if entry.is_error else "")
    agent = f", by {quote(entry.agent, 40)}" if entry.agent else ""
    return f"- {entry.id} [{_tool(entry)}, {_time(entry)}{ended}{agent}]: {call_text(entry)} → {shortened(entry)}\n"


def brief_line(entry: Entry) -> str:
    """Return a call on a short line: what was called, and the end of what came back."""
    called = quote(command_of(entry) or _argument(entry), BRIEF_CHARS)
    text = entry.output.strip()
    end = f"…{text[1 - BRIEF_CHARS :]}" if len(text) > BRIEF_CHARS else text
    ended = ", failed" if entry.is_error else ""
    return f"- {entry.id} [{_tool(entry)}, {_time(entry)}{ended}]: {called} → {quote(end)}\n"


def call_text(entry: Entry) -> str:
    """Return what was called, quoted: the command, the path, or the arguments."""
    return quote(command_of(entry) or _argument(entry), COMMAND_CHARS_MAX)


def command_of(entry: Entry) -> str:
    """Return the shell command of a call; ``""`` when it ran none."""
    found = arguments(entry)
    for name in ("command", "cmd", "script"):
        value = found.get(name)
        if isinstance(value, str) and not _is_editor(entry.tool, value, found):
            return value
        if isinstance(value, list) and all(isinstance(v, str) for v in value):
            return " ".join(value)
    return ""


def arguments(entry: Entry) -> dict[str, object]:
    """Return a call's arguments; {} when they are no JSON object (a cut or foreign record)."""
    try:
        found = json.loads(entry.args) if entry.args else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def shortened(entry: Entry) -> str:
    """Return the output quoted, its middle cut out with a marker that names the entry."""
    text = entry.output.strip()
    if len(text) <= HEAD_CHARS + TAIL_CHARS + 80:
        return quote(text) if text else "(no output)"
    left = len(text) - HEAD_CHARS - TAIL_CHARS
    return f"{quote(text[:HEAD_CHARS])} [{left} characters: read_record {entry.id}] {quote(text[-TAIL_CHARS:])}"


def _argument(entry: Entry) -> str:
    found = arguments(entry)
    if entry.path:
        return entry.path
    for name in _TELLING:
        value = found.get(name)
        if isinstance(value, str) and value:
            return value
    return entry.args[:300]


def _is_editor(tool: str, command: str, found: dict[str, object]) -> bool:
    """Editing tools name their verb in ``command`` beside a path, or begin it with their own name:
    that is no shell command."""
    if "path" in found or "file_path" in found:
        return True
    return tool in _EDITOR_COMMANDS and command.split(maxsplit=1)[:1] == [tool]


def _tool(entry: Entry) -> str:
    return (
        entry.tool if entry.tool.isascii() and entry.tool.isprintable() else quote(entry.tool, 60)
    )


def _trust(entry: Entry) -> str:
    return "" if entry.trust == "user" else f", {entry.trust}"


def _time(entry: Entry) -> str:
    return entry.seen_at[:19].replace("T", " ")
