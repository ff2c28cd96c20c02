"""What Keepthread itself says must never come back as evidence for what it believes."""

import time
from pathlib import Path

import pytest

from keepthread.server.capture.commands import runs_keepthread
from tests.server.world import World


@pytest.mark.parametrize(
    "command",
    [
        "keepthread context",
        "cd /w/app && keepthread show fact-1",
        "'cat' notes.txt | /opt/x/.venv/bin/keepthread import -",
        "KEEPTHREAD_DB=/tmp/m.db keepthread search port",
        "env A=1 keepthread status",
        'echo "$(keepthread context)"',
        "python3 -m keepthread context",
        "uvx keepthread show fact-1",
        "uvx --from keepthread keepthread show fact-1",
        "uv run --with x keepthread search port",
        "pipx run keepthread context",
        "timeout 5 keepthread context",
        "sudo -u me keepthread context",
        "echo context | xargs keepthread",
        "bash -c 'cd /w && keepthread context'",
        'ssh host "nice -n 5 keepthread context"',
        "if keepthread context; then :; fi",
        "! keepthread context",
        '"keepthread" context',
        'keep"thread" context',
        "keepthread>o; cat o",
        "K=keepthread; $K context",
        "python3 -m keepthread.server context",
        'python3 -c \'import subprocess as s; s.run(["keepthread", "context"])\'',
        "bash <<EOF\nkeepthread context\nEOF",
        "git -c alias.k='!keepthread context' k",
        "ls $(keepthread context)",
        "sqlite3 ~/.local/share/keepthread/memory.db .dump",
        "cd ~/.local/share/keepthread && strings memory.db",
        "strings $KEEPTHREAD_DB",
    ],
)
def test_a_shell_command_that_runs_our_command_line_is_known(command: str) -> None:
    assert runs_keepthread(command)


@pytest.mark.parametrize(
    "command",
    [
        "cat keepthread.toml", "cd keepthread && ls", "grep -r keepthread .", "keepthread-lint", "",
        "head docs/keepthread.md", "make -C keepthread/docs", "python tests/test_keepthread.py",
        "git commit -m 'Try keepthread for the notes'", "pip install keepthread", "cat src/memory.db",
        "cat > mcp.json <<EOF\n{\"keepthread\": {}}\nEOF\npytest -q",
    ],
)  # fmt: skip
def test_a_command_that_only_names_it_is_an_ordinary_one(command: str) -> None:
    assert not runs_keepthread(command)


@pytest.mark.parametrize(
    "hostile",
    ["keepthread-" * 20_000, "A=1 " * 50_000 + "keepthread-", " " * 200_000 + "keepthreads",
     "env " * 50_000 + "keepthread-", "from " * 40_000 + " keepthread/", "<<a\n" * 20_000 + "keepthread-"],
)  # fmt: skip
def test_no_command_is_long_enough_to_be_searched_slowly(hostile: str) -> None:
    began = time.thread_time()
    runs_keepthread(hostile)
    assert time.thread_time() - began < 0.2


def test_our_window_read_through_the_client_or_the_shell_is_no_evidence(tmp_path: Path) -> None:
    world = World(tmp_path)
    window = '- fact-1 [0.80]: "The CI timeout is 300"'
    world.tool(
        "ReadMcpResourceTool",
        {"server": "memory", "uri": "memory://context"},
        {"contents": [{"uri": "memory://context", "text": window}]},
    )
    world.bash("keepthread context", window)
    with world.connect() as session:
        for source in ("tool:ReadMcpResourceTool", "tool:Bash", "call-1", "call-2"):
            answer = session.call(
                "record_fact", text="The CI timeout is 300", kind="observation", source=source
            )
            assert answer.failed, source


def test_our_database_read_with_other_tools_is_no_evidence(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.bash(f"strings {world.db}", "The CI timeout is 300")
    world.tool("mcp__sqlite__query", {"db": str(world.db)}, "The CI timeout is 300")
    with world.connect() as session:
        for source in ("call-1", "call-2"):
            session.refused(
                "record_fact",
                "self_citation",
                text="The CI timeout is 300",
                kind="observation",
                source=source,
            )


def test_a_background_shell_that_runs_our_command_line_is_no_evidence(tmp_path: Path) -> None:
    world = World(tmp_path)
    for command, shell in (("sleep 1; keepthread context", "b1"), ("make serve", "b2")):
        started = {"stdout": "", "stderr": "", "backgroundTaskId": shell}
        world.tool("Bash", {"command": command, "run_in_background": True}, started)
    for shell in ("b1", "b2"):
        world.tool("BashOutput", {"bash_id": shell}, "The CI timeout is 300")
    fact = {"text": "The CI timeout is 300", "kind": "observation"}
    with world.connect() as session:
        session.refused("record_fact", "self_citation", source="call-3", **fact)
        session.done("record_fact", source="call-4", **fact)
