"""Facts: one conclusion each, with the entry that contains it.

Contract: insert-only; an observation cites entries, an inference rests on supports, an
instruction is the user's own passage (the schema holds each of these too). Supersession,
dispute, corroboration, verification and retraction are rows of their own; what is current is a
view over them. The gate sets confidence; nothing here raises it.
"""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import apsw

from keepthread.stores.archive import SUSPECT
from keepthread.stores.journal import Transaction
from keepthread.stores.near import Near, near_records
from keepthread.stores.parts import supports_of, words_and_tags, words_of
from keepthread.stores.query import fetch_all, fetch_one
from keepthread.stores.record_vectors import RecordVectors
from keepthread.stores.records import (
    Author,
    Citation,
    Draft,
    Fact,
    RecordId,
    Stamp,
    Tags,
)

NEAR_MAX = 12
"""Facts near a text by words, and as many by vector: each costs the judge a third of a millisecond."""

LIFTING = ("verified", "confirmed", "corroborated")
"""Events that end a doubt, where their entry is newer than the one that raised it."""



class FactDraft(NamedTuple):
    """A fact the gate admitted. Seqs throughout."""

    text: str
    kind: str
    scope: Tags = ()
    subject: str = ""
    citations: tuple[Citation, ...] = ()
    supports: tuple[int, ...] = ()
    supersedes: tuple[int, ...] = ()
    disputes: tuple[int, ...] = ()
    observed_at: str = ""
    expires_at: str = ""
    expires_when: str = ""
    confidence: float = 0.0
    level: int = 0
    reported: bool = False
    model_written: bool = False
    label: str = ""  # the model's wording of an instruction, whose text is the user's passage


class FactEvent(NamedTuple):
    """One thing that happened to a fact. ``source`` is an entry's seq, ``role`` whose entry it is."""

    event: str
    source: int | None
    role: str
    at: str
    reason: str


class Standing(NamedTuple):
    """What happened to a fact since it was recorded."""

    corroborations: int = 0  # independent origins beyond the first
    failures: int = 0  # since it was last found to hold
    failed_by: int | None = None  # the entry that spoke against it last, while it is doubted
    verified_at: str = ""
    disputed_with: tuple[int, ...] = ()
    superseded_by: tuple[int, ...] = ()
    retracted: str = ""  # the reason
    confirmed: bool = False
    suspect: bool = False  # cites a call or a prompt that the client's transcript does not know


def add_fact(tx: Transaction, author: Author, fact: FactDraft) -> Stamp:
    """Append an admitted fact with its citations, supports, supersessions and disputes."""
    row = {
        "kind": fact.kind,
        "reported": int(fact.reported),
        "model_written": int(fact.model_written),
        "level": fact.level,
        "observed_at": fact.observed_at,
        "expires_at": fact.expires_at or None,
        "confidence": fact.confidence,
    }
    bodies = {
        "text": fact.text,
        "subject": fact.subject,
        "expires_when": fact.expires_when,
        "label": fact.label,
    }
    old = set(fact.supersedes)
    for seq in fact.supersedes:  # what it replaced stays replaced, even if it is retracted later
        found = fetch_all(tx.connection, "SELECT old FROM supersession WHERE new = ?", (seq,))
        old.update(r[0] for r in found)
    children = {
        "citation": [
            {"position": i, "entry": c.entry, "start": c.start, "stop": c.stop}
            for i, c in enumerate(fact.citations)
        ],
        "support": [{"rests_on": s} for s in sorted(set(fact.supports))],
        "supersession": [{"old": s} for s in sorted(old)],
        "dispute": [{"old": s} for s in sorted(set(fact.disputes))],
    }
    return tx.append(author, Draft("fact", "fact", row, bodies, fact.scope, children))


def add_fact_event(
    tx: Transaction,
    author: Author,
    fact: int,
    event: str,
    *,
    source: int | None = None,
    reason: str = "",
    independent: bool = False,
) -> Stamp:
    """Append what happened to a fact: corroborated, verified, failed, retracted or confirmed."""
    row = {"fact": fact, "source": source, "event": event, "independent": int(independent)}
    return tx.append(
        author, Draft("fact_event", "fact_event", row, {"reason": reason}, numbered=False)
    )


def find_fact(connection: apsw.Connection, workspace: int, record: RecordId) -> int | None:
    """Return the seq of a fact of this workspace (or of the user's scope); None when there is none."""
    row = fetch_one(
        connection,
        "SELECT seq FROM journal WHERE kind = 'fact' AND number = ? AND workspace IN (?, 0)",
        (record.number, workspace),
    )
    return None if row is None else row[0]


