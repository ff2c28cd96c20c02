"""The Claude Desktop bundle and the registry's server.json agree with the package; the launcher tells its faults."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.server.capture.wire import ROOT, lines

BUNDLE = ROOT / ".claude-desktop"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HELLO: dict[str, Any] = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "app", "version": "1"}},
}  # fmt: skip


def load(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


@pytest.fixture
def launcher(tmp_path: Path) -> Path:
    """The launcher alone, in a folder with a space and a letter beyond ASCII."""
    folder = tmp_path / "Claude Erweiterungen für mich"
    folder.mkdir()
    return Path(shutil.copy(BUNDLE / "launch.py", folder))


def launch(launcher: Path, **environ: str) -> tuple[int, str, str]:
    """Start the launcher as an app does that passes on nothing of a shell's environment."""
    ran = subprocess.run(
        [sys.executable, "-S", str(launcher)],  # -S: what is installed for the tests is not there
        env=environ, input=lines(HELLO).decode(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    return ran.returncode, ran.stdout, ran.stderr


def test_versions_and_descriptions_are_the_packages() -> None:
    manifest, server = load(BUNDLE / "manifest.json"), load(ROOT / "server.json")
    bundled = tomllib.loads((BUNDLE / "pyproject.toml").read_text(encoding="utf-8"))
    version = PROJECT["version"]
    wheel = bundled["tool"]["uv"]["sources"]["keepthread"]["path"]
    assert wheel == f"keepthread-{version}-py3-none-any.whl"
    assert {manifest["version"], server["version"], bundled["project"]["version"]} == {version}
    assert manifest["description"] == server["description"] == PROJECT["description"]
    (package,) = server["packages"]
    assert (package["identifier"], package["version"]) == (PROJECT["name"], version)


def test_server_json_keeps_the_registrys_rules() -> None:
    server = load(ROOT / "server.json")
    assert server["$schema"].endswith("/schemas/2025-12-11/server.schema.json")
    assert re.fullmatch(r"io\.github\.[a-zA-Z0-9-]+/[a-zA-Z0-9._-]+", server["name"])
    assert len(server["description"]) <= 100
    (package,) = server["packages"]
    assert package["registryType"] == "pypi" and package["transport"] == {"type": "stdio"}
    assert PROJECT["scripts"][package["identifier"]]  # what `uvx IDENTIFIER` starts


def test_the_bundle_leaves_finding_python_to_the_app() -> None:
    manifest = load(BUNDLE / "manifest.json")
    config = manifest["server"]["mcp_config"]
    assert manifest["server"]["type"] == config["command"] == "uv"
    assert config["args"] == [
        "run",
        "--directory",
        "${__dirname}",
        manifest["server"]["entry_point"],
    ]
    assert config["env"] == {"KEEPTHREAD_WORKSPACE": "${user_config.folder}"}
    assert manifest["user_config"]["folder"]["required"]


def test_the_launcher_serves_the_chosen_folder_from_an_empty_environment(
    launcher: Path, tmp_path: Path
) -> None:
    code = f"import runpy, sys; sys.path[:0] = {sys.path}; runpy.run_path({str(launcher)!r}, run_name='__main__')"
    environ = {"HOME": str(tmp_path), "KEEPTHREAD_WORKSPACE": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=environ,
        input=lines(HELLO),
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["result"]["serverInfo"]["name"] == "keepthread"


@pytest.mark.parametrize("folder", ["", "${user_config.folder}", "/no/such folder"])
def test_without_a_folder_the_launcher_says_where_to_choose_one(
    launcher: Path, folder: str
) -> None:
    status, out, told = launch(launcher, KEEPTHREAD_WORKSPACE=folder)
    assert (status, out) == (1, "")
    assert f"no folder {folder!r}" in told and "Settings, Extensions" in told


def test_started_by_another_python_the_launcher_says_what_to_do(launcher: Path) -> None:
    status, out, told = launch(launcher, KEEPTHREAD_WORKSPACE=str(launcher.parent))
    assert (status, out) == (1, "")
    assert "Update Claude Desktop" in told and f"--directory '{launcher.parent}'" in told
