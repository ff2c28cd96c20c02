"""The relay: bytes pass as they are, and each call of a tool is evidence before its result arrives."""

import fcntl
import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

from keepthread.server.capture import relayed
from keepthread.server.capture.relayed import Exchange, Line, LineReader
from keepthread.validators.confidence import entry_confidence, origin_of
from tests.server.capture.hooks import archived
from tests.server.capture.wire import (
    HERE,
    KEEPTHREAD,
    ROOT,
    SCRIPTED,
    Wire,
    call,
    lines,
    relay_command,
)
from tests.server.world import ERAS, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.git()
    return made


def outputs(world: World) -> list[tuple[str, str, bool]]:
    return [(e.tool, e.output, e.is_error) for e in archived(str(world.db))]


TALK = (
    lines(call(1, "echo", text="grüße"), {"jsonrpc": "2.0", "method": "notifications/initialized"})
    + b"no JSON \xff\r\n\r\n"
    + lines(call("1", "echo"), [call(2, "fail"), call(3, "refuse")], call(4, "stranger"))
    + lines(call(5, "large", size=300_000), call(6, "structured"))
    + json.dumps(call(7, "noise", text="no line end")).encode()
)


def test_bytes_are_the_same_with_and_without_in_both_directions(world: World) -> None:
    bare = Wire(world, SCRIPTED).end(TALK)
    out, told, status = Wire(world, relay_command()).end(TALK)
    assert out == bare[0] and status == bare[2] == 0
    assert told == bare[1]  # what the server read, line by line, and nothing of ours
    assert [(t.removeprefix("mcp__git__"), o[:20], e) for t, o, e in outputs(world)] == [
        ("echo", "grüße", False),
        ("echo", "", False),
        ("fail", "no such branch", True),
        ("refuse", "error -32602: unknow", True),
        ("stranger", "after strangers", False),
        ("large", "x" * 20, False),
        ("structured", '{"port": 8443}', False),
        ("noise", "odd", False),
    ]


def test_large_messages_pass_both_ways_and_are_archived_by_their_ends(world: World) -> None:
    text = "grüße " * 1_000_000
    talk = lines(call(1, "echo", text=text), call(2, "echo", text="after"))
    bare = Wire(world, SCRIPTED).end(talk)[0]
    assert Wire(world, relay_command()).end(talk)[0] == bare
    large, after = archived(str(world.db))
    assert large.truncated and after.output == "after"
    assert large.output.startswith("grüße") and large.output.endswith("grüße ")
    assert large.output_sha256 == hashlib.sha256(text.encode()).hexdigest()


def test_a_relay_that_is_killed_leaves_no_server_and_what_it_delivered_is_archived(
    world: World,
) -> None:
    wire = Wire(world, relay_command())
    wire.ask(call(1, "echo", text="delivered"))
    wire.process.kill()
    assert wire.back.read() == b""
    told = wire.told.read()  # comes to its end once the server has: they share it
    assert b"server: read" in told
    assert outputs(world) == [("mcp__git__echo", "delivered", False)]
    wire.process.wait(20)
    wire.end()


def test_a_result_is_archived_before_it_arrives_and_partial_lines_are_not_held_back(
    world: World,
) -> None:
    wire = Wire(world, relay_command())
    for number in range(5):
        assert wire.ask(call(number, "echo", text=f"v{number}"))["id"] == number
        assert outputs(world)[-1] == ("mcp__git__echo", f"v{number}", False)
    wire.send(lines(call(9, "noise")))
    back = b""
    while not back.endswith(b"no end"):
        back += os.read(wire.back.fileno(), 1 << 16)
    wire.end()


def test_answers_in_any_order_and_in_a_batch_find_their_calls(world: World) -> None:
    asked = [call(n, "later", text=f"answer to {n}", of=3) for n in (1, "1", 2.0)]
    wire = Wire(world, relay_command())
    batch = wire.ask(*asked)
    wire.end()
    assert [m["id"] for m in batch] == [2.0, "1", 1]
    found = {(e.args, e.output) for e in archived(str(world.db))}
    assert found == {
        (f'{{"text":"answer to {n}","of":3}}', f"answer to {n}") for n in (1, "1", 2.0)
    }


