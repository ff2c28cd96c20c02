"""The process: where it starts and where it refuses to, how it stops, what it logs, what it imports."""

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from mcp import Client

from keepthread.server.cli.main import main
from keepthread.server.http.serve import is_loopback
from keepthread.stores.database import open_database
from keepthread.stores.journal import verify_chain
from keepthread.stores.query import fetch_all
from keepthread.stores.windows import windows
from tests.server.http.service import Service, calling, message


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Service]:
    """A server of this test's own."""
    tmp_path.chmod(0o700)
    service = Service(tmp_path)
    yield service
    if service.process.poll() is None:
        service.process.kill()
        service.process.wait()


def test_calls_over_a_kept_connection_do_not_wait_for_acknowledgements(running: Service) -> None:
    token = running.token("ann")
    took = []
    with running.connect(token) as session:
        for _ in range(10):
            began = time.monotonic()
            session.call("search_archive", query="deploy")
            took.append(time.monotonic() - began)
    assert min(took) < 0.035, took  # the client's delayed acknowledgement comes after 0.04 s


def stored_questions(service: Service, user: str) -> list[str]:
    """Return the ids of a user's questions as they lie in the file, after looking over the chain."""
    reader = open_database(service.database(user), "reader")
    assert list(verify_chain(reader)) == []
    found = fetch_all(reader, "SELECT number FROM journal WHERE kind = 'question'")
    reader.close()
    return [f"question-{row[0]}" for row in found]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stop_ends_open_streams_and_closes_the_databases(running: Service, number: int) -> None:
    token = running.token("ann")
    status: list[int] = []

    async def scene() -> None:
        async with anyio.create_task_group() as group:

            async def hold(mode: str, ready: anyio.Event) -> None:
                async with Client(running.transport(token, "w"), mode=mode) as client:
                    await client.call_tool("add_open_question", {"question": f"{mode}?"})
                    if mode == "legacy":
                        ready.set()
                        await anyio.sleep(30)
                    async with client.listen(resource_subscriptions=["memory://plan"]) as events:
                        ready.set()
                        async for _ in events:
                            pass

            for mode in ("auto", "legacy"):
                ready = anyio.Event()
                group.start_soon(hold, mode, ready)
                await ready.wait()
            await anyio.sleep(0.3)
            status.append(await anyio.to_thread.run_sync(running.stop, number))
            group.cancel_scope.cancel()

    before = time.monotonic()
    with suppress(Exception):  # the clients complain, each in its way, that the server is gone
        anyio.run(scene)
    assert status == [0]
    assert time.monotonic() - before < 30
    database = Path(running.database("ann"))
    assert not [f.name for f in database.parent.iterdir() if f.name.endswith(("-wal", "-shm"))]
    assert len(stored_questions(running, "ann")) == 2
    reader = open_database(str(database), "reader")
    assert sorted(w.closed for w in windows(reader, 1)) == ["", "ended"]
    reader.close()


def test_what_was_answered_before_a_stop_is_there_and_nothing_is_half(running: Service) -> None:
    token = running.token("ann")
    acknowledged: list[str] = []

    def write() -> None:
        given = calling(token, **{"Mcp-Method": "tools/call", "Mcp-Name": "add_open_question"})
        for n in range(10_000):
            body = message("tools/call", name="add_open_question", arguments={"question": f"{n}?"})
            try:
                reply = running.request(headers=given, body=body)
            except OSError:
                return
            if reply.status != 200:
                return
            acknowledged.append(f"question-{n + 1}")

    writer = threading.Thread(target=write)
    writer.start()
    while len(acknowledged) < 20:
        time.sleep(0.01)
    assert running.stop() == 0
    writer.join(20)
    stored = stored_questions(running, "ann")
    assert stored[: len(acknowledged)] == acknowledged
    assert len(stored) - len(acknowledged) <= 1


def test_the_log_names_no_token_and_nothing_that_was_said(running: Service) -> None:
    token, revoked = running.token("ann"), running.token("ann")
    running.tokens.revoke(running.tokens.all()[-1].id)
    for given in (token, revoked, "keepthread_" + "x" * 43):
        running.request(headers=calling(given, Host="evil.example"), body=b"quokka")
        running.request(headers=calling(given), body=b'{"quokka": 1}')
        running.request(path=f"/mcp/w?token={given}", headers=calling(given))
        running.request(
            headers=calling(given, **{"MCP-Protocol-Version": "quokka"}), body=message("x")
        )
    with running.connect(token) as client:
        client.call("record_fact", text="quokka", kind="observation", source="quokka")
        client.call("quokka")
    assert running.stop() == 0
    log = running.log.read_text("utf-8")
    assert "keepthread: serving http://127.0.0.1:" in log
    for secret in (token, revoked, "quokka", "Bearer"):
        assert secret not in log


