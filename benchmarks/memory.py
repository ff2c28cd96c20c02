"""Resident memory of a server with everything loaded, beside a bare SDK server (Linux)."""

from collections.abc import Iterator
from pathlib import Path

import anyio
from mcp import Client

from benchmarks.measure import Figure
from benchmarks.places import Bench
from benchmarks.write import server, until_loaded


def run() -> Iterator[Figure]:
    """Yield one figure whose numbers are megabytes instead of milliseconds; nothing elsewhere than Linux."""
    if not Path("/proc/self/status").exists():
        return
    with Bench() as bench:
        yield resident(bench, "resident memory")


def resident(bench: Bench, name: str, settle_seconds: float = 0.0) -> Figure:
    """Return the resident memory of a server over the database of ``bench``, ``settle_seconds`` after
    its first search: the index of vectors loads meanwhile."""
    ours = anyio.run(_resident, bench, ["keepthread", "serve"], True, settle_seconds)
    floor = anyio.run(_resident, bench, ["benchmarks.echo_server"], False, 0.0)
    return Figure(f"{name}, MB instead of ms", ours, floor)


async def _resident(bench: Bench, module: list[str], loads: bool, settle_seconds: float) -> float:
    pid = bench.folder / "pid"
    async with Client(server(bench, pid, module)) as client:
        await client.list_tools()
        if loads:
            await until_loaded(client)
            await client.call_tool("search_archive", {"query": "port"})
            await anyio.sleep(settle_seconds)
            await client.call_tool("search_archive", {"query": "port"})
        status = Path(f"/proc/{pid.read_text()}/status").read_text(encoding="utf-8")
    return next(int(li.split()[1]) / 1024 for li in status.splitlines() if li.startswith("VmRSS"))
