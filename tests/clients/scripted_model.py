"""A Messages API on loopback whose model follows a script, so that a real client runs offline."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Block = str | tuple[str, Mapping[str, Any]]
"""Text that the model says, or a tool that it calls: (name, input)."""

Script = Sequence[Sequence[Block]]
"""One item a turn of the model; after the last it says ``done``."""

Body = Mapping[str, Any]


class Model(NamedTuple):
    """``url`` for the client; ``scripts`` by the first word of a conversation's prompt; ``requests`` seen."""

    url: str
    scripts: dict[str, Script]
    requests: list[dict[str, Any]]

    def conversation(self, word: str) -> list[dict[str, Any]]:
        """Return the requests of the conversation whose prompt begins with ``word``, oldest first."""
        return [b for b in self.requests if b.get("tools") and prompt_of(b).split()[0] == word]

    def results(self, word: str) -> list[str]:
        """Return what the tools answered the model in a conversation, in order."""
        found = {
            block["tool_use_id"]: text_of(block.get("content"))
            for body in self.conversation(word)
            for message in body["messages"]
            for block in content_of(message)
            if block.get("type") == "tool_result"
        }
        return list(found.values())


def content_of(message: Body) -> list[dict[str, Any]]:
    """Return a message's content as blocks."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def text_of(content: Any) -> str:
    """Return the text of a message's or tool result's content."""
    if isinstance(content, list):
        return "\n".join(str(block.get("text", "")) for block in content)
    return str(content or "")


def prompt_of(body: Body) -> str:
    """Return what was asked first: clients put reminders before it, in blocks of their own."""
    return str(content_of(body["messages"][0])[-1].get("text", "")).strip() or "-"


@contextmanager
def scripted_model() -> Iterator[Model]:
    """Serve until the block ends."""
    server = _Server(("127.0.0.1", 0), _Handler)
    model = server.model
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    """Holds the model for the handlers, which get nothing else."""

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self.model = Model(f"http://127.0.0.1:{self.server_address[1]}", {}, [])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send(b"{}", "application/json")

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        if "count_tokens" in self.path:
            self._send(b'{"input_tokens": 10}', "application/json")
        elif self.path.startswith("/v1/messages"):
            body = json.loads(raw)
            assert isinstance(self.server, _Server)
            model = self.server.model
            model.requests.append(body)
            turn = _turn(model, body)
            if body.get("stream"):
                events = _events(body, turn, len(model.requests))
                self._send(b"".join(map(_frame, events)), "text/event-stream")
            else:
                message = _message(body, turn, len(model.requests))
                self._send(json.dumps(message).encode(), "application/json")
        else:
            self._send(b"{}", "application/json")

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keep the test's output clean."""


def _turn(model: Model, body: Body) -> Sequence[Block]:
    if not body.get("tools"):
        return ["ok"]  # the client's own small questions, such as a title
    script = model.scripts.get(prompt_of(body).split()[0], ())
    turn = sum(message["role"] == "assistant" for message in body["messages"])
    return script[turn] if turn < len(script) else ["done"]


def _message(body: Body, turn: Sequence[Block], number: int) -> dict[str, Any]:
    """Return a turn as one message, for clients that do not stream."""
    content = [
        {"type": "text", "text": block}
        if isinstance(block, str)
        else {
            "type": "tool_use",
            "id": f"toolu_{number:03d}{n:02d}",
            "name": block[0],
            "input": block[1],
        }
        for n, block in enumerate(turn)
    ]
    calls = any(block["type"] == "tool_use" for block in content)
    return {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": body["model"],
        "content": content, "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


def _events(body: Body, turn: Sequence[Block], number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    calls = any(not isinstance(block, str) for block in turn)
    yield (
        "message_start",
        {
            "message": {
                "id": f"msg_{number}", "type": "message", "role": "assistant", "model": body["model"],
                "content": [], "stop_reason": None, "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }
        },
    )  # fmt: skip
    for index, block in enumerate(turn):
        if isinstance(block, str):
            start: dict[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block}
        else:
            name, given = block
            start = {
                "type": "tool_use",
                "id": f"toolu_{number:03d}{index:02d}",
                "name": name,
                "input": {},
            }
            delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
        yield "content_block_start", {"index": index, "content_block": start}
        yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    reason = "tool_use" if calls else "end_turn"
    yield (
        "message_delta",
        {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 5}},
    )
    yield "message_stop", {}


def _frame(event: tuple[str, dict[str, Any]]) -> bytes:
    name, data = event
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()
