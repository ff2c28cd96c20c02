"""The journal: one chain over every insert-only record, and the only way to append one.

Contract: a record is its row, its child rows and the salted hashes of its words (tags are words
too: they stand in the body ``#tags``; the table ``tag`` is its index). They are inserted first;
the journal row comes last, carries their digest, and seals them (triggers refuse rows for any
other seq). Each journal row's hash covers the one before. An anchor file outside the database
holds the head, keyed, written before each commit: a cut tail, a lost ``-wal`` or an old copy
shows. ``verify`` re-derives all of it.
"""

import hashlib
import hmac
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import apsw

from keepthread.stores.anchor import Anchor
from keepthread.stores.clock import Clock, stamp
from keepthread.stores.database import explain
from keepthread.stores.errors import DatabaseDamaged, explain_os_error
from keepthread.stores.launch import command_line
from keepthread.stores.query import fetch_all, fetch_one, fetch_value
from keepthread.stores.records import Author, Draft, Stamp
from keepthread.stores.writer_lock import writer_lock

GENESIS = bytes(32)
TAGS = "#tags"

TABLES: Mapping[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    **{k: ("entry", ()) for k in ("call", "msg", "say", "sys")},
    **{k: ("task", ()) for k in ("task", "task_event")},
    "window": ("window", ()),
    "window_event": ("window_event", ()),
    "fact": (
        "fact",
        (("citation", "owner"), ("support", "owner"), ("supersession", "new"), ("dispute", "new")),
    ),
    "fact_event": ("fact_event", ()),
    "decision": ("decision", (("support", "owner"),)),
    "decision_event": ("decision_event", ()),
    **{k: ("plan_event", (("plan_dep", "event"),)) for k in ("plan", "plan_event")},
    **{k: ("question_event", ()) for k in ("question", "question_event")},
    "refusal": ("refusal", ()),
    "erasure": ("erasure", ()),
}
"""Journal kind -> its table, and its child tables with the column that names the record."""

NEXT_NUMBER = (
    "SELECT coalesce(max(number), 0) + 1 FROM journal WHERE kind = ? AND number IS NOT NULL"
)
"""NOT NULL as in the partial index: without it SQLite reads the whole journal at each append."""

_JOURNAL = "seq, kind, number, workspace, window, task, item, agent, origin, at"

_canonical = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_DAMAGE = (apsw.CorruptError, DatabaseDamaged, ValueError, TypeError, AttributeError)
"""What reading a damaged row raises: SQLite's own error, or a value of another type or encoding."""


class Transaction:
    """An open write transaction. ``connection`` may be read; ``append`` is the only way to write records."""

    def __init__(self, connection: apsw.Connection, now: float, head: tuple[int, bytes]) -> None:
        self.connection = connection
        self.now, self.at = now, stamp(now)
        self.seq, self.hash = head

    def append(self, author: Author, draft: Draft, *, at: str = "", number: int = 0) -> Stamp:
        """Insert one record and seal it. Raises apsw.ConstraintError where the schema refuses it.

        ``at`` and ``number`` are those of a record that is restored.
        """
        seq, at = self.seq + 1, at or self.at
        run = self.connection.execute
        tags = sorted(set(draft.tags))
        bodies = {**draft.bodies, TAGS: json.dumps(tags, ensure_ascii=False) if tags else ""}
        for field, text in bodies.items():
            if text:
                salt = os.urandom(16)
                run("INSERT INTO content VALUES(?,?,?)", (seq, field, _salted(salt, text)))
                run("INSERT INTO body VALUES(?,?,?,?)", (seq, field, text, salt))
        for name, value in tags:
            run("INSERT INTO tag VALUES(?,?,?)", (seq, name, value))
        self._insert(draft.table, {"seq": seq, **draft.row})
        for table, key in TABLES[draft.kind][1]:
            for row in draft.children.get(table, ()):
                self._insert(table, {key: seq, **row})
        given = (number or self._next_number(draft.kind)) if draft.numbered else None
        digest = record_digest(self.connection, seq, draft.kind)
        link = (seq, draft.kind, given, *_author_columns(author), at)
        self.hash = chain_hash(self.hash, link, digest)
        run(
            f"INSERT INTO journal({_JOURNAL}, digest, hash) VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
            (*link, digest, self.hash),
        )
        self.seq = seq
        return Stamp(seq, f"{draft.kind}-{given}" if given else "", at)

    def _insert(self, table: str, row: Mapping[str, object]) -> None:
        marks = ", ".join("?" * len(row))
        sql = f"INSERT INTO {table}({', '.join(row)}) VALUES({marks})"
        fetch_all(self.connection, sql, tuple(row.values()))

    def _next_number(self, kind: str) -> int:
        return int(fetch_value(self.connection, NEXT_NUMBER, (kind,)))


