"""Commands that checks may run: the user's own, never shell text from a model.

They come from ``[commands]`` in the user's ``keepthread.toml``, which needs no approval, or from
the workspace's, which an agent can write or a hostile repository can bring: that one counts only
while its hash is the one the user approved with ``keepthread trust``. A command runs without a
shell, in the work tree, under a time limit.
"""

import hashlib
import json
import os
import shlex
import subprocess
import time
import tomllib
from typing import NamedTuple

from keepthread.server.capture.files import FileRefused, read_file

FILE = "keepthread.toml"
TIMEOUT_SECONDS = 300.0
OUTPUT_BYTES_MAX = 200_000


class Commands(NamedTuple):
    """Commands by name, and what is wrong with the workspace's file (``""``: nothing)."""

    by_name: dict[str, str]
    refused: str = ""


class Ran(NamedTuple):
    """One command's end: exit status (None: it did not end in time or start), output, seconds."""

    status: int | None
    output: str
    seconds: float


def read_commands(tree: str, user_file: str, trust_file: str) -> Commands:
    """Return the commands in force for a work tree. The user's own win over the workspace's."""
    own = _commands_in(_read_whole(user_file))
    try:
        data = read_file(tree, FILE).data
    except FileRefused:
        return Commands(own)
    named = _commands_in(data)
    if not named:
        return Commands(own)
    if approved(trust_file).get(os.path.join(tree, FILE)) != hashlib.sha256(data).hexdigest():
        return Commands(
            own, f"{FILE} of this workspace is not approved; to run its commands: keepthread trust"
        )
    return Commands({**named, **own})


def approve(trust_file: str, tree: str) -> str:
    """Record the hash of the workspace's file as approved; return its text. Raises FileRefused."""
    seen = read_file(tree, FILE)
    known = approved(trust_file) | {os.path.join(tree, FILE): seen.sha256}
    temporary = f"{trust_file}.{os.getpid()}"
    handle = os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(known, file, indent=1)
    os.replace(temporary, trust_file)
    return seen.data.decode("utf-8", "replace")


def approved(trust_file: str) -> dict[str, str]:
    """Return the approved hashes by path."""
    raw = _read_whole(trust_file)
    return dict(json.loads(raw)) if raw else {}


def run_command(command: str, tree: str, timeout_seconds: float = TIMEOUT_SECONDS) -> Ran:
    """Run one command without a shell in ``tree``; its output is cut to OUTPUT_BYTES_MAX."""
    start = time.monotonic()
    try:
        done = subprocess.run(
            shlex.split(command), cwd=tree, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=timeout_seconds, check=False,
        )  # fmt: skip
        status: int | None = done.returncode
        output = done.stdout
    except subprocess.TimeoutExpired as error:
        status, output = (
            None,
            (error.stdout or b"") + f"\n[stopped after {timeout_seconds:.0f} s]".encode(),
        )
    except (OSError, ValueError) as error:
        status, output = None, f"[could not start: {error}]".encode()
    text = output[-OUTPUT_BYTES_MAX:].decode("utf-8", "replace")
    return Ran(status, text, time.monotonic() - start)


def _commands_in(data: bytes) -> dict[str, str]:
    try:
        found = tomllib.loads(data.decode("utf-8", "replace")).get("commands", {})
    except tomllib.TOMLDecodeError:
        return {}
    return (
        {str(k): v for k, v in found.items() if isinstance(v, str)}
        if isinstance(found, dict)
        else {}
    )


def _read_whole(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20)
    except OSError:
        return b""
