"""Decisions: settled questions with the reason that settled them.

Contract: insert-only; a reason is mandatory; a decision is reversed only by another that names
it in ``supersedes`` and brings its own reason, or dropped by the user, which is an event of its own.
Active means neither.
"""

import json
from collections.abc import Iterable
from typing import NamedTuple

import apsw

from keepthread.stores.journal import Transaction
from keepthread.stores.near import Near, near_records
from keepthread.stores.parts import supports_of, words_and_tags, words_of
from keepthread.stores.query import fetch_all, fetch_one
from keepthread.stores.record_vectors import RecordVectors
from keepthread.stores.records import Author, Decision, Draft, RecordId, Stamp, Tags


class DecisionDraft(NamedTuple):
    """A decision the gate admitted. Seqs throughout."""

    decision: str
    reason: str
    alternatives: tuple[str, ...] = ()
    scope: Tags = ()
    supports: tuple[int, ...] = ()
    supersedes: int | None = None


def add_decision(tx: Transaction, author: Author, draft: DecisionDraft) -> Stamp:
    """Append an admitted decision."""
    bodies = {
        "decision": draft.decision,
        "reason": draft.reason,
        "alternatives": json.dumps(draft.alternatives, ensure_ascii=False)
        if draft.alternatives
        else "",
    }
    children = {"support": [{"rests_on": s} for s in sorted(set(draft.supports))]}
    row = {"supersedes": draft.supersedes}
    return tx.append(author, Draft("decision", "decision", row, bodies, draft.scope, children))


def drop_decision(
    tx: Transaction, author: Author, decision: int, source: int, reason: str
) -> Stamp:
    """Append that the user drops an active decision; ``source`` is the user's message."""
    row = {"decision": decision, "source": source, "event": "dropped"}
    draft = Draft("decision_event", "decision_event", row, {"reason": reason}, numbered=False)
    return tx.append(author, draft)


def dropped_by(connection: apsw.Connection, decision: int) -> tuple[int, str] | None:
    """Return the user's message that dropped a decision, and the reason; None where none did."""
    row = fetch_one(
        connection, "SELECT seq, source FROM decision_event WHERE decision = ?", (decision,)
    )
    return None if row is None else (row[1], words_of(connection, row[0]).get("reason", ""))


def find_decision(connection: apsw.Connection, workspace: int, record: RecordId) -> int | None:
    """Return the seq of a decision of this workspace; None when there is none."""
    row = fetch_one(
        connection,
        "SELECT seq FROM journal WHERE kind = 'decision' AND number = ? AND workspace IN (?, 0)",
        (record.number, workspace),
    )
    return None if row is None else row[0]


def active_decisions(connection: apsw.Connection, workspace: int) -> list[Decision]:
    """Return the active decisions of a workspace, newest first."""
    rows = fetch_all(
        connection,
        "SELECT seq FROM decision_active WHERE workspace IN (?, 0) ORDER BY seq DESC",
        (workspace,),
    )
    seqs = [r[0] for r in rows]
    found = load_decisions(connection, seqs)
    return [found[s] for s in seqs]


def similar_decisions(
    connection: apsw.Connection,
    workspace: int,
    text: str,
    vector: bytes | None,
    index: RecordVectors | None,
    limit: int = 20,
) -> Near:
    """Return active decisions near ``text`` by full text and by vector, with their cosines."""
    return near_records(connection, "decision_active", workspace, text, vector, index, limit=limit)


def load_decisions(connection: apsw.Connection, seqs: Iterable[int]) -> dict[int, Decision]:
    """Return decisions by seq."""
    seqs = list(seqs)
    words, tags = words_and_tags(connection, seqs)
    supports = supports_of(connection, seqs)
    rows = fetch_all(
        connection,
        "SELECT d.seq, j.number, j.workspace, j.window, j.agent, j.at, d.supersedes, "
        "EXISTS(SELECT 1 FROM decision_active a WHERE a.seq = d.seq) "
        "FROM decision d JOIN journal j USING(seq) WHERE d.seq IN (SELECT value FROM json_each(?))",
        (json.dumps(seqs),),
    )
    found: dict[int, Decision] = {}
    for row in rows:
        seq = row[0]
        text = words.get(seq, {})
        found[seq] = Decision(
            seq=seq,
            id=f"decision-{row[1]}",
            workspace=row[2],
            window=row[3],
            agent=str(row[4]),
            at=str(row[5]),
            decision=text.get("decision", ""),
            reason=text.get("reason", ""),
            alternatives=tuple(json.loads(text.get("alternatives", "[]"))),
            scope=tags.get(seq, ()),
            supports=supports.get(seq, ()),
            supersedes=row[6],
            active=bool(row[7]),
        )
    return found