class Journal:
    """Write access to one database: connection, writer lock, anchor and clock, held together."""

    def __init__(self, path: str, connection: apsw.Connection, clock: Clock) -> None:
        self.path, self.connection, self.clock = path, connection, clock
        self.anchor = Anchor(path)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Hold the writer lock and BEGIN IMMEDIATE; commit on success, roll back on any exception.

        Raises StoreError, with what to do, when SQLite refuses or the history was rolled back.
        """
        with writer_lock(self.path):
            try:
                self.connection.execute("BEGIN IMMEDIATE")
            except apsw.Error as error:
                raise explain(error, self.path) from error
            try:
                before = head(self.connection)
                self.anchor.check(self.connection, before)
                tx = Transaction(self.connection, self.clock(), before)
                yield tx
                if tx.seq != before[0]:
                    self._announce(before, (tx.seq, tx.hash))
                self.connection.execute("COMMIT")
                if tx.seq != before[0]:
                    self._settle((tx.seq, tx.hash))
            except apsw.ConstraintError:
                self._roll_back()
                raise
            except apsw.Error as error:
                self._roll_back()
                raise explain(error, self.path) from error
            except BaseException:
                self._roll_back()
                raise

    def _announce(self, before: tuple[int, bytes], after: tuple[int, bytes]) -> None:
        try:
            self.anchor.write(before, after)
        except OSError as error:
            raise explain_os_error(error, self.path) from error

    def _settle(self, after: tuple[int, bytes]) -> None:
        """Let the anchor forget the head before a commit that is through, so that losing just it shows."""
        with suppress(OSError):  # acknowledged is acknowledged; the anchor accepts both heads
            self.anchor.write(after, after)

    def _roll_back(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")


def head(connection: apsw.Connection) -> tuple[int, bytes]:
    """Return (seq, hash) of the newest journal row; (0, GENESIS) when there is none."""
    row = fetch_one(connection, "SELECT seq, hash FROM journal ORDER BY seq DESC LIMIT 1")
    return (int(row[0]), bytes(row[1])) if row else (0, GENESIS)


def record_digest(connection: apsw.Connection, seq: int, kind: str) -> bytes:
    """SHA-256 over the canonical JSON of a record's row, its child rows and the hashes of its words."""
    return _digests(connection, [seq], kind)[seq]


def _digests(connection: apsw.Connection, seqs: Sequence[int], kind: str) -> dict[int, bytes]:
    """Return the digests of records of one kind, re-derived with one query a table."""
    table, children = TABLES[kind]
    wanted = json.dumps(list(seqs))
    rows = _grouped(connection, table, "seq", wanted)
    below = [(child, _grouped(connection, child, key, wanted)) for child, key in children]
    words = _grouped(connection, "content", "seq", wanted)
    found = {}
    for seq in seqs:
        parts: list[object] = [kind, rows.get(seq, [])]
        parts += [[child, _in_order(of.get(seq, []))] for child, of in below]
        parts.append([row[1:] for row in sorted(words.get(seq, []), key=lambda row: str(row[1]))])
        text = _canonical(parts)
        found[seq] = hashlib.sha256(text.encode()).digest()
    return found


def _in_order(rows: list[list[object]]) -> list[list[object]]:
    return sorted(rows, key=json.dumps) if len(rows) > 1 else rows


def chain_hash(previous: bytes, link: Iterable[object], digest: bytes) -> bytes:
    """Return the hash of one journal row: SHA-256 over its predecessor, its columns and its digest."""
    text = _canonical(["kt1", *link])
    return hashlib.sha256(previous + text.encode() + digest).digest()


def verify_record(connection: apsw.Connection, seq: int) -> None:
    """Raise DatabaseDamaged unless the record's rows and words are what its journal row sealed."""
    if seq not in intact_records(connection, [seq]):
        raise DatabaseDamaged(
            f"record {seq} is not what was written. It is not served; run: {command_line('verify')}"
        )


