"""No space, no right to write: what is stored is served, what is to be stored is refused by name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from keepthread.server.memory import Memory
from keepthread.stores.clock import Clock
from keepthread.stores.database import open_database
from keepthread.stores.errors import StorageFull, StoreError
from keepthread.stores.journal import Journal, head, verify_chain
from keepthread.stores.query import fetch_value
from tests.crash.mounts import check_read_only, check_reads, make
from tests.crash.processes import ROOT
from tests.sample import append, fill, see_call


def _may_mount() -> bool:
    try:
        tried = subprocess.run(["unshare", "-rm", "true"], capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0


@pytest.mark.skipif(not _may_mount(), reason="this system lets nobody mount in a namespace")
@pytest.mark.parametrize("mode", ["read-only", "hot-copy", "full"])
def test_a_mount_that_takes_no_more_still_serves_what_it_has(tmp_path: Path, mode: str) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / ".dev"), str(ROOT)))}
    command = ["unshare", "-rm", sys.executable, "-m", "tests.crash.mounts", mode, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environ)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("folder_too", [False, True])
def test_files_without_write_permission_are_served(tmp_path: Path, folder_too: bool) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    make(folder)
    for file in folder.iterdir():
        file.chmod(0o400)
    if os.access(folder / "memory.db", os.W_OK):
        pytest.skip("no right is missing to this user")
    folder.chmod(0o500 if folder_too else 0o700)
    try:
        check_read_only(folder)
    finally:
        folder.chmod(0o700)


def test_a_full_database_refuses_the_write_and_keeps_what_it_has(db: str, clock: Clock) -> None:
    journal = Journal(db, open_database(db, "trusted"), clock)
    append(journal, "first")
    pages = int(fetch_value(journal.connection, "PRAGMA page_count"))
    journal.connection.execute(f"PRAGMA max_page_count={pages + 10}")
    with pytest.raises(StorageFull, match="no space left"):
        for n in range(100):
            append(journal, f"{n} " * 2_000)
    kept = head(journal.connection)[0]
    assert kept > 1 and list(verify_chain(journal.connection)) == []
    journal.connection.execute("PRAGMA max_page_count=4294967294")
    append(journal, "room again")
    assert head(journal.connection)[0] == kept + 1


def test_a_companion_file_that_cannot_be_written_refuses_the_write(db: str, clock: Clock) -> None:
    journal = Journal(db, open_database(db, "trusted"), clock)
    append(journal, "first")
    os.rename(db + ".anchor", db + ".kept")
    os.mkdir(db + ".anchor")
    with pytest.raises(StoreError):
        append(journal, "second")
    assert head(journal.connection)[0] == 1
    os.rmdir(db + ".anchor")
    os.rename(db + ".kept", db + ".anchor")
    append(journal, "second")


def test_a_history_in_doubt_is_served_and_takes_no_writes(memory: Memory, db: str) -> None:
    fill(memory)
    os.unlink(db + ".anchor")
    check_reads(memory, "history_rolled_back")
    with pytest.raises(StoreError) as refused:
        see_call(memory, "port = 1\n")
    assert refused.value.code == "history_rolled_back"
