"""Keyed hashes of the values that were redacted: what was a secret once is known wherever it comes back.

Contract: insert-only, no value in clear, not part of the chain. Looked up by length, then by hash.
"""

import apsw

from keepthread.stores.query import fetch_all, fetch_one


def redacted_sizes(connection: apsw.Connection) -> set[int]:
    """Return the lengths in characters that redacted values have: a step in the index for each."""
    rows = fetch_all(
        connection,
        "WITH RECURSIVE s(size) AS (SELECT min(size) FROM redacted UNION ALL "
        "SELECT (SELECT min(r.size) FROM redacted r WHERE r.size > s.size) FROM s "
        "WHERE s.size IS NOT NULL) SELECT size FROM s WHERE size IS NOT NULL",
    )
    return {r[0] for r in rows}


def redacted_kind(connection: apsw.Connection, size: int, digest: bytes) -> str | None:
    """Return what kind of secret has this hash; None when none has."""
    row = fetch_one(
        connection, "SELECT kind FROM redacted WHERE size = ? AND hmac = ?", (size, digest)
    )
    return None if row is None else str(row[0])


def add_redacted(connection: apsw.Connection, size: int, digest: bytes, kind: str) -> None:
    """Keep the hash of a redacted value; one that is known stays as it is."""
    connection.execute("INSERT OR IGNORE INTO redacted VALUES(?,?,?)", (size, digest, kind))