def load_facts(connection: apsw.Connection, seqs: Iterable[int]) -> dict[int, Fact]:
    """Return facts by seq: one query for rows and one each for words, tags and links."""
    seqs = list(seqs)
    wanted = json.dumps(seqs)
    citations: dict[int, list[Citation]] = {}
    for owner, *cited in fetch_all(
        connection,
        "SELECT owner, entry, start, stop FROM citation WHERE owner IN (SELECT value FROM json_each(?))",
        (wanted,),
    ):
        citations.setdefault(owner, []).append(Citation(*cited))
    supports = supports_of(connection, seqs)
    words, tags = words_and_tags(connection, seqs)
    rows = fetch_all(
        connection,
        "SELECT f.seq, j.number, j.workspace, j.window, j.task, j.agent, j.at, f.kind, f.reported, "
        "f.model_written, f.level, f.observed_at, coalesce(f.expires_at, ''), f.confidence, "
        "EXISTS(SELECT 1 FROM fact_current c WHERE c.seq = f.seq) "
        "FROM fact f JOIN journal j USING(seq) WHERE f.seq IN (SELECT value FROM json_each(?))",
        (wanted,),
    )
    found: dict[int, Fact] = {}
    for row in rows:
        seq = row[0]
        text = words.get(seq, {})
        found[seq] = Fact(
            seq=seq,
            id=f"fact-{row[1]}",
            workspace=row[2],
            window=row[3],
            task=row[4],
            agent=str(row[5]),
            at=str(row[6]),
            kind=str(row[7]),
            text=text.get("text", ""),
            subject=text.get("subject", ""),
            scope=tags.get(seq, ()),
            reported=bool(row[8]),
            model_written=bool(row[9]),
            level=row[10],
            observed_at=str(row[11]),
            expires_at=str(row[12]),
            expires_when=text.get("expires_when", ""),
            confidence=row[13],
            citations=tuple(citations.get(seq, ())),
            supports=supports.get(seq, ()),
            current=bool(row[14]),
        )
    return found


def standing(connection: apsw.Connection, seqs: Iterable[int]) -> dict[int, Standing]:
    """Return what happened to each fact since; facts to which nothing happened are left out."""
    wanted = json.dumps(list(seqs))
    found: dict[int, Standing] = {}

    def update(seq: int, **change: object) -> None:
        found[seq] = found.get(seq, Standing())._replace(**change)  # type: ignore[arg-type]

    events = fetch_all(
        connection,
        "SELECT e.fact, e.event, e.independent, j.at, e.seq, e.source FROM fact_event e "
        "JOIN journal j USING(seq) WHERE e.fact IN (SELECT value FROM json_each(?)) ORDER BY e.seq",
        (wanted,),
    )
    for fact, event, independent, at, seq, source in events:
        now = found.get(fact, Standing())
        if event in LIFTING and now.failures and (source or seq) > (now.failed_by or 0):
            update(fact, failures=0, failed_by=None)
        if event == "corroborated":
            update(fact, corroborations=now.corroborations + independent)
        elif event == "verified":
            update(fact, verified_at=at)
        elif event == "failed":
            update(fact, failures=now.failures + 1, failed_by=source)
        elif event == "confirmed":
            update(fact, confirmed=True)
        else:
            update(fact, retracted=words_of(connection, seq).get("reason", "") or "retracted")
    for (fact,) in fetch_all(
        connection,
        "SELECT DISTINCT owner FROM citation WHERE owner IN (SELECT value FROM json_each(?)) "
        f"AND entry IN ({SUSPECT})",
        (wanted,),
    ):
        update(fact, suspect=True)
    newer = fetch_all(
        connection,
        "SELECT old, new FROM supersession WHERE old IN (SELECT value FROM json_each(?)) "
        "AND new NOT IN (SELECT seq FROM fact_retracted) ORDER BY new",
        (wanted,),
    )
    for old, new in newer:
        update(old, superseded_by=(*found.get(old, Standing()).superseded_by, new))
    disputes = fetch_all(
        connection,
        "WITH w(seq) AS (SELECT value FROM json_each(?)) SELECT old, new FROM dispute WHERE old IN w "
        "UNION SELECT new, old FROM dispute WHERE new IN w",
        (wanted,),
    )
    live = {
        r[0]
        for r in fetch_all(
            connection,
            "SELECT seq FROM fact_current WHERE seq IN (SELECT value FROM json_each(?))",
            (json.dumps([d[1] for d in disputes]),),
        )
    }
    for one, other in disputes:
        if other in live:
            update(one, disputed_with=(*found.get(one, Standing()).disputed_with, other))
    return found