def test_a_cancelled_call_and_one_without_an_answer_are_archived_as_failed(world: World) -> None:
    wire = Wire(world, relay_command())
    cancel = {"requestId": 1, "reason": "the user changed their mind"}
    wire.end(
        lines(
            call(1, "never"),
            call(2, "never"),
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel},
        )
    )
    assert outputs(world) == [
        ("mcp__git__never", "[cancelled by the client: the user changed their mind]", True),
        ("mcp__git__never", "[no answer: the server ended]", True),
    ]


@pytest.mark.parametrize(("tool", "status"), [("crash", 7), ("die", 128 + signal.SIGKILL)])
def test_a_server_that_dies_ends_the_relay_with_its_status(
    world: World, tool: str, status: int
) -> None:
    wire = Wire(world, relay_command())
    wire.send(lines(call(1, tool)))
    assert wire.back.read() == b""
    assert wire.process.wait(20) == status
    assert outputs(world) == [(f"mcp__git__{tool}", "[no answer: the server ended]", True)]
    wire.end()


def test_a_signal_reaches_the_server_which_decides(world: World) -> None:
    wire = Wire(world, relay_command())
    wire.ask(call(1, "echo", text="ready"))
    wire.process.terminate()
    wire.process.wait(20)
    _, told, status = wire.end()
    assert status == 5 and b"told to stop" in told


def test_a_client_that_dies_leaves_no_server_and_no_call_behind(world: World) -> None:
    wire = Wire(world, relay_command())
    wire.ask(call(1, "echo", text="ready"))
    wire.send(lines(call(2, "never")))
    wire.back.close()
    wire.to.close()
    assert wire.process.wait(20) != -signal.SIGKILL
    assert b"told to stop" not in wire.told.read()
    assert [e for _, _, e in outputs(world)] == [False, True]
    wire.told.close()


def test_a_command_that_is_not_there_is_said_and_has_the_shells_status(world: World) -> None:
    out, told, status = Wire(world, relay_command(server=["no-such-server"])).end()
    assert (out, status) == (b"", 127)
    assert told == b"keepthread relay: cannot start no-such-server: No such file or directory\n"


def test_the_command_line_reaches_the_relay_with_and_without_a_workspace(world: World) -> None:
    echo = [sys.executable, "-c", "import sys; print(sys.argv[1:])", "--", "-y", "--name"]
    relay = ["relay", "--name", "x", "--", *echo]
    for given in (
        relay,
        ["relay", "--workspace", "other", *relay[1:]],
        ["--workspace", "o", *relay],
    ):
        assert Wire(world, [*KEEPTHREAD, *given]).end() == (b"['--', '-y', '--name']\n", b"", 0)


def test_calls_go_to_the_workspace_that_is_named(world: World) -> None:
    command = [*KEEPTHREAD, "relay", "--workspace", "other", "--name", "git", "--", *SCRIPTED]
    Wire(world, command).end(lines(call(1, "echo", text="x")))
    assert len(archived(str(world.db))) == 1
    with world.connect() as session:
        assert "call-1" not in session.call("search_archive", query="x").text


def test_the_relay_imports_nothing_heavy(world: World) -> None:
    code = (
        "import sys; from keepthread.server.entry import main; main(); "
        "print(*sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, *relay_command()[3:]]
    _, told, _ = Wire(world, command).end(lines(call(1, "echo", text="x")))
    assert len(archived(str(world.db))) == 1 and b"apsw" in told.split()
    heavy = "mcp pydantic torch numpy sqlite_vec onnxruntime asyncio tomllib"
    assert set(told.decode().split()) & set(heavy.split()) == set()


def test_two_relays_of_one_client_write_into_one_window(world: World) -> None:
    wires = {name: Wire(world, relay_command(name)) for name in ("git", "my tickets")}
    for number in range(20):
        for name, wire in wires.items():
            wire.send(lines(call(number, "echo", text=f"{name} {number}")))
    for wire in wires.values():
        wire.end()
    found = archived(str(world.db))
    assert len(found) == 40 and len({e.window for e in found}) == 1
    assert {e.tool for e in found} == {"mcp__git__echo", "mcp__my_tickets__echo"}


class Locked:
    """Holds the writer lock of a database, as a process that hangs would."""

    def __init__(self, db: Path) -> None:
        self.file = open(f"{db}.lock", "a")

    def __enter__(self) -> None:
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *error: object) -> None:
        self.file.close()


