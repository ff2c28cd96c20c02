"""A burst of hook calls, each a process of its own as clients start them, so many at a time."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


FLOOR_EVERY = 10


class Ran(NamedTuple):
    """One process: how long it took, its own part of that, and what it said (nothing, when all is well)."""

    seconds: float
    cpu_seconds: float
    said: str


class Burst(NamedTuple):
    """The hook calls in order, and the floor: now and then a process that only imports SQLite."""

    calls: list[Ran]
    floor: list[Ran]


def run_burst(db: Path, tree: Path, calls: int, at_a_time: int) -> Burst:
    """Post ``calls`` events of two sessions, ``at_a_time`` together."""
    environ = {
        **{k: v for k, v in os.environ.items() if not k.startswith("CLAUDE")},
        "KEEPTHREAD_DB": str(db),
        "PYTHONPATH": str(ROOT / ".dev"),
        "CLAUDE_PID": str(os.getpid()),
    }
    floor: list[Ran] = []

    def post(number: int) -> Ran:
        if number % FLOOR_EVERY == 0:
            floor.append(_run(["-c", "import apsw"], b"", environ))
        return _run(
            ["-m", "keepthread.server", "hook", "claude-code"], event(number, tree), environ
        )

    with ThreadPoolExecutor(at_a_time) as pool:
        return Burst(list(pool.map(post, range(calls))), floor)


def event(number: int, tree: Path) -> bytes:
    """Return a PostToolUse event of about 2 kB with output of its own."""
    output = "".join(f"line {line} of run {number}: all is well\n" for line in range(50))
    return json.dumps({
        "hook_event_name": "PostToolUse",
        "session_id": f"burst-{number % 2}",
        "cwd": str(tree),
        "tool_name": "Bash",
        "tool_input": {"command": f"make run-{number}"},
        "tool_response": {"stdout": output, "stderr": "", "interrupted": False},
        "tool_use_id": f"toolu_{number}",
    }).encode()  # fmt: skip


def _run(arguments: Sequence[str], stdin: bytes, environ: Mapping[str, str]) -> Ran:
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments], env=environ,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert process.stdin and process.stdout
    with process.stdin, process.stdout:
        process.stdin.write(stdin)
        process.stdin.close()
        said = process.stdout.read().decode("utf-8", "replace")
    _, status, used = os.wait4(process.pid, 0)
    took = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        said = f"status {process.returncode}: {said}"
    return Ran(took, used.ru_utime + used.ru_stime, said)