def fact_events(connection: apsw.Connection, fact: int) -> list[FactEvent]:
    """Return what happened to a fact, oldest first."""
    rows = fetch_all(
        connection,
        "SELECT v.event, v.source, coalesce(e.role, ''), j.at, coalesce(b.text, '') FROM fact_event v "
        "JOIN journal j USING(seq) LEFT JOIN entry e ON e.seq = v.source "
        "LEFT JOIN body b ON b.seq = v.seq AND b.field = 'reason' WHERE v.fact = ? ORDER BY v.seq",
        (fact,),
    )
    return [FactEvent(*row) for row in rows]


def has_facts(connection: apsw.Connection, workspace: int) -> bool:
    """True where a window of this workspace has facts to rank, the user's own of all workspaces included."""
    row = fetch_one(
        connection,
        "SELECT EXISTS(SELECT 1 FROM fact_current WHERE workspace IN (?, 0))",
        (workspace,),
    )
    return bool(row and row[0])


def standing_instructions(connection: apsw.Connection, workspace: int) -> list[int]:
    """Return the user's own current instructions, oldest first; reported ones are none."""
    rows = fetch_all(
        connection,
        "SELECT seq FROM fact_current WHERE kind = 'instruction-from-user' AND reported = 0 "
        "AND workspace IN (?, 0) ORDER BY seq",
        (workspace,),
    )
    return [r[0] for r in rows]


def similar(
    connection: apsw.Connection,
    workspace: int,
    text: str,
    vector: bytes | None,
    index: RecordVectors | None,
    limit: int = NEAR_MAX,
) -> Near:
    """Return current facts near ``text`` by full text and by vector, with their cosines."""
    order = "bm25(record_fts, 1.0, 2.0, 0.5)"
    return near_records(
        connection, "fact_current", workspace, text, vector, index, limit=limit, order=order
    )


def rests_on(connection: apsw.Connection, seqs: Iterable[int]) -> list[tuple[int, int]]:
    """Return (owner, what it rests on) for facts and decisions and all below them, lowest owner first."""
    return fetch_all(
        connection,
        "WITH RECURSIVE below(seq) AS (SELECT value FROM json_each(?) "
        "UNION SELECT s.rests_on FROM below JOIN support s ON s.owner = below.seq) "
        "SELECT s.owner, s.rests_on FROM below JOIN support s ON s.owner = below.seq ORDER BY 1, 2",
        (json.dumps(list(seqs)),),
    )


def dependents(connection: apsw.Connection, seq: int) -> list[int]:
    """Return the facts and decisions that rest on a record or cite it, as seqs."""
    rows = fetch_all(
        connection,
        "SELECT owner FROM support WHERE rests_on = ?1 UNION SELECT owner FROM citation WHERE entry = ?1 ORDER BY 1",
        (seq,),
    )
    return [owner for (owner,) in rows]


def no_longer_current(connection: apsw.Connection, seqs: Iterable[int]) -> set[int]:
    """Return which of ``seqs`` are facts or decisions that were superseded, retracted or dropped."""
    rows = fetch_all(
        connection,
        "SELECT seq FROM fact WHERE seq IN (SELECT value FROM json_each(?1)) "
        "AND seq NOT IN (SELECT seq FROM fact_current WHERE seq = fact.seq) UNION ALL "
        "SELECT seq FROM decision WHERE seq IN (SELECT value FROM json_each(?1)) "
        "AND NOT EXISTS(SELECT 1 FROM decision_active a WHERE a.seq = decision.seq)",
        (json.dumps(list(seqs)),),
    )
    return {r[0] for r in rows}


def doubted(connection: apsw.Connection, seqs: Iterable[int]) -> set[int]:
    """Return which of ``seqs`` are facts that something spoke against since they were last found to hold."""
    rows = fetch_all(
        connection,
        "SELECT e.fact FROM fact_event e WHERE e.fact IN (SELECT value FROM json_each(?)) "
        "AND e.event = 'failed' AND NOT EXISTS("
        f"SELECT 1 FROM fact_event n WHERE n.fact = e.fact AND n.seq > e.seq AND n.event IN {LIFTING} "
        "AND coalesce(n.source, n.seq) > coalesce(e.source, 0))",
        (json.dumps(list(seqs)),),
    )
    return {r[0] for r in rows}


