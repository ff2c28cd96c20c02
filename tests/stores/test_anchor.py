"""The head anchor: it sees a history that was cut or exchanged, and raises no false alarm."""

import os
import shutil
import threading
from pathlib import Path

import pytest

from keepthread.server.cli.main import main
from keepthread.stores.anchor import Anchor
from keepthread.stores.clock import Clock
from keepthread.stores.database import open_database
from keepthread.stores.errors import HistoryRolledBack
from keepthread.stores.journal import Journal, head, verify_chain
from tests.sample import append


def _open(path: str, clock: Clock) -> Journal:
    return Journal(path, open_database(path, "trusted"), clock)


def _write(path: str, clock: Clock, *outputs: str) -> None:
    journal = _open(path, clock)
    for output in outputs:
        append(journal, output)
    journal.connection.close()


def _copy_of(path: str, folder: Path) -> str:
    folder.mkdir(mode=0o700)
    for ending in ("", "-wal", ".anchor", ".key"):
        if os.path.exists(path + ending):
            shutil.copy(path + ending, folder)
    return str(folder / os.path.basename(path))


def test_an_anchor_that_is_missing_stops_writes(db: str, clock: Clock) -> None:
    _write(db, clock, "one", "two")
    os.unlink(db + ".anchor")
    with pytest.raises(HistoryRolledBack, match="verify --accept"):
        append(_open(db, clock), "three")
    assert head(open_database(db, "reader"))[0] == 2


def test_the_anchor_of_another_database_stops_writes(db: str, clock: Clock, tmp_path: Path) -> None:
    other = str(tmp_path / "other" / "memory.db")
    _write(db, clock, "one")
    _write(other, clock, "one")
    shutil.copy(other + ".anchor", db + ".anchor")
    with pytest.raises(HistoryRolledBack):
        append(_open(db, clock), "two")


def test_another_database_under_the_same_anchor_and_key_stops_writes(
    db: str, clock: Clock, tmp_path: Path
) -> None:
    other = str(tmp_path / "other" / "memory.db")
    _write(db, clock, "one", "two")
    _write(other, clock, "uno", "due", "tre")
    shutil.copy(other, db)
    with pytest.raises(HistoryRolledBack):
        append(_open(db, clock), "four")


@pytest.mark.parametrize("lost", [1, 2, 7])
def test_an_old_copy_put_back_stops_writes_whatever_it_lost(
    db: str, clock: Clock, tmp_path: Path, lost: int
) -> None:
    _write(db, clock, "one", "two")
    old = _copy_of(db, tmp_path / "backup")
    _write(db, clock, *(f"later {n}" for n in range(lost)))
    shutil.copy(old, db)
    stale = open_database(db, "trusted")
    assert list(verify_chain(stale)) == []  # the chain alone cannot see a lost tail
    with pytest.raises(HistoryRolledBack, match=f"record {2 + lost}"):
        append(Journal(db, stale, clock), "next")


def test_a_lost_wal_stops_writes(db: str, clock: Clock, tmp_path: Path) -> None:
    journal = _open(db, clock)
    append(journal, "one")
    journal.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    append(journal, "two")  # lies in the -wal only
    copy = _copy_of(db, tmp_path / "copy")
    os.unlink(copy + "-wal")
    with pytest.raises(HistoryRolledBack):
        append(_open(copy, clock), "three")


def test_verify_tells_of_a_restored_copy_and_accepts_it_when_told(
    db: str, clock: Clock, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environ = {"KEEPTHREAD_DB": db}
    _write(db, clock, "one")
    old = _copy_of(db, tmp_path / "backup")
    _write(db, clock, "two", "three")
    shutil.copy(old, db)
    assert main(["verify"], environ) == 1
    assert "old copy" in capsys.readouterr().out
    assert main(["verify", "--accept"], environ) == 0
    append(_open(db, clock), "two again")
    assert main(["verify"], environ) == 0


def test_a_moved_database_with_its_companions_raises_no_alarm(
    db: str, clock: Clock, tmp_path: Path
) -> None:
    _write(db, clock, "one", "two")
    append(_open(_copy_of(db, tmp_path / "moved"), clock), "three")


@pytest.mark.parametrize("committed", [False, True])
def test_a_crash_on_either_side_of_the_commit_raises_no_alarm(
    db: str, clock: Clock, committed: bool
) -> None:
    _write(db, clock, "one")
    before = head(open_database(db, "reader"))
    _write(db, clock, "two")
    after = head(open_database(db, "reader"))
    ahead = (after[0] + 1, bytes(32))
    Anchor(db).write(*((before, after) if committed else (after, ahead)))
    _write(db, clock, "three")


def test_an_older_anchor_left_by_a_power_loss_raises_no_alarm(db: str, clock: Clock) -> None:
    _write(db, clock, "one", "two")
    older = Path(db + ".anchor").read_bytes()
    _write(db, clock, "three", "four")
    Path(db + ".anchor").write_bytes(older)
    _write(db, clock, "five")


def test_everyone_who_makes_the_key_at_once_gets_the_same_one(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    keys: list[bytes] = []
    makers = [threading.Thread(target=lambda: keys.append(Anchor(path).key)) for _ in range(16)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert len(set(keys)) == 1 and len(keys[0]) == 32
    assert os.listdir(tmp_path) == ["memory.db.key"]
