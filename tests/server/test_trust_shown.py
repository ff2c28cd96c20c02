"""Channel and level stand on every entry and fact that a client is shown, and lost capture is told."""

import time
from pathlib import Path

import pytest

from keepthread.server.capture.append import append_call
from keepthread.server.capture.events import Call
from keepthread.server.capture.imports import import_lines
from tests.server.world import Clock, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path.resolve())


def relayed(world: World, output: str) -> None:
    """Archive a call as the relay does, in the session's window."""
    memory = world.memory()
    author = memory.caller().author._replace(origin="relay")
    with memory.capture.transaction() as tx:
        append_call(
            tx, author, Call("mcp__ci__limits", "{}", output), channel="relay", level=2, tree="",
            key=memory.capture.anchor.key,
        )  # fmt: skip
    memory.close()


def imported(world: World, output: str) -> None:
    memory = world.memory()
    line = f'{{"type":"tool_call","tool":"sh","args":{{}},"output":"{output}"}}'
    import_lines(memory.capture, memory.place.workspace, [line])
    memory.close()


def line_of(text: str, id: str) -> str:
    """Return the one line that begins with a record's id."""
    (line,) = [line for line in text.splitlines() if line.startswith(f"- {id} ")]
    return line


def test_every_entry_and_fact_says_who_told_of_it(world: World) -> None:
    world.say("The platform team owns billing.")
    world.bash("cat ci.yml", "timeout: 300")
    relayed(world, "limit: 45 minutes")
    imported(world, "retries: 3")
    world.write("app.ini", "port = 8080\n")
    with world.connect() as client:
        client.done("capture_file", path="app.ini")
        client.observe("The platform team owns billing", source="user")
        client.observe("The timeout is 300", source="call-1")
        client.observe("The limit is 45 minutes", source="call-2")
        client.observe("The retries are 3", source="call-3")
        client.observe("The port is 8080", source="call-4")
        client.observe("The timeout is 300 and the retries are 3", source="call-1, call-3")
        client.done(
            "record_fact",
            text="Slow jobs time out",
            kind="inference",
            supports=["fact-2", "fact-3"],
        )
        trust = ["hook level 1", "relay level 2", "import level 1", "check level 4"]
        window = client.window()
        for number, told in enumerate(trust, 1):
            assert told in line_of(window, f"call-{number}")
            assert f"#call-{number} · {told}" in line_of(window, f"fact-{number + 1}")
            found = client.done(
                "search_archive", query=["timeout", "minutes", "retries", "8080"][number - 1]
            )
            assert f" · {told} · " in line_of(found.text, f"call-{number}")
            channel, _, level = told.partition(" level ")
            assert (
                f"channel {channel}, level {level}, "
                in client.done("read_record", id=f"call-{number}").text
            )
            page = client.done("read_record", id=f"fact-{number + 1}").text
            assert f"({channel}, level {level}, " in page and f"), level {level}\n" in page
        assert "stated by the user, msg-1" in line_of(window, "fact-1")
        assert "import level 1" in line_of(window, "fact-6"), "the least trusted source counts"
        assert "rests on fact-2 fact-3 · level 1" in line_of(window, "fact-7")


def test_a_session_that_records_facts_while_nothing_is_captured_says_since_when(
    world: World,
) -> None:
    world.bash("cat ci.yml", "timeout: 300, retries: 3, port: 8080, host: example")
    clock = Clock(4_000_000_000.0)
    with world.connect(clock=clock) as client:
        for claim in ("The timeout is 300", "The retries are 3", "The port is 8080"):
            client.observe(claim, source="call-1")
        assert "capture: none" not in client.window(), "one call may show three things"
        client.observe("The host is example", source="call-1")
        told = next(line for line in client.window().splitlines() if "capture: none" in line)
        seen = client.done("read_record", id="call-1").text.partition("seen ")[2]
        assert told.startswith(
            f"! capture: none since {seen[:16].replace('T', ' ')}, though 4 facts were"
        )
        assert "keepthread doctor" in told
        world.bash("ls", "ci.yml")
        assert "capture: none" not in client.window()


def test_many_facts_soon_after_a_capture_are_no_lost_capture(world: World) -> None:
    world.bash("cat ci.yml", "timeout: 300, retries: 3, port: 8080, host: example, jobs: 4")
    clock = Clock(time.time())
    with world.connect(clock=clock) as client:
        for claim in ("The timeout is 300", "The retries are 3", "The port is 8080", "The host is example"):
            client.observe(claim, source="call-1")
        clock.now += 25
        client.observe("The jobs are 4", source="call-1")
        clock.now += 7_000  # nobody did anything in the meantime
        assert "capture: none" not in client.window()
        client.observe("The jobs are 4 and the retries are 3", source="call-1")
        assert "capture: none" in client.window()


def test_a_session_without_any_capture_says_so_from_its_first_fact(world: World) -> None:
    world.write("app.ini", "port = 8080\n")
    with world.connect() as client:
        client.done("capture_file", path="app.ini")
        assert "capture: none" not in client.window()
        client.observe("The port is 8080", source="call-1")
        assert "! capture: none since 2" in client.window()
