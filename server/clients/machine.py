"""What is on this machine: where clients keep their files, and which of them are there."""

import os
import shutil
import sys
from collections.abc import Mapping

from keepthread.server.clients.changes import read
from keepthread.server.clients.descriptions import Description
from keepthread.server.clients.jsonc import find

SERVER = "keepthread"


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
