"""Hook calls in a burst, four processes at a time: none is lost, none stands in the client's way."""

import os
from pathlib import Path

import pytest

from keepthread.stores.database import open_database
from keepthread.stores.query import fetch_all
from tests.crash.hook_burst import Burst, Ran, run_burst
from tests.crash.processes import faults

AT_A_TIME = 4


def _archived(db: Path) -> set[str]:
    reader = open_database(str(db), "reader")
    try:
        return {str(ref) for (ref,) in fetch_all(reader, "SELECT outer_ref FROM entry")}
    finally:
        reader.close()


def _distribution(burst: Burst) -> str:
    load = " ".join(f"{load:.1f}" for load in os.getloadavg())
    lines = [f"{len(burst.calls)} hook calls, {AT_A_TIME} at a time, load {load}; milliseconds"]
    for name, runs in (("hook", burst.calls), ("import apsw", burst.floor)):
        for kind, seconds in (
            ("wall", sorted(run.seconds for run in runs)),
            ("CPU", sorted(run.cpu_seconds for run in runs)),
        ):
            at = [
                f"p{p:g} {seconds[int(p / 100 * len(seconds))] * 1_000:.0f}" for p in (50, 95, 99)
            ]
            lines.append(f"{name}, {kind}: {', '.join(at)}, longest {seconds[-1] * 1_000:.0f}")
    return "\n".join(lines)


def _burst(folder: Path, count: int) -> list[Ran]:
    """Run a burst that loses nothing; the database is new, so the first four make it together."""
    (folder / "work").mkdir()
    db = folder / "memory.db"
    burst = run_burst(db, folder / "work", count, AT_A_TIME)
    assert [call.said for call in burst.calls if call.said] == []
    assert _archived(db) == {f"toolu_{number}" for number in range(count)}
    assert not (folder / "hook-errors.log").exists()
    print(_distribution(burst))
    return burst.calls


def test_a_burst_of_hooks_loses_nothing(tmp_path: Path) -> None:
    _burst(tmp_path, 60)


@pytest.mark.soak
def test_five_thousand_hooks_lose_nothing_and_none_takes_a_second(tmp_path: Path) -> None:
    calls = _burst(tmp_path, 5_000)
    assert faults(str(tmp_path / "memory.db")) == []
    assert max(call.seconds for call in calls) <= 1.0
