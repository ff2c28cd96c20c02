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
import signal
import subprocess
import threading
import time
import tomllib
from typing import BinaryIO, NamedTuple

from keepthread.server.capture.files import FileRefused, read_file
from keepthread.stores.launch import command_line

FILE = "keepthread.toml"
TIMEOUT_SECONDS = 300.0
OUTPUT_BYTES_MAX = 200_000
_PIPE_SECONDS = 1.0


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
            own, f"{FILE} of this workspace is not approved; to run its commands: {command_line('trust')}"
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
    """Return the approved hashes by path; a file that cannot be read approves nothing."""
    try:
        found = json.loads(_read_whole(trust_file) or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def run_command(command: str, tree: str, timeout_seconds: float = TIMEOUT_SECONDS) -> Ran:
    """Run one command without a shell in ``tree``; of its output the last OUTPUT_BYTES_MAX are kept.

    When its time is over it is killed with all that it started: a child that holds the pipe
    would otherwise keep us waiting.
    """
    start = time.monotonic()
    try:
        process = subprocess.Popen(
            shlex.split(command), cwd=tree, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError, IndexError) as error:
        return Ran(None, f"[could not start: {error}]", time.monotonic() - start)
    kept = bytearray()
    reader = threading.Thread(target=_keep_tail, args=(process.stdout, kept), daemon=True)
    reader.start()
    status: int | None = None
    try:
        status = process.wait(timeout_seconds)
    except subprocess.TimeoutExpired:
        pass
    finally:
        if process.poll() is None:
            _kill_group(process)
    reader.join(_PIPE_SECONDS)  # longer only where something it left running holds the pipe
    text = bytes(kept[-OUTPUT_BYTES_MAX:]).decode("utf-8", "replace")
    if status is None:
        text += f"\n[stopped after {timeout_seconds:.0f} s]"
    return Ran(status, text, time.monotonic() - start)


def _keep_tail(stream: BinaryIO, kept: bytearray) -> None:
    with stream:
        while chunk := os.read(stream.fileno(), 1 << 16):
            kept += chunk
            if len(kept) > 2 * OUTPUT_BYTES_MAX:
                del kept[:-OUTPUT_BYTES_MAX]


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


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
