"""The command line before there is a memory, and with wrong input: what it says, where, and its exit status."""

import json
from pathlib import Path

import pytest

from keepthread.server.cli.main import main
from keepthread.stores.launch import command_line
from tests.server.world import World

READING = (
    ["status"], ["context"], ["search", "x"], ["show", "call-1"], ["why", "call-1"], ["plan"],
    ["handoff"], ["log"], ["verify"], ["reconcile"], ["reindex"], ["export"],
)  # fmt: skip


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(tmp_path)
    made.environ["KEEPTHREAD_EMBEDDER"] = "none"
    monkeypatch.chdir(made.tree)
    return made


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_looking_makes_no_memory_and_says_how_to_have_one(
    command: list[str], world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command, world.environ) == 1
    shown = capsys.readouterr()
    assert f"no memory at {world.db} yet" in shown.err and command_line("init") in shown.err
    assert shown.out == "" and not world.db.exists()


def test_without_a_command_the_commands_are_listed(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([], world.environ) == 2
    assert "connect the clients that are there" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["search", "x", "--limit", "0"], "0 would show nothing"),
        (["search", "x", "--limit", "-3"], "is no count"),
        (["search", "x", "--since", "yesterday"], "is no ISO 8601 time"),
        (["search", "x", "--scope", "foo"], "is not `name:value`"),
        (["show", "call-1", "--offset", "-1"], "is no count"),
        (["context", "--max-tokens", "many"], "is no count"),
        (["--workspace", "/no/such/folder", "status"], "no folder /no/such/folder"),
        (["import", "gone.jsonl"], "cannot read gone.jsonl"),
        (["init", "--workspace", "/no/such/folder"], "no folder /no/such/folder"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_wrong_usage_is_said_on_stderr_with_status_2(
    command: list[str], said: str, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.bash("cat ci.yml", "timeout: 300")
    try:
        status = main(command, world.environ)
    except SystemExit as stopped:  # how argparse ends
        status = int(stopped.code or 0)
    shown = capsys.readouterr()
    assert (status, shown.out) == (2, "") and said in shown.err


@pytest.mark.parametrize(
    "command", (*READING[:9], ["doctor"]), ids=" ".join
)  # fmt: skip
def test_json_is_one_object_and_nothing_else(
    command: list[str], world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.bash("cat ci.yml", "x marks the timeout: 300")
    assert main([*command, "--json"], world.environ) == 0
    shown = capsys.readouterr()
    assert isinstance(json.loads(shown.out), dict) and shown.err == ""
