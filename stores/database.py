"""Opening the one SQLite file of a user, and who may do what on a connection.

Three roles. ``trusted`` writes evidence (capture, import, checks). ``model`` serves the write
gate: an authorizer lets it insert claims but never evidence, and nothing else. ``reader`` is
query-only. The file is never deleted, replaced or repaired, and never opened but by SQLite
(a plain ``open`` would drop POSIX locks).
"""

import os
import stat
from typing import Literal

import apsw

from keepthread.stores.errors import (
    DatabaseDamaged,
    ReadOnly,
    StorageFull,
    StoreError,
    UnsafePlace,
    explain_os_error,
)
from keepthread.stores.fulltext import identifier_parts, index_text
from keepthread.stores.migrate import LATEST, apply_migrations, schema_version
from keepthread.stores.writer_lock import writer_lock

SQLITE_FLOOR = (3, 53, 2)
"""Older SQLite has the WAL-reset corruption bug (to 3.51.2) and FTS5 faults (to 3.53.1)."""

Role = Literal["trusted", "model", "reader"]

_VECTOR_CACHE_KIB = 32_000
"""Holds the vectors of 10,000 records; without it each comparison reads them from the file."""

_PRAGMAS = (
    "PRAGMA busy_timeout=15000; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; "
    "PRAGMA recursive_triggers=ON; PRAGMA secure_delete=ON; PRAGMA trusted_schema=OFF; "
    "PRAGMA mmap_size=0;"
)

_MODEL_INSERTS = frozenset(
    "journal content body tag fact citation support supersession dispute fact_event task decision "
    "plan_event plan_dep question_event refusal window window_event request record_vector "
    "served model".split()
)
_ALLOWED = frozenset(
    (
        apsw.SQLITE_SELECT,
        apsw.SQLITE_READ,
        apsw.SQLITE_FUNCTION,
        apsw.SQLITE_TRANSACTION,
        apsw.SQLITE_RECURSIVE,
        apsw.SQLITE_SAVEPOINT,
    )
)


def open_database(path: str, role: Role, *, vectors: bool = False) -> apsw.Connection:
    """Open (``trusted`` and ``model``: create and migrate) the database at an absolute ``path``.

    ``vectors`` loads sqlite-vec, which hooks do without. Raises a StoreError that says what to do: an
    old SQLite, a newer schema, a damaged file, a folder that cannot be written or that others can
    write to.
    """
    if tuple(int(p) for p in apsw.sqlite_lib_version().split(".")) < SQLITE_FLOOR:
        raise StoreError(
            f"SQLite {apsw.sqlite_lib_version()} can corrupt this file; "
            "Keepthread needs 3.53.2 or newer. Upgrade apsw (pip install -U apsw)."
        )
    try:
        if role == "reader":
            return _open_reader(path, vectors)
        _check_place(path)
        connection = apsw.Connection(path)
        if _configured_version(connection, vectors) < LATEST:
            with writer_lock(path):
                connection.execute("PRAGMA journal_mode=WAL")
                apply_migrations(connection)
            os.chmod(path, 0o600)
        if role == "model":
            connection.authorizer = _authorize_model
        return connection
    except apsw.Error as error:
        raise explain(error, path) from error
    except OSError as error:
        raise explain_os_error(error, path) from error


def explain(error: apsw.Error, path: str = "") -> StoreError:
    """Turn an SQLite error into one that says what is wrong and what to do."""
    where = f" ({path})" if path else ""
    if isinstance(error, apsw.FullError) or "disk is full" in str(error):
        return StorageFull(f"no space left for the database{where}. Free some; nothing was lost.")
    if isinstance(error, (apsw.NotADBError, apsw.CorruptError)):
        return DatabaseDamaged(
            f"the file{where} is damaged or no Keepthread database: {error}. It was left as it is: "
            "copy it away, then restore a backup or point KEEPTHREAD_DB at another file."
        )
    if isinstance(error, (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError)):
        return ReadOnly(
            f"the database{where} cannot be written: {error}. Check its folder's rights."
        )
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return StoreError(f"another process holds the database{where}; call again.")
    return StoreError(f"database error{where}: {error}")


