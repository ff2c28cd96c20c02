"""The relay before the servers a client has: put there, started, moved and taken away."""

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from keepthread.server.clients.changes import make
from keepthread.server.clients.connect import connected, plan
from keepthread.server.clients.descriptions import BY_NAME
from keepthread.server.clients.machine import roots
from keepthread.server.clients.server_entries import relayed_and_bare
from keepthread.server.clients.toml_table import NotToml
from keepthread.stores.launch import Launch
from tests.server.capture.hooks import archived
from tests.server.capture.wire import KEEPTHREAD, SCRIPTED, Wire, call, lines
from tests.server.world import World

LAUNCH = Launch("/opt/kéep thread/bin/keepthread")
SERVERS = """{
  "mcpServers": {
    // mine
    "git": { "command": "uvx", "args": ["mcp-server-git", "--", "-v"], "env": {"A": "b"} },
    "my notes": {"command": "/home/me/notes server", "disabled": true},
    "remote": {"type": "http", "url": "https://example.com/mcp"}
  }
}
"""
TABLES = """[mcp_servers.git] # mine
args = [
  "mcp-server-git",
  'C:\\x',
]
command = "uvx" # the runner
[mcp_servers.git.env]
command = "not this one"

[mcp_servers.remote]
url = "https://example.com/mcp"
"""


@pytest.fixture
def given(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "hôme"
    return roots({"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}, "/pro jékt")


def write(name: str, given: dict[str, str], text: str) -> Path:
    """Give a client a file with servers of its own."""
    file = Path(BY_NAME[name].server.user.format_map(given))
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    return file


def do(name: str, given: dict[str, str], launch: Launch = LAUNCH, **how: bool) -> None:
    for change in plan(BY_NAME[name], given, launch, **how):
        make(change)


def read(file: Path) -> dict[str, Any]:
    text = file.read_text(encoding="utf-8").replace("// mine", "")
    loaded: dict[str, Any] = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    return loaded


def test_every_server_over_stdio_is_relayed_once_and_comes_back_byte_for_byte(
    given: dict[str, str],
) -> None:
    file = write("claude-desktop", given, SERVERS)
    do("claude-desktop", given)
    assert connected(BY_NAME["claude-desktop"], given).bare == ("git", "my notes")
    do("claude-desktop", given, wrap=True)
    assert connected(BY_NAME["claude-desktop"], given).relayed == ("git", "my notes")
    servers, before = (
        read(file)["mcpServers"],
        json.loads(SERVERS.replace("// mine", ""))["mcpServers"],
    )
    relay = ["relay", "--workspace", "/pro jékt", "--name"]
    git = {
        "command": LAUNCH.command,
        "args": [*relay, "git", "--", "uvx", "mcp-server-git", "--", "-v"],
    }
    assert servers["git"] == before["git"] | git
    assert servers["my notes"]["args"] == [*relay, "my notes", "--", "/home/me/notes server"]
    assert servers["remote"] == before["remote"]
    text = file.read_text(encoding="utf-8")
    for wrap in (True, False):
        do("claude-desktop", given, wrap=wrap)
        assert file.read_text(encoding="utf-8") == text
    do("claude-desktop", given, remove=True)
    assert file.read_text(encoding="utf-8") == SERVERS


@pytest.mark.parametrize(
    "args", [["relay", "--", "x"], ["/a/keepthread", "relay", "--name", "x"], ["relay"]]
)
def test_a_relay_of_someone_else_is_a_server_like_others(args: list[str]) -> None:
    assert relayed_and_bare({"a": {"command": "socat", "args": args}}) == ((), ("a",))


def test_a_moved_installation_moves_its_relays_and_a_server_added_since_stays_bare(
    given: dict[str, str],
) -> None:
    file = write("claude-desktop", given, SERVERS)
    for launch in (Launch("/old/keepthread"), Launch("/usr/bin/python3", ("-m", "keepthread"))):
        do("claude-desktop", given, launch, wrap=True)
    new = '"mcpServers": {\n    "new": {"command": "npx"},'
    file.write_text(file.read_text("utf-8").replace('"mcpServers": {', new), encoding="utf-8")
    do("claude-desktop", given)
    found = connected(BY_NAME["claude-desktop"], given)
    assert (found.relayed, found.bare) == (("git", "my notes"), ("new",))
    assert "/old/" not in file.read_text("utf-8") and "python3" not in file.read_text("utf-8")
    do("claude-desktop", given, remove=True)
    servers = json.loads(SERVERS.replace("// mine", ""))["mcpServers"]
    assert read(file)["mcpServers"] == {"new": {"command": "npx"}, **servers}


def test_servers_in_toml_are_relayed_too_and_the_rest_of_the_text_stays(
    given: dict[str, str],
) -> None:
    given = given | {"project": ""}
    file = write("codex", given, TABLES)
    do("codex", given, wrap=True)
    git = read(file)["mcp_servers"]["git"]
    assert git["args"] == ["relay", "--name", "git", "--", "uvx", "mcp-server-git", "C:\\x"]
    assert git["command"] == LAUNCH.command and git["env"] == {"command": "not this one"}
    assert file.read_text("utf-8").startswith("[mcp_servers.git] # mine\n")
    file.write_text("model = 'x'\n" + file.read_text("utf-8"), encoding="utf-8")
    do("codex", given, remove=True)
    assert read(file) == {"model": "x", **tomllib.loads(TABLES)}


def test_toml_that_cannot_be_edited_as_text_is_left_to_its_owner(given: dict[str, str]) -> None:
    given = given | {"project": ""}
    inline = 'mcp_servers = { git = { command = "uvx" } }\n'
    file = write("codex", given, inline)
    with pytest.raises(NotToml, match="only you can edit"):
        do("codex", given, wrap=True)
    assert file.read_text("utf-8") == inline


def test_a_relayed_server_answers_as_before_and_its_calls_are_archived(tmp_path: Path) -> None:
    world = World(tmp_path, "pro jékt")
    world.git()
    given = roots({"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}, str(world.tree))
    entry = {"command": SCRIPTED[0], "args": SCRIPTED[1:]}
    file = write("claude-desktop", given, json.dumps({"mcpServers": {"my git": entry}}))
    do("claude-desktop", given, Launch(KEEPTHREAD[0], tuple(KEEPTHREAD[1:])), wrap=True)
    made = read(file)["mcpServers"]["my git"]
    talk = lines(call(1, "echo", text="grüße"))
    bare = subprocess.run(SCRIPTED, input=talk, capture_output=True, check=True).stdout
    assert Wire(world, [made["command"], *made["args"]]).end(talk)[0] == bare
    (found,) = archived(str(world.db))
    assert (found.tool, found.output) == ("mcp__my_git__echo", "grüße")
