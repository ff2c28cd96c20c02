"""Records near a text: by full text and by vector, among those that a view of current records lists."""

import apsw

from keepthread.stores.fulltext import match_any
from keepthread.stores.query import fetch_all

_FIRST_LOOK = 10
"""So many times what is wanted is looked at before everything is."""

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
        words = f"SELECT rowid AS seq, {order} AS far FROM record_fts WHERE record_fts MATCH ?"
        rows = _nearest(connection, words, match, view, workspace, limit)
        found.update((seq, None) for seq, _ in rows)
    if vector is not None:
        meaning = "SELECT seq, vec_distance_cosine(vec, ?) AS far FROM record_vector"
        rows = _nearest(connection, meaning, vector, view, workspace, limit)
        found.update((seq, 1.0 - far) for seq, far in rows)
    return found


def _nearest(
    connection: apsw.Connection,
    ranked: str,
    by: str | bytes,
    view: str,
    workspace: int,
    limit: int,
) -> list[tuple[int, float]]:
    """Return (seq, far) of the nearest rows of ``ranked`` that ``view`` lists.

    Ranked first and filtered then, since to know whether a record is current costs more than its
    distance; among all rows only where too few of the nearest are current ones of this workspace.
    """
    rows: list[tuple[int, float]] = []
    for looked_at in (_FIRST_LOOK * limit, -1):
        rows = fetch_all(
            connection,
            f"SELECT n.seq, n.far FROM ({ranked} ORDER BY far LIMIT ?) n WHERE EXISTS("
            f"SELECT 1 FROM {view} r WHERE r.seq = n.seq AND r.workspace IN (?, 0)) ORDER BY n.far LIMIT ?",
            (by, looked_at, workspace, limit),
        )
        if len(rows) == limit:
            break
    return rows
