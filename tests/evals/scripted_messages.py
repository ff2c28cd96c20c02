"""A Messages API on loopback whose model is the scripted agent: it sees what the loop sends, nothing else.

Requests are held to what the real API demands. The first of each conversation is answered with 529
and ``retry-after``, as an overloaded service does; now and then the model stops before it is done.
"""

import json
import queue
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio

from evals.resume.policy import Agent
from evals.resume.repository import World
from evals.resume.with_keepthread import KeepthreadMind

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
KEY = "test-key"
STOPS_EVERY = 50
"""At each so-manieth request the model stops early, as models do: it asks, or runs out of tokens."""


class Stopped(Exception):
    """The conversation was abandoned: its agent was killed."""


class Conversation:
    """The scripted agent, each of whose acts is a tool call that someone else has to carry out."""

    def __init__(self) -> None:
        self._calls: queue.Queue[tuple[str, dict[str, Any]] | None] = queue.Queue()
        self._results: queue.Queue[tuple[bool, str] | None] = queue.Queue()
        self.fault = ""
        threading.Thread(target=self._think, daemon=True).start()

    def next(self) -> tuple[str, dict[str, Any]] | None:
        """Return the next call; None when the agent has nothing left to do."""
        return self._calls.get(timeout=30)

    def give(self, result: tuple[bool, str] | None) -> None:
        """Hand the result of a call back; None ends the agent."""
        self._results.put(result)

    def ask(self, name: str, given: dict[str, Any]) -> tuple[bool, str]:
        """Have a call carried out; return (failed, text). Called in the agent's thread."""
        self._calls.put((name, given))
        result = self._results.get()
        if result is None:
            raise Stopped
        return result

    # What the agent takes for its session: the loop delivers the hooks.

    async def call(self, tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
        return self.ask(tool, arguments)

    def hook(self, event: str, **payload: Any) -> str:
        return ""

    def tool_hook(
        self, name: str, given: dict[str, Any], answer: object, succeeded: bool = True
    ) -> None:
        """As above."""

    def _think(self) -> None:
        try:
            anyio.run(self._work)
        except Stopped:
            return
        except Exception as error:  # noqa: BLE001  (told to the test through the server's answer)
            self.fault = repr(error)
        self._calls.put(None)

    async def _work(self) -> None:
        agent = Agent(KeepthreadMind(self, Path("/")), _FarWorld(self))
        while await agent.step():
            pass


class _FarWorld(World):
    """A world at the other end of the conversation."""

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(Path("/nowhere/tree"))
        self._conversation = conversation

    def read(self, path: str) -> str:
        return self._conversation.ask("Read", {"path": path})[1]

    def edit(self, path: str, text: str) -> None:
        self._conversation.ask("Edit", {"path": path, "text": text})

    def run(self, command: str) -> tuple[bool, str]:
        failed, output = self._conversation.ask("Bash", {"command": command})
        return not failed, output


class Server(ThreadingHTTPServer):
    """Answers requests; ``faults`` says what was wrong with any of them."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.faults: list[str] = []
        self.requests = self.conversations = self.overloaded = self.stops = 0
        self.refuses = False
        self._current: Conversation | None = None
        self._held: tuple[str, dict[str, Any]] | None = None

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return status and body of the answer to one request."""
        self.requests += 1
        fault = _fault(body)
        if fault:
            self.faults.append(fault)
            return 400, _error("invalid_request_error", fault)
        messages = body["messages"]
        if len(messages) == 1 and self.overloaded == self.conversations:
            self.overloaded += 1
            return 529, _error("overloaded_error", "Overloaded")
        if len(messages) == 1:
            self.conversations += 1
            self.stop()
            self._current, self._held = Conversation(), None
        conversation = self._current
        assert conversation is not None
        if self.refuses:
            return 200, _message(body, [{"type": "text", "text": "I cannot."}], "refusal")
        if len(messages) > 1 and isinstance(messages[-1]["content"], list):
            (result,) = messages[-1]["content"]
            conversation.give((bool(result.get("is_error")), result["content"]))
        call, self._held = self._held or conversation.next(), None
        if call is not None and self.requests % STOPS_EVERY == 0:
            self._held = call
            self.stops += 1
            why = ("end_turn", "max_tokens")[self.stops % 2]
            return 200, _message(body, [{"type": "text", "text": "Shall I go on?"}], why)
        if call is None:
            self.faults += [conversation.fault] if conversation.fault else []
            return 200, _message(body, [{"type": "text", "text": "All is done."}], "end_turn")
        use = {
            "type": "tool_use", "id": f"toolu_{self.requests:06}", "name": call[0], "input": call[1],
        }  # fmt: skip
        return 200, _message(body, [{"type": "text", "text": "Next."}, use], "tool_use")

    def stop(self) -> None:
        """End the conversation that goes on."""
        if self._current is not None:
            self._current.give(None)


@contextmanager
def scripted_messages() -> Iterator[Server]:
    """Serve until the block ends."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        raw = self.rfile.read(length)
        if len(raw) < length:  # the agent was killed while it asked
            self.close_connection = True
            return
        body = json.loads(raw)
        assert isinstance(self.server, Server)
        given = self.headers["x-api-key"] or self.headers["authorization"] or ""
        if given.removeprefix("Bearer ") != KEY or not self.headers["anthropic-version"]:
            status, answer = 401, _error("authentication_error", "invalid api key")
        else:
            status, answer = self.server.answer(body)
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        if status == 529:
            self.send_header("retry-after", "1")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        try:
            self.wfile.write(data)
        except ConnectionError:  # the agent was killed while it waited
            self.close_connection = True

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keep the test's output clean."""


def _fault(body: dict[str, Any]) -> str:
    """Say what the real API would refuse; ``""`` for a sound request."""
    if not (body.get("model") and body.get("max_tokens", 0) > 0 and body.get("messages")):
        return "model, max_tokens and messages are required"
    for tool in body.get("tools", []):
        if not _NAME.fullmatch(tool["name"]) or tool["input_schema"].get("type") != "object":
            return f"tools: {tool['name']}"
    wanted: set[str] = set()
    for number, message in enumerate(body["messages"]):
        if message["role"] != ("user", "assistant")[number % 2] or not message["content"]:
            return f"messages.{number}: roles must alternate, content must not be empty"
        blocks = message["content"] if isinstance(message["content"], list) else []
        given = {b["tool_use_id"] for b in blocks if b["type"] == "tool_result"}
        if given != wanted:
            return f"messages.{number}: every tool_use needs its tool_result in the next message"
        wanted = {b["id"] for b in blocks if b["type"] == "tool_use"}
    return ""


def _message(body: dict[str, Any], content: list[Any], stop_reason: str) -> dict[str, Any]:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": content,
        "stop_reason": stop_reason, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}
