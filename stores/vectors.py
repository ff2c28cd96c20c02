"""Vectors: derived, rebuilt at will, made by one model at a time.

The model's name and dimension stand beside the vectors; another model is refused until
``keepthread reindex``, since cosines between two models mean nothing.
"""

import json
import os
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import apsw

from keepthread.stores.errors import StoreError
from keepthread.stores.launch import command_line
from keepthread.stores.passages import split_sentences
from keepthread.stores.query import fetch_all, fetch_one, fetch_value


def how_to_reindex() -> str:
    """Return what to do where vectors and the configured model differ."""
    return f"run `{command_line('reindex')}` to embed everything with the model you configured"


class ModelMismatch(StoreError):
    """The stored vectors come from another model than the configured one."""

    code = "model_mismatch"


def enable_vectors(connection: apsw.Connection) -> None:
    """Load sqlite-vec into a connection, and close the door behind it. Before any authorizer is set."""
    connection.enable_load_extension(True)
    connection.load_extension(_extension_path())
    connection.enable_load_extension(False)


def _extension_path() -> str:
    """Return the package's shared library without importing the package, which would load numpy."""
    spec = find_spec("sqlite_vec")
    if spec is None or not spec.submodule_search_locations:
        raise StoreError("the package sqlite-vec is missing; run: pip install sqlite-vec")
    return os.path.join(next(iter(spec.submodule_search_locations)), "vec0")


def stored_model(connection: apsw.Connection) -> tuple[int, str, int] | None:
    """Return (id, name, dimension) of the model whose vectors are stored."""
    row = fetch_one(connection, "SELECT id, name, dimension FROM model ORDER BY id DESC LIMIT 1")
    return None if row is None else (row[0], str(row[1]), row[2])


def ensure_model(connection: apsw.Connection, name: str, dimension: int) -> int:
    """Return the id of the model, stored at first use; raise ModelMismatch when another one is there."""
    known = stored_model(connection)
    if known is None:
        connection.execute("INSERT INTO model(name, dimension) VALUES(?, ?)", (name, dimension))
        known = stored_model(connection)
        assert known is not None
    if known[1:] != (name, dimension):
        raise ModelMismatch(
            f"vectors come from {known[1]}, configured is {name}: {how_to_reindex()}."
        )
    return known[0]


def put_record_vector(connection: apsw.Connection, seq: int, model: int, vector: bytes) -> None:
    """Store the vector of a fact or decision, in the transaction that writes it or later."""
    connection.execute("INSERT OR IGNORE INTO record_vector VALUES(?,?,?)", (seq, model, vector))


def put_passage_vectors(
    connection: apsw.Connection, model: int, vectors: Iterable[tuple[int, bytes]]
) -> None:
    """Store vectors of passages: (passage id, vector)."""
    connection.executemany(
        "INSERT OR IGNORE INTO passage_vector VALUES(?,?,?)", [(i, model, v) for i, v in vectors]
    )


def put_sentence_vectors(
    connection: apsw.Connection, model: int, vectors: Iterable[tuple[int, bytes]]
) -> None:
    """Store vectors of sentences: (passage id, vector). In the transaction that stores the passage's own."""
    connection.executemany(
        "INSERT INTO sentence_vector VALUES(?,?,?)", [(i, model, v) for i, v in vectors]
    )


class ToEmbed(NamedTuple):
    """A passage without a vector: its text and, of a message, its sentences if there are several."""

    passage: int
    text: str
    sentences: list[str]


def passages_to_embed(connection: apsw.Connection, limit: int) -> list[ToEmbed]:
    """Return the next passages to embed, oldest first.

    They are embedded in order, so that the newest vector says where to go on, at any size. The text
    begins with who said it or what it shows: a question often names the speaker or the file.
    """
    rows = fetch_all(
        connection,
        "SELECT p.id, p.entry, p.field, p.start, p.stop, e.role, CASE WHEN e.role = '' THEN e.tool ELSE e.role END, "
        "(SELECT group_concat(t.value, ' ') FROM tag t WHERE t.seq = p.entry AND t.name IN ('speaker','path')) "
        "FROM passage p JOIN entry e ON e.seq = p.entry "
        "WHERE p.id > coalesce((SELECT max(id) FROM passage_vector), 0) ORDER BY p.id LIMIT ?",
        (limit,),
    )
    found = []
    for row, text in zip(rows, passage_texts(connection, rows), strict=True):
        about = row[7] or row[6]
        sentences = split_sentences(text) if row[5] in ("user", "assistant") else []
        sentences = [f"{about}: {s}" for s in sentences] if len(sentences) > 1 else []
        found.append(ToEmbed(row[0], f"{about}: {text}", sentences))
    return found


def passage_texts(connection: apsw.Connection, rows: Sequence[Any]) -> list[str]:
    """Return the texts of (id, entry, field, start, stop) rows, reading each body once."""
    bodies: dict[tuple[object, object], str] = {}
    wanted = json.dumps(list({r[1] for r in rows}))
    for seq, field, text in fetch_all(
        connection,
        "SELECT seq, field, text FROM body WHERE field IN ('args','output') "
        "AND seq IN (SELECT value FROM json_each(?))",
        (wanted,),
    ):
        bodies[seq, field] = str(text)
    return [bodies.get((r[1], r[2]), "")[r[3] : r[4]] for r in rows]


def records_to_embed(connection: apsw.Connection, limit: int) -> list[tuple[int, str]]:
    """Return (seq, text) of facts, decisions, plan items and tasks without a vector."""
    rows = fetch_all(
        connection,
        "SELECT b.seq, b.text FROM journal j CROSS JOIN body b USING(seq) "
        "WHERE j.kind IN ('fact','decision','plan','task') AND j.number IS NOT NULL "
        "AND b.field IN ('text','decision','title','goal') "
        "AND NOT EXISTS(SELECT 1 FROM record_vector v WHERE v.seq = j.seq) LIMIT ?",
        (limit,),
    )
    return [(r[0], str(r[1])) for r in rows]


def newest_vector(connection: apsw.Connection) -> int:
    """Return the highest id of a passage with a vector; 0 when there is none."""
    return int(fetch_value(connection, "SELECT coalesce(max(id), 0) FROM passage_vector"))


def count_unembedded(connection: apsw.Connection) -> int:
    """Return how many passages still wait for a vector."""
    sql = (
        "SELECT count(*) FROM passage WHERE id > coalesce((SELECT max(id) FROM passage_vector), 0)"
    )
    return int(fetch_value(connection, sql))


def drop_vectors(connection: apsw.Connection) -> None:
    """Forget all vectors and their model; the background worker makes them anew."""
    connection.execute(
        "DELETE FROM sentence_vector; DELETE FROM passage_vector; DELETE FROM record_vector; DELETE FROM model;"
    )


def take_lease(
    connection: apsw.Connection, name: str, holder: str, now: float, seconds: float
) -> bool:
    """Take or renew a lease, so that one process does a background job; False while another holds it."""
    connection.execute(
        "INSERT INTO lease VALUES(?1, ?2, ?3 + ?4) ON CONFLICT(name) DO UPDATE SET holder = ?2, until = ?3 + ?4 "
        "WHERE holder = ?2 OR until < ?3",
        (name, holder, now, seconds),
    )
    return bool(
        fetch_value(connection, "SELECT holder FROM lease WHERE name = ?", (name,)) == holder
    )


def drop_lease(connection: apsw.Connection, name: str, holder: str) -> None:
    """Give a lease back, if it is still held, so that the next process need not wait for its end."""
    connection.execute("DELETE FROM lease WHERE name = ? AND holder = ?", (name, holder))
