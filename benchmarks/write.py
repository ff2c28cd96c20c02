"""``record_fact``, from the client's call to the committed answer, beside a round trip of the bare SDK.

The model is warm, grounding is lexical: values and names stand in the cited entry.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from benchmarks.measure import Figure, Times, figure
from benchmarks.places import ROOT, Bench
from benchmarks.texts import Texts
from keepthread.stores.database import open_database
from keepthread.stores.vectors import count_unembedded

TARGET = "at most 25 ms over"
MODEL_WAIT_SECONDS = 60
_PER_ENTRY = 10
_WITH_PID = (
    "import os, runpy, sys; open(sys.argv.pop(1), 'w').write(str(os.getpid())); "
    "sys.argv = sys.argv[1:]; runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
)


def run(rounds: int) -> Iterator[Figure]:
    """Measure ``rounds`` facts, each grounded in its own line of a captured listing."""
    texts = Texts()
    facts = [texts.fact(i) for i in range(rounds)]
    with Bench() as bench:
        for at in range(0, rounds, _PER_ENTRY):
            lines = [f.removeprefix("The ") for f in facts[at : at + _PER_ENTRY]]
            bench.capture("Bash", {"command": f"services --page {at}"}, "\n".join(lines))
        yield anyio.run(_measure, bench, facts)


async def _measure(bench: Bench, facts: list[str]) -> Figure:
    pids = [bench.folder / "ours.pid", bench.folder / "floor.pid"]
    ours = server(bench, pids[0], ["keepthread", "serve"])
    floor = server(bench, pids[1], ["benchmarks.echo_server"])
    async with Client(ours) as memory, Client(floor) as echo:
        await until_loaded(memory)
        await _until_embedded(bench)
        before = [cpu_seconds(pid) for pid in pids]
        pairs: list[tuple[Times, Times]] = []
        for i, text in enumerate(facts):
            given = {
                "text": text,
                "kind": "observation",
                "source": f"call-{1 + i // _PER_ENTRY}",
                "subject": "",
            }
            answered = await _call(memory, "record_fact", given)
            pairs.append((answered, await _call(echo, "echo", given)))
        used = [
            1000 * (cpu_seconds(pid) - start) / len(facts)
            for pid, start in zip(pids, before, strict=True)
        ]
    found = figure("record_fact", [p[0] for p in pairs], [p[1] for p in pairs], TARGET)
    return found._replace(cpu_ours_ms=used[0], cpu_floor_ms=used[1])


async def _until_embedded(bench: Bench) -> None:
    """Wait for the background worker, so that only the writes themselves are measured."""
    reader = open_database(str(bench.database), "reader")
    with anyio.fail_after(MODEL_WAIT_SECONDS):
        while count_unembedded(reader):
            await anyio.sleep(0.2)
    reader.close()


def server(bench: Bench, pid: Path, module: list[str]) -> StdioServerParameters:
    """Return how to start ``python -m MODULE``, which leaves its process id in a file."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-c", _WITH_PID, str(pid), *module],
        env=bench.environ,
        cwd=ROOT,
    )


def cpu_seconds(pid: Path) -> float:
    """Return the CPU seconds a process has used (Linux; 0 elsewhere)."""
    file = Path(f"/proc/{pid.read_text()}/stat")
    if not file.exists():
        return 0.0
    fields = file.read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def until_loaded(client: Client) -> None:
    """Wait until the server says nothing about its embedder any more."""
    with anyio.fail_after(MODEL_WAIT_SECONDS):
        while "embedder" in str((await client.call_tool("get_context", {})).content[0]):
            await anyio.sleep(0.2)


async def _call(client: Client, tool: str, arguments: dict[str, Any]) -> Times:
    started = time.perf_counter()
    result = await client.call_tool(tool, arguments)
    wall = time.perf_counter() - started
    assert not result.is_error, result.content
    return wall, 0.0
