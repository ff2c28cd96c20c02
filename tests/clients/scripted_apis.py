"""The Responses API of Codex and the API of Gemini, each with a model that calls tools from a list."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Call = tuple[str, Mapping[str, Any]]
"""A tool that the model calls: (name, input)."""


class Api(NamedTuple):
    """``url`` for the client, ``requests`` as it sent them."""

    url: str
    requests: list[dict[str, Any]]


@contextmanager
def scripted_api(calls: Sequence[Call]) -> Iterator[Api]:
    """Serve either API until the block ends: one call a turn, then ``done``."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.calls = calls
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Api(f"http://127.0.0.1:{server.server_address[1]}", server.requests)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    calls: Sequence[Call] = ()

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self.requests: list[dict[str, Any]] = []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send([{"data": [], "models": []}], "application/json")

    def do_POST(self) -> None:
        assert isinstance(self.server, _Server)
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        self.server.requests.append(body)
        if self.path.endswith("/responses"):
            self._send(_codex_events(body, self.server.calls), "text/event-stream")
        elif "stream" in self.path:
            self._send([_gemini_answer(body, self.server.calls)], "text/event-stream")
        else:
            self._send([{"totalTokens": 10}], "application/json")

    def _send(self, events: Sequence[Mapping[str, Any]], kind: str) -> None:
        text = "".join(_frame(e) if "event" in kind else json.dumps(e) for e in events).encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keep the test's output clean."""


def _frame(event: Mapping[str, Any]) -> str:
    name = f"event: {event['type']}\n" if "type" in event else ""  # Gemini's client takes only data
    return f"{name}data: {json.dumps(event)}\n\n"


def _codex_events(body: Mapping[str, Any], calls: Sequence[Call]) -> list[dict[str, Any]]:
    turn = sum(item.get("type") == "function_call" for item in body["input"])
    item: dict[str, Any] = {
        "type": "message", "id": "m", "role": "assistant",
        "content": [{"type": "output_text", "text": "done", "annotations": []}],
    }  # fmt: skip
    if turn < len(calls):
        name, given = calls[turn]
        space, _, bare = name.rpartition("__")
        item = {
            "type": "function_call", "id": f"fc_{turn}", "call_id": f"call_{turn}", "name": bare,
            "arguments": json.dumps(given), **({"namespace": space} if space else {}),
        }  # fmt: skip
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return [
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.done", "item": item, "output_index": 0},
        {"type": "response.completed", "response": {"id": "r", "usage": usage}},
    ]


def _gemini_answer(body: Mapping[str, Any], calls: Sequence[Call]) -> dict[str, Any]:
    turn = sum("functionCall" in part for c in body["contents"] for part in c["parts"])
    part: dict[str, Any] = {"text": "done"}
    if turn < len(calls):
        part = {"functionCall": {"name": calls[turn][0], "args": calls[turn][1]}}
    content = {"role": "model", "parts": [part]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    }
