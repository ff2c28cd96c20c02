"""The relay before real servers, from PyPI and npm: the same bytes, every call archived, little time.

By hand: ``make test-clients`` installs the servers and names their folders in SERVERS_BIN and CLIENTS_BIN.
"""

import http.server
import json
import os
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.server.capture.hooks import archived
from tests.server.capture.wire import Wire, call, lines, relay_command
from tests.server.world import World

pytestmark = pytest.mark.clients

CALLS = 200
OVERHEAD_MS_MAX = 3.0
HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "wire", "version": "1"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
TOOLS: dict[str, Any] = {"jsonrpc": "2.0", "id": "tools", "method": "tools/list"}


class Server(NamedTuple):
    """A server, how to start it, and calls to which it answers the same each time."""

    name: str
    command: tuple[str, ...]
    calls: tuple[tuple[str, dict[str, Any]], ...]

    def argv(self, world: World) -> list[str]:
        folder = "SERVERS_BIN" if self.name in ("git", "time", "fetch") else "CLIENTS_BIN"
        program = Path(os.environ[folder]) / self.command[0]
        return [str(program), *(a.format(tree=world.tree) for a in self.command[1:])]

    def asked(self, world: World, url: str) -> list[dict[str, Any]]:
        """Return the calls as requests, their places filled in."""
        told = json.dumps(self.calls).replace("{tree}", str(world.tree)).replace("{url}", url)
        return [call(n, tool, **args) for n, (tool, args) in enumerate(json.loads(told))]


SERVERS = (
    Server(
        "git",
        ("mcp-server-git", "--repository", "{tree}"),
        (
            ("git_status", {"repo_path": "{tree}"}),
            ("git_log", {"repo_path": "{tree}", "max_count": 5}),
            ("git_show", {"repo_path": "{tree}", "revision": "no-such-revision"}),
        ),
    ),
    Server(
        "time",
        ("mcp-server-time",),
        (
            ("convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
            ("convert_time", {"source_timezone": "Nowhere", "time": "12:00", "target_timezone": "UTC"}),
        ),
    ),
    Server(
        "fetch",
        ("mcp-server-fetch", "--ignore-robots-txt"),
        (("fetch", {"url": "{url}"}), ("fetch", {"url": "{url}missing"})),
    ),
    Server(
        "filesystem",
        ("mcp-server-filesystem", "{tree}"),
        (
            ("read_text_file", {"path": "{tree}/große Datei.txt"}),
            ("write_file", {"path": "{tree}/new.txt", "content": "neu\n"}),
            ("list_directory", {"path": "{tree}"}),
            ("read_text_file", {"path": "/etc/passwd"}),
        ),
    ),
    Server(
        "everything",
        ("mcp-server-everything", "stdio"),
        (
            ("get-tiny-image", {}),
            ("get-structured-content", {"location": "New York"}),
            ("trigger-long-running-operation", {"duration": 0.2, "steps": 4}),
            ("no-such-tool", {}),
        ),
    ),
)  # fmt: skip


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path, "mein Projekt")
    made.git()
    made.write("große Datei.txt", "Zeile für Zeile\n" * 100_000)
    made.write("ci.yml", "timeout: 45\n")
    git = ["git", "-C", str(made.tree), "-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "Raise the CI timeout to 45 minutes"], check=True)
    return made


@pytest.fixture
def url() -> Iterator[str]:
    """A page on this machine."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"<html><body><p>The release is on Friday.</p></body></html>")

        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def talk(wire: Wire, requests: list[dict[str, Any]]) -> bytes:
    """Ask one thing after another; return every byte that came back."""
    came = b""
    for request in (HELLO, TOOLS, *requests):
        wire.send(lines(request))
        while True:
            line = wire.back.readline()
            assert line, (request, wire.end()[1])
            came += line
            told = json.loads(line)
            if told.get("id") == request["id"] and "method" not in told:
                break
        if request is HELLO:
            wire.send(lines(READY))
    return came + wire.end()[0]


@pytest.mark.parametrize("server", SERVERS, ids=lambda s: s.name)
def test_a_real_server_says_the_same_bytes_and_each_call_is_archived(
    world: World, url: str, server: Server
) -> None:
    command, requests = server.argv(world), server.asked(world, url)
    talk(Wire(world, command), requests)  # what a first call changes is changed by now
    bare = talk(Wire(world, command), requests)
    assert talk(Wire(world, relay_command(server.name, command)), requests) == bare
    found = archived(str(world.db))
    assert [e.tool for e in found] == [f"mcp__{server.name}__{t}" for t, _ in server.calls]
    assert all(e.output and e.level == 2 for e in found)


def test_the_relay_costs_a_call_little(world: World) -> None:
    command = SERVERS[3].argv(world)
    request = call("read", "read_text_file", path=str(world.tree / "ci.yml"))
    overheads = []
    for _ in range(3):
        bare, relayed = (
            median_ms(Wire(world, c), request) for c in (command, relay_command("fs", command))
        )
        overheads.append(relayed - bare)
        print(f"median of {CALLS} calls: {bare:.2f} ms without, {relayed:.2f} ms with the relay")
    assert min(overheads) <= OVERHEAD_MS_MAX


def median_ms(wire: Wire, request: dict[str, Any]) -> float:
    """Return the median time of a call, the first ones left out."""
    wire.ask(HELLO)
    wire.send(lines(READY))
    took = []
    for _ in range(CALLS):
        began = time.perf_counter()
        wire.ask(request)
        took.append((time.perf_counter() - began) * 1_000)
    wire.end()
    return statistics.median(took[10:])
