"""The Claude Code plugin agrees with the package, and its launcher finds the command by itself."""

import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from keepthread.server.capture.hook import _EVENTS
from keepthread.server.clients.descriptions import CLAUDE_CODE_EVENTS, GUARDED_TOOLS

ROOT = Path(__file__).resolve().parent.parent
PLUGIN = ROOT / ".claude-plugin"


def manifest(name: str) -> dict[str, Any]:
    """Return one of the plugin's files."""
    loaded: dict[str, Any] = json.loads((PLUGIN / name).read_text(encoding="utf-8"))
    return loaded


def put(file: Path, script: str) -> None:
    """Make ``file`` an executable that runs ``script``."""
    file.parent.mkdir(parents=True)
    file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    file.chmod(0o755)


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A copy of the plugin alone, in a folder with a space and a letter beyond ASCII."""
    folder = tmp_path / "für alle"
    shutil.copytree(PLUGIN, folder / ".claude-plugin")
    return folder


def launch(plugin: Path, *arguments: str, path: str = "", home: str = "/nonexistent") -> Any:
    environ = {"HOME": home, "PATH": f"{path}:/usr/bin:/bin", "CLAUDE_PLUGIN_ROOT": str(plugin)}
    launcher = str(plugin / ".claude-plugin/keepthread")
    return subprocess.run(
        [launcher, *arguments], env=environ, capture_output=True, text=True, check=False
    )


def test_the_version_is_the_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    plugin = manifest("plugin.json")
    assert plugin["version"] == project["version"]
    assert plugin["description"] == project["description"]


def test_it_hooks_every_event_that_is_handled_as_init_does() -> None:
    hooks = manifest("hooks.json")["hooks"]
    assert set(hooks) == {*_EVENTS, "SessionStart", "PreToolUse"} == set(CLAUDE_CODE_EVENTS)
    for event, seconds in CLAUDE_CODE_EVENTS.items():
        (group,) = hooks[event]
        verb = "guard" if event == "PreToolUse" else "hook"
        launcher = '"${CLAUDE_PLUGIN_ROOT}/.claude-plugin/keepthread"'
        command = {
            "type": "command",
            "command": f"{launcher} {verb} claude-code",
            "timeout": seconds,
        }
        assert group["hooks"] == [command]
    assert hooks["PreToolUse"][0]["matcher"] == GUARDED_TOOLS


def test_its_own_environment_comes_first_then_the_path_then_the_home(
    plugin: Path, tmp_path: Path
) -> None:
    put(tmp_path / "home/.local/bin/keepthread", "echo home $*")
    home = str(tmp_path / "home")
    assert launch(plugin, "serve", home=home).stdout == "home serve\n"
    put(tmp_path / "on path/keepthread", "echo path $*")
    path = str(tmp_path / "on path")
    assert launch(plugin, "serve", home=home, path=path).stdout == "path serve\n"
    put(plugin / ".venv/bin/keepthread", "echo own $*")
    assert launch(plugin, "hook", "claude-code", path=path).stdout == "own hook claude-code\n"


def test_an_empty_environment_is_enough(plugin: Path, tmp_path: Path) -> None:
    launcher = str(plugin / ".claude-plugin/keepthread")
    put(plugin / ".venv/bin/keepthread", "echo own $*")
    ran = subprocess.run([launcher, "serve"], env={}, capture_output=True, text=True, check=True)
    assert ran.stdout == "own serve\n"
    shutil.rmtree(plugin / ".venv")
    put(tmp_path / "home/Library/Python/3.12/bin/keepthread", "echo pip $*")
    assert launch(plugin, "serve", home=str(tmp_path / "home")).stdout == "pip serve\n"


def test_without_an_installed_command_uvx_runs_the_plugins_own_source(
    plugin: Path, tmp_path: Path
) -> None:
    put(tmp_path / "bin/uvx", 'for a in "$@"; do echo "$a"; done')
    ran = launch(plugin, "serve", path=str(tmp_path / "bin")).stdout.splitlines()
    assert ran == ["--quiet", "--from", str(plugin), "keepthread", "serve"]


def test_with_nothing_installed_the_server_fails_with_the_way_out_and_a_hook_stops_nothing(
    plugin: Path,
) -> None:
    server, hook = launch(plugin, "serve"), launch(plugin, "hook", "claude-code")
    assert (server.returncode, hook.returncode) == (1, 0)
    assert "make install" in server.stderr and hook.stdout == ""
    assert os.access(PLUGIN / "keepthread", os.X_OK)