def suspects(connection: apsw.Connection, seqs: Iterable[int]) -> set[int]:
    """Return which of ``seqs`` are suspect entries, or facts that cite one."""
    rows = fetch_all(
        connection,
        f"WITH suspect(seq) AS ({SUSPECT}) "
        "SELECT seq FROM suspect WHERE seq IN (SELECT value FROM json_each(?1)) "
        "UNION SELECT owner FROM citation WHERE entry IN suspect "
        "AND owner IN (SELECT value FROM json_each(?1))",
        (json.dumps(list(seqs)),),
    )
    return {r[0] for r in rows}


def failing_checks(connection: apsw.Connection, seqs: Iterable[int]) -> set[int]:
    """Return which of ``seqs`` are checks of ours that passed and whose last two runs since failed."""
    rows = fetch_all(
        connection,
        "SELECT e.seq FROM entry e JOIN body a ON a.seq = e.seq AND a.field = 'args' "
        "WHERE e.seq IN (SELECT value FROM json_each(?)) AND e.channel = 'check' AND e.is_error = 0 "
        "AND (SELECT total(is_error) FROM (SELECT n.is_error FROM entry n JOIN body b ON b.seq = n.seq "
        "AND b.field = 'args' WHERE n.workspace = e.workspace AND n.tool = e.tool AND n.seq > e.seq "
        "AND n.channel = 'check' AND b.text = a.text ORDER BY n.seq DESC LIMIT 2)) = 2",
        (json.dumps(list(seqs)),),
    )
    return {r[0] for r in rows}


def weakened(
    connection: apsw.Connection, links: Sequence[tuple[int, int]], stale: Iterable[int] = ()
) -> set[int]:
    """Return the owners among ``links`` (see `rests_on`) that rest, at any depth, on what no longer holds.

    That is a superseded, retracted or doubted fact, a superseded or dropped decision, one of ``stale``
    (its file changed), a check that keeps failing, a suspect entry, or a fact that cites one.
    """
    below = {lower for _, lower in links}
    broken = no_longer_current(connection, below) | doubted(connection, below) | set(stale)
    broken |= suspects(connection, below) | failing_checks(connection, below)
    weak: set[int] = set()
    for owner, lower in links:  # what a record rests on is older than it, so one pass is enough
        if lower in broken or lower in weak:
            weak.add(owner)
    return weak


def cited_facts(connection: apsw.Connection, entry: int) -> list[int]:
    """Return the current facts that cite an entry."""
    rows = fetch_all(
        connection,
        "SELECT DISTINCT c.owner FROM citation c JOIN fact_current f ON f.seq = c.owner WHERE c.entry = ?",
        (entry,),
    )
    return [r[0] for r in rows]


def last_looks(
    connection: apsw.Connection, facts: Iterable[int], path: str
) -> dict[int, tuple[str, str]]:
    """Return the file's (SHA-256, time) as each of ``facts`` was last seen to stand in it."""
    rows = fetch_all(
        connection,
        "WITH asked(fact) AS (SELECT value FROM json_each(?1)), "
        "seen(fact, entry) AS (SELECT c.owner, c.entry FROM asked JOIN citation c ON c.owner = asked.fact "
        "UNION SELECT e.fact, e.source FROM asked JOIN fact_event e ON e.fact = asked.fact "
        "WHERE e.event IN ('corroborated', 'verified')) "
        "SELECT seen.fact, h.text, j.at FROM seen JOIN journal j ON j.seq = seen.entry "
        "JOIN tag t ON t.seq = seen.entry AND t.name = 'path' AND t.value = ?2 "
        "JOIN body h ON h.seq = seen.entry AND h.field = 'file_sha256' ORDER BY seen.entry",
        (json.dumps(list(facts)), path),
    )
    return {fact: (sha256, at) for fact, sha256, at in rows}


def facts_of_file(
    connection: apsw.Connection, workspace: int, path: str, before: int
) -> dict[int, list[str]]:
    """Return the passages of a file that current facts rest on, by fact; seen before entry ``before``."""
    rows = fetch_all(
        connection,
        "SELECT c.owner, substr(b.text, c.start + 1, c.stop - c.start) FROM tag t "
        "JOIN citation c ON c.entry = t.seq JOIN fact_current f ON f.seq = c.owner "
        "JOIN body b ON b.seq = c.entry AND b.field = 'output' "
        "WHERE t.name = 'path' AND t.value = ? AND t.seq < ? AND f.workspace IN (?, 0)",
        (path, before, workspace),
    )
    found: dict[int, list[str]] = {}
    for fact, passage in rows:
        found.setdefault(fact, []).append(passage)
    return found
