"""Records near a text: by full text and by vector, among those that a view of current records lists."""

import json

import apsw

from keepthread.stores.matching import RECORDS, bounded_match
from keepthread.stores.query import fetch_all
from keepthread.stores.record_vectors import RecordVectors

_FIRST_LOOK = 10
"""So many times what is wanted is looked at before everything is."""

Near = dict[int, float | None]
"""Cosine by seq; None without a vector."""


def near_records(
    connection: apsw.Connection,
    view: str,
    workspace: int,
    text: str,
    vector: bytes | None,
    index: RecordVectors | None,
    *,
    limit: int,
    order: str = "rank",
) -> Near:
    """Return records of ``view`` (columns seq, workspace), ``limit`` by words in ``order`` and as many by vector.

    ``index`` holds the vectors of the view's table; it is asked only where there is a ``vector``.
    """
    found: Near = dict.fromkeys(_by_words(connection, view, workspace, text, limit, order))
    if vector is None or index is None:
        return found
    compared = index.compare(connection, vector)
    nearest: list[int] = []
    for looked_at in (_FIRST_LOOK * limit, None):
        ranked = compared.nearest(looked_at)
        nearest = _listed(connection, view, workspace, ranked, limit)
        if len(nearest) == limit or len(ranked) < _FIRST_LOOK * limit:
            break
    return {seq: compared.cosine(seq) for seq in (*found, *nearest)}


def _by_words(
    connection: apsw.Connection, view: str, workspace: int, text: str, limit: int, order: str
) -> list[int]:
    """Return the records that share the most words with ``text``.

    Ranked first and filtered then, since to know whether a record is current costs more than its
    rank; among all matches only where too few of the best are current ones of this workspace.
    """
    match = bounded_match(connection, text, RECORDS)
    rows: list[tuple[int]] = []
    for looked_at in (_FIRST_LOOK * limit, -1) if match.expression else ():
        rows = fetch_all(
            connection,
            f"SELECT n.seq FROM (SELECT rowid AS seq, {order} AS far FROM record_fts "
            "WHERE record_fts MATCH ? AND rowid >= ? ORDER BY far LIMIT ?) n WHERE EXISTS("
            f"SELECT 1 FROM {view} r WHERE r.seq = n.seq AND r.workspace IN (?, 0)) ORDER BY n.far LIMIT ?",
            (*match, looked_at, workspace, limit),
        )
        if len(rows) == limit:
            break
    return [seq for (seq,) in rows]


def _listed(
    connection: apsw.Connection, view: str, workspace: int, ranked: list[int], limit: int
) -> list[int]:
    """Return the first ``limit`` of ``ranked`` that ``view`` lists for the workspace."""
    rows = fetch_all(
        connection,
        f"SELECT n.value FROM json_each(?) n WHERE EXISTS(SELECT 1 FROM {view} r "
        "WHERE r.seq = n.value AND r.workspace IN (?, 0)) ORDER BY n.key LIMIT ?",
        (json.dumps(ranked), workspace, limit),
    )
    return [seq for (seq,) in rows]
