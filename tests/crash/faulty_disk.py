"""A disk that loses power or fails: an SQLite VFS that logs every write, and the files it leaves.

Python has no shared memory for a VFS, so write-ahead logging runs here with one connection in
``locking_mode=EXCLUSIVE``.
"""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import apsw

SECTOR_BYTES = 512


class Operation(NamedTuple):
    """What was asked of a file: ``write``, ``sync``, ``truncate`` or ``delete``."""

    what: str
    name: str
    offset: int = 0
    data: bytes = b""


class Disk(apsw.VFS):
    """Logs operations; raises an I/O error at the ``fail_at``-th write or sync (0: never)."""

    def __init__(self, name: str, real: str) -> None:
        self.log: list[Operation] = []
        self.fail_at = self.calls = 0
        self.real = real
        super().__init__(name, real)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> "DiskFile":
        return DiskFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.log.append(Operation("delete", os.path.basename(filename)))
        super().xDelete(filename, syncdir)

    def note(self, operation: Operation) -> None:
        """Log an operation, or fail it."""
        if operation.what in ("write", "sync"):
            self.calls += 1
            if self.calls == self.fail_at:
                raise apsw.IOError("the disk failed")
        self.log.append(operation)


class DiskFile(apsw.VFSFile):
    """One open file on the disk."""

    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        self._name = os.path.basename(path)
        super().__init__(disk.real, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.note(Operation("write", self._name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._disk.note(Operation("sync", self._name))
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:
        self._disk.note(Operation("truncate", self._name, newsize))
        super().xTruncate(newsize)


@contextmanager
def disk_in_use(name: str) -> Iterator[Disk]:
    """Make every connection opened meanwhile use a disk of ours, alone."""
    before = apsw.vfs_names()[0]  # the default comes first
    disk = Disk(name, before)

    def alone(connection: apsw.Connection) -> None:
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")

    apsw.set_default_vfs(name)
    apsw.connection_hooks.append(alone)
    try:
        yield disk
    finally:
        apsw.connection_hooks.remove(alone)
        apsw.set_default_vfs(before)
        disk.unregister()


def files_after_power_loss(
    log: list[Operation], at: int, choose: random.Random
) -> dict[str, bytearray]:
    """Return the files that a power loss after ``at`` operations leaves.

    What was synced is there. Each other write survives with an even chance, and three in ten of
    those are torn at a sector's border.
    """
    files: dict[str, bytearray] = {}
    pending: dict[str, list[Operation]] = {}
    for operation in log[:at]:
        if operation.what in ("write", "truncate"):
            pending.setdefault(operation.name, []).append(operation)
        elif operation.what == "sync":
            for synced in pending.pop(operation.name, []):
                _apply(files, synced)
        else:
            pending.pop(operation.name, None)
            files.pop(operation.name, None)
    for unsynced in pending.values():
        for operation in unsynced:
            if choose.random() < 0.5:
                if operation.what == "write" and choose.random() < 0.3:
                    sectors = max(1, len(operation.data) // SECTOR_BYTES)
                    torn = SECTOR_BYTES * choose.randrange(sectors + 1)
                    operation = operation._replace(data=operation.data[:torn])
                _apply(files, operation)
    return files


def _apply(files: dict[str, bytearray], operation: Operation) -> None:
    content = files.setdefault(operation.name, bytearray())
    if operation.what == "truncate":
        del content[operation.offset :]
        return
    if len(content) < operation.offset:
        content.extend(bytes(operation.offset - len(content)))
    content[operation.offset : operation.offset + len(operation.data)] = operation.data
