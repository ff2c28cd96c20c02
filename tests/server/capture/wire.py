"""A client by its bytes alone, over a server or over the relay before it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.server.world import World

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SCRIPTED = [sys.executable, str(HERE / "scripted_server.py")]
KEEPTHREAD = [sys.executable, "-m", "keepthread.server"]


def relay_command(name: str = "git", server: list[str] = SCRIPTED) -> list[str]:
    return [*KEEPTHREAD, "relay", "--name", name, "--", *server]


def call(number: Any, tool: str, meta: Any = None, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments} | ({"_meta": meta} if meta else {})
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def lines(*messages: Any) -> bytes:
    return b"".join(json.dumps(m).encode() + b"\n" for m in messages)


class Wire:
    """A client by its bytes alone, with a server or with the relay before it."""

    def __init__(self, world: World, command: list[str], **environ: str) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=world.tree,
            env={**os.environ, **world.environ, "PYTHONPATH": str(ROOT / ".dev"), **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.to, self.back, self.told = (
            self.process.stdin, self.process.stdout, self.process.stderr,
        )  # fmt: skip

    def send(self, content: bytes) -> None:
        self.to.write(content)
        self.to.flush()

    def ask(self, *messages: Any) -> Any:
        """Send messages; return the next one that comes back."""
        self.send(lines(*messages))
        return json.loads(self.back.readline())

    def end(self, content: bytes = b"") -> tuple[bytes, bytes, int]:
        """Send the rest and close; return what came back, what was told on stderr, and the status."""
        out, told = self.process.communicate(content, timeout=20)
        return out, told, self.process.returncode
