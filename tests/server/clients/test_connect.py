"""Connecting a client: merged into what is there, once, and undone without a trace."""

import json
import os
import tomllib
from pathlib import Path

import pytest

from keepthread.server.cli.main import build_parser, main
from keepthread.server.clients.changes import make
from keepthread.server.clients.connect import connected, plan
from keepthread.server.clients.descriptions import BY_NAME, CLIENTS
from keepthread.server.clients.jsonc import find
from keepthread.server.clients.machine import roots
from keepthread.stores.launch import Launch

LAUNCH = Launch("/opt/kéep thread/bin/keepthread")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a project in it, both with a space and a letter beyond ASCII."""
    folder = tmp_path / "hôme of me"
    (folder / "pro jékt/.git").mkdir(parents=True)
    monkeypatch.chdir(folder / "pro jékt")
    return folder


def places(home: Path, project: str = "") -> dict[str, str]:
    return roots({"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}, project)


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def do(home: Path, name: str, *, project: str = "", remove: bool = False) -> int:
    """Make the changes for one client; return how many there were."""
    changes = plan(BY_NAME[name], places(home, project), LAUNCH, remove=remove)
    for change in changes:
        make(change)
    return len(changes)


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("whose", ["user", "project"])
def test_a_second_run_changes_nothing_and_a_removal_leaves_nothing(
    home: Path, name: str, whose: str
) -> None:
    project = str(home / "pro jékt") if whose == "project" else ""
    assert do(home, name, project=project) > 0
    after = files(home)
    assert do(home, name, project=project) == 0
    assert files(home) == after
    do(home, name, project=project, remove=True)
    assert files(home) == {}


@pytest.mark.parametrize("name", BY_NAME)
def test_the_clients_own_settings_come_back_byte_for_byte(home: Path, name: str) -> None:
    client = BY_NAME[name]
    wheres = [client.server, *([client.hooks.where] if client.hooks else [])]
    for where in wheres:
        file = Path(where.user.format_map(places(home)))
        file.parent.mkdir(parents=True, exist_ok=True)
        mine = "model = 'x'   # mine" if file.suffix == ".toml" else '{ "mine" : [ 1,2 ] }'
        file.write_text(mine, encoding="utf-8")
        file.chmod(0o640)
    before = files(home)
    assert do(home, name) == len({where.user for where in wheres})
    for where in wheres:
        assert os.stat(where.user.format_map(places(home))).st_mode & 0o777 == 0o640
    assert {f"{name}.before-keepthread" for name in before} <= set(files(home))
    do(home, name, remove=True)
    assert files(home) == before


def test_only_our_entries_go_when_the_file_was_changed_since(home: Path) -> None:
    file = home / ".claude/settings.json"
    file.parent.mkdir()
    theirs = {"hooks": [{"type": "command", "command": "theirs"}]}
    file.write_text(json.dumps({"hooks": {"Stop": [theirs]}}), encoding="utf-8")
    do(home, "claude-code")
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("{", '{"model": "x",', 1), encoding="utf-8")
    do(home, "claude-code", remove=True)
    assert json.loads(file.read_text(encoding="utf-8")) == {
        "model": "x",
        "hooks": {"Stop": [theirs]},
    }


def test_a_hook_that_someone_put_beside_ours_stays(home: Path) -> None:
    do(home, "gemini")
    file = home / ".gemini/settings.json"
    settings = json.loads(file.read_text(encoding="utf-8"))
    settings["hooks"]["AfterTool"][0]["hooks"].insert(0, {"type": "command", "command": "theirs"})
    file.write_text(json.dumps(settings), encoding="utf-8")
    do(home, "gemini", remove=True)
    left = json.loads(file.read_text(encoding="utf-8"))
    assert left == {"hooks": {"AfterTool": [{"hooks": [{"type": "command", "command": "theirs"}]}]}}


def test_a_moved_installation_replaces_its_old_entries(home: Path) -> None:
    given = places(home)
    for launch in (
        Launch("/old/keepthread"),
        Launch("/usr/bin/python3", ("-m", "keepthread")),
        LAUNCH,
    ):
        for change in plan(BY_NAME["codex"], given, launch):
            make(change)
    table = tomllib.loads((home / ".codex/config.toml").read_text(encoding="utf-8"))
    assert list(table["mcp_servers"]) == ["keepthread"]
    assert table["mcp_servers"]["keepthread"]["command"] == LAUNCH.command
    hooks = (home / ".codex/hooks.json").read_text(encoding="utf-8")
    commands = {g["hooks"][0]["command"] for e in find(hooks, ("hooks",)).values() for g in e}
    assert commands == {f"'{LAUNCH.command}' hook codex"}
    assert "/old/" not in hooks and "python3" not in hooks


def test_every_server_can_be_started(home: Path) -> None:
    for client in CLIENTS:
        do(home, client.name)
        server = connected(client, places(home)).server
        assert server is not None
        assert server["command"] == LAUNCH.command
        assert build_parser().parse_args(server["args"]).command.__name__ == "serve"


def test_a_file_that_is_no_json_is_left_and_said_so(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {', encoding="utf-8")
    environ = {"HOME": str(home), "PATH": ""}
    assert main(["init", "--client", "cursor"], environ) == 1
    assert file.read_text(encoding="utf-8") == '{"mcpServers": {'
    assert "no valid JSON in line 1" in capsys.readouterr().err


def test_without_a_name_the_clients_that_are_there_are_connected(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environ = {"HOME": str(home), "PATH": "", "XDG_CONFIG_HOME": str(home / ".config")}
    assert main(["init"], environ) == 2
    (home / ".gemini").mkdir()
    (home / ".config/Claude").mkdir(parents=True)
    assert main(["init", "--dry-run"], environ) == 0
    assert files(home) == {}
    assert main(["init", "--yes", "--no-lines"], environ) == 0
    said = capsys.readouterr().out
    assert "Gemini CLI" in said and "Claude Desktop" in said and "Cursor" not in said
    assert "this client has no capture" in said
    desktop = json.loads((home / ".config/Claude/claude_desktop_config.json").read_text("utf-8"))
    assert desktop["mcpServers"]["keepthread"]["args"][1] == str(home / "pro jékt")
    assert main(["init", "--remove"], environ) == 0
    assert files(home) == {}


def test_a_settings_file_that_is_a_link_stays_one(home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_text("{}", encoding="utf-8")
    (home / ".gemini").mkdir()
    (home / ".gemini/settings.json").symlink_to(real)
    do(home, "gemini")
    assert (home / ".gemini/settings.json").is_symlink()
    assert "mcpServers" in real.read_text(encoding="utf-8")
    do(home, "gemini", remove=True)
    assert real.read_text(encoding="utf-8") == "{}"
