"""Everything of a workspace as JSON Lines, oldest first: archive entries in the import format, other
records with their words, tags and links under their ids.
"""

import json
from collections.abc import Iterator
from typing import Any

import apsw

from keepthread.stores.archive import entries
from keepthread.stores.journal import TABLES, TAGS
from keepthread.stores.parts import words_of
from keepthread.stores.query import fetch_all
from keepthread.stores.records import ENTRY_KINDS, Entry


def export_lines(connection: apsw.Connection, workspace: int) -> Iterator[str]:
    """Yield one line a record of the workspace and of the user's scope."""
    rows = fetch_all(
        connection,
        "SELECT seq, kind, number, origin, agent, at, window, task FROM journal WHERE workspace IN (?, 0) ORDER BY seq",
        (workspace,),
    )
    for seq, kind, number, origin, agent, at, window, task in rows:
        if kind in ENTRY_KINDS:
            entry = entries(connection, [seq])[seq]
            if not entry.own:
                yield json.dumps(_entry_line(entry), ensure_ascii=False)
            continue
        line: dict[str, Any] = {
            "type": kind,
            "seq": seq,
            "id": f"{kind}-{number}" if number else "",
            "at": at,
            "origin": origin,
            "agent": agent,
            "window": window,
            "task": task,
        }
        words = words_of(connection, seq)
        line["scope"] = json.loads(words.pop(TAGS, "[]"))
        line["words"] = words
        table, children = TABLES[kind]
        line["row"] = _objects(connection, table, "seq", seq)[0]
        for child, key in children:
            found = _objects(connection, child, key, seq)
            if found:
                line[child] = found
        yield json.dumps(line, ensure_ascii=False)


def _entry_line(entry: Entry) -> dict[str, Any]:
    common = {
        "id": entry.id,
        "ts": entry.seen_at,
        "ref": entry.outer_ref or entry.id,
        "channel": entry.channel,
    }
    if entry.role:
        role = "user" if entry.role == "user" else "assistant"
        return {
            "type": "message", "role": role, "speaker": entry.speaker, "text": entry.output, **common,
        }  # fmt: skip
    try:
        args = json.loads(entry.args) if entry.args else {}
    except ValueError:
        args = {"input": entry.args}
    return {
        "type": "tool_call", "tool": entry.tool, "args": args, "output": entry.output,
        "is_error": entry.is_error, **common,
    }  # fmt: skip


def _objects(connection: apsw.Connection, table: str, key: str, seq: int) -> list[dict[str, Any]]:
    columns = [r[1] for r in fetch_all(connection, f"PRAGMA table_info({table})")]
    return [
        {c: v.hex() if isinstance(v, bytes) else v for c, v in zip(columns, row, strict=True)}
        for row in fetch_all(connection, f"SELECT * FROM {table} WHERE {key} = ?", (seq,))
    ]