def test_a_locked_database_delays_results_shortly_and_loses_none(world: World) -> None:
    wire = Wire(world, relay_command())
    wire.ask(call(0, "echo", text="first"))
    with Locked(world.db):
        began = time.monotonic()
        for number in (1, 2, 3):
            assert wire.ask(call(number, "echo", text="x"))["id"] == number
        assert time.monotonic() - began < 9  # one wait, not three
    _, told, _ = wire.end()
    assert told.count(b"the database is busy") == 1
    assert "CaptureGap" in (world.db.parent / "hook-errors.log").read_text()
    assert len(outputs(world)) == 4


@pytest.mark.parametrize("strict", ["", "1"])
def test_a_call_that_cannot_be_archived_is_delivered_unless_strict(
    world: World, strict: str
) -> None:
    world.db.write_bytes(b"no database at all" * 100)
    wire = Wire(world, relay_command(), KEEPTHREAD_RELAY_STRICT=strict)
    answer = wire.ask(call(1, "echo", text="x"))
    assert answer["id"] == 1
    if strict:
        assert "could not be archived" in answer["error"]["message"]
    else:
        assert answer["result"]["content"][0]["text"] == "x"
    assert b"mcp__git__echo was not archived: the file" in wire.end()[1]
    assert "mcp__git__echo was not archived" in (world.folder / "hook-errors.log").read_text()


def test_strict_changes_no_byte_of_what_is_archived(world: World) -> None:
    bare = Wire(world, SCRIPTED).end(TALK)
    assert Wire(world, relay_command(), KEEPTHREAD_RELAY_STRICT="1").end(TALK)[0] == bare[0]


def test_a_line_over_the_cap_passes_and_is_archived_as_truncated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(relayed, "LINE_BYTES_MAX", 1 << 20)
    content = b"x" * (3 << 20)
    first = b'{"jsonrpc":"2.0","id":"a","result":{"content":"' + content + b'"}}\n'
    last = b'{"result":{"content":"' + content + b'","isError":true},"jsonrpc":"2.0","id":4}\n'
    inner = b'{"jsonrpc":"2.0","result":{"content":"' + content + b'","id":5}}\n'
    exchange = Exchange("big")
    exchange.sent(Line(lines(*(call(n, "read") for n in ("a", 4, 5)))[:-1].replace(b"\n", b",")))
    for n in ("a", 4, 5):
        exchange.sent(Line(lines(call(n, "read"))))
    found = []
    for line in (first, last, inner):
        reader = LineReader()
        pieces = [
            p for at in range(0, len(line), 65_536) for p in reader.feed(line[at : at + 65_536])
        ]
        assert b"".join(piece for piece, _ in pieces) == line
        (kept,) = [kept for _, kept in pieces if kept is not None]
        assert not kept.whole and len(kept.text) < 400_000
        found.append(exchange.received_cut(kept.text))
    assert [f and (f.call.truncated, f.call.is_error) for f in found] == [
        (True, False), (True, True), None,
    ]  # fmt: skip


def test_a_request_over_the_cap_still_has_its_answer_archived() -> None:
    exchange = Exchange("big")
    line = lines(call(8, "write", text="x" * 2_000))
    exchange.sent(Line(line[:200] + line[-200:], whole=False))
    (done,) = exchange.unanswered("why")
    assert (done.call.tool, done.call.truncated) == ("mcp__big__write", True)


def test_an_answer_of_absurd_depth_is_kept_as_it_came(world: World) -> None:
    deep = b'{"jsonrpc":"2.0","id":1,"result":{"content":[],"x":' + b"[" * 100_000
    line = Line(deep + b"]" * 100_000 + b"}}\n")
    assert relayed.parse(line) is None
    exchange = Exchange("deep")
    exchange.sent(Line(lines(call(1, "read"))))
    assert exchange.received_cut(line.text) is not None and not exchange.waits


@pytest.mark.parametrize("member", ["content", "structuredContent", "x"])
def test_an_answer_is_archived_however_deep_it_is_nested(member: str) -> None:
    exchange = Exchange("deep")
    for depth in range(500, 1_100, 3):
        exchange.sent(Line(lines(call(1, "read"))))
        nested = "[" * depth + "]" * depth
        line = Line(f'{{"id":1,"result":{{"{member}":{nested}}}}}\n'.encode())
        messages = relayed.parse(line)
        if messages is None:
            assert exchange.received_cut(line.text) is not None
        else:
            answered = exchange.received(messages[0])
            assert answered is not None and answered.call.output


