"""The relay's archive: one thread that writes, and a caller that waits for it only so long.

A result must not hang on a locked database, and no call may be lost over a lock that is freed
again: what was not written in time is delivered, and written as soon as it can be. What cannot
be written at all is a gap, and is reported as one.
"""

import os
import queue
import threading
import time
from collections.abc import Mapping
from contextlib import suppress

import apsw

from keepthread.server.capture.append import append_call
from keepthread.server.capture.faults import report
from keepthread.server.capture.host import host_process, session_of
from keepthread.server.capture.relayed import Relayed
from keepthread.server.capture.windows import resolve_window
from keepthread.server.places import Place, database_path, find_place
from keepthread.stores.archive import find_by_ref
from keepthread.stores.database import open_database
from keepthread.stores.errors import StoreError
from keepthread.stores.journal import Journal

WAIT_SECONDS_MAX = 5.0
WAITING_MAX = 1_000
LEVEL = 2
BUSY = "the database is busy, and calls are archived as soon as that ends"


class CaptureGap(StoreError):
    """A call was delivered that the archive does not have, or not yet."""

    code = "capture_gap"


class _Job:
    """One call to write. ``fault`` says why it was not, once ``done``."""

    def __init__(self, relayed: Relayed) -> None:
        self.relayed = relayed
        self.done = threading.Event()
        self.fault = ""


class RelayArchive:
    """Archives the calls of one relay at level 2, each in the window that its client has by then."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._path = database_path(environ)
        self._host = host_process(environ)
        self._session = session_of(environ, self._host)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._late: _Job | None = None
        self._journal: Journal | None = None
        self._file: tuple[int, int] = (0, 0)
        self._writer = threading.Thread(target=self._write_all, daemon=True)
        self._writer.start()

    def archive(self, relayed: Relayed, *, wait: bool = True) -> str:
        """Archive one call; return ``""`` once it is committed (with ``wait``), else why it is not."""
        if self._jobs.qsize() >= WAITING_MAX:
            lost = CaptureGap(f"{relayed.call.tool} is lost: too many calls wait for the database")
            self.report(lost)
            return str(lost)
        job = _Job(relayed)
        self._jobs.put(job)
        if not wait or job.done.wait(0 if self._is_late() else WAIT_SECONDS_MAX):
            return job.fault
        if not self._is_late():
            self.report(
                CaptureGap(f"{BUSY}; {relayed.call.tool} and what follows are delivered first")
            )
        self._late = job
        return BUSY

    def report(self, error: Exception) -> None:
        """Tell of a fault where people look for it."""
        report(self._path, "relay", error)

    def close(self) -> None:
        """Write what still waits, for WAIT_SECONDS_MAX at most, and close the database."""
        self._jobs.put(None)
        self._writer.join(WAIT_SECONDS_MAX)
        if self._writer.is_alive():
            left = self._jobs.qsize() or 1
            self.report(CaptureGap(f"the relay ended before {left} calls could be archived"))

    def _is_late(self) -> bool:
        """True while a call that was waited for in vain is still not written: others need not wait too."""
        return self._late is not None and not self._late.done.is_set()

    def _write_all(self) -> None:
        with suppress(
            StoreError, OSError
        ):  # told when there is a call to write; until then there is time
            self._open()
        while (job := self._jobs.get()) is not None:
            try:
                self._write(job.relayed)
            except Exception as error:  # noqa: BLE001  (outermost: the client must get its results)
                job.fault = str(error)
                self.report(_gap_of(job.relayed, error))
            finally:
                job.done.set()
        if self._journal is not None:
            self._journal.connection.close()

    def _write(self, relayed: Relayed) -> None:
        journal = self._open()
        with journal.transaction() as tx:
            author, tree = resolve_window(
                tx, session=self._session, host=self._host, place=self._place(), client="mcp"
            )
            append_call(
                tx,
                author._replace(origin="relay"),
                relayed.call,
                channel="relay",
                level=LEVEL,
                tree=tree,
                key=journal.anchor.key,
                outer_ref=_free_ref(tx.connection, author.workspace, relayed.ref),
            )

    def _place(self) -> Place:
        folder = self._environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
        return find_place(folder, self._environ.get("KEEPTHREAD_WORKSPACE", ""))

    def _open(self) -> Journal:
        """Return the journal, opened at the first call and again when another file is in its place."""
        if self._journal is None or _file_at(self._path) != self._file:
            if self._journal is not None:
                self._journal.connection.close()
                self._journal = None
            self._journal = Journal(self._path, open_database(self._path, "trusted"), time.time)
            self._file = _file_at(self._path)
        return self._journal


def _free_ref(connection: apsw.Connection, workspace: int, ref: str) -> str:
    """Return ``ref``, numbered when a call of that id is archived already: each try is an entry."""
    found, attempt = ref, 1
    while found and find_by_ref(connection, workspace, "relay", found) is not None:
        attempt += 1
        found = f"{ref}#{attempt}"
    return found


def _file_at(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino


def _gap_of(relayed: Relayed, error: Exception) -> Exception:
    if not isinstance(error, StoreError):
        return error
    return CaptureGap(f"{relayed.call.tool} was not archived: {error}")
