"""Start-up: from spawn to the answers to ``initialize`` and ``tools/list``, beside a bare SDK server."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from benchmarks.measure import Figure, Times, compare
from benchmarks.places import Bench

TARGET = "ratio at most 1.5"
_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


def run(rounds: int) -> Iterator[Figure]:
    """Measure with an empty and with a used database."""
    with Bench() as bench:
        ours = [*bench.command, "serve"]
        floor = [sys.executable, "-m", "benchmarks.echo_server"]
        for name in ("start-up, new database", "start-up"):
            yield compare(
                name,
                lambda i: shake_hands(ours, bench.environ),
                lambda i: shake_hands(floor, bench.environ),
                rounds,
                target=TARGET,
                warm_up=0 if "new" in name else 1,
            )
            bench.capture("Bash", {"command": "ls"}, "README.md")


def shake_hands(command: Sequence[str], environ: dict[str, str]) -> Times:
    """Start a server, ask for its tools, kill it; return wall seconds to the answer, and CPU seconds."""
    started = time.perf_counter()
    server = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environ,
    )
    assert server.stdin is not None and server.stdout is not None
    for identity, method, params in (
        (1, "initialize", _HELLO),
        (None, "notifications/initialized", {}),
        (2, "tools/list", {}),
    ):
        message: dict[str, object] = {"jsonrpc": "2.0", "method": method, "params": params}
        if identity is not None:
            message["id"] = identity
        server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()
        while identity is not None:
            answer = json.loads(server.stdout.readline())
            if answer.get("id") == identity:
                assert "result" in answer, answer
                break
    wall = time.perf_counter() - started
    server.kill()
    _, _, used = os.wait4(server.pid, 0)
    server.returncode = 0  # reaped above
    server.stdin.close()
    server.stdout.close()
    return wall, used.ru_utime + used.ru_stime
