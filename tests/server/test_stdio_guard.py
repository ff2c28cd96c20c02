"""The guard in front of the SDK's stdin: every request gets an answer, nothing else the wire."""

import fcntl
import json
import os
import queue
import resource
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from mcp.server import MCPServer
from mcp.server.lowlevel import Server

from keepthread.server.stdio_lines import LINE_BYTES_MAX

TINY_SERVER = Path(__file__).with_name("tiny_server.py")
# Buffered, so that a print is still held when the interpreter ends.
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": ""}
START_SECONDS = 30
ANSWER_SECONDS = 5
CLIENT = {"name": "test", "version": "1"}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": CLIENT,
}


class Client:
    """A process of the tiny server, and its wire."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, TINY_SERVER], stdin=pipe, stdout=pipe, stderr=pipe, env=ENVIRONMENT
        )
        self.wire: list[bytes] = []
        self._replies: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.wire.append(line)
            if line.startswith(b"{"):
                self._replies.put(json.loads(line))

    def send(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, line: bytes, within_seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
        self.send(line)
        return self._replies.get(timeout=within_seconds)

    def close_stdin(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def ended(self, within_seconds: float = 3) -> tuple[int, bytes]:
        """Wait for the end; return the exit code and what was written to stderr."""
        assert self.process.stderr
        code = self.process.wait(within_seconds)
        self._reader.join()
        return code, self.process.stderr.read()

    def clean_up(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream
            try:
                stream.close()
            except BrokenPipeError:
                pass


@pytest.fixture
def started() -> Iterator[Callable[[], Client]]:
    clients: list[Client] = []

    def start() -> Client:
        clients.append(Client())
        return clients[-1]

    yield start
    for client in clients:
        client.clean_up()


def legacy(client: Client) -> Client:
    reply = client.ask(request("initialize", HELLO, id=0), START_SECONDS)
    assert reply["result"]["serverInfo"]["name"] == "tiny"
    client.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    return client


def modern(client: Client) -> Client:
    reply = client.ask(request("server/discover", {"_meta": MODERN}, id=0), START_SECONDS)
    assert "2026-07-28" in reply["result"]["supportedVersions"]
    return client


def request(method: str, params: dict[str, Any], id: int | str) -> bytes:
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    return json.dumps(message, ensure_ascii=False).encode()


def call(tool: str, arguments: dict[str, Any], id: int = 7) -> bytes:
    return request("tools/call", {"name": tool, "arguments": arguments}, id)


def call_modern(tool: str, arguments: dict[str, Any], id: int = 7) -> bytes:
    return request("tools/call", {"name": tool, "arguments": arguments, "_meta": MODERN}, id)


def echo(escaped_text: bytes) -> bytes:
    return (
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":'
        b'{"name":"echo","arguments":{"text":"' + escaped_text + b'"}}}'
    )


def nested(depth: int) -> bytes:
    """Return a call that is nested `depth` deep."""
    inner = b"[" * (depth - 3) + b"]" * (depth - 3)
    return (
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":'
        b'{"name":"echo","arguments":{"text":"t","more":' + inner + b"}}}"
    )


REFUSED = [
    ("lone surrogate", echo(rb"\ud800"), -32600, 7),
    ("reversed surrogates", echo(rb"\udc00\ud800"), -32600, 7),
    ("invalid UTF-8", echo(b"\xff\xfe"), -32700, 7),
    ("UTF-16", echo(b"text").decode().encode("utf-16"), -32700, None),
    ("not JSON", b"hello", -32700, None),
    ("cut short", b'{"jsonrpc":"2.0","id":7,"method":"tools/list"', -32700, 7),
    ("byte order mark", b"\xef\xbb\xbf" + echo(b"text"), -32700, None),
    ("65 levels", nested(65), -32600, 7),
    ("198 levels", nested(198), -32600, 7),
    ("5,000 levels", nested(5_000), -32600, 7),
    ("100,000 levels", nested(100_000), -32600, 7),
    ("100,000 levels, never closed", b"[" * 100_000, -32600, None),
    ("8 MiB", echo(b"x" * LINE_BYTES_MAX), -32600, 7),
    ("100 MB", echo(b"x" * 100_000_000), -32600, 7),
    ("a batch", b'[{"jsonrpc":"2.0","id":7,"method":"tools/list"}]', -32600, None),
    ("a number", b"42", -32600, None),
    ("no method", b'{"jsonrpc":"2.0","id":7}', -32600, 7),
    ("version 1.0", b'{"jsonrpc":"1.0","id":"a","method":"tools/list"}', -32600, "a"),
    ("params as a list", b'{"jsonrpc":"2.0","id":7,"method":"tools/list","params":[]}', -32600, 7),
    ("null id", b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}', -32600, None),
    ("fractional id", b'{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', -32600, None),
]

ANSWERED = [
    ("emoji as a surrogate pair", echo(rb"\ud83d\ude00")),
    ("escaped backslash before ud800", echo(rb"\\ud800")),
    ("NUL", echo(rb"a\u0000b")),
    ("U+2028 in the raw", echo("a\u2028b".encode())),
    ("right-to-left and joiners", echo("\u202eabc 👩‍👩‍👧".encode())),
    ("10,000 combining marks", echo("\N{COMBINING ACUTE ACCENT}".encode() * 10_000)),
    ("1 MB", echo(b"x" * 1_000_000)),
    ("brackets in a string", echo(b"[" * 10_000)),
    ("64 levels", nested(64)),
    ("CRLF", echo(b"text") + b"\r"),
    ("NaN", echo(b"text")[:-3] + b',"n":NaN}}}'),
    ("an integer of 5,000 digits", echo(b"text")[:-3] + b',"n":' + b"9" * 5_000 + b"}}}"),
    ("the same key twice", echo(b"text")[:-1] + b',"jsonrpc":"2.0"}'),
    ("an unknown method", request("no/such", {}, 7)),
]


def test_every_odd_input_is_answered_and_the_server_lives_on(
    started: Callable[[], Client],
) -> None:
    client = legacy(started())
    for what, line, code, id in REFUSED:
        reply = client.ask(line)
        assert (what, reply["error"]["code"], reply["id"]) == (what, code, id)
    for what, line in ANSWERED:
        reply = client.ask(line)
        assert (what, reply["id"]) == (what, 7)
    assert client.ask(call("echo", {"text": "alive"}))["result"]["content"][0]["text"] == "alive"
    client.close_stdin()
    assert client.ended()[0] == 0


def test_bad_lines_before_the_first_request_do_not_decide_the_era(
    started: Callable[[], Client],
) -> None:
    client = started()
    for _, line, _, _ in REFUSED[:12]:
        assert "error" in client.ask(line, START_SECONDS)
    reply = modern(client).ask(call_modern("echo", {"text": "alive"}))
    assert reply["result"]["content"][0]["text"] == "alive"


def test_a_huge_line_is_not_kept_in_memory(started: Callable[[], Client]) -> None:
    client = legacy(started())

    def resident() -> int:
        statm = Path(f"/proc/{client.process.pid}/statm").read_text()
        return int(statm.split()[1]) * resource.getpagesize()

    before = resident()
    assert client.ask(echo(b"x" * 100_000_000))["id"] == 7
    assert resident() - before < 3 * LINE_BYTES_MAX


Era = tuple[Callable[[Client], Client], Callable[..., bytes]]
in_both_eras = pytest.mark.parametrize("era", [(legacy, call), (modern, call_modern)])


@in_both_eras
def test_text_passes_byte_for_byte(started: Callable[[], Client], era: Era) -> None:
    open_era, ask = era
    text = 'tab\t quote" back\\slash \u2028 \u0000 é 👩‍👩‍👧 \r end'
    reply = open_era(started()).ask(ask("echo", {"text": text}))
    assert reply["result"]["content"][0]["text"] == text


@in_both_eras
def test_an_answer_with_half_a_surrogate_pair_is_delivered_without_it(
    started: Callable[[], Client], era: Era
) -> None:
    open_era, ask = era
    client = open_era(started())
    assert client.ask(ask("half", {}))["result"]["content"][0]["text"] == "caf?"
    assert client.ask(ask("echo", {"text": "alive"}))["id"] == 7


@in_both_eras
def test_stray_output_does_not_reach_the_wire(started: Callable[[], Client], era: Era) -> None:
    open_era, ask = era
    client = open_era(started())
    assert client.ask(ask("stray", {}))["result"]["content"][0]["text"] == "done"
    client.close_stdin()
    code, stderr = client.ended()
    assert code == 0
    assert b"STRAY" not in b"".join(client.wire)
    for stray in (b"STRAY before", b"STRAY print", b"STRAY write", b"STRAY child"):
        assert stray in stderr


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_ends_serving_and_returns(started: Callable[[], Client], name: str) -> None:
    client = legacy(started())
    client.process.send_signal(getattr(signal, name))
    code, stderr = client.ended()
    assert (code, b"RETURNED" in stderr) == (0, True)


@pytest.mark.parametrize("stop", [Client.close_stdin, lambda client: client.process.terminate()])
def test_a_call_in_a_thread_is_finished_before_the_end(
    started: Callable[[], Client], stop: Callable[[Client], None]
) -> None:
    client = legacy(started())
    client.send(call("slow", {"seconds": 1}))
    assert client.ask(call("echo", {"text": "both are running"}, id=8))["id"] == 8
    stop(client)
    code, stderr = client.ended()
    assert (code, b"SLOW finished" in stderr) == (0, True)


@pytest.mark.parametrize("stop", [Client.close_stdin, lambda client: client.process.terminate()])
def test_a_call_that_waits_does_not_hold_up_the_end(
    started: Callable[[], Client], stop: Callable[[Client], None]
) -> None:
    client = legacy(started())
    client.send(call("wait", {}))
    assert client.ask(call("echo", {"text": "both are running"}, id=8))["id"] == 8
    stop(client)
    assert client.ended()[0] == 0


def start_unread() -> subprocess.Popen[bytes]:
    """Start a server whose replies nobody reads."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, TINY_SERVER], stdin=pipe, stdout=pipe, stderr=pipe, env=ENVIRONMENT
    )


