"""The import format: calls and messages, one JSON object a line.

``{"type":"tool_call","tool":…,"args":{…},"output":…,"is_error":…,"ts":…,"ref":…}`` or
``{"type":"message","role":"user"|"assistant","speaker":…,"text":…,"ts":…,"ref":…}``. A line with a
``ref`` or a ``ts`` that was imported before, word for word, is not stored twice; where a file has it
several times, it is stored as often. Of an export the entries are read; its other records are left out.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from keepthread.server.capture.events import Call, is_own_call, is_shell, paths_of_call
from keepthread.server.capture.formats.item import BadLine, Item, LeftOut, Row, time_of
from keepthread.stores.records import ENTRY_KINDS
from keepthread.stores.transfer import is_export_line

_SAID = {"user": "msg", "assistant": "say", "machine": "sys"}
_TOLD = frozenset("type tool args output is_error role speaker text ts ref".split())
"""What makes two lines the same one: an export adds where each stood in its database."""


class Plain:
    """Reads the import format."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def read(self, row: Row) -> Iterable[Item]:
        """Return the call or message of a row."""
        kind = row.get("type")
        at, name = time_of(row.get("ts")), _text(row.get("ref"))
        known = _restored(row)
        if kind == "tool_call":
            call = _call(row)
            return [Item("call", self._ref(row, name), at, call=call, name=name, known_as=known)]
        if is_export_line(row) and row["kind"] not in ENTRY_KINDS:
            raise LeftOut(f"a {row['kind']} is only restored, into an empty database")
        if kind == "message" and row.get("role") in _SAID:
            said = _SAID[row["role"]]
            speaker, text = _text(row.get("speaker")), _text(row.get("text"))
            return [
                Item(
                    said, self._ref(row, name), at, text=text, speaker=speaker, name=name, known_as=known
                )
            ]  # fmt: skip
        raise BadLine(
            f"type must be tool_call, or message with role user or assistant, not {kind!r}"
        )

    def end(self) -> Iterable[Item]:
        """Return nothing: every row stands for itself."""
        return ()

    def _ref(self, row: Row, name: str) -> str:
        told = {key: value for key, value in row.items() if key in _TOLD}
        whole = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
        mark = hashlib.sha256(whole.encode()).hexdigest()[:16]
        if name:
            return f"{name}:{mark}"
        if not row.get("ts"):
            return ""
        self._seen[mark] += 1
        return f"#{self._seen[mark]}:{mark}"


def _restored(row: Row) -> tuple[tuple[str, str], ...]:
    """Return how an entry of an export is known where it was exported, or restored."""
    stored = row["row"] if is_export_line(row) else {}
    channel, ref = stored.get("channel"), stored.get("outer_ref")
    return ((channel, ref),) if isinstance(channel, str) and isinstance(ref, str) else ()


def _call(row: Row) -> Call:
    tool = row.get("tool")
    if not isinstance(tool, str) or not tool:
        raise BadLine("a tool_call needs a tool name")
    args = row.get("args")
    args = args if isinstance(args, dict) else {} if args is None else {"input": args}
    path, wrote = paths_of_call(tool, args)
    return Call(
        tool=tool,
        args=json.dumps(args, ensure_ascii=False, separators=(",", ":")),
        output=_text(row.get("output")),
        is_error=bool(row.get("is_error")),
        own=is_own_call(tool, args) or row.get("own") is True,
        path=path,
        wrote=wrote if is_shell(tool) or not row.get("is_error") else (),
    )


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
