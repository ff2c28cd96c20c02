"""What Keepthread itself says must never come back as evidence for what it believes."""

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
    ],
)
def test_a_shell_command_that_runs_our_command_line_is_known(command: str) -> None:
    assert runs_keepthread(command)


@pytest.mark.parametrize(
    "command",
    ["cat keepthread.toml", "cd keepthread && ls", "grep -r keepthread .", "keepthread-lint", ""],
)
def test_a_command_that_only_names_it_is_an_ordinary_one(command: str) -> None:
    assert not runs_keepthread(command)


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
