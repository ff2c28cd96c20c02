"""What hangs on a record apart from its row: words, tags, supports. For many records, one query each."""

import json
from collections.abc import Iterable, Sequence

import apsw

from keepthread.stores.query import fetch_all, fetch_one
from keepthread.stores.records import RecordId, Tags

_OF = "IN (SELECT value FROM json_each(?))"


def words_of(connection: apsw.Connection, seq: int) -> dict[str, str]:
    """Return the words of one record by field."""
    rows = fetch_all(connection, "SELECT field, text FROM body WHERE seq = ?", (seq,))
    return {str(field): str(text) for field, text in rows}


def words_and_tags(
    connection: apsw.Connection, seqs: Iterable[int], fields: Sequence[str] = ()
) -> tuple[dict[int, dict[str, str]], dict[int, Tags]]:
    """Return the words by field (``fields`` only, where given) and the sorted tags of many records, by
    seq; none for a record without."""
    wanted = json.dumps(list(seqs))
    words: dict[int, dict[str, str]] = {}
    sql = f"SELECT seq, field, text FROM body WHERE seq {_OF}"
    if fields:
        sql += f" AND field IN ({', '.join('?' * len(fields))})"
    for seq, field, text in fetch_all(connection, sql, (wanted, *fields)):
        words.setdefault(seq, {})[str(field)] = str(text)
    tags: dict[int, list[tuple[str, str]]] = {}
    sql = f"SELECT seq, name, value FROM tag WHERE seq {_OF} ORDER BY 1, 2, 3"
    for seq, name, value in fetch_all(connection, sql, (wanted,)):
        tags.setdefault(seq, []).append((str(name), str(value)))
    return words, {seq: tuple(pairs) for seq, pairs in tags.items()}


def ids_of(connection: apsw.Connection, seqs: Iterable[int]) -> dict[int, str]:
    """Return the ids of records (fact-3, call-12) by seq; none for an event, which has no id."""
    sql = f"SELECT seq, kind || '-' || number FROM journal WHERE number IS NOT NULL AND seq {_OF}"
    return {seq: str(name) for seq, name in fetch_all(connection, sql, (json.dumps(list(seqs)),))}


def seq_of(connection: apsw.Connection, workspace: int, record: RecordId) -> int | None:
    """Return the seq of a record of a workspace or of the user's scope; None when there is none."""
    row = fetch_one(
        connection,
        "SELECT seq FROM journal WHERE kind = ? AND number = ? AND workspace IN (?, 0)",
        (*record, workspace),
    )
    return None if row is None else int(row[0])


def supports_of(connection: apsw.Connection, seqs: Iterable[int]) -> dict[int, tuple[int, ...]]:
    """Return the seqs that facts or decisions rest on, by seq; none for a record that rests on nothing."""
    found: dict[int, tuple[int, ...]] = {}
    sql = f"SELECT owner, rests_on FROM support WHERE owner {_OF}"
    for owner, rests_on in fetch_all(connection, sql, (json.dumps(list(seqs)),)):
        found[owner] = (*found.get(owner, ()), rests_on)
    return found
