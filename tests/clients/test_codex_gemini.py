"""The real Codex and Gemini CLI, offline, connected by ``keepthread init``, with a scripted model.

By hand: ``make test-clients`` installs them and names their folder in CLIENTS_BIN.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.scripted_apis import Api, Call, scripted_api
from tests.server.capture.hooks import archived
from tests.server.world import World

pytestmark = pytest.mark.clients

FACT = {"text": "The CI timeout is 300", "kind": "observation"}
CALLS: dict[str, list[Call]] = {
    "codex": [
        ("exec_command", {"cmd": "cat ci.yml"}),
        # A turn begins before the servers are up, and a scripted model does not think meanwhile.
        ("exec_command", {"cmd": "sleep 5; ls no-such-folder"}),
        ("mcp__keepthread__record_fact", {**FACT, "source": "tool:Bash"}),
    ],
    "gemini": [
        ("run_shell_command", {"command": "cat ci.yml"}),
        ("run_shell_command", {"command": "ls no-such-folder"}),
        ("mcp_keepthread_record_fact", {**FACT, "source": "tool:run_shell_command"}),
    ],
}


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path.resolve(), "mein Projekt")
    made.git()
    made.write("ci.yml", "timeout: 300\n")
    return made


def command(client: str, world: World, api: Api) -> list[str]:
    """Return the command line of one session; the folder is trusted, and so are the hooks."""
    home, bin = world.folder, Path(os.environ["CLIENTS_BIN"])
    prompt = "Go on. Keep commits small."
    if client == "gemini":
        trusted = {str(world.tree): "TRUST_FOLDER"}
        (home / ".gemini/trustedFolders.json").write_text(json.dumps(trusted), encoding="utf-8")
        return [str(bin / "gemini"), "-p", prompt, "--yolo", "-m", "gemini-2.5-pro"]
    provider = f'{{name="scripted", base_url="{api.url}/v1", env_key="GEMINI_API_KEY", wire_api="responses"}}'
    return [
        str(bin / "codex"), "exec", "--dangerously-bypass-approvals-and-sandbox",
        "--dangerously-bypass-hook-trust", "-m", "gpt-5", "-c", 'model_provider="scripted"',
        "-c", f"model_providers.scripted={provider}", prompt,
    ]  # fmt: skip


def session(client: str, world: World) -> list[str]:
    """Run one session; return the requests that reached the model."""
    with scripted_api(CALLS[client]) as api:
        environ = {
            "HOME": str(world.folder), "PATH": f"{os.environ['CLIENTS_BIN']}:/usr/bin:/bin",
            "GEMINI_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": api.url,
        }  # fmt: skip
        done = subprocess.run(
            command(client, world, api), env=environ, cwd=world.tree, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=180, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return [json.dumps(body, ensure_ascii=False) for body in api.requests]


@pytest.mark.parametrize("client", CALLS)
def test_calls_are_captured_and_cited_and_the_next_session_knows(client: str, world: World) -> None:
    home = world.folder
    (home / f".{client}").mkdir()
    if client == "gemini":
        mine = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        (home / ".gemini/settings.json").write_text(json.dumps(mine), encoding="utf-8")
    keepthread = str(Path(sys.executable).parent / "keepthread")
    subprocess.run(
        [keepthread, "init", "--yes", "--no-lines"], env={"HOME": str(home), "PATH": ""}, cwd=world.tree, check=True
    )
    session(client, world)
    entries = archived(str(home / ".local/share/keepthread/memory.db"))
    shell, own = CALLS[client][0][0], "mcp__keepthread__record_fact"
    shell = "Bash" if client == "codex" else shell
    assert [(e.tool, e.is_error, e.own) for e in entries if e.id.startswith("call")] == [
        (shell, False, False), (shell, True, False), (own, False, True),
    ]  # fmt: skip
    assert [e.output for e in entries if e.role == "user"] == ["Go on. Keep commits small."]
    first = session(client, world)[0]
    assert "The CI timeout is 300" in first
    assert "cite what tools show when you record facts." in first
