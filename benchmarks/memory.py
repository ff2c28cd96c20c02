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
        ours = anyio.run(_resident, bench, ["keepthread", "serve"], True)
        floor = anyio.run(_resident, bench, ["benchmarks.echo_server"], False)
    yield Figure("resident memory, MB instead of ms", ours, floor)


async def _resident(bench: Bench, module: list[str], loads: bool) -> float:
    pid = bench.folder / "pid"
    async with Client(server(bench, pid, module)) as client:
        await client.list_tools()
        if loads:
            await until_loaded(client)
            await client.call_tool("search_archive", {"query": "port"})
        status = Path(f"/proc/{pid.read_text()}/status").read_text(encoding="utf-8")
    return next(int(li.split()[1]) / 1024 for li in status.splitlines() if li.startswith("VmRSS"))
