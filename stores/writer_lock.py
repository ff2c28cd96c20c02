"""One writer at a time across processes, by a lock file beside the database.

SQLite's own busy handler is unfair: with four writers the longest wait falls from most of a
second to a few milliseconds when they queue here first. The busy time-out stays as the floor.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from keepthread.stores.errors import explain_os_error

if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        while True:
            try:
                msvcrt.locking(handle, msvcrt.LK_LOCK, 1)  # gives up after ten seconds
                return
            except OSError:
                continue

    def _unlock(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)


@contextmanager
def writer_lock(path: str) -> Iterator[None]:
    """Hold the lock file of the database at ``path``; the system frees it if the process dies.

    Raises a StoreError where the file cannot be made.
    """
    try:
        handle = os.open(path + ".lock", os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise explain_os_error(error, path) from error
    try:
        _lock(handle)
        try:
            yield
        finally:
            _unlock(handle)
    finally:
        os.close(handle)