def intact_records(connection: apsw.Connection, seqs: Sequence[int]) -> set[int]:
    """Return those of ``seqs`` whose rows and words are what their journal rows sealed.

    A few queries however many records: this runs on all that a window shows.
    """
    try:
        sealed = fetch_all(
            connection,
            "SELECT seq, kind, digest FROM journal WHERE seq IN (SELECT value FROM json_each(?))",
            (json.dumps(list(seqs)),),
        )
        by_kind: dict[str, dict[int, bytes]] = {}
        for seq, kind, digest in sealed:
            by_kind.setdefault(kind, {})[seq] = digest
        return {
            seq
            for kind, records in by_kind.items()
            if kind in TABLES
            for seq in _intact_of_kind(connection, kind, records)
        }
    except _DAMAGE:
        # One row that cannot even be read must not hide the others.
        if len(seqs) == 1:
            return set()
        return {s for seq in seqs for s in intact_records(connection, [seq])}


def verify_chain(connection: apsw.Connection) -> Iterator[tuple[int, str]]:
    """Re-derive everything; yield (seq, what is wrong) for each row that does not hold."""
    previous, expected = GENESIS, 1
    try:
        rows = fetch_all(connection, f"SELECT {_JOURNAL}, digest, hash FROM journal ORDER BY seq")
    except _DAMAGE as error:
        yield 0, f"the journal cannot be read: {error}"
        return
    for *link, digest, found in rows:
        seq, kind = int(link[0]), str(link[1])
        if seq != expected:
            yield seq, f"journal rows {expected} to {seq - 1} are missing"
        try:
            if kind not in TABLES or not _record_holds(connection, seq, kind, digest):
                yield seq, f"the {kind} record differs from its digest"
            if chain_hash(previous, link, digest) != found:
                yield seq, "the chain is broken here"
        except _DAMAGE as error:
            yield seq, f"the {kind} record cannot be read: {error}"
        previous, expected = bytes(found or b""), seq + 1


def _record_holds(connection: apsw.Connection, seq: int, kind: str, digest: bytes) -> bool:
    return seq in _intact_of_kind(connection, kind, {seq: digest})


def _intact_of_kind(
    connection: apsw.Connection, kind: str, sealed: Mapping[int, bytes]
) -> set[int]:
    wanted = json.dumps(list(sealed))
    derived = _digests(connection, list(sealed), kind)
    intact = {seq for seq, digest in sealed.items() if derived[seq] == digest}
    tags = dict.fromkeys(sealed, "[]")
    words = fetch_all(
        connection,
        "SELECT c.seq, c.field, c.digest, b.salt, b.text FROM content c LEFT JOIN body b USING(seq, field) "
        "WHERE c.seq IN (SELECT value FROM json_each(?))",
        (wanted,),
    )
    for seq, field, expected, salt, text in words:
        if text is None:
            if not _is_erased(connection, seq):
                intact.discard(seq)
        elif not hmac.compare_digest(_salted(salt, text), expected):
            intact.discard(seq)
        elif field == TAGS:
            tags[seq] = text
    indexed = _grouped(connection, "tag", "seq", wanted)
    return {
        seq
        for seq in intact
        if sorted(r[1:] for r in indexed.get(seq, [])) == json.loads(tags[seq])
    }


def _is_erased(connection: apsw.Connection, seq: int) -> bool:
    return fetch_one(connection, "SELECT 1 FROM erasure WHERE target = ?", (seq,)) is not None


def _grouped(
    connection: apsw.Connection, table: str, key: str, seqs_json: str
) -> dict[int, list[list[object]]]:
    """Return the rows of ``table`` by record, bytes as hex so that they are JSON."""
    rows = fetch_all(
        connection,
        f"SELECT {key}, * FROM {table} WHERE {key} IN (SELECT value FROM json_each(?))",
        (seqs_json,),
    )
    found: dict[int, list[list[object]]] = {}
    for seq, *row in rows:
        found.setdefault(seq, []).append([v.hex() if isinstance(v, bytes) else v for v in row])
    return found


def _author_columns(author: Author) -> tuple[object, ...]:
    return (
        author.workspace,
        author.window,
        author.task,
        author.item,
        author.agent,
        author.origin,
    )


def _salted(salt: bytes, text: str) -> bytes:
    return hashlib.sha256(salt + text.encode()).digest()
