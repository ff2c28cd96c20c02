"""The hook of a tool call, process and all, beside ``python -c "import apsw"``."""

import subprocess
import sys
import time
from collections.abc import Iterator
from resource import RUSAGE_CHILDREN, getrusage

from benchmarks.measure import Figure, Times, compare
from benchmarks.places import Bench
from benchmarks.texts import Texts

SIZES = ((2_000, "ratio at most 4"), (64_000, "ratio at most 5"))
WARM_ENTRIES = 50


def run(rounds: int) -> Iterator[Figure]:
    """Measure both payload sizes on a database that is in use."""
    texts = Texts()
    with Bench() as bench:
        for _ in range(WARM_ENTRIES):
            bench.capture("Bash", {"command": "make"}, texts.output(600))
        for size, target in SIZES:

            def ours(_: int, size: int = size) -> Times:
                payload = bench.payload("Bash", {"command": "make test"}, texts.output(size))
                return spawned([*bench.command, "hook", "claude-code"], payload, bench.environ)

            yield compare(
                f"hook, {size // 1000} kB",
                ours,
                lambda _: spawned([sys.executable, "-c", "import apsw"], b"", bench.environ),
                rounds,
                target=target,
            )


def spawned(command: list[str], stdin: bytes, environ: dict[str, str]) -> Times:
    """Run a command to its end; return wall and CPU seconds."""
    before, started = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, input=stdin, env=environ, check=True, capture_output=True)
    wall, after = time.perf_counter() - started, getrusage(RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
