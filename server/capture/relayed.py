"""What passes through the relay, as captures: calls of tools paired with their answers. No I/O.

A call waits under its JSON-RPC id until the server answers that id. Ids are the client's own:
what the server asks the client for has ids of another space and is never looked up here.
"""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from keepthread.server.capture.events import Call, blocks_text, is_own_call, mcp_name, paths_of_call

LINE_BYTES_MAX = 64 << 20
"""A longer line passes too, but only its ends are kept and archived."""

HEAD_BYTES, TAIL_BYTES = 256 << 10, 64 << 10
TASKS_MAX = 1_000
TOO_DEEP = "[nested too deeply to be kept]"

_ID = rb'(-?\d{1,18}|"[^"\\]{0,200}")'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
_FIRST_ID = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb'\s*,\s*)?"id"\s*:\s*' + _ID + rb"\s*,")
_LAST_ID = re.compile(rb',\s*"id"\s*:\s*' + _ID + rb"\s*(?:,\s*" + _VERSION + rb"\s*)?\}\s*\Z")
_CALL = re.compile(rb'"method"\s*:\s*"tools/call"')
_NAME = re.compile(rb'"params"\s*:\s*\{\s*"name"\s*:\s*"([^"\\]{1,200})"')

Message = dict[str, Any]


class Line(NamedTuple):
    """A line with its end; of one that is too long, its first and last bytes."""

    text: bytes
    whole: bool = True


class LineReader:
    """Cuts a stream into pieces of lines as they come, and keeps the line that is under way."""

    def __init__(self) -> None:
        self._line, self.size = bytearray(), 0

    def feed(self, chunk: bytes) -> Iterator[tuple[bytes, Line | None]]:
        """Yield each piece of ``chunk`` up to a line's end, with the line it completes if it does."""
        start = 0
        while start < len(chunk):
            end = chunk.find(b"\n", start) + 1
            piece = chunk[start : end or len(chunk)]
            start += len(piece)
            self._line += piece
            self.size += len(piece)
            if self.size > LINE_BYTES_MAX:
                del self._line[HEAD_BYTES:-TAIL_BYTES]
            yield piece, self.rest() if end else None

    def rest(self) -> Line:
        """Return what the stream has of the line under way, and begin the next one."""
        line = Line(bytes(self._line), self.size <= LINE_BYTES_MAX)
        self._line, self.size = bytearray(), 0
        return line


class Relayed(NamedTuple):
    """A call with what became of it. ``ref`` is the client's own id of the call, ``""`` if untold."""

    call: Call
    ref: str


class _Asked(NamedTuple):
    tool: str
    args: Mapping[str, Any]
    ref: str
    cut: bool = False


