"""Figures and how they are taken: ours and the floor in turns, medians, wall and CPU time."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

Times = tuple[float, float]  # wall and CPU seconds; CPU 0 where it was not measured


class Figure(NamedTuple):
    """One comparison. Times are medians in ms; ``target`` is what the ratio, or the difference, may be."""

    name: str
    ours_ms: float
    floor_ms: float
    cpu_ours_ms: float = 0.0
    cpu_floor_ms: float = 0.0
    target: str = ""
    detail: Mapping[str, object] = {}

    def row(self) -> dict[str, object]:
        """Return the figure as one JSON object, times rounded, with its ratios."""
        found = {k: round(v, 3) if isinstance(v, float) else v for k, v in self._asdict().items()}
        found["ratio"] = ratio(self.ours_ms, self.floor_ms)
        found["cpu_ratio"] = ratio(self.cpu_ours_ms, self.cpu_floor_ms)
        return {**found, "detail": dict(self.detail)}


def ratio(ours: float, floor: float) -> float | None:
    """Return ours over the floor, to two places; None where nothing was measured."""
    return round(ours / floor, 2) if floor else None


def compare(
    name: str,
    ours: Callable[[int], Times],
    floor: Callable[[int], Times],
    rounds: int,
    *,
    target: str = "",
    detail: Mapping[str, object] | None = None,
    warm_up: int = 1,
) -> Figure:
    """Run both in turns (each gets the round's number); return the medians."""
    for i in range(warm_up):
        ours(-1 - i), floor(-1 - i)
    pairs = [(ours(i), floor(i)) for i in range(rounds)]
    return figure(name, [p[0] for p in pairs], [p[1] for p in pairs], target, detail)


def figure(
    name: str,
    ours: Sequence[Times],
    floor: Sequence[Times],
    target: str = "",
    detail: Mapping[str, object] | None = None,
) -> Figure:
    """Return the medians of both as a figure."""

    def middle(times: Sequence[Times], which: int) -> float:
        return 1000 * statistics.median(t[which] for t in times)

    def high(which: int) -> float:
        return round(1000 * sorted(t[which] for t in ours)[int(0.95 * (len(ours) - 1))], 2)

    more = {"rounds": len(ours), "p95_ms": high(0), "p95_cpu_ms": high(1), **(detail or {})}
    return Figure(
        name, middle(ours, 0), middle(floor, 0), middle(ours, 1), middle(floor, 1), target, more
    )


def timed(work: Callable[[], object]) -> Times:
    """Return wall and CPU seconds of this process for ``work``."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def commit() -> str:
    """Return the commit that is measured, with a mark when files differ from it."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def write_lines(figures: Iterable[Figure], file: Path) -> None:
    """Append figures to a JSON Lines file, with commit, time and Python."""
    about = {
        "commit": commit(),
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "python": sys.version.split()[0],
    }
    with file.open("a", encoding="utf-8") as out:
        for found in figures:
            out.write(json.dumps({**about, **found.row()}) + "\n")


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as a Markdown table."""
    head = (
        "| what | ours, ms | floor, ms | ratio | CPU ratio | over, ms | target |\n"
        "|---|---:|---:|---:|---:|---:|---|\n"
    )
    rows = []
    for f in figures:
        cpu = ratio(f.cpu_ours_ms, f.cpu_floor_ms)
        rows.append(
            f"| {f.name} | {f.ours_ms:.2f} | {f.floor_ms:.2f} | {ratio(f.ours_ms, f.floor_ms)} "
            f"| {cpu if cpu is not None else '-'} | {f.ours_ms - f.floor_ms:.2f} | {f.target or '-'} |\n"
        )
    return head + "".join(rows)