def test_the_result_of_a_task_belongs_to_the_call_that_began_it() -> None:
    exchange = Exchange("ci")
    exchange.sent(Line(lines(call(1, "build", target="all"))))
    exchange.received({"id": 1, "result": {"task": {"taskId": "t-1", "status": "working"}}})
    ask = {"jsonrpc": "2.0", "id": 2, "method": "tasks/result", "params": {"taskId": "t-1"}}
    exchange.sent(Line(lines(ask)))
    done = exchange.received({"id": 2, "result": {"content": [{"type": "text", "text": "built"}]}})
    assert done is not None and (done.call.tool, done.call.output) == ("mcp__ci__build", "built")
    assert done.call.args == '{"target":"all"}'


def test_our_own_server_behind_a_relay_is_no_evidence(world: World) -> None:
    Wire(world, relay_command("memory")).end(lines(call(1, "record_fact", text="the port is 1")))
    with world.connect() as session:
        (entry,) = archived(str(world.db))
        assert entry.own and entry.output == entry.args == ""
        session.refused(
            "record_fact",
            "self_citation",
            text="The port is 1",
            kind="observation",
            source=entry.id,
        )


@pytest.mark.parametrize("mode", ERAS)
def test_a_real_client_of_either_era_gets_the_same_and_facts_cite_what_passed(
    world: World, mode: str
) -> None:
    server = [sys.executable, str(HERE / "ci_server.py")]

    async def run(command: list[str]) -> list[object]:
        environ = {**os.environ, **world.environ, "PYTHONPATH": str(ROOT / ".dev")}
        given = StdioServerParameters(
            command=command[0], args=command[1:], env=environ, cwd=world.tree
        )
        told: list[object] = []

        async def report(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, total, message))

        async with Client(given, mode=mode) as client:
            tools = await client.list_tools()
            said = await client.call_tool("limits", {"job": "lint"}, progress_callback=report)
            much = await client.call_tool("history", {"runs": 200_000})
            failed = await client.call_tool("wrong", {})
            with anyio.move_on_after(0.3):
                await client.call_tool("wait", {})
            return [tools.tools, said, much, failed, told]

    assert anyio.run(run, relay_command("my ci", server)) == anyio.run(run, server)
    limits, history, wrong, wait = archived(str(world.db))
    assert (limits.tool, limits.channel, limits.level) == ("mcp__my_ci__limits", "relay", 2)
    assert history.truncated and history.output.startswith("run: ok")
    assert wrong.is_error and wait.is_error and "cancelled" in wait.output
    assert entry_confidence(limits) == 0.85
    cited = (limits.id, f"tool:{limits.tool}#{limits.id}", "tool:limits", "tool:my ci.limits")
    with world.connect(mode) as session:
        for source in cited:
            fact = session.observe("The CI limit is 45 minutes", source)
            assert limits.id in fact.data["source"]
        search = {"query": "CI limit in minutes"}
        assert limits.id in session.done("search_archive", **search).text
        assert limits.id in session.done("search_archive", **search, tool="my_ci.limits").text
        assert limits.id not in session.done("search_archive", **search, tool="git.limits").text


def test_a_call_seen_by_relay_and_hook_is_one_entry_or_at_least_one_origin(world: World) -> None:
    path = str(world.tree / "notes.txt")
    world.write("notes.txt", "The port is 8443.")
    known = {"claudecode/toolUseId": "toolu_1"}
    told = {"text": "The port is 8443.", "path": path}
    wire = Wire(world, relay_command("fs"))
    wire.ask(call(1, "echo", known, **told))
    wire.ask(call(2, "echo", known, **told))  # tried again by the client
    wire.ask(call(3, "echo", **told))
    wire.ask(call(4, "echo", text="The port is 8443."))
    wire.end()
    blocks = [{"type": "text", "text": told["text"]}]
    event = {"tool_name": "mcp__fs__echo", "tool_input": told, "tool_response": blocks}
    world.hook("PostToolUse", **event, tool_use_id="toolu_1")
    assert len(archived(str(world.db))) == 4
    world.hook("PostToolUse", **event, tool_use_id="toolu_2")
    event |= {"tool_name": "mcp__plugin_x_fs__echo", "tool_input": {"text": told["text"]}}
    world.hook("PostToolUse", **event, tool_use_id="toolu_3")
    found = archived(str(world.db))
    assert [e.channel for e in found] == ["relay"] * 4 + ["hook"] * 2
    of_file, of_text = {origin_of(e) for e in found[:3]}, origin_of(found[3])
    assert of_file == {origin_of(found[4])} == {"file:notes.txt"}
    assert of_text == origin_of(found[5])
