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


def test_uv_starts_the_packed_bundle_with_nothing_installed(tmp_path: Path) -> None:
    folder = tmp_path / "Claude Erweiterungen für mich"
    with zipfile.ZipFile(ROOT / "dist/keepthread.mcpb") as bundle:
        bundle.extractall(folder)
    config = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["server"][
        "mcp_config"
    ]
    environ = {
        "HOME": str(tmp_path),
        "KEEPTHREAD_WORKSPACE": str(tmp_path),
        "UV_PYTHON": sys.executable,  # the app's uv would download one
        "UV_SYSTEM_CERTS": "1",
    }
    command = [
        str(Path(os.environ["SERVERS_BIN"]) / config["command"]),
        *(a.replace("${__dirname}", str(folder)) for a in config["args"]),
    ]
    ran = subprocess.run(command, env=environ, input=lines(HELLO), capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["result"]["serverInfo"]["name"] == "keepthread"