def _configured_version(connection: apsw.Connection, vectors: bool) -> int:
    try:
        _configure(connection, vectors)
        return schema_version(connection)
    except BaseException:
        # A plain close would move what lies in the -wal into a file that is not ours to change.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.close()
        raise


def _open_reader(path: str, vectors: bool) -> apsw.Connection:
    try:
        return _open_query_only(path, vectors)
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        writable = all(os.access(p, os.W_OK) for p in (path, os.path.dirname(path)))
        if writable or not os.path.exists(path):
            raise
    # Write-ahead logging needs a -shm file beside the database, which a read-only mount refuses. What
    # nobody changes may be read without one, unless some of it still lies in the -wal.
    if os.path.exists(path + "-wal") and os.path.getsize(path + "-wal"):
        raise ReadOnly(
            f"{path}-wal holds changes that cannot be read in a folder without write access. Copy the "
            "database with its companions to a folder of your own, and point KEEPTHREAD_DB there."
        )
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return _open_query_only(f"file:{quoted}?immutable=1", vectors)


def _open_query_only(name: str, vectors: bool) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(name, flags=flags)
    _configure(connection, vectors)
    connection.execute("PRAGMA query_only=ON")
    schema_version(connection)
    return connection


def _configure(connection: apsw.Connection, vectors: bool) -> None:
    for function in (index_text, identifier_parts):
        connection.create_scalar_function(
            function.__name__,
            lambda *text, _function=function: _function(text[0]),
            1,
            deterministic=True,
            flags=apsw.SQLITE_INNOCUOUS,
        )
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.execute(_PRAGMAS)
    if vectors:
        # A shared library that hooks need not pay for.
        from keepthread.stores.vectors import enable_vectors  # noqa: PLC0415

        enable_vectors(connection)
        connection.execute(f"PRAGMA cache_size=-{_VECTOR_CACHE_KIB}")


def _check_place(path: str) -> None:
    """Create the folder (0700); refuse a symbolic link and a folder that others can write to."""
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.path.islink(path):
        raise UnsafePlace(f"{path} is a symbolic link; name the file itself.")
    mode = os.stat(folder).st_mode
    if os.name == "posix" and mode & stat.S_IWOTH:  # /tmp too: a key could lie there before ours
        raise UnsafePlace(
            f"{folder} can be written by every user. Use a folder of your own, or run: chmod 700 {folder}"
        )
    if not os.path.exists(path):
        # Created here only to give it its rights before SQLite writes; 0600 also to -wal and -shm.
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))


def _authorize_model(
    operation: int, first: str | None, second: str | None, database: str | None, inner: str | None
) -> int:
    """The model's connection may read, and may insert claims; never evidence, never a change."""
    if operation in _ALLOWED:
        return apsw.SQLITE_OK
    table = first or ""
    if operation == apsw.SQLITE_INSERT and table in _MODEL_INSERTS:
        return apsw.SQLITE_OK
    # Full text is fed by our triggers only; FTS5's own tables cannot be written directly (DEFENSIVE).
    if table == "record_fts":
        ours = operation == apsw.SQLITE_INSERT and inner in (
            "fact_add",
            "decision_add",
            "question_add",
        )
        return apsw.SQLITE_OK if ours else apsw.SQLITE_DENY
    if table.startswith("record_fts_") and operation in (
        apsw.SQLITE_INSERT,
        apsw.SQLITE_UPDATE,
        apsw.SQLITE_DELETE,
    ):
        return apsw.SQLITE_OK
    if operation == apsw.SQLITE_PRAGMA and first == "data_version":
        return apsw.SQLITE_OK
    return apsw.SQLITE_DENY
