"""The journal: evidence is written once, and whatever changes it afterwards shows."""

import hashlib
import os
import random
import shutil
from pathlib import Path

import apsw
import pytest

from keepthread.server.memory import Memory
from keepthread.server.places import Place
from keepthread.server.settings import Settings
from keepthread.stores.clock import Clock
from keepthread.stores.database import Role, open_database
from keepthread.stores.errors import DatabaseDamaged, StoreError
from keepthread.stores.journal import (
    NEXT_NUMBER,
    TABLES,
    Journal,
    head,
    verify_chain,
    verify_record,
)
from keepthread.stores.query import fetch_all, fetch_value
from tests.sample import append, fill
from tests.stores.cells import row_cells

RECORD_TABLES = frozenset(
    [table for table, _ in TABLES.values()]
    + [child for _, children in TABLES.values() for child, _ in children]
    + ["journal", "content", "body", "tag"]
)

ALTERING = [
    "UPDATE entry SET level = 4",
    "UPDATE journal SET at = '2020-01-01T00:00:00.000Z'",
    "UPDATE content SET digest = zeroblob(32)",
    "UPDATE body SET text = 'port = 1'",
    "UPDATE tag SET value = 'x'",
    "UPDATE fact SET confidence = 1.0",
    "UPDATE citation SET start = 0, stop = 0",
    "UPDATE task SET state = 'done'",
    "DELETE FROM entry",
    "DELETE FROM journal WHERE seq = (SELECT max(seq) FROM journal)",
    "DELETE FROM body",
    "DELETE FROM content",
    "DELETE FROM citation",
    "DELETE FROM support",
    "DELETE FROM supersession",
    "DELETE FROM refusal",
    "INSERT OR REPLACE INTO entry SELECT * FROM entry WHERE seq = (SELECT min(seq) FROM entry)",
    "INSERT OR REPLACE INTO journal SELECT * FROM journal WHERE seq = 1",
    "INSERT OR REPLACE INTO body SELECT seq, field, 'port = 1', salt FROM body LIMIT 1",
    "INSERT OR REPLACE INTO content SELECT seq, field, zeroblob(32) FROM content LIMIT 1",
    "INSERT OR REPLACE INTO citation SELECT owner, position, entry, 0, 0 FROM citation LIMIT 1",
    "INSERT INTO body(seq, field, text, salt) VALUES(1, 'extra', 'x', zeroblob(16))",
    "INSERT INTO supersession(old, new) SELECT min(seq), max(seq) FROM fact",
    "REPLACE INTO fact SELECT * FROM fact LIMIT 1",
]

FORGING = [
    "INSERT INTO entry(seq, channel, level, role, workspace, seen_at) "
    "SELECT max(seq) + 1, 'user', 1, 'user', 1, '2026-01-01T00:00:00.000Z' FROM journal",
    "INSERT INTO erasure(seq, target, why) SELECT max(seq) + 1, 1, 'forget' FROM journal",
    "INSERT INTO passage(entry, field, start, stop) SELECT min(seq), 'output', 0, 1 FROM entry",
    "INSERT INTO workspace(root) VALUES('/elsewhere')",
    "UPDATE workspace SET root = '/elsewhere'",
    "INSERT INTO record_fts(record_fts) VALUES('delete-all')",
    "INSERT INTO passage_fts(passage_fts) VALUES('delete-all')",
    "DELETE FROM record_vector",
    "DROP TRIGGER entry_no_update",
    "DROP TABLE entry",
    "CREATE TABLE mine(x)",
    "CREATE TEMP TRIGGER t BEFORE INSERT ON journal BEGIN SELECT 1; END",
    "ALTER TABLE entry RENAME TO old",
    "PRAGMA recursive_triggers=OFF",
    "PRAGMA writable_schema=ON",
    "PRAGMA user_version=999",
    "ATTACH ':memory:' AS other",
    "VACUUM",
    "SELECT load_extension('x')",
]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a closed database with a record of every kind."""
    folder = tmp_path_factory.mktemp("template")
    memory = Memory(Settings(str(folder / "memory.db")), Place("/w", str(folder)))
    fill(memory)
    memory.close()
    return folder


@pytest.fixture
def filled(template: Path, tmp_path: Path) -> str:
    """The path of a database of one's own with a record of every kind."""
    os.chmod(shutil.copytree(template, tmp_path / "data"), 0o700)
    return str(tmp_path / "data" / "memory.db")


@pytest.mark.parametrize("role, statements", [("model", ALTERING + FORGING), ("trusted", ALTERING)])
def test_no_connection_alters_a_record_and_the_models_forges_none(
    filled: str, role: Role, statements: list[str]
) -> None:
    reader = open_database(filled, "reader")
    before = _dump(reader)
    connection = open_database(filled, role)
    assert [sql for sql in statements if not _denied(connection, sql)] == []
    assert _dump(reader) == before


