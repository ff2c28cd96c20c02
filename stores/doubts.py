"""Doubt: which current facts have to be looked at again, and why.

Contract: a ``failed`` event names the entry that speaks against a fact (a failing check, or a
message of the user). It stands until the fact is verified, confirmed or corroborated by an entry
that is newer than that one. Both are events; nothing about the fact itself changes.
"""

from collections.abc import Iterable

import apsw

from keepthread.stores.facts import add_fact_event
from keepthread.stores.journal import Transaction
from keepthread.stores.query import fetch_all
from keepthread.stores.records import Author, Entry


def doubt(
    tx: Transaction, author: Author, facts: Iterable[int], entry: int, reason: str
) -> list[int]:
    """Doubt ``facts`` because of an archive entry; return those that were not doubted for it before."""
    known = {
        fact
        for (fact,) in fetch_all(
            tx.connection,
            "SELECT fact FROM fact_event WHERE event = 'failed' AND source = ?",
            (entry,),
        )
    }
    fresh = sorted(set(facts) - known)
    for fact in fresh:
        add_fact_event(tx, author, fact, "failed", source=entry, reason=reason)
    return fresh


def rest_on_runs(connection: apsw.Connection, run: Entry, command: str) -> list[int]:
    """Return the current facts that rest on an earlier, successful run of the same check.

    The same check is the same tool with the same arguments, or, where the check runs a ``command``, a
    call in which an agent ran just that.
    """
    rows = fetch_all(
        connection,
        "SELECT DISTINCT f.seq FROM fact_current f JOIN ("
        "SELECT owner, entry FROM citation UNION ALL SELECT owner, rests_on FROM support) r ON r.owner = f.seq "
        "JOIN entry e ON e.seq = r.entry LEFT JOIN body b ON b.seq = e.seq AND b.field = 'args' "
        "WHERE f.workspace = ?1 AND e.seq < ?2 AND e.is_error = 0 AND e.role = '' "
        "AND (e.tool = ?3 AND b.text = ?4 OR ?5 <> '' AND json_valid(b.text) "
        "AND trim(coalesce(json_extract(b.text, '$.command'), json_extract(b.text, '$.cmd'), '')) = ?5)",
        (run.workspace, run.seq, run.tool, run.args, command.strip()),
    )
    return [seq for (seq,) in rows]


def doubted_for_runs(connection: apsw.Connection, run: Entry) -> list[int]:
    """Return the current facts whose last doubt is an earlier run of the same check."""
    rows = fetch_all(
        connection,
        "SELECT e.fact, e.source FROM fact_event e JOIN fact_current f ON f.seq = e.fact "
        "JOIN entry s ON s.seq = e.source JOIN body b ON b.seq = s.seq AND b.field = 'args' "
        "WHERE f.workspace = ?1 AND e.event = 'failed' AND s.seq < ?2 AND s.tool = ?3 AND b.text = ?4 "
        "AND NOT EXISTS(SELECT 1 FROM fact_event n WHERE n.fact = e.fact AND n.seq > e.seq "
        "AND n.event IN ('failed', 'verified', 'confirmed'))",
        (run.workspace, run.seq, run.tool, run.args),
    )
    return [fact for fact, _ in rows]