class Exchange:
    """The calls in flight between one client and the server it knows as ``name``."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._waiting: dict[str, list[_Asked]] = {}
        self._tasks: dict[str, _Asked] = {}

    def sent(self, line: Line) -> list[Relayed]:
        """Take note of what the client sends; return the calls that it thereby gives up."""
        messages = parse(line)
        if messages is None:
            return self._sent_cut(line.text)
        return [
            given_up for message in messages if (given_up := self._sent_one(message)) is not None
        ]

    def received(self, message: Message) -> Relayed | None:
        """Return the call that a message of the server answers; None for everything else."""
        if "method" in message or not ("result" in message or "error" in message):
            return None
        asked = self._take(message.get("id"))
        if asked is None:
            return None
        result = message.get("result")
        if "error" in message:
            return self._relayed(asked, _error_text(message["error"]), True)
        if not isinstance(result, dict):
            return self._relayed(asked, _as_json(result), False)
        task = result.get("task")
        if isinstance(task, dict) and isinstance(task.get("taskId"), str):
            self._remember_task(task["taskId"], asked)
        return self._relayed(asked, answer_text(result), result.get("isError") is True)

    def received_cut(self, line: bytes) -> Relayed | None:
        """Return the call answered by a line of which only the ends are known, or whose depth is absurd."""
        asked = self._take(_id_of_cut(line))
        if asked is None:
            return None
        failed = (
            re.search(rb'"isError"\s*:\s*true|\A[^{]*\{[^{]*"error"\s*:\s*\{', line) is not None
        )
        cut = f"{line.decode('utf-8', 'replace')}\n[… an answer too large to be read whole …]"
        return self._relayed(asked._replace(cut=True), cut, failed)

    def unanswered(self, why: str) -> list[Relayed]:
        """Return every call that still waits, as failed for the reason given."""
        with self._lock:
            left = [asked for waiting in self._waiting.values() for asked in waiting]
            self._waiting.clear()
        return [self._relayed(asked, f"[no answer: {why}]", True) for asked in left]

    @property
    def waits(self) -> bool:
        """True while a call is in flight."""
        return bool(self._waiting)

    def _sent_one(self, message: Message) -> Relayed | None:
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        match message.get("method"):
            case "tools/call":
                given = params.get("arguments", {})
                args = given if isinstance(given, dict) else {"input": given}
                asked = _Asked(str(params.get("name", "")), args, _call_id(params.get("_meta")))
                self._wait(message.get("id"), asked)
            case "tasks/result" if (task := str(params.get("taskId"))) in self._tasks:
                self._wait(message.get("id"), self._tasks[task])
            case "notifications/cancelled":
                given_up = self._take(params.get("requestId"))
                reason = f"[cancelled by the client: {params.get('reason') or 'no reason given'}]"
                return given_up and self._relayed(given_up, reason, True)
        return None

    def _sent_cut(self, line: bytes) -> list[Relayed]:
        if _CALL.search(line):
            name = _NAME.search(line)
            tool = name[1].decode("utf-8", "replace") if name else "unknown"
            self._wait(_id_of_cut(line), _Asked(tool, {}, "", cut=True))
        return []

    def _wait(self, request: Any, asked: _Asked) -> None:
        key = _key(request)
        if key:
            with self._lock:
                self._waiting.setdefault(key, []).append(asked)

    def _take(self, request: Any) -> _Asked | None:
        key = _key(request)
        with self._lock:
            waiting = self._waiting.get(key)
            if not waiting:
                return None
            asked = waiting.pop(0)
            if not waiting:
                del self._waiting[key]
            return asked

    def _remember_task(self, task: str, asked: _Asked) -> None:
        self._tasks[task] = asked
        if len(self._tasks) > TASKS_MAX:
            del self._tasks[next(iter(self._tasks))]

    def _relayed(self, asked: _Asked, output: str, failed: bool) -> Relayed:
        tool = mcp_name(self._name, asked.tool)
        path, wrote = paths_of_call(tool, asked.args)
        call = Call(
            tool=tool,
            args=_as_json(asked.args, compact=True),
            output=output,
            is_error=failed,
            truncated=asked.cut,
            own=is_own_call(tool, asked.args),
            path=path,
            wrote=() if failed else wrote,
        )
        return Relayed(call, asked.ref)


def parse(line: Line) -> list[Message] | None:
    """Return the messages of a line: none where it is no JSON, None where it is not to be read whole."""
    if not line.whole:
        return None
    try:
        value = json.loads(line.text.decode("utf-8", "replace"))
    except RecursionError:
        return None
    except ValueError:
        return []
    return [m for m in (value if isinstance(value, list) else [value]) if isinstance(m, dict)]


def answer_text(result: Mapping[str, Any]) -> str:
    """Return the words of a tool's result: its content, else its structured content, else all of it."""
    blocks = result.get("content")
    try:
        text = blocks_text(blocks) if isinstance(blocks, list) else ""
    except RecursionError:
        text = TOO_DEEP
    if text.strip():
        return text
    structured = result.get("structuredContent")
    if structured is None and isinstance(blocks, list):
        return text
    return _as_json(result if structured is None else structured)


def _as_json(value: Any, *, compact: bool = False) -> str:
    """Return a value as JSON; what could just be read may be too deep to be written."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":") if compact else None)
    except RecursionError:
        return TOO_DEEP


def _error_text(error: Any) -> str:
    if not isinstance(error, dict):
        return _as_json(error)
    data = _as_json(error["data"]) if error.get("data") is not None else ""
    return f"error {error.get('code')}: {error.get('message')}\n{data}".strip()


def _call_id(meta: Any) -> str:
    """Return the id under which the client's own hook will tell of this call, where it is told."""
    found = meta.get("claudecode/toolUseId") if isinstance(meta, dict) else None
    return found[:200] if isinstance(found, str) else ""


def _key(request: Any) -> str:
    """Return a JSON-RPC id as a key: 1 and 1.0 are one, 1 and "1" are two; ``""`` for what is no id."""
    if isinstance(request, float) and request.is_integer():
        request = int(request)
    if isinstance(request, bool) or not isinstance(request, (str, int, float)):
        return ""
    return json.dumps(request)


def _id_of_cut(line: bytes) -> Any:
    """Return the id that a line begins or ends with: nothing else of it is sure to be outermost."""
    found = _FIRST_ID.match(line) or _LAST_ID.search(line, max(0, len(line) - 1_000))
    if found is None:
        return None
    return json.loads(found[1].decode("utf-8", "replace"), strict=False)
