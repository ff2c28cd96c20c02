"""How this very installation is started: what clients are told, and what every message names.

On the path of hooks, so nothing is imported here but where a line is really made.
"""

import os
import sys
from collections.abc import Mapping
from typing import NamedTuple

NAME = "keepthread"


class Launch(NamedTuple):
    """How a client starts us: an absolute path, and what stands before our own arguments."""

    command: str
    args: tuple[str, ...] = ()

    def line(self, *more: str) -> str:
        """Return the shell command line."""
        words = [self.command, *self.args, *more]
        if os.name == "nt":
            import subprocess  # noqa: PLC0415

            return subprocess.list2cmdline(words)
        import shlex  # noqa: PLC0415

        return shlex.join(words)


def find_launch(environ: Mapping[str, str]) -> Launch:
    """Return how to start this very installation; through uvx where that made it for one run."""
    folder = os.path.dirname(os.path.abspath(sys.executable))
    if f"{os.sep}archive-v" in folder or f"{os.sep}environments-v" in folder:
        uvx = _which("uvx", environ)
        if uvx:
            return Launch(os.path.abspath(uvx), _uvx_words(_origin()))
    script = os.path.join(folder, f"{NAME}.exe" if os.name == "nt" else NAME)
    if os.path.exists(script):
        return Launch(script)
    return Launch(os.path.abspath(sys.executable), ("-m", NAME))


def command_line(*words: str) -> str:
    """Return a command of ours that works as it is typed: by name where a shell finds this very
    installation, else by its absolute path."""
    launch = find_launch(os.environ)
    found = _which(NAME, os.environ)
    if found and not launch.args and os.path.realpath(found) == os.path.realpath(launch.command):
        launch = Launch(NAME)
    return launch.line(*words)


def _which(name: str, environ: Mapping[str, str]) -> str | None:
    import shutil  # noqa: PLC0415

    return shutil.which(name, path=environ.get("PATH"))


def _origin() -> Mapping[str, object]:
    """Return what the installer noted of where we come from (PEP 610); empty for the index."""
    import json  # noqa: PLC0415
    from importlib.metadata import distribution  # noqa: PLC0415

    noted = distribution(NAME).read_text("direct_url.json")
    return dict(json.loads(noted)) if noted else {}


def _uvx_words(origin: Mapping[str, object]) -> tuple[str, ...]:
    url, vcs = str(origin.get("url", "")), origin.get("vcs_info")
    if not url:
        return (NAME,)
    if isinstance(vcs, dict):
        url = f"{vcs.get('vcs')}+{url}@{vcs.get('commit_id')}"
    return ("--from", url, NAME)
