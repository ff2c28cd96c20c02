"""Where a benchmark happens: a temporary workspace and database, and a client's hook to fill them."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


class Bench:
    """A workspace with a session in it, in ``kept`` or else in a temporary folder that is removed."""

    def __init__(self, kept: Path | None = None) -> None:
        self._temporary = None
        if kept is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="keepthread-bench-")
        self.folder = Path(os.path.realpath(kept or self._temporary.name))
        self.tree = self.folder / "project"
        (self.tree / ".git").mkdir(parents=True, exist_ok=True)
        self.database = self.folder / "memory.db"
        script = Path(sys.executable).with_name("keepthread")
        self.command = [str(script)] if script.exists() else [sys.executable, "-m", "keepthread"]
        # Without bytecode every process would compile our modules anew, and the floor's none.
        unwanted = ("KEEPTHREAD_", "CLAUDE", "PYTHONDONTWRITEBYTECODE")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}
        self.environ = {
            **kept,
            "KEEPTHREAD_CONFIG": str(self.folder / "no-such-file.toml"),
            "KEEPTHREAD_DB": str(self.database),
            "KEEPTHREAD_WORKSPACE": str(self.tree),
            "KEEPTHREAD_WRITES_PER_WINDOW": "0",
            "KEEPTHREAD_WRITES_BETWEEN_CALLS": "0",
            "CLAUDE_CODE_SESSION_ID": "bench",
            "PYTHONPATH": str(ROOT),
        }
        self._calls = 0

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *_: object) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()

    def payload(self, tool: str, args: Mapping[str, Any], output: str) -> bytes:
        """Return a PostToolUse payload as the client sends it; each has an id of its own."""
        self._calls += 1
        return json.dumps(
            {
                "session_id": "bench",
                "cwd": str(self.tree),
                "hook_event_name": "PostToolUse",
                "tool_name": tool,
                "tool_input": dict(args),
                "tool_response": {"stdout": output, "stderr": "", "interrupted": False},
                "tool_use_id": f"toolu_bench_{self._calls}",
            }
        ).encode()

    def hook(self, payload: bytes) -> None:
        """Run the client's hook on a payload; it must say nothing."""
        done = subprocess.run(
            [*self.command, "hook", "claude-code"],
            input=payload,
            env=self.environ,
            capture_output=True,
            check=True,
        )
        assert not done.stderr, done.stderr

    def capture(self, tool: str, args: Mapping[str, Any], output: str) -> None:
        """Archive one call."""
        self.hook(self.payload(tool, args, output))
