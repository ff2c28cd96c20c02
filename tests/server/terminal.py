"""The command line as a person runs it: in a terminal, in a home of its own."""

import os
import pty
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS_MAX = 60.0


def environment(home: Path) -> dict[str, str]:
    """Return the whole environment of a machine on which nothing but Python is."""
    return {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT / ".dev"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "KEEPTHREAD_EMBEDDER": "none",
    }


def at_terminal(
    arguments: Sequence[str], answers: str, folder: Path, environ: Mapping[str, str]
) -> tuple[int, str]:
    """Run ``keepthread`` at a pseudo terminal with ``answers`` typed ahead; return status and what it showed."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, answers.encode())
        process = subprocess.Popen(
            [sys.executable, "-m", "keepthread.server", *arguments],
            cwd=folder, env=environ, stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        return _end(process, ours)
    finally:
        os.close(ours)


def _end(process: "subprocess.Popen[bytes]", ours: int) -> tuple[int, str]:
    shown = b""
    until = time.monotonic() + SECONDS_MAX
    while time.monotonic() < until:
        try:
            chunk = os.read(ours, 1 << 16)
        except OSError:  # Linux: the other side is closed
            chunk = b""
        if not chunk:
            return process.wait(SECONDS_MAX), shown.decode().replace("\r\n", "\n")
        shown += chunk
    process.kill()
    raise AssertionError(f"still waiting after {SECONDS_MAX:.0f} s: {shown.decode()}")
