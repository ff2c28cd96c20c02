"""Cross-check of what Claude Code's hooks told against its own transcript, which knows what really happened.

The transcript's format is the client's and changes: what is not understood decides nothing. A call or a
prompt is only missed once the model has spoken after it, since the transcript may lag.
"""

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from keepthread.stores.records import Entry
from keepthread.validators.secret_values import REDACTED

_TAIL_BYTES = 256 * 1024
CHECKED_BYTES_MAX = 32 << 20
"""So much of a transcript's end is read for calls; older ones are not judged."""
_COMMANDS = ("/", "!", "#")


def prompt_is_human(transcript: str, prompt_id: str, text: str) -> bool | None:
    """Return whether the transcript's line for this prompt names a sender; None when it has no line."""
    if not transcript or not prompt_id:
        return None
    for line in transcript_tail(transcript):
        if prompt_id not in line:
            continue
        row = _row(line)
        message = row.get("message")
        if (
            row.get("promptId") != prompt_id
            or not isinstance(message, dict)
            or row.get("type") != "user"
        ):
            continue
        content = message.get("content")
        if isinstance(content, str) and content.strip() == text.strip():
            return bool(row.get("promptSource")) and not row.get("isMeta")
    return None


class _Said(NamedTuple):
    """What a transcript knows: call ids, and the times from and until which it does."""

    calls: frozenset[str] = frozenset()
    since: str = ""
    until: str = ""


def missing_calls(transcript: str, calls: Sequence[Entry]) -> list[Entry]:
    """Return those of a session's hooked calls that its transcript should know and does not.

    A sub-agent's calls are looked for in its own transcript beside the session's. A call without
    an id counts as missing where others of the session have one.
    """
    told = {"": _read(transcript)}
    if not told[""].until:
        return []
    have_ids = any(call.outer_ref for call in calls)
    missing = []
    for call in calls:
        if call.agent not in told:
            told[call.agent] = _read(_agents_transcript(transcript, call.agent))
        own = told[call.agent] if told[call.agent].until else told[""]
        if not own.since <= call.seen_at < own.until:
            continue
        known = any(call.outer_ref in said.calls for said in (own, told[""]))
        if not known and (call.outer_ref or have_ids):
            missing.append(call)
    return missing


def missing_prompts(transcript: str, prompts: Sequence[Entry]) -> list[Entry]:
    """Return those of a session's prompts that its transcript should know, by id or by text, and does not.

    Nothing is missed where the transcript gives prompts no ids, and no command (``/…``): those are written
    in other words.
    """
    lines, _ = _tail(transcript, CHECKED_BYTES_MAX)
    rows = [_row(line) for line in lines if '"promptId"' in line and '"tool_result"' not in line]
    ids = {str(row["promptId"]) for row in rows if row.get("type") == "user" and row.get("promptId")}
    unknown = [p for p in prompts if p.outer_ref and p.outer_ref.rpartition(":")[2] not in ids]
    if not ids or not unknown:
        return []
    since, until = next(filter(None, map(_time, lines)), ""), _read(transcript).until
    return [p for p in unknown if since <= p.seen_at < until and _is_plain(p) and not _is_told(lines, p)]


def _is_plain(prompt: Entry) -> bool:
    """True for a prompt that was kept as it was typed, and no command."""
    typed = prompt.output.lstrip()
    return not (typed.startswith(_COMMANDS) or REDACTED in typed or prompt.truncated)


def _is_told(lines: Sequence[str], prompt: Entry) -> bool:
    """True where any row but the model's own and its tools' answers holds its text: queued, blocked, repeated."""
    words = json.dumps(prompt.output.strip(), ensure_ascii=False)[1:-1]
    return any(
        words in line and '"tool_result"' not in line and _row(line).get("type") != "assistant"
        for line in lines
    )


def _time(line: str) -> str:
    return str(_row(line).get("timestamp") or "")


def _agents_transcript(transcript: str, agent: str) -> str:
    folder = os.path.join(transcript.removesuffix(".jsonl"), "subagents")
    return os.path.join(folder, f"agent-{os.path.basename(agent)}.jsonl")


def _read(transcript: str) -> _Said:
    calls: set[str] = set()
    since = until = ""
    lines, whole = _tail(transcript, CHECKED_BYTES_MAX)
    for line in lines:
        if '"assistant"' not in line:
            continue
        row = _row(line)
        if row.get("type") != "assistant":
            continue
        calls.update(_calls_of(row.get("message")))
        until = str(row.get("timestamp") or until)
        since = since or until
    return _Said(frozenset(calls), "" if whole else since, until)


def _calls_of(message: Any) -> Iterator[str]:
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and block.get("type") == "tool_use":
            yield str(block.get("id") or "")


def rows_at_the_end(
    path: str, size_bytes: int, telling: Sequence[str] = ()
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the lines in the last ``size_bytes`` that hold one of ``telling`` (any, without), each with its row."""
    for line in _tail(path, size_bytes)[0]:
        row = _row(line) if not telling or any(mark in line for mark in telling) else {}
        if row:
            yield line, row


def transcript_tail(path: str) -> list[str]:
    """Return the last lines of a client's transcript, the first perhaps cut; none where it cannot be read."""
    return _tail(path, _TAIL_BYTES)[0]


def _tail(path: str, size_bytes: int) -> tuple[list[str], bool]:
    """Return the lines in the last ``size_bytes`` of a file, and whether that is all of it."""
    try:
        handle = os.open(os.path.expanduser(path), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return [], True
    try:
        with os.fdopen(handle, "rb") as file:
            left_out = max(0, os.fstat(handle).st_size - size_bytes)
            file.seek(left_out)
            return file.read(size_bytes).decode("utf-8", "replace").split("\n"), not left_out
    except OSError:
        return [], True


def _row(line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}
