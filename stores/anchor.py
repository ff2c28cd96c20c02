"""The head anchor: a small keyed file beside the database that knows how far history went.

A hash chain does not see that its tail is missing; the anchor does. It is rewritten inside the
writer lock before each commit with the head before and after, so whichever of the two the
commit leaves is accepted, and a crash between them is no alarm; after the commit it names the
new head alone. It is not synced: a lost write leaves an older anchor, which an intact chain passes.
"""

import hashlib
import hmac
import json
import os

import apsw

from keepthread.stores.errors import HistoryRolledBack, explain_os_error
from keepthread.stores.launch import command_line

_SIZE = 512  # one sector, so that the write is not torn

Head = tuple[int, bytes]


class Anchor:
    """The anchor and key files of the database at ``path`` (``.anchor``, ``.key``, both 0600)."""

    def __init__(self, path: str) -> None:
        self._file, self._key_file = path + ".anchor", path + ".key"
        self._key = b""

    @property
    def key(self) -> bytes:
        """The database's secret (32 bytes), made at first use. Also keys redaction marks.

        Raises a StoreError where it can neither be read nor made.
        """
        if not self._key:
            try:
                if not os.path.exists(self._key_file):
                    _make_key(self._key_file)
                self._key = _read(self._key_file)
            except OSError as error:
                raise explain_os_error(error, self._key_file) from error
        return self._key

    def check(self, connection: apsw.Connection, head: Head) -> None:
        """Raise HistoryRolledBack when the database is behind, or beside, what the anchor saw."""
        try:
            old, new = self._parse(_read(self._file))
        except FileNotFoundError:
            if head[0] == 0:
                return
            raise HistoryRolledBack(
                f"the anchor file {self._file} is missing, so nobody can say whether history is "
                f"whole. If you moved or restored the database on purpose, run: {_accepting()}"
            ) from None
        except OSError as error:
            raise explain_os_error(error, self._file) from error
        if head in (old, new) or any(_passes(connection, head, seen) for seen in (old, new)):
            return
        raise HistoryRolledBack(
            f"the database ends at record {head[0]}, its anchor knows record {new[0]}: an old copy "
            f"or a lost -wal file. Put the newer file back, or accept this one with: {_accepting()}"
        )

    def write(self, old: Head, new: Head) -> None:
        """Record the head before and after the commit that follows."""
        payload = json.dumps([old[0], old[1].hex(), new[0], new[1].hex()])
        mac = hmac.new(self.key, payload.encode(), hashlib.sha256).hexdigest()
        handle = os.open(self._file, os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            fresh = os.fstat(handle).st_size == 0
            os.write(handle, f"{payload}\n{mac}".encode().ljust(_SIZE))
            if fresh:  # a power loss must not leave an empty file, which would read as tampering
                os.fsync(handle)
        finally:
            os.close(handle)

    def _parse(self, raw: bytes) -> tuple[Head, Head]:
        payload, _, mac = raw.decode("ascii", "replace").strip().partition("\n")
        expected = hmac.new(self.key, payload.encode(), hashlib.sha256).hexdigest()
        if not hmac.compare_digest(expected, mac):
            raise HistoryRolledBack(
                f"the anchor file {self._file} was changed or belongs to another database. "
                f"If you know why, run: {_accepting()}"
            )
        a, b, c, d = json.loads(payload)
        return (int(a), bytes.fromhex(b)), (int(c), bytes.fromhex(d))


def _accepting() -> str:
    return command_line("verify", "--accept")


def _passes(connection: apsw.Connection, head: Head, seen: Head) -> bool:
    """True when the chain contains the head the anchor saw."""
    if seen[0] == 0:
        return True
    row = connection.execute("SELECT hash FROM journal WHERE seq = ?", (seen[0],)).fetchone()
    return row is not None and bytes(row[0]) == seen[1] and head[0] >= seen[0]


def _make_key(name: str) -> None:
    """Make the key file whole or not at all; of two processes that make one, the first wins."""
    part = f"{name}.{os.urandom(8).hex()}"
    handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        os.write(handle, os.urandom(32))
        os.fsync(handle)
    finally:
        os.close(handle)
    try:
        os.link(part, name)
    except FileExistsError:
        pass
    finally:
        os.unlink(part)


def _read(name: str) -> bytes:
    handle = os.open(name, os.O_RDONLY)
    try:
        return os.read(handle, _SIZE)
    finally:
        os.close(handle)
