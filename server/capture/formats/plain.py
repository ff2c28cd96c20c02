"""The import format: calls and messages, one JSON object a line.

``{"type":"tool_call","tool":…,"args":{…},"output":…,"is_error":…,"ts":…,"ref":…}`` or
``{"type":"message","role":"user"|"assistant","speaker":…,"text":…,"ts":…,"ref":…}``. A line with a
``ref`` or a ``ts`` that was imported before, word for word, is not stored twice; where a file has it
several times, it is stored as often.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from keepthread.server.capture.events import Call, is_own_call, is_shell, paths_of_call
from keepthread.server.capture.formats.item import BadLine, Item, Row, time_of


class Plain:
    """Reads the import format."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def read(self, row: Row) -> Iterable[Item]:
        """Return the call or message of a row."""
        kind = row.get("type")
        at, name = time_of(row.get("ts")), _text(row.get("ref"))
        if kind == "tool_call":
            return [Item("call", self._ref(row, name), at, call=_call(row), name=name)]
        if kind == "message" and row.get("role") in ("user", "assistant"):
            said = "msg" if row["role"] == "user" else "say"
            speaker, text = _text(row.get("speaker")), _text(row.get("text"))
            return [Item(said, self._ref(row, name), at, text=text, speaker=speaker, name=name)]
        raise BadLine(
            f"type must be tool_call, or message with role user or assistant, not {kind!r}"
        )

    def end(self) -> Iterable[Item]:
        """Return nothing: every row stands for itself."""
        return ()

    def _ref(self, row: Row, name: str) -> str:
        whole = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
        mark = hashlib.sha256(whole.encode()).hexdigest()[:16]
        if name:
            return f"{name}:{mark}"
        if not row.get("ts"):
            return ""
        self._seen[mark] += 1
        return f"#{self._seen[mark]}:{mark}"


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
        own=is_own_call(tool, args),
        path=path,
        wrote=wrote if is_shell(tool) or not row.get("is_error") else (),
    )


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
