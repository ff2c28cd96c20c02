"""Search of the archive: passages, by words and by meaning, in one ranked list.

Rank is the plain sum of two scores in 0..1: BM25 divided by the best found, and cosine above a
floor. Both are absolute enough that an unrelated passage gets nothing from being the best of a
bad set. Filters (tool, path, time) come before ranking. Cosine is computed for the passages that
full text found, and for all of them while there are few.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import apsw

from keepthread.stores.fulltext import match_any
from keepthread.stores.query import fetch_all, fetch_value
from keepthread.stores.records import Tags
from keepthread.stores.vectors import passage_texts

CANDIDATES_MAX = 200
SCANNED_PASSAGES_MAX = 20_000
COSINE_FLOOR = 0.25
_PER_ENTRY_MAX = 3


class Filters(NamedTuple):
    """What a passage's entry must be. Times are ISO stamps, ``""`` for none."""

    tool: str = ""
    since: str = ""
    until: str = ""
    scope: Tags = ()


class Hit(NamedTuple):
    """A passage found. ``start`` and ``stop`` are offsets into the entry's ``field``."""

    passage: int
    entry: int
    field: str
    start: int
    stop: int
    text: str
    score: float
    lexical: float
    cosine: float | None


def search_passages(
    connection: apsw.Connection,
    workspace: int,
    query: str,
    vector: bytes | None,
    filters: Filters,
    limit: int,
) -> list[Hit]:
    """Return the best passages of a workspace, best first. ``vector`` is the query's, if a model is loaded."""
    where, values = _conditions(workspace, filters)
    lexical = _lexical(connection, query, where, values)
    cosine = _cosine(connection, vector, where, values, list(lexical)) if vector is not None else {}
    best = max(lexical.values(), default=0.0)
    scores: dict[int, tuple[float, float, float | None]] = {}
    for passage in {*lexical, *cosine}:
        words = lexical.get(passage, 0.0) / best if best > 0 else 0.0
        near = cosine.get(passage)
        meaning = max(0.0, (near - COSINE_FLOOR) / (1 - COSINE_FLOOR)) if near is not None else 0.0
        if words or meaning:
            scores[passage] = (words + meaning, words, near)
    ranked = sorted(scores, key=lambda p: (-scores[p][0], -p))[: limit * _PER_ENTRY_MAX]
    return _hits(connection, ranked, scores, limit)


def recent_passages(
    connection: apsw.Connection, workspace: int, filters: Filters, limit: int
) -> list[Hit]:
    """Return the newest passages that pass the filters, for a search without a query."""
    where, values = _conditions(workspace, filters)
    rows = fetch_all(
        connection,
        f"SELECT p.id FROM passage p JOIN entry e ON e.seq = p.entry WHERE {where} AND p.field = 'output' "
        "ORDER BY p.entry DESC, p.id LIMIT ?",
        (*values, limit),
    )
    ranked = [r[0] for r in rows]
    return _hits(connection, ranked, {p: (0.0, 0.0, None) for p in ranked}, limit)


def _conditions(workspace: int, filters: Filters) -> tuple[str, list[object]]:
    where = ["e.workspace = ?"]
    values: list[object] = [workspace]
    if filters.tool:
        where.append("lower(e.tool) = lower(?)")
        values.append(filters.tool)
    if filters.since:
        where.append("e.seen_at >= ?")
        values.append(filters.since)
    if filters.until:
        where.append("e.seen_at <= ?")
        values.append(filters.until)
    for name, value in filters.scope:
        if name == "path":
            where.append(
                "EXISTS(SELECT 1 FROM tag t WHERE t.seq = e.seq AND t.name IN ('path','wrote') "
                "AND (t.value = ? OR substr(t.value, 1, length(?) + 1) = ? || '/'))"
            )
            path = value.strip("/")
            values += [path, path, path]
        else:
            where.append(
                "EXISTS(SELECT 1 FROM tag t WHERE t.seq = e.seq AND t.name = ? AND t.value = ?)"
            )
            values += [name, value]
    return " AND ".join(where), values


def _lexical(
    connection: apsw.Connection, query: str, where: str, values: Sequence[object]
) -> dict[int, float]:
    match = match_any(query)
    if not match:
        return {}
    rows = fetch_all(
        connection,
        "SELECT f.rowid, -bm25(passage_fts, 1.5, 1.0, 0.5) FROM passage_fts f JOIN passage p ON p.id = f.rowid "
        f"JOIN entry e ON e.seq = p.entry WHERE passage_fts MATCH ? AND {where} ORDER BY 2 DESC LIMIT ?",
        (match, *values, CANDIDATES_MAX),
    )
    return dict(rows)


def _cosine(
    connection: apsw.Connection,
    vector: bytes,
    where: str,
    values: Sequence[object],
    found: list[int],
) -> dict[int, float]:
    if fetch_value(connection, "SELECT count(*) FROM passage_vector") <= SCANNED_PASSAGES_MAX:
        rows = fetch_all(
            connection,
            "SELECT v.id, 1.0 - vec_distance_cosine(v.vec, ?) s FROM entry e JOIN passage p ON p.entry = e.seq "
            f"JOIN passage_vector v ON v.id = p.id WHERE {where} ORDER BY s DESC LIMIT ?",
            (vector, *values, CANDIDATES_MAX),
        )
        near = {i: s for i, s in rows if s is not None}
        found = [p for p in found if p not in near]
    else:
        near = {}
    rows = fetch_all(
        connection,
        "SELECT id, 1.0 - vec_distance_cosine(vec, ?) FROM passage_vector WHERE id IN (SELECT value FROM json_each(?))",
        (vector, json.dumps(found)),
    )
    near.update((i, s) for i, s in rows if s is not None)
    return near


def _hits(
    connection: apsw.Connection,
    ranked: Sequence[int],
    scores: Mapping[int, tuple[float, float, float | None]],
    limit: int,
) -> list[Hit]:
    rows = fetch_all(
        connection,
        "SELECT id, entry, field, start, stop FROM passage WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ranked)),),
    )
    texts = dict(zip((r[0] for r in rows), passage_texts(connection, rows), strict=True))
    by_id = {r[0]: r for r in rows}
    hits: list[Hit] = []
    per_entry: dict[int, int] = {}
    for passage in ranked:
        _, entry, field, start, stop = by_id[passage]
        per_entry[entry] = per_entry.get(entry, 0) + 1
        if per_entry[entry] <= _PER_ENTRY_MAX and texts[passage]:
            total, words, near = scores[passage]
            hits.append(Hit(passage, entry, field, start, stop, texts[passage], total, words, near))
        if len(hits) == limit:
            break
    return hits
