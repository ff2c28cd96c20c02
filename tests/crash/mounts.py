"""What must hold where nothing can be written, and on a disk that fills up; run in a mount namespace.

``unshare -rm python -m tests.crash.mounts MODE FOLDER`` exits with 0 when it holds; MODE is
``read-only``, ``hot-copy`` (read-only, with changes still in the -wal) or ``full``.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from keepthread.server.context.frame import INTRO
from keepthread.server.memory import Client, Memory
from keepthread.server.places import Place
from keepthread.server.record_pages import read_record
from keepthread.server.search_answer import search_text
from keepthread.server.settings import Settings
from keepthread.stores.database import open_database
from keepthread.stores.errors import ReadOnly, StoreError
from keepthread.stores.journal import head, verify_chain
from keepthread.stores.query import fetch_all
from keepthread.stores.search import Filters
from keepthread.validators.writes.facts import record_fact
from keepthread.validators.writes.questions import add_open_question
from tests.sample import fill, see_call

REFUSED_SECONDS_MAX = 0.1  # of the process; the machine may have other work


def open_memory(folder: Path) -> Memory:
    """Open the memory in ``folder`` as a server would, with a window of its own to open."""
    place = Place("/w", str(folder))
    return Memory(Settings(str(folder / "memory.db")), place, client=Client("test", "other"))


def make(folder: Path) -> None:
    """Leave a closed database with a record of every kind in ``folder``."""
    memory = open_memory(folder)
    fill(memory)
    memory.close()


def check_reads(memory: Memory, code: str = "") -> None:
    """Everything that only reads is served, and says that nothing can be recorded, with ``code``."""
    window = memory.context().text
    assert window.startswith(INTRO.split("\n")[0])
    assert f"nothing can be recorded now ({code}" in window or not code
    assert "The port is 9090" in window and "Bind to 9090 only" in window
    found = search_text(memory, "port", Filters(), 10, 2_000)
    assert "port = 8080" in found
    assert f"({code})" in found or not code
    assert "The port is 8080" in read_record(memory, "fact-1", 0, 2_000)
    assert list(verify_chain(memory.reader)) == []


def check_refusals(memory: Memory, code: str) -> None:
    """Every write is refused with ``code``, quickly."""
    writes: list[Callable[[], object]] = [
        lambda: see_call(memory, "port = 1\n" * 20_000),
        lambda: record_fact(
            memory.gate, memory.caller(), text="The port is 8080", kind="observation", source="call-1"
        ),
        lambda: add_open_question(memory.gate, memory.caller(), question="Why?"),
        lambda: memory.capture_file("settings.ini"),
    ]  # fmt: skip
    for write in writes:
        began = time.process_time()
        try:
            write()
        except StoreError as error:
            assert error.code == code, error
        else:
            raise AssertionError("a write was not refused")
        assert time.process_time() - began < REFUSED_SECONDS_MAX


def check_read_only(folder: Path) -> None:
    """The database in ``folder`` cannot be written: it is served, and not a byte changes."""
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    memory = open_memory(folder)
    check_reads(memory, "read_only")
    check_refusals(memory, "read_only")
    memory.close()
    assert {name: (folder / name).read_bytes() for name in before} == before


def check_hot_copy(folder: Path) -> None:
    """Changes that lie in the -wal only are served or named, never passed over."""
    try:
        reader = open_database(str(folder / "memory.db"), "reader")
    except ReadOnly as error:
        assert "-wal holds changes" in str(error)
    else:
        rows = fetch_all(reader, "SELECT 1 FROM body WHERE text LIKE 'lies in the -wal%'")
        assert rows, "an older state was served as the newest"


def check_full(folder: Path) -> None:
    """The disk fills up, stays full over a restart, and has room again: all acknowledged is there."""
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(300_000))
    make(folder)
    memory = open_memory(folder)
    wrote = 0
    try:
        while True:
            see_call(memory, os.urandom(2_000).hex())
            wrote += 1
    except StoreError as error:
        assert error.code == "storage_full", error
    assert wrote > 3
    try:
        with open(folder / "rest", "wb", buffering=0) as rest:
            while True:
                rest.write(bytes(4_096))
    except OSError:
        pass  # not a byte is left now
    last = head(memory.reader)
    for _ in range(2):
        check_reads(memory)
        assert head(memory.reader)[0] >= last[0]
        memory.close()
        memory = open_memory(folder)
    ballast.unlink()
    see_call(memory, "room again\n")
    assert head(memory.reader)[0] > last[0]
    assert list(verify_chain(memory.reader)) == []
    memory.close()


def main(mode: str, folder: Path) -> None:
    if mode == "full":
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], check=True)
        folder = folder / "data"
        folder.mkdir(mode=0o700)
        check_full(folder)
        return
    make(folder)
    if mode == "hot-copy":
        memory = open_memory(folder)
        see_call(memory, "lies in the -wal\n")
        (folder / "memory.db-shm").unlink()
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
    if mode == "hot-copy":
        check_hot_copy(folder)
    else:
        check_read_only(folder)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
