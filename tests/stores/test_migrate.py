"""Opening files of other versions, of other programs, and migrations that are cut short."""

import gzip
import os
import random
import shutil
import sqlite3
from pathlib import Path

import apsw
import pytest

from keepthread.stores.clock import Clock
from keepthread.stores.database import Role, open_database
from keepthread.stores.errors import DatabaseDamaged, DatabaseTooNew, StoreError
from keepthread.stores.journal import Journal, head, verify_chain
from keepthread.stores.migrate import LATEST, MIGRATIONS
from keepthread.stores.query import fetch_all, fetch_value
from tests.crash.faulty_disk import disk_in_use, files_after_power_loss
from tests.sample import append
from tests.stores.schema_fixture import SCHEMAS

ROLES: tuple[Role, ...] = ("trusted", "model", "reader")


def _bytes(path: str) -> dict[str, bytes]:
    """The database and its -wal, where there is anything in it; the -shm is no data."""
    files = (Path(path), Path(path + "-wal"))
    return {f.name: f.read_bytes() for f in files if f.exists() and f.stat().st_size}


def _schema(connection: apsw.Connection) -> list[tuple[str, str, str]]:
    return fetch_all(connection, "SELECT type, name, sql FROM sqlite_master ORDER BY type, name")


Schemas = list[list[tuple[str, str, str]]]
"""The schema of each version; an empty file has version 0."""


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> Schemas:
    found: Schemas = [[]]
    file = tmp_path_factory.mktemp("schemas") / "memory.db"
    for version in range(1, LATEST + 1):
        file.write_bytes(gzip.decompress((SCHEMAS / f"{version}.db.gz").read_bytes()))
        connection = apsw.Connection(str(file))
        found.append(_schema(connection))
        connection.close()
    return found


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("left_open", [False, True], ids=["closed", "with a -wal"])
def test_a_newer_schema_is_refused_and_not_a_byte_changes(
    db: str, clock: Clock, tmp_path: Path, role: Role, left_open: bool
) -> None:
    newer = open_database(db, "trusted")
    append(Journal(db, newer, clock), "written by a newer version")
    newer.execute("PRAGMA user_version=999")
    if left_open:  # as a killed process leaves it
        folder = tmp_path / "left"
        folder.mkdir(mode=0o700)
        for name in _bytes(db):
            shutil.copy(os.path.join(os.path.dirname(db), name), folder)
        db = str(folder / "memory.db")
        assert os.path.getsize(db + "-wal")
    else:
        newer.close()
    before = _bytes(db)
    with pytest.raises(DatabaseTooNew, match="schema 999, this Keepthread knows up to"):
        open_database(db, role)
    assert _bytes(db) == before


@pytest.mark.parametrize("version", [0, 1, 999])
@pytest.mark.parametrize("role", ROLES)
def test_a_database_of_another_program_is_left_as_it_is(db: str, version: int, role: Role) -> None:
    os.makedirs(os.path.dirname(db), mode=0o700)
    other = sqlite3.connect(db)
    other.executescript(f"CREATE TABLE bookmark(url TEXT); PRAGMA user_version={version};")
    other.close()
    before = _bytes(db)
    with pytest.raises(DatabaseDamaged, match="another program"):
        open_database(db, role)
    assert _bytes(db) == before


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("content", [b"x" * 5_000, b"SQLite format 3\0" + b"\xff" * 4_080])
def test_a_file_that_is_no_database_is_left_as_it_is(db: str, role: Role, content: bytes) -> None:
    os.makedirs(os.path.dirname(db), mode=0o700)
    Path(db).write_bytes(content)
    with pytest.raises(DatabaseDamaged):
        open_database(db, role)
    assert Path(db).read_bytes() == content


def test_a_migration_stopped_at_any_statement_leaves_nothing(db: str, schemas: Schemas) -> None:
    stopped, versions = 0, set()
    while not _migrates(db, stop_at=stopped + 1):
        left = apsw.Connection(db)
        version = fetch_value(left, "PRAGMA user_version")
        versions.add(version)
        assert _schema(left) == schemas[version]
        left.close()
        shutil.rmtree(os.path.dirname(db))
        stopped += 1
    assert stopped > 100 and versions == set(range(LATEST))
    connection = open_database(db, "reader")
    assert fetch_value(connection, "PRAGMA user_version") == LATEST


def _migrates(db: str, stop_at: int) -> bool:
    """Open the database, stopping it at the ``stop_at``-th statement of the migrations."""
    seen = 0

    def count(cursor: apsw.Cursor, sql: str, bindings: object) -> bool:
        nonlocal seen
        seen += sql.lstrip().startswith(("CREATE", "DROP", "INSERT", "--", "PRAGMA user_version ="))
        return seen < stop_at

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = count

    apsw.connection_hooks.append(watch)
    try:
        open_database(db, "trusted").close()
    except StoreError:
        return False
    finally:
        apsw.connection_hooks.remove(watch)
    return True


def test_a_migration_cut_short_by_a_power_loss_is_there_whole_or_not_at_all(
    db: str, tmp_path: Path, schemas: Schemas
) -> None:
    with disk_in_use("migrating") as disk:
        open_database(db, "trusted").close()
    left = tmp_path / "left"
    versions = set()
    for at in range(len(disk.log) + 1):
        shutil.rmtree(left, ignore_errors=True)
        left.mkdir(mode=0o700)
        for name, content in files_after_power_loss(disk.log, at, random.Random(at)).items():
            (left / name).write_bytes(content)
        found = apsw.Connection(str(left / "memory.db"))
        version = fetch_value(found, "PRAGMA user_version")
        versions.add(version)
        assert _schema(found) == schemas[version]
        found.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        found.close()
    assert versions == set(range(LATEST + 1))
    assert _schema(open_database(str(left / "memory.db"), "trusted")) == schemas[LATEST]


@pytest.mark.parametrize("version", range(1, LATEST + 1))
def test_a_file_of_each_schema_opens_with_all_its_records(
    db: str, clock: Clock, version: int
) -> None:
    """After a change of an unreleased migration: python -m tests.stores.schema_fixture"""
    os.makedirs(os.path.dirname(db), mode=0o700)
    Path(db).write_bytes(gzip.decompress((SCHEMAS / f"{version}.db.gz").read_bytes()))
    old = apsw.Connection(db)
    assert fetch_value(old, "PRAGMA user_version") == version
    before = fetch_all(old, "SELECT seq, digest, hash FROM journal ORDER BY seq")
    old.close()
    opened = open_database(db, "trusted")
    assert fetch_all(opened, "SELECT seq, digest, hash FROM journal ORDER BY seq") == before
    assert len(before) == head(opened)[0] >= 20
    assert list(verify_chain(opened)) == []
    assert fetch_value(opened, "PRAGMA integrity_check") == "ok"
    fresh = open_database(db + ".fresh", "trusted")
    assert _schema(opened) == _schema(fresh)


def test_every_migration_has_a_file_of_its_schema() -> None:
    assert sorted(p.name for p in SCHEMAS.iterdir()) == [
        f"{n}.db.gz" for n in range(1, len(MIGRATIONS) + 1)
    ]
