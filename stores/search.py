"""Search of the archive: passages, by words and by meaning, in one ranked list.

Filters (tool, path, time) come before ranking; what a passage counts says ``stores/ranking.py``. For
the latest edit of a file, the calls that wrote it come first. An entry is found by its best passage,
and passages of the same text are one hit, the newest.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import apsw

from keepthread.stores.clock import seconds
from keepthread.stores.matching import PASSAGES, bounded_match
from keepthread.stores.query import fetch_all
from keepthread.stores.ranking import SENTENCE_SHARE, Place, bonuses, identifiers, totals
from keepthread.stores.recent import tool_named
from keepthread.stores.records import Tags
from keepthread.stores.vector_index import VectorIndex
from keepthread.stores.vectors import newest_vector, passage_texts

CANDIDATES_MAX = 400
BEST_MATCHES = 2_000
NEAR_CANDIDATES = 1_000
"""By their vectors' bits; exact cosines choose among them."""

SCANNED_PASSAGES_MAX = 20_000
READ_PER_HIT = 8
PER_ENTRY_MAX = 3
REPEAT_COST = 0.3
"""What a passage counts less for each better one of its entry: a long output must not fill the answer."""

_LATEST_WRITE = re.compile(
    r"\b(?:latest|newest|most recent|last) (?:edit|change|write|version|modification|update)\b",
    re.I,
)
LATEST_WRITES_MAX = 5


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
    also: tuple[int, ...] = ()
    """Further entries that hold the same text."""


def search_passages(
    connection: apsw.Connection,
    workspace: int,
    query: str,
    vector: bytes | None,
    filters: Filters,
    limit: int,
    index: VectorIndex | None = None,
) -> list[Hit]:
    """Return the best passages of a workspace, best first. ``vector`` is the query's, if a model is loaded.

    Beyond SCANNED_PASSAGES_MAX passages, ``index`` finds those near in meaning; without it only
    passages with a word in common are compared.
    """
    lexical = _lexical(connection, query, workspace, filters)
    cosine: dict[int, float] = {}
    if vector is not None:
        near = _nearest(connection, vector, workspace, filters, index)
        cosine = _cosines(connection, vector, {*lexical, *near})
    places = _places(connection, {*lexical, *cosine})
    counted = totals(lexical, cosine, places)
    first = sorted(counted, key=lambda p: (-counted[p], -p))[: READ_PER_HIT * limit]
    read = _read(connection, first)
    extra = bonuses(query, {p: text for p, (_, text) in read.items()}, places)
    hits = [
        Hit(*place, text, counted[p] + extra[p], lexical.get(p, 0.0), cosine.get(p))
        for p, (place, text) in read.items()
    ]
    asked = _latest_writes(connection, query, workspace, filters)
    return _distinct([*asked, *_spread(hits)], limit)


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
    hits = [
        Hit(*place, text, 0.0, 0.0, None)
        for place, text in _read(connection, [r[0] for r in rows]).values()
    ]
    return hits[:limit]


def _conditions(workspace: int, filters: Filters) -> tuple[str, list[object]]:
    where = ["e.workspace = ?"]
    values: list[object] = [workspace]
    if filters.tool:
        named, names = tool_named(filters.tool)
        where.append(named)
        values += names
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
    connection: apsw.Connection, query: str, workspace: int, filters: Filters
) -> dict[int, float]:
    match = bounded_match(connection, query, PASSAGES)
    if not match.expression:
        return {}
    where, values = _conditions(workspace, filters)
    matching = (
        "SELECT rowid AS id, -bm25(passage_fts, 1.5, 1.0, 0.5) AS score FROM passage_fts "
        "WHERE passage_fts MATCH ? AND rowid >= ?"
    )

    def passing(sql: str) -> dict[int, float]:
        return dict(
            fetch_all(
                connection,
                f"SELECT f.id, f.score FROM ({sql}) f JOIN passage p ON p.id = f.id "
                f"JOIN entry e ON e.seq = p.entry WHERE {where} ORDER BY 2 DESC LIMIT ?",
                (*match, *values, CANDIDATES_MAX),
            )
        )

    # Looking up each match's entry costs more than its rank: of the best it is enough, where enough
    # of them pass.
    best = f"{matching} ORDER BY score DESC LIMIT {BEST_MATCHES}"
    found = passing(best) if filters == Filters() else {}
    return found if len(found) == CANDIDATES_MAX else passing(matching)