def test_a_revoked_token_ends_at_once_and_its_streams_with_the_next_news(running: Service) -> None:
    token, other = running.token("ann"), running.token("ann")
    seen: list[str] = []

    async def scene() -> None:
        nonlocal seen
        async with Client(running.transport(other, "w"), mode="auto") as writer:
            with anyio.move_on_after(15):
                async with Client(running.transport(token, "w"), mode="auto") as client:
                    try:
                        async with client.listen(resource_subscriptions=["memory://plan"]) as news:
                            await writer.call_tool("update_plan_item", {"title": "one"})
                            await anext(news)
                            seen.append("before")
                            running.tokens.revoke(running.tokens.all()[0].id)
                            await writer.call_tool("update_plan_item", {"title": "two"})
                            async for _ in news:
                                seen += ["after"]
                            seen.append("ended")
                    except Exception:  # noqa: BLE001  (however the client tells that its stream ended)
                        seen.append("ended")

    with suppress(Exception):  # nor can the client say good-bye
        anyio.run(scene)
    assert "after" not in seen
    assert seen == ["before", "ended"]
    assert running.request(headers=calling(token), body=message("tools/list")).status == 401


def test_a_damaged_token_file_lets_nobody_in_until_it_is_mended(running: Service) -> None:
    token = running.token("ann")
    given = calling(token, **{"Mcp-Method": "tools/list"})
    file = running.folder / "tokens.json"
    whole = file.read_text()
    for damage in ("", "[", whole[:-20]):
        file.write_text(damage)
        reply = running.request(headers=given, body=message("tools/list"))
        assert reply.status == 503
        assert str(running.folder).encode() not in reply.body
    file.write_text(whole)
    assert running.request(headers=given, body=message("tools/list")).status == 200


def test_a_damaged_database_costs_its_own_user_only(running: Service) -> None:
    tokens = {user: running.token(user) for user in ("ann", "ben")}
    database = Path(running.database("ann"))
    database.parent.mkdir(parents=True, mode=0o700)
    database.write_bytes(b"no database" * 1000)
    asked = message("tools/list")
    for user, status in (("ann", 503), ("ben", 200), ("ann", 503)):
        given = calling(tokens[user], **{"Mcp-Method": "tools/list"})
        assert running.request(headers=given, body=asked).status == status
    assert database.read_bytes() == b"no database" * 1000


def test_idle_connections_and_slow_headers_do_not_stop_the_server(running: Service) -> None:
    token = running.token("ann")
    wires = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(200)]
    try:
        for wire in wires:
            wire.sendall(b"POST /mcp/w HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        given = calling(token, **{"Mcp-Method": "tools/list"})
        assert running.request(headers=given, body=message("tools/list")).status == 200
        assert running.stop() == 0
    finally:
        for wire in wires:
            wire.close()


def environ_of(folder: Path) -> dict[str, str]:
    return {
        "KEEPTHREAD_DB": str(folder / "d" / "memory.db"),
        "KEEPTHREAD_CONFIG": str(folder / "no.toml"),
    }


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["serve", "--http", "--host", "0.0.0.0"], "without a token"),
        (["serve", "--http", "--host", "::"], "without a token"),
        (["serve", "--http", "--host", "192.0.2.1"], "without a token"),
        (["serve", "--port", "8470"], "serve --http"),
        (["serve", "--folder", "a/b=/tmp"], "serve --http"),
        (["--workspace", "x", "serve", "--http"], "in each client's URL"),
        (["serve", "--http", "--port", "99999"], "cannot listen"),
        (["serve", "--http", "--folder", "ann/w=/no/such"], "must be USER/NAME=DIR"),
        (["serve", "--http", "--folder", "ann/../w=/tmp"], "must be USER/NAME=DIR"),
        (["serve", "--http", "--folder", "Ann/w=/tmp"], "no user's name"),
        (["serve", "--http", "--folder", "ann/w"], "must be USER/NAME=DIR"),
    ],
)
def test_it_refuses_to_start_where_it_would_be_open_or_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], why: str
) -> None:
    assert main(arguments, environ_of(tmp_path)) == 1
    assert why in capsys.readouterr().err


def test_a_port_in_use_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", "--http", "--port", port], environ_of(tmp_path)) == 1
    assert f"cannot listen on 127.0.0.1:{port}" in capsys.readouterr().err


def test_what_counts_as_this_machine() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "localhost")))
    assert not any(
        map(is_loopback, ("0.0.0.0", "::", "192.168.1.2", "example.org", "", "localhost.x"))
    )


def test_serving_over_stdio_imports_none_of_it() -> None:
    code = (
        "import sys, keepthread.server.app; print([m for m in sys.modules if 'server.http' in m])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "keepthread" not in done.stdout
