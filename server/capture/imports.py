"""``keepthread import FILE``: recorded calls and messages as JSON Lines, into the archive at level 1.

A line is ``{"type":"tool_call","tool":…,"args":{…},"output":…,"is_error":…,"ts":…,"ref":…}`` or
``{"type":"message","role":"user"|"assistant","speaker":…,"text":…,"ts":…,"ref":…}``. Messages
that came by import back no instruction. A line with a ``ref`` or a ``ts`` that was imported before,
word for word, is not stored twice; where a file has it several times, it is stored as often.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from keepthread.server.capture.append import append_call, append_message, clean_value
from keepthread.server.capture.events import Call, is_own_call, is_shell, paths_of_call
from keepthread.stores.clock import seconds, stamp
from keepthread.stores.journal import Journal, Transaction
from keepthread.stores.records import Author, Stamp
from keepthread.stores.workspaces import ensure_workspace

BATCH = 500


class ImportFault(Exception):
    """A line is not of the format; the message names the line and what is wrong. Earlier batches stay."""


class Imported(NamedTuple):
    """What an import did. ``ids`` maps each ``ref`` to the id of its entry."""

    entries: int
    known: int
    ids: dict[str, str]


def import_lines(
    journal: Journal,
    workspace_root: str,
    lines: Iterable[str],
    progress: Callable[[int], None] = lambda done: None,
) -> Imported:
    """Import every line, in transactions of BATCH lines. Raises ImportFault at the first bad line."""
    ids: dict[str, str] = {}
    seen: Counter[str] = Counter()
    done = known = 0
    batch: list[tuple[int, str]] = []

    def flush() -> None:
        nonlocal done, known
        with journal.transaction() as tx:
            author = Author(ensure_workspace(tx.connection, workspace_root), "import")
            for number, line in batch:
                before = tx.seq
                made, ref = _append_line(tx, author, number, line, seen, journal.anchor.key)
                known += tx.seq == before
                if ref:
                    ids[ref] = made.id
        done += len(batch)
        batch.clear()
        progress(done)

    for number, line in enumerate(lines, 1):
        if line.strip():
            batch.append((number, line))
        if len(batch) == BATCH:
            flush()
    if batch:
        flush()
    return Imported(done - known, known, ids)


def _append_line(
    tx: Transaction, author: Author, number: int, line: str, seen: Counter[str], key: bytes
) -> tuple[Stamp, str]:
    try:
        row = clean_value(json.loads(line))
    except (ValueError, RecursionError) as error:
        raise ImportFault(f"line {number} is no JSON: {error}") from error
    if not isinstance(row, dict):
        raise ImportFault(f"line {number} is no JSON object")
    ref = str(row["ref"]) if row.get("ref") is not None else ""
    mark = hashlib.sha256(line.strip().encode("utf-8", "replace")).hexdigest()[:16]
    outer_ref = f"{ref}:{mark}" if ref else ""
    if row.get("ts") and not ref:
        seen[mark] += 1
        outer_ref = f"#{seen[mark]}:{mark}"
    seen_at = _time(row.get("ts"), number, tx)
    kind = row.get("type")
    if kind == "tool_call":
        call = _call(row, number)
        made = append_call(
            tx,
            author,
            call,
            channel="import",
            level=1,
            tree="",
            key=key,
            outer_ref=outer_ref,
            seen_at=seen_at,
        )
        return made, ref
    if kind == "message" and row.get("role") in ("user", "assistant"):
        made = append_message(
            tx,
            author,
            "msg" if row["role"] == "user" else "say",
            _text(row.get("text")),
            channel="import",
            key=key,
            outer_ref=outer_ref,
            seen_at=seen_at,
            speaker=_text(row.get("speaker")),
        )
        return made, ref
    raise ImportFault(
        f"line {number}: type must be tool_call, or message with role user or assistant, not {kind!r}"
    )


def _call(row: dict[str, Any], number: int) -> Call:
    tool = row.get("tool")
    if not isinstance(tool, str) or not tool:
        raise ImportFault(f"line {number}: a tool_call needs a tool name")
    args = row.get("args")
    args = args if isinstance(args, dict) else {} if args is None else {"input": args}
    path, wrote = paths_of_call(tool, args)
    return Call(
        tool=tool,
        args=json.dumps(args, ensure_ascii=False, separators=(",", ":")),
        output=_text(row.get("output")),
        is_error=bool(row.get("is_error")),
        own=is_own_call(tool, args),
        path=path,
        wrote=wrote if is_shell(tool) or not row.get("is_error") else (),
    )


def _time(given: Any, number: int, tx: Transaction) -> str:
    if given in (None, ""):
        return tx.at
    try:
        return stamp(seconds(str(given)))
    except ValueError as error:
        raise ImportFault(f"line {number}: ts is no ISO 8601 time with a zone: {error}") from error


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
