"""Records near a text: by full text and by vector, among those that a view of current records lists."""

import apsw

from keepthread.stores.fulltext import match_any
from keepthread.stores.query import fetch_all

Near = dict[int, float | None]
"""Cosine by seq; None for what full text found and the vector was not compared with."""


def near_records(
    connection: apsw.Connection,
    view: str,
    workspace: int,
    text: str,
    vector: bytes | None,
    *,
    limit: int,
    order: str = "rank",
) -> Near:
    """Return records of ``view`` (columns seq, workspace), ``limit`` by words in ``order`` and as many by vector.

    Cosine needs a connection with sqlite-vec; pass ``vector=None`` without one.
    """
    found: Near = {}
    match = match_any(text)
    if match:
        rows = fetch_all(
            connection,
            "SELECT r.rowid FROM record_fts r WHERE record_fts MATCH ? AND +r.rowid IN "
            f"(SELECT seq FROM {view} WHERE workspace IN (?, 0)) ORDER BY {order} LIMIT ?",
            (match, workspace, limit),
        )
        found.update((r[0], None) for r in rows)
    if vector is not None:
        rows = fetch_all(
            connection,
            f"SELECT v.seq, 1.0 - vec_distance_cosine(v.vec, ?) s FROM {view} r CROSS JOIN record_vector v "
            "ON v.seq = r.seq WHERE r.workspace IN (?, 0) ORDER BY s DESC LIMIT ?",
            (vector, workspace, limit),
        )
        found.update((r[0], r[1]) for r in rows)
    return found