def unread_bytes(pipe: IO[bytes] | None) -> int:
    assert pipe
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + ANSWER_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_client_that_does_not_read_does_not_hold_up_the_end() -> None:
    with start_unread() as process:
        assert process.stdin and process.stdout
        process.stdin.write(request("initialize", HELLO, 0) + b"\n")
        process.stdin.write(call("echo", {"text": "x" * 1_000_000}) + b"\n")
        process.stdin.flush()
        assert process.stdout.read(1) == b"{"
        wait_until(lambda: unread_bytes(process.stdout) >= 60_000)  # a pipe holds 65,536
        process.terminate()
        assert process.wait(3) == 0


def test_a_client_that_closed_its_end_ends_the_server() -> None:
    with start_unread() as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdout.close()
        process.stdin.write(request("initialize", HELLO, 0) + b"\n")
        process.stdin.flush()
        assert process.wait(START_SECONDS) == 0
        assert b"Traceback" not in process.stderr.read()


def test_the_server_ends_when_its_parent_is_killed_though_stdin_stays_open() -> None:
    parent_program = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, {str(TINY_SERVER)!r}])\n"
        "print(child.pid, file=sys.stderr, flush=True)\n"
        "time.sleep(60)\n"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", parent_program],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env=ENVIRONMENT,
    ) as parent:
        assert parent.stdin and parent.stdout and parent.stderr
        parent.stderr.readline()
        parent.stdin.write(request("initialize", HELLO, 0) + b"\n")
        parent.stdin.flush()
        assert parent.stdout.readline().startswith(b"{")
        parent.kill()
        # Both pipes reach their end only when the server has let go of them.
        assert b"RETURNED" in parent.stderr.read()


def test_the_sdk_still_has_the_private_server_that_is_run() -> None:
    assert isinstance(MCPServer("any")._lowlevel_server, Server)