def test_a_record_of_every_kind_verifies(filled: str) -> None:
    reader = open_database(filled, "reader")
    kinds = {r[0] for r in fetch_all(reader, "SELECT DISTINCT kind FROM journal")}
    assert kinds >= {"call", "msg", "fact", "fact_event", "decision", "plan", "plan_event"}
    assert kinds >= {"question", "question_event", "task", "window", "window_event", "refusal"}
    assert list(verify_chain(reader)) == []
    for seq in range(1, head(reader)[0] + 1):
        verify_record(reader, seq)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE body SET text = text || '.' WHERE rowid = (SELECT max(rowid) FROM body)",
        "UPDATE content SET digest = zeroblob(32) WHERE seq = 2",
        "UPDATE entry SET level = 4",
        "UPDATE fact SET confidence = 1.0 WHERE kind = 'inference'",
        "UPDATE journal SET origin = 'user' WHERE kind = 'fact'",
        "UPDATE journal SET at = '2020-01-01T00:00:00.000Z' WHERE seq = 3",
        "DELETE FROM citation WHERE owner = (SELECT min(owner) FROM citation)",
        "INSERT INTO tag VALUES(2, 'path', 'x')",
        "DELETE FROM journal WHERE seq = 4",
        "DELETE FROM body WHERE seq = 2 AND field = 'output'",
    ],
)
def test_an_edit_with_every_guard_removed_is_found_by_verification(filled: str, sql: str) -> None:
    owner = apsw.Connection(filled)
    for (name,) in fetch_all(owner, "SELECT name FROM sqlite_master WHERE type = 'trigger'"):
        owner.execute(f'DROP TRIGGER "{name}"')
    owner.execute(sql)
    assert owner.changes() > 0
    owner.close()
    assert list(verify_chain(open_database(filled, "reader")))


@pytest.mark.parametrize("block", range(4))
def test_every_bit_flipped_in_a_row_is_found_or_changes_nothing(filled: str, block: int) -> None:
    cells = row_cells(filled, RECORD_TABLES)
    before = Path(filled).read_bytes()
    written = _dump(open_database(filled, "reader"))
    copy = filled + ".copy"
    found = 0
    for seed in range(block * 50, block * 50 + 50):
        choose = random.Random(seed)
        table, start, stop = choose.choice(cells)
        at, bit = choose.randrange(start, stop), 1 << choose.randrange(8)
        damaged = bytearray(before)
        damaged[at] ^= bit
        Path(copy).write_bytes(damaged)
        seen, dump = _faults(copy)
        # One bit of a row is read by nobody: the stored NULL of a column that is the rowid.
        assert seen or dump == written, f"seed {seed}: bit {bit} at {at} ({table}) was not found"
        found += seen
        assert Path(copy).read_bytes() == bytes(damaged)
    assert found >= 48
    assert Path(filled).read_bytes() == before


def test_a_damaged_record_is_named_not_served(filled: str) -> None:
    owner = apsw.Connection(filled)
    owner.execute("DROP TRIGGER body_fixed")
    seq = int(fetch_value(owner, "SELECT min(seq) FROM entry"))
    owner.execute("UPDATE body SET text = 'port = 7' WHERE seq = ? AND field = 'output'", (seq,))
    owner.close()
    with pytest.raises(DatabaseDamaged, match=f"record {seq} "):
        verify_record(open_database(filled, "reader"), seq)


def test_an_exception_in_a_transaction_leaves_nothing(db: str, clock: Clock) -> None:
    journal = Journal(db, open_database(db, "trusted"), clock)
    append(journal, "kept")
    before = head(journal.connection)
    with pytest.raises(ZeroDivisionError), journal.transaction() as tx:
        tx.connection.execute("INSERT INTO workspace(root) VALUES('/x')")
        raise ZeroDivisionError
    assert head(journal.connection) == before
    assert fetch_value(journal.connection, "SELECT count(*) FROM workspace WHERE root = '/x'") == 0
    append(journal, "the next write works")


def test_ids_count_up_a_kind_and_order_is_by_sequence_whatever_the_clock(
    db: str, clock: Clock
) -> None:
    times = iter([2_000_000_000.0, 1_000_000_000.0, 3_000_000_000.0])
    journal = Journal(db, open_database(db, "trusted"), lambda: next(times))
    stamps = [append(journal, f"run {n}") for n in range(3)]
    assert [s.id for s in stamps] == ["call-1", "call-2", "call-3"]
    assert [s.seq for s in stamps] == [1, 2, 3]
    assert list(verify_chain(journal.connection)) == []


def _denied(connection: apsw.Connection, sql: str) -> bool:
    """True when SQLite refuses ``sql``, or its commit."""
    try:
        connection.execute("" if sql.startswith(("VACUUM", "PRAGMA")) else "BEGIN IMMEDIATE")
        connection.execute(sql)
        connection.execute("COMMIT" if connection.in_transaction else "")
    except (apsw.AuthError, apsw.ConstraintError, apsw.SQLError):
        connection.execute("ROLLBACK" if connection.in_transaction else "")
        return True
    return False


def _faults(path: str) -> tuple[bool, str]:
    """Return (whether verification finds something, a digest of all that can be read)."""
    try:
        reader = open_database(path, "reader")
        seen = bool(list(verify_chain(reader)))
        seen = seen or fetch_value(reader, "PRAGMA integrity_check") != "ok"
    except (apsw.CorruptError, StoreError):
        return True, ""
    return seen, "" if seen else _dump(reader)


def _dump(reader: apsw.Connection) -> str:
    rows = [fetch_all(reader, f"SELECT * FROM {t} ORDER BY 1, 2") for t in sorted(RECORD_TABLES)]
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def test_the_next_id_is_found_without_reading_the_journal(db: str) -> None:
    with open_database(db, "trusted") as connection:
        plan = fetch_all(connection, f"EXPLAIN QUERY PLAN {NEXT_NUMBER}", ("call",))
    assert "journal_id (kind=? AND number>?)" in str(plan)
