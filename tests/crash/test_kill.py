"""Writers that are killed, and writers that all write at once: what was acknowledged is there."""

import random
import time

import pytest

from tests.crash.processes import acknowledged, faults, make_database, start_writers, stored


def _kill_rounds(path: str, kills: int, acks: int, seed: int) -> tuple[int, int]:
    """Kill two writers a round until both numbers are reached; return (kills, acknowledged)."""
    make_database(path)
    choose = random.Random(seed)
    known: dict[str, float] = {}
    killed = 0
    while killed < kills or len(known) < acks:
        round_name = f"r{killed}"
        writers = start_writers(path, {f"{round_name}a": "hook", f"{round_name}b": "gate"}, 10_000)
        time.sleep(choose.uniform(0.05, 0.8))
        for writer in writers:
            writer.kill()
        killed += len(writers)
        for writer in writers:
            known |= acknowledged(writer)
    found = stored(path)
    assert set(known) - set(found) == set(), "acknowledged and lost"
    assert len(found) == len(set(found)), "stored twice"
    assert len(found) - len(known) <= killed, "more unacknowledged records than kills"
    assert faults(path) == []
    return killed, len(known)


def test_no_acknowledged_write_is_lost_when_writers_are_killed(db: str) -> None:
    killed, acked = _kill_rounds(db, kills=16, acks=300, seed=1)
    assert killed >= 15 and acked >= 300


@pytest.mark.soak
def test_no_acknowledged_write_is_lost_over_a_thousand_kills(db: str) -> None:
    killed, acked = _kill_rounds(db, kills=1_000, acks=10_000, seed=2)
    print(f"{killed} kills, {acked} acknowledged, none lost")


@pytest.mark.parametrize("count", [100, pytest.param(2_000, marks=pytest.mark.soak)])
def test_four_processes_share_one_database_without_a_lock_error(db: str, count: int) -> None:
    make_database(db)
    names = {"p1": "hook", "p2": "gate", "p3": "hook", "p4": "gate"}
    writers = start_writers(db, names, count)
    known: dict[str, float] = {}
    for writer in writers:
        known |= acknowledged(writer)
    assert [w.returncode for w in writers] == [0, 0, 0, 0]
    assert sorted(stored(db)) == sorted(known)
    assert len(known) == 4 * count
    taken = sorted(known.values())
    p99 = taken[int(0.99 * len(taken))]
    print(f"{len(known)} writes, p50 {taken[len(taken) // 2]} ms, p99 {p99} ms")
    assert p99 < 2_000
    assert faults(db) == []
