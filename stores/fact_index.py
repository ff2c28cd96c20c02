"""The current facts of a workspace as ranking needs them, kept in memory between windows.

Records are insert-only: what the journal added since the last look brings the index up to date, in
time proportional to what is new. Only a retraction or an erasure, which can make an older fact
current again, reads all of it anew. Cosines are kept too: those of two stored vectors never change.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

import apsw

from keepthread.stores.query import fetch_all, fetch_one, fetch_value
from keepthread.stores.records import Tags, scope_agrees
from keepthread.stores.subjects import Subjects

VECTORS_MAX = 8
"""Query vectors whose cosines are kept: the focus items of late."""


class Candidate(NamedTuple):
    """A current fact that may be served: when it was observed (seconds), and until when it holds."""

    seq: int
    observed: int
    confidence: float
    expires_at: str
    scope: Tags


class FactIndex:
    """The current facts of one workspace and of the user's scope, standing instructions left out."""

    def __init__(self, workspace: int) -> None:
        self._workspace = workspace
        self._head = 0
        self._facts: dict[int, Candidate] = {}
        self._by_scope: dict[Tags, dict[int, Candidate]] = {}
        self._cosines: dict[bytes, dict[int, float]] = {}
        self._subjects = Subjects()

    def candidates(self, connection: apsw.Connection, scope: Tags, now: str) -> list[Candidate]:
        """Return the facts whose scope agrees with ``scope`` and that have not expired by ``now``."""
        self._refresh(connection)
        return [
            fact
            for tags, facts in self._by_scope.items()
            if scope_agrees(tags, scope)
            for fact in facts.values()
            if not fact.expires_at or fact.expires_at > now
        ]

    def cosines(self, connection: apsw.Connection, vector: bytes) -> Mapping[int, float]:
        """Return the cosine of ``vector`` with each fact's stored vector, by seq; facts without one
        are left out."""
        found = self._cosines.pop(vector, {})
        self._cosines[vector] = found  # the newest stands last
        if len(self._cosines) > VECTORS_MAX:
            del self._cosines[next(iter(self._cosines))]
        missing = self._facts.keys() - found.keys()
        if missing:
            rows = fetch_all(
                connection,
                "SELECT seq, 1.0 - vec_distance_cosine(vec, ?) FROM record_vector "
                "WHERE seq IN (SELECT value FROM json_each(?))",
                (vector, json.dumps(sorted(missing))),
            )
            found.update((seq, cosine) for seq, cosine in rows if cosine is not None)
        return found

    def named_in(self, text: str) -> set[int]:
        """Return the facts whose subject, by any of its names, stands in ``text``; also such as are
        no longer current."""
        return self._subjects.named_in(text)

    def _refresh(self, connection: apsw.Connection) -> None:
        head = int(fetch_value(connection, "SELECT coalesce(max(seq), 0) FROM journal"))
        if head == self._head:
            return
        undone = fetch_one(
            connection,
            "SELECT 1 FROM fact_event WHERE seq > ?1 AND event = 'retracted' "
            "UNION ALL SELECT 1 FROM erasure WHERE seq > ?1 LIMIT 1",
            (self._head,),
        )
        if undone is not None or head < self._head:
            self._head, self._facts, self._by_scope, self._subjects = 0, {}, {}, Subjects()
        span = (self._head, head)
        replaced = fetch_all(
            connection, "SELECT old FROM supersession WHERE new > ? AND new <= ?", span
        )
        for (old,) in replaced:
            gone = self._facts.pop(old, None)
            if gone is not None:
                del self._by_scope[gone.scope][old]
        rows = fetch_all(
            connection,
            "SELECT seq, unixepoch(observed_at), confidence, coalesce(expires_at, '') FROM fact_current "
            "WHERE seq > ? AND seq <= ? AND workspace IN (?, 0) "
            "AND (kind <> 'instruction-from-user' OR reported = 1)",
            (*span, self._workspace),
        )
        scopes = _scopes(connection, *span)
        for seq, observed, confidence, expires_at in rows:
            scope = scopes.get(seq, ())
            fact = Candidate(seq, observed, confidence, str(expires_at), scope)
            self._facts[seq] = self._by_scope.setdefault(scope, {})[seq] = fact
        for seq, subject in _subjects(connection, *span):
            if seq in self._facts:
                self._subjects.add(seq, subject)
        self._head = head


def _subjects(connection: apsw.Connection, after: int, until: int) -> list[tuple[int, str]]:
    return fetch_all(
        connection,
        "SELECT f.seq, b.text FROM fact f CROSS JOIN body b ON b.seq = f.seq AND b.field = 'subject' "
        "WHERE f.seq > ? AND f.seq <= ?",
        (after, until),
    )


def _scopes(connection: apsw.Connection, after: int, until: int) -> dict[int, Tags]:
    tags: dict[int, list[tuple[str, str]]] = {}
    rows = fetch_all(
        connection,
        "SELECT t.seq, t.name, t.value FROM fact f CROSS JOIN tag t ON t.seq = f.seq "
        "WHERE f.seq > ? AND f.seq <= ? ORDER BY 1, 2, 3",
        (after, until),
    )
    for seq, name, value in rows:
        tags.setdefault(seq, []).append((str(name), str(value)))
    return {seq: tuple(pairs) for seq, pairs in tags.items()}
