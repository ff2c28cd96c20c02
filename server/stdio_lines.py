"""Lines of JSON-RPC, from bytes to messages and back.

Pure functions over bytes, linear in time and bounded in memory whatever the bytes are.
"""

import json
import re
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import NamedTuple, cast

from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCMessage,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, from_json

LINE_BYTES_MAX = 8 << 20
DEPTH_MAX = 64
HEAD_BYTES = 1 << 16
TAIL_BYTES = 1 << 12

# The closing quote is optional: an unclosed string is one token too, which keeps this linear.
STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
TOKEN = re.compile(STRING.pattern + rb'|[{}\[\]:,]|[^\s"{}\[\]:,]++', re.DOTALL)
NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
DEPTH_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
SCALAR = rb'(?:"[^"\\]*+"|-?\d++|true|false|null)'
REQUEST_ID = re.compile(rb'-?\d{1,18}|"[^"\\]{0,128}"')
# An id among the last, scalar members of the object that the line closes with.
LAST_ID = re.compile(
    rb',\s*"id"\s*:\s*(' + REQUEST_ID.pattern + rb')\s*'
    rb'(?:,\s*"[^"\\]*+"\s*:\s*' + SCALAR + rb"\s*)*+\}\s*\Z"
)  # fmt: skip


class Refusal(NamedTuple):
    """Why a line holds no message: a JSON-RPC error code, and a sentence."""

    code: int
    message: str


class Line(NamedTuple):
    """A line of input; of one that is too long, only its first and last bytes."""

    content: bytes
    too_long: bool = False


def read_lines(read: Callable[[], bytes]) -> Iterator[Line]:
    """Split what `read` returns into lines, until it returns nothing.

    Blank lines are left out. Of a line above 8 MiB only its ends are kept in memory.
    """
    pending, too_long = bytearray(), False
    while chunk := read():
        *complete, rest = chunk.split(b"\n")
        for part in complete:
            yield from _line(pending + part, too_long)
            pending, too_long = bytearray(), False
        pending += rest
        if len(pending) > LINE_BYTES_MAX:
            del pending[HEAD_BYTES:-TAIL_BYTES]
            too_long = True
    yield from _line(pending, too_long)


def _line(content: bytearray, too_long: bool) -> Iterator[Line]:
    if too_long or len(content) > LINE_BYTES_MAX:
        yield Line(bytes(content[:HEAD_BYTES] + content[-TAIL_BYTES:]), too_long=True)
    elif content.strip():
        yield Line(bytes(content))


def parse_line(line: Line) -> JSONRPCMessage | Refusal:
    """Return the message in a line, or why there is none.

    Size, encoding and depth are checked on bytes, before anything recurses into them.
    """
    if line.too_long:
        return Refusal(INVALID_REQUEST, f"the message is larger than {LINE_BYTES_MAX >> 20} MiB")
    try:
        line.content.decode()
    except UnicodeDecodeError:
        return Refusal(PARSE_ERROR, "the message is not valid UTF-8")
    if _depth(line.content) > DEPTH_MAX:
        return Refusal(INVALID_REQUEST, f"the message is nested deeper than {DEPTH_MAX} levels")
    try:
        message = jsonrpc_message_adapter.validate_json(line.content, by_name=False)
    except ValidationError as error:
        return _explain(line.content, error)
    # A request with an id of the wrong type would pass for a notification.
    if isinstance(message, JSONRPCNotification) and "id" in from_json(line.content):
        return Refusal(INVALID_REQUEST, "the id must be a string or an integer")
    return message


def _depth(content: bytes) -> int:
    """Return how deep JSON is nested."""
    brackets = STRING.sub(b"", content).translate(None, NOT_BRACKETS)
    return max(accumulate(map(DEPTH_STEP.__getitem__, brackets)), default=0)


def _explain(content: bytes, error: ValidationError) -> Refusal:
    (kind, *_) = [detail["type"] for detail in error.errors(include_input=False)]
    if kind != "json_invalid":
        return Refusal(INVALID_REQUEST, "the message is not a JSON-RPC 2.0 request")
    try:
        json.loads(content.decode())
    except ValueError:
        return Refusal(PARSE_ERROR, "the message is not JSON")
    # What the standard library reads and pydantic does not: half of a surrogate pair.
    return Refusal(INVALID_REQUEST, "the message has an unpaired surrogate escape")


def request_id(content: bytes) -> int | str | None:
    """Return the id of the request in a line that may not be JSON, if it can be told.

    Only a member of the outermost object counts, found in the first 64 KiB or among the
    last members. The id of a response is none: it names a request of the server.
    """
    members = _top_level(content[:HEAD_BYTES])
    if b'"result"' in members or b'"error"' in members:
        return None
    found = members.get(b'"id"', b"")
    if b'"id"' not in members and len(content) > HEAD_BYTES:
        last = LAST_ID.search(content, len(content) - TAIL_BYTES)
        found = last[1] if last else b""
    if not REQUEST_ID.fullmatch(found):
        return None
    try:
        return cast("int | str", json.loads(found.decode()))
    except ValueError:
        return None


def _top_level(head: bytes) -> dict[bytes, bytes]:
    """Return the members of the outermost object by key: the first token of each value."""
    members: dict[bytes, bytes] = {}
    depth, key, previous = 0, b"", b""
    tokens = TOKEN.findall(head)
    for token in tokens[:-1]:  # the last one may be cut short, or closes the object
        if depth == 1 and previous == b":":
            members[key] = token
        depth += DEPTH_STEP.get(token[0], 0) if len(token) == 1 else 0
        if depth < 1:
            break
        key, previous = previous, token
    return members


def error_line(line: Line, refusal: Refusal) -> bytes:
    """Return the JSON-RPC error, as a line, that answers one that was refused."""
    error = {"code": refusal.code, "message": refusal.message}
    reply = {"jsonrpc": "2.0", "id": request_id(line.content), "error": error}
    return json.dumps(reply).encode() + b"\n"


def message_line(message: JSONRPCMessage) -> bytes:
    """Return a message of the server as a line.

    Half of a surrogate pair, as in the name of a file that is not UTF-8, becomes "?": the
    answer to a write that was made must not be lost over it.
    """
    try:
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
    except PydanticSerializationError:
        text = json.dumps(message.model_dump(by_alias=True, exclude_unset=True), ensure_ascii=False)
    return text.encode("utf-8", "replace") + b"\n"
