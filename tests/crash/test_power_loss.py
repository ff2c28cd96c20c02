"""Power loss and failing disks, simulated below SQLite: nothing acknowledged is lost, nothing is half."""

import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest

from keepthread.stores.clock import Clock
from keepthread.stores.database import open_database
from keepthread.stores.errors import StoreError
from keepthread.stores.journal import Journal, head, verify_chain
from keepthread.stores.query import fetch_all, fetch_value
from tests.crash.faulty_disk import Disk, Operation, disk_in_use, files_after_power_loss
from tests.crash.processes import fill_workspace
from tests.crash.writer import add_observation, append_run

COMMITS = 120


@pytest.fixture
def left() -> Iterator[Path]:
    """A folder for what a power loss leaves, in memory where the system offers it: it is only read."""
    shared = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        yield Path(folder) / "left"


class Recorded(NamedTuple):
    """A run on the logging disk: its log, the log's length and anchor at each acknowledgement."""

    log: list[Operation]
    acknowledged: list[tuple[int, str]]
    anchors: list[tuple[int, bytes]]
    key: bytes


def _record(path: str, clock: Clock, synchronous: str) -> Recorded:
    """Write COMMITS times, entries and facts with full text, citations and vectors in turn."""
    acknowledged: list[tuple[int, str]] = []
    anchors: list[tuple[int, bytes]] = []
    with disk_in_use(f"power-{synchronous}") as disk:
        connection = open_database(path, "trusted", vectors=True)
        connection.execute(f"PRAGMA synchronous={synchronous}; PRAGMA wal_autocheckpoint=50")
        assert fetch_value(connection, "PRAGMA journal_mode") == "wal"
        journal = Journal(path, connection, clock)
        _prepare(journal)
        written = journal.anchor.write

        def write(old: tuple[int, bytes], new: tuple[int, bytes]) -> None:
            written(old, new)
            anchors.append((len(disk.log), Path(path + ".anchor").read_bytes()))

        journal.anchor.write = write  # type: ignore[method-assign]
        for n in range(COMMITS):
            (add_observation if n % 2 else append_run)(journal, f"run-{n}")
            acknowledged.append((len(disk.log), f"run-{n}"))
        connection.close()
    return Recorded(disk.log, acknowledged, anchors, Path(path + ".key").read_bytes())


def _prepare(journal: Journal) -> None:
    with journal.transaction() as tx:
        fill_workspace(tx, journal.anchor.key)


def _crash(run: Recorded, folder: Path, at: int, choose: random.Random) -> str:
    """Lose power after ``at`` operations, open what is left; return what is wrong, ``""`` if nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    for name, content in files_after_power_loss(run.log, at, choose).items():
        (folder / name).write_bytes(content)
    path = str(folder / "memory.db")
    Path(path + ".key").write_bytes(run.key)
    anchors = [content for when, content in run.anchors if when <= at]
    if anchors:  # not synced: the newest one, or one a little older
        Path(path + ".anchor").write_bytes(anchors[-min(len(anchors), choose.randint(1, 3))])
    expected = {name for when, name in run.acknowledged if when <= at}
    try:
        connection = open_database(path, "trusted")
        connection.config(
            apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1
        )  # only looked at: spare the sync
        journal = Journal(path, connection, lambda: 0.0)
        lost = expected - _names(connection)
        if lost:
            return f"{len(lost)} acknowledged writes lost"
        broken = list(verify_chain(connection))
        if broken:
            return f"chain: {broken[0]}"
        if expected:
            with journal.transaction():
                pass  # the anchor raises no alarm
        return "" if fetch_value(connection, "PRAGMA quick_check") == "ok" else "corrupt"
    except (StoreError, apsw.Error) as error:
        return f"{type(error).__name__}: {error}"


def _names(connection: apsw.Connection) -> set[str]:
    rows = fetch_all(
        connection,
        "SELECT outer_ref FROM entry WHERE outer_ref > '' UNION "
        "SELECT value FROM tag JOIN record_fts f ON f.rowid = tag.seq JOIN record_vector v USING(seq) "
        "JOIN citation c ON c.owner = tag.seq WHERE name = 'run' AND record_fts MATCH 'finished'",
    )
    return {str(r[0]) for r in rows}


def _points(run: Recorded, count: int, seed: int) -> Iterator[tuple[int, random.Random]]:
    first = run.acknowledged[0][0]
    for n in range(count):
        choose = random.Random(seed + n)
        yield choose.randint(first, len(run.log)), choose


@pytest.mark.parametrize("count", [600, pytest.param(50_000, marks=pytest.mark.soak)])
def test_no_acknowledged_write_is_lost_when_the_power_fails(
    db: str, clock: Clock, left: Path, count: int
) -> None:
    run = _record(db, clock, "FULL")
    for at, choose in _points(run, count, seed=0):
        wrong = _crash(run, left, at, choose)
        assert not wrong, f"power lost after operation {at} of {len(run.log)}: {wrong}"


def test_the_simulation_does_lose_writes_where_nothing_is_synced(
    db: str, clock: Clock, left: Path
) -> None:
    run = _record(db, clock, "OFF")
    wrong = [_crash(run, left, at, choose) for at, choose in _points(run, 30, seed=0)]
    assert sum(map(bool, wrong)) > 15


def test_a_disk_that_fails_at_any_write_leaves_the_database_as_it_was(
    db: str, clock: Clock
) -> None:
    with disk_in_use("failing") as disk:
        connection = open_database(db, "trusted", vectors=True)
        journal = Journal(db, connection, clock)
        _prepare(journal)
        append_run(journal, "before")
        failed = 0
        while _fails_at(disk, journal, failed + 1):
            failed += 1
        print(f"failed at each of {failed} writes and syncs")
        assert failed >= 10  # a fact with full text, vector and citation writes many pages
        connection.close()
    reader = open_database(db, "reader")
    assert list(verify_chain(reader)) == []
    assert fetch_value(reader, "PRAGMA integrity_check") == "ok"


def _fails_at(disk: Disk, journal: Journal, nth: int) -> bool:
    """Fail the ``nth`` write of a fact; True when it fired, after checking that nothing is half."""
    before, tables = head(journal.connection), _counts(journal.connection)
    disk.calls, disk.fail_at = 0, nth
    try:
        add_observation(journal, f"fact-{nth}")
        fired = disk.calls >= nth
        assert not fired, "an I/O error was swallowed"
    except StoreError as error:
        fired = True
        assert "disk" in str(error)
    finally:
        disk.fail_at = 0
    if fired:
        assert head(journal.connection) == before
        assert _counts(journal.connection) == tables
        append_run(journal, f"after-{nth}")  # the next call works
        assert head(journal.connection)[0] == before[0] + 1
    return fired


def _counts(connection: apsw.Connection) -> list[int]:
    names = "journal content body tag fact citation record_vector record_fts_docsize entry passage"
    return [int(fetch_value(connection, f"SELECT count(*) FROM {n}")) for n in names.split()]
