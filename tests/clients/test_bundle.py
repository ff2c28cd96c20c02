"""The bundle as `make mcpb` packs it, unpacked and started by a real uv as Claude Desktop starts it.

By hand: ``make test-clients`` packs it, installs uv and names its folder in SERVERS_BIN.
"""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.server.capture.wire import ROOT, lines
from tests.test_bundle import HELLO

pytestmark = pytest.mark.clients


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """All that a program started from a desktop has, and where uv finds what it would download."""
    given = {"UV_PYTHON": sys.executable, "UV_SYSTEM_CERTS": "1"}
    return {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **given}


def name_of_server(command: list[str], environ: dict[str, str]) -> str:
    """Start a server and return what it calls itself."""
    ran = subprocess.run(command, env=environ, input=lines(HELLO), capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return str(json.loads(ran.stdout)["result"]["serverInfo"]["name"])


def test_uv_starts_the_packed_bundle_with_nothing_installed(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    folder = tmp_path / "Claude Erweiterungen für mich"
    with zipfile.ZipFile(ROOT / "dist/keepthread.mcpb") as bundle:
        bundle.extractall(folder)
    config = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["server"][
        "mcp_config"
    ]
    command = [
        str(Path(os.environ["SERVERS_BIN"]) / config["command"]),
        *(a.replace("${__dirname}", str(folder)) for a in config["args"]),
    ]
    assert (
        name_of_server(command, {**environ, "KEEPTHREAD_WORKSPACE": str(tmp_path)}) == "keepthread"
    )


def test_uvx_connects_a_machine_with_nothing_installed_and_what_it_wrote_starts(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    project = tmp_path / "mein Projekt"
    (project / ".git").mkdir(parents=True)
    (tmp_path / ".gemini").mkdir()
    (wheel,) = (ROOT / "build/mcpb").glob("keepthread-*.whl")
    path = f"{os.environ['SERVERS_BIN']}:/usr/bin:/bin"
    subprocess.run(
        ["uvx", "--from", str(wheel), "keepthread", "init", "--yes"],
        cwd=project, env={**environ, "PATH": path}, capture_output=True, check=True,
    )  # fmt: skip
    settings = json.loads((tmp_path / ".gemini/settings.json").read_text(encoding="utf-8"))
    server = settings["mcpServers"]["keepthread"]
    assert name_of_server([server["command"], *server["args"]], environ) == "keepthread"
    assert "get_context" in (project / "GEMINI.md").read_text(encoding="utf-8")