def _nearest(
    connection: apsw.Connection,
    vector: bytes,
    workspace: int,
    filters: Filters,
    index: VectorIndex | None,
) -> list[int]:
    """Return the passages nearest in meaning among those that pass the filters, not in order."""
    where, values = _conditions(workspace, filters)
    if newest_vector(connection) <= SCANNED_PASSAGES_MAX:
        rows = fetch_all(
            connection,
            "SELECT v.id, vec_distance_cosine(v.vec, ?) d FROM entry e JOIN passage p ON p.entry = e.seq "
            f"JOIN passage_vector v ON v.id = p.id WHERE {where} ORDER BY d LIMIT ?",
            (vector, *values, CANDIDATES_MAX),
        )
        return [r[0] for r in rows]
    if index is None:
        return []
    entries = None
    if filters != Filters():
        rows = fetch_all(connection, f"SELECT e.seq FROM entry e WHERE {where}", values)
        entries = [r[0] for r in rows]
    return index.nearest(vector, workspace, entries, NEAR_CANDIDATES)


def _cosines(connection: apsw.Connection, vector: bytes, passages: set[int]) -> dict[int, float]:
    """Return the cosine of each passage, mixed with its nearest sentence's where it has any."""
    wanted = json.dumps(sorted(passages))
    whole = fetch_all(
        connection,
        "SELECT id, 1.0 - vec_distance_cosine(vec, ?) FROM passage_vector WHERE id IN (SELECT value FROM json_each(?))",
        (vector, wanted),
    )
    sentences = dict(
        fetch_all(
            connection,
            "SELECT passage, max(1.0 - vec_distance_cosine(vec, ?)) FROM sentence_vector "
            "WHERE passage IN (SELECT value FROM json_each(?)) GROUP BY passage",
            (vector, wanted),
        )
    )
    return {
        i: (1 - SENTENCE_SHARE) * cosine + SENTENCE_SHARE * sentences.get(i, cosine)
        for i, cosine in whole
        if cosine is not None
    }


def _places(connection: apsw.Connection, passages: set[int]) -> dict[int, Place]:
    """Return where passages stand: their entry, and when it was seen."""
    rows = fetch_all(
        connection,
        "SELECT p.id, p.entry, e.seen_at FROM passage p JOIN entry e ON e.seq = p.entry "
        "WHERE p.id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(passages)),),
    )
    return {i: Place(entry, seconds(at)) for i, entry, at in rows}


def _latest_writes(
    connection: apsw.Connection, query: str, workspace: int, filters: Filters
) -> list[Hit]:
    """Return the newest calls that wrote a file which ``query`` names and whose latest edit it asks for."""
    if not _LATEST_WRITE.search(query):
        return []
    parts = [w.split("/") for w in identifiers(query)]
    paths = {"/".join(p[at:]) for p in parts for at in range(len(p))}  # however the file is rooted
    where, values = _conditions(workspace, filters)
    rows = fetch_all(
        connection,
        "SELECT min(p.id) FROM tag t JOIN entry e ON e.seq = t.seq JOIN passage p ON p.entry = e.seq "
        "WHERE t.name = 'wrote' AND t.value IN (SELECT value FROM json_each(?)) AND e.is_error = 0 "
        f"AND p.field = 'args' AND {where} GROUP BY e.seq ORDER BY e.seq DESC LIMIT ?",
        (json.dumps(sorted(paths - {""})), *values, LATEST_WRITES_MAX),
    )
    found = _read(connection, [r[0] for r in rows])
    return [Hit(*place, text, 0.0, 0.0, None) for place, text in found.values()]


def _read(
    connection: apsw.Connection, passages: Sequence[int]
) -> dict[int, tuple[tuple[int, int, str, int, int], str]]:
    """Return (passage, entry, field, start, stop) and text by passage, in the order given, erased ones left out."""
    rows = fetch_all(
        connection,
        "SELECT id, entry, field, start, stop FROM passage WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(passages)),),
    )
    texts = dict(zip((r[0] for r in rows), passage_texts(connection, rows), strict=True))
    found = {r[0]: (tuple(r), texts[r[0]]) for r in rows if texts[r[0]]}
    return {p: found[p] for p in passages if p in found}


def _best_first(hits: Iterable[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda h: (-h.score, -h.passage))


def _spread(hits: list[Hit]) -> list[Hit]:
    """Return the best hits of each entry, each further one placed REPEAT_COST lower."""
    of_entry: dict[int, int] = {}
    spread = []
    for hit in _best_first(hits):
        before = of_entry.get(hit.entry, 0)
        of_entry[hit.entry] = before + 1
        if before < PER_ENTRY_MAX:
            spread.append(hit._replace(score=hit.score - REPEAT_COST * before))
    return _best_first(spread)


def _distinct(hits: list[Hit], limit: int) -> list[Hit]:
    """Return the first ``limit`` hits of different texts; each names further entries that hold its text."""
    kept: dict[str, Hit] = {}
    for hit in hits:
        same = kept.setdefault(hit.text, hit)
        if hit.entry not in (same.entry, *same.also):
            kept[hit.text] = same._replace(also=(*same.also, hit.entry))
    return list(kept.values())[:limit]
