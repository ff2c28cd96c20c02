"""What is on this machine: how to start us, where clients keep their files, which of them are there."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import distribution
from typing import NamedTuple

from keepthread.server.clients.changes import read
from keepthread.server.clients.descriptions import Description
from keepthread.server.clients.jsonc import find

SERVER = "keepthread"


class Launch(NamedTuple):
    """How a client starts us: an absolute path, and what stands before our own arguments."""

    command: str
    args: tuple[str, ...] = ()

    def line(self, *more: str) -> str:
        """Return the shell command line."""
        words = [self.command, *self.args, *more]
        return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def find_launch(environ: Mapping[str, str]) -> Launch:
    """Return how to start this very installation; through uvx where that made it for one run."""
    folder = os.path.dirname(os.path.abspath(sys.executable))
    if f"{os.sep}archive-v" in folder or f"{os.sep}environments-v" in folder:
        uvx = shutil.which("uvx", path=environ.get("PATH"))
        if uvx:
            return Launch(os.path.abspath(uvx), _uvx_words(_origin()))
    script = os.path.join(folder, "keepthread.exe" if os.name == "nt" else "keepthread")
    if os.path.exists(script):
        return Launch(script)
    return Launch(os.path.abspath(sys.executable), ("-m", SERVER))


def roots(environ: Mapping[str, str], project: str) -> dict[str, str]:
    """Return what the templates of descriptions stand for on this machine."""
    home = environ.get("HOME") or os.path.expanduser("~")
    if sys.platform == "win32":
        config = environ.get("APPDATA") or os.path.join(home, "AppData", "Roaming")
    elif sys.platform == "darwin":
        config = os.path.join(home, "Library", "Application Support")
    else:
        config = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return {
        "home": home,
        "project": project,
        "claude": environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"),
        "claude_json": environ.get("CLAUDE_CONFIG_DIR") or home,
        "codex": environ.get("CODEX_HOME") or os.path.join(home, ".codex"),
        "desktop": os.path.join(config, "Claude"),
        "vscode": os.path.join(config, "Code", "User"),
    }


def is_there(client: Description, given: Mapping[str, str], environ: Mapping[str, str]) -> bool:
    """True when the client's folder or command is on this machine."""
    on_path = bool(client.command and shutil.which(client.command, path=environ.get("PATH")))
    return on_path or os.path.isdir(client.folder.format_map(given))


def has_plugin(client: Description, given: Mapping[str, str]) -> bool:
    """True when Claude Code has our plugin enabled, which brings server and hooks itself."""
    if client.name != "claude-code":
        return False
    try:
        settings = read(os.path.join(given["claude"], "settings.json")) or ""
        enabled = find(settings, ("enabledPlugins",))
    except ValueError:
        return False
    return isinstance(enabled, dict) and any(
        name.startswith(f"{SERVER}@") and on for name, on in enabled.items()
    )


def _origin() -> Mapping[str, object]:
    """Return what the installer noted of where we come from (PEP 610); empty for the index."""
    noted = distribution(SERVER).read_text("direct_url.json")
    return dict(json.loads(noted)) if noted else {}


def _uvx_words(origin: Mapping[str, object]) -> tuple[str, ...]:
    url, vcs = str(origin.get("url", "")), origin.get("vcs_info")
    if not url:
        return (SERVER,)
    if isinstance(vcs, dict):
        url = f"{vcs.get('vcs')}+{url}@{vcs.get('commit_id')}"
    return ("--from", url, SERVER)
