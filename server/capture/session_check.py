"""Calls that the hooks of Codex and Gemini CLI told of, held against the client's own session file.

Neither side tells an id that both know, so a call is known by what was called: the command, the patch, or
the arguments. Only what is certain is told: that the file, in which the model spoke later, has no such call.
"""

import glob
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from keepthread.server.capture.append import clean_value
from keepthread.server.capture.formats.codex import Codex
from keepthread.server.capture.formats.gemini import Gemini
from keepthread.server.capture.formats.item import BadLine, Item, Reader, Row
from keepthread.server.capture.transcript_check import CHECKED_BYTES_MAX, rows_at_the_end
from keepthread.stores.records import Entry
from keepthread.validators.secret_values import REDACTED

_CODEX_TOOLS = ("Bash", "apply_patch", "mcp__")
"""What Codex's file has every call of; its other tools are told in other words, or not at all."""
_TELLING = ('"item_completed"', '"function_call"', '"custom_tool_call', '"session_meta"')

Called = tuple[str, str]
"""A tool, and what it was called with (see ``_called_with``)."""


class _Told(NamedTuple):
    """What a session file knows: calls with their times, and the times from and until which it does."""

    calls: Mapping[Called, str] = {}
    since: str = ""
    until: str = ""


def calls_not_in(file: str, client: str, session: str, calls: Sequence[Entry]) -> list[Entry]:
    """Return those of a session's hooked calls that its file should have and has not.

    Sub-agents' calls stand elsewhere and are not judged, nor is anything in a file of another session.
    """
    own = [c for c in calls if not c.own and not c.agent and _called_with(c.args)]
    if not own or client not in _READ:
        return []
    told = _READ[client](file, session)
    judged = [c for c in own if told.since <= c.seen_at < told.until]
    if client == "codex":
        judged = [c for c in judged if c.tool.startswith(_CODEX_TOOLS)]
    missing = [c for c in judged if (c.tool, _called_with(c.args)) not in told.calls]
    if (
        client == "gemini" and missing
    ):  # a hook of the user's may have changed what a call was made with
        heard = {(c.tool, _called_with(c.args)) for c in own}
        began = min(c.seen_at for c in own)
        unheard = {c[0] for c, at in told.calls.items() if at >= began and c not in heard}
        missing = [c for c in missing if c.tool not in unheard]
    return missing


def _read_codex(file: str, session: str) -> _Told:
    if session not in os.path.basename(file):
        return _Told()
    rows = list(_rows(file, _TELLING))
    told = _read(Codex(), rows)
    asked = {call: told.since for row in rows for call in _asked_of_codex(row.get("payload"))}
    return told._replace(calls={**asked, **told.calls})


def _read_gemini(file: str, session: str) -> _Told:
    sub_agents = os.path.join(glob.escape(os.path.dirname(file)), f"{glob.escape(session)}*", "")
    if session[:8] not in os.path.basename(file) or glob.glob(sub_agents):
        return _Told()  # its hooks do not tell whether a sub-agent called
    return _read(Gemini(), _messages(_rows(file, ())))


_READ = {"codex": _read_codex, "gemini": _read_gemini}


def _read(reader: Reader, rows: Iterable[Row]) -> _Told:
    calls: dict[Called, str] = {}
    since = until = ""
    for row in rows:
        since = since or str(row.get("timestamp") or row.get("startTime") or "")
        for item in _items(reader, row):
            if item.call is not None:
                calls[item.call.tool, _called_with(item.call.args)] = item.at
            elif item.kind == "say":
                until = max(until, item.at)
    return _Told(calls, since, until)


def _items(reader: Reader, row: Row) -> list[Item]:
    try:
        return list(reader.read(row))
    except BadLine:
        return []


def _messages(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield every row, and the messages in those that set the state of the chat anew."""
    for row in rows:
        yield row
        changed = row.get("$set")
        again = changed.get("messages") if isinstance(changed, dict) else None
        yield from (m for m in again if isinstance(m, dict)) if isinstance(again, list) else ()


def _rows(file: str, telling: Sequence[str]) -> Iterator[Row]:
    for line, row in rows_at_the_end(file, CHECKED_BYTES_MAX, telling):
        yield clean_value(row) if "\\u" in line else row


def _asked_of_codex(about: Any) -> Iterator[Called]:
    """Yield what the model asked for, as a hook would name it: what was run may be put in other words."""
    if not isinstance(about, dict):
        return
    if about.get("type") == "custom_tool_call":
        yield str(about.get("name")), str(about.get("input"))
    if about.get("type") != "function_call" or not isinstance(about.get("arguments"), str):
        return
    if about.get("namespace"):
        yield f"{about['namespace']}__{about.get('name')}", _called_with(about["arguments"])
        return
    try:
        given = json.loads(about["arguments"])
    except (ValueError, RecursionError):
        return
    for value in given.values() if isinstance(given, dict) else ():
        words = value if isinstance(value, list) else [value]
        yield from (("Bash", word) for word in words if isinstance(word, str))


def _called_with(args: str) -> str:
    """Return a call's command or patch, else its arguments in one form; ``""`` for what was not kept whole."""
    try:
        given = json.loads(args) if REDACTED not in args else None
    except (ValueError, RecursionError):
        return ""
    if not isinstance(given, dict):
        return ""
    command = given.get("command")
    return command if isinstance(command, str) else json.dumps(given, sort_keys=True)
