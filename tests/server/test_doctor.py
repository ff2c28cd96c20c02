"""The doctor says what is wrong, with the fix, and exits 1 only when something does not work."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from keepthread.server.cli.main import main
from keepthread.stores.launch import command_line
from tests.server.world import World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(tmp_path)
    monkeypatch.chdir(made.tree)
    made.environ |= {
        "HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "KEEPTHREAD_EMBEDDER": "none",
    }  # fmt: skip
    return made


def diagnose(world: World, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    """Return the exit status and the findings by name."""
    capsys.readouterr()
    status = main(["doctor", "--json"], world.environ)
    findings = json.loads(capsys.readouterr().out)["findings"]
    return status, {finding["name"]: finding for finding in findings}


def test_a_new_machine_is_sound_and_told_what_to_do_next(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    status, found = diagnose(world, capsys)
    assert status == 0
    assert found["hook"]["state"] == "ok", found["hook"]
    assert found["database"]["found"].endswith("not there yet")
    assert "keepthread init" in found["capture"]["fix"]


def test_the_last_capture_is_seen(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.bash("ls", "ci.yml")
    status, found = diagnose(world, capsys)
    assert status == 0
    told = found["capture"]["found"]
    assert told.startswith(f"last one in {os.path.realpath(world.tree)} 0 min ago: claude-code by hook 1, ")
    assert found["database"]["found"].endswith("sound")


def test_a_client_with_the_plugin_needs_nothing_more(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"enabledPlugins": {"keepthread@keepthread": True}}
    (world.folder / ".claude").mkdir()
    (world.folder / ".claude/settings.json").write_text(json.dumps(settings), encoding="utf-8")
    assert main(["init", "--client", "claude-code"], world.environ) == 0
    assert "nothing to do" in capsys.readouterr().out
    assert not (world.folder / ".claude.json").exists()
    world.environ["CLAUDE_CODE_SESSION_ID"] = ""
    found = diagnose(world, capsys)[1]["Claude Code"]
    assert found["found"] == "its plugin; its hooks never fired yet"
    world.bash("ls", "ci.yml")
    assert diagnose(world, capsys)[1]["Claude Code"]["found"].startswith(
        "its plugin; its hooks fire"
    )


def test_hooks_that_are_there_and_never_fired_are_told_from_those_that_do(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    for client in ("claude-code", "codex"):
        assert main(["init", "--client", client], world.environ) == 0
    (world.folder / ".codex").mkdir(exist_ok=True)
    world.bash("ls", "ci.yml")
    status, found = diagnose(world, capsys)
    assert status == 0
    assert found["Claude Code"]["state"] == "ok" and "last at" in found["Claude Code"]["found"]
    assert found["Codex"]["state"] == "note" and "/hooks" in found["Codex"]["fix"]


def test_servers_without_the_relay_are_named_where_nothing_else_captures(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = world.folder / "config/Claude"
    folder.mkdir(parents=True)
    servers = {"mcpServers": {"git": {"command": "uvx"}, "time": {"command": "uvx"}}}
    (folder / "claude_desktop_config.json").write_text(json.dumps(servers), encoding="utf-8")
    assert main(["init", "--yes", "--no-wrap"], world.environ) == 0
    found = diagnose(world, capsys)[1]["Claude Desktop"]
    assert "git, time not behind the relay" in found["found"]
    assert found["fix"] == command_line("init", "--client", "claude-desktop", "--wrap")
    assert main(["init", "--yes", "--wrap"], world.environ) == 0
    found = diagnose(world, capsys)[1]["Claude Desktop"]
    assert found["found"].endswith("relayed: git, time") and found["state"] == "ok"


def test_whatever_does_not_work_has_a_fix_in_one_line(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (world.folder / ".cursor").mkdir()
    (world.folder / ".cursor/mcp.json").write_text("{", encoding="utf-8")
    (world.folder / ".gemini").mkdir()
    world.db.write_bytes(b"no database" * 999)
    world.environ["KEEPTHREAD_EMBEDDER"] = "no-such-model"
    status, found = diagnose(world, capsys)
    wrong = {name: f for name, f in found.items() if f["state"] != "ok"}
    assert status == 1 and {"database", "Cursor", "Gemini CLI", "model"} <= set(wrong)
    assert all(f["fix"] and "\n" not in f["fix"] for f in wrong.values())


def test_rights_damage_and_a_client_that_starts_what_is_gone_are_failures(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.bash("ls", "ci.yml")
    os.chmod(world.db, 0o644)
    (world.folder / ".gemini").mkdir()
    assert main(["init", "--client", "gemini"], world.environ) == 0
    file = world.folder / ".gemini/settings.json"
    settings = json.loads(file.read_text(encoding="utf-8"))
    settings["mcpServers"]["keepthread"]["command"] = "/gone/keepthread"
    file.write_text(json.dumps(settings), encoding="utf-8")
    status, found = diagnose(world, capsys)
    assert status == 1
    assert found["rights"]["fix"].startswith(f"chmod 600 {world.db}")
    assert found["Gemini CLI"]["fix"] == command_line("init", "--client", "gemini")
    world.db.write_bytes(b"no database" * 999)
    status, found = diagnose(world, capsys)
    assert (status, found["database"]["state"]) == (1, "FAIL")
