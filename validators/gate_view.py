"""The rules' view over the database: reads of one caller's workspace, nothing else."""

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

import apsw

from keepthread.stores import archive, decisions, facts, ledger, recent, served
from keepthread.stores.embeddings import Embedder
from keepthread.stores.matching import PASSAGES, bounded_match
from keepthread.stores.query import fetch_all, fetch_value
from keepthread.stores.questions import find_question
from keepthread.stores.record_vectors import RecordVectors
from keepthread.stores.records import (
    Author,
    Decision,
    Entry,
    Fact,
    PlanItem,
    Question,
    RecordId,
    Task,
    parse_id,
)
from keepthread.stores.tasks import unfinished_tasks
from keepthread.stores.windows import count_records
from keepthread.validators.known_secrets import KnownSecrets
from keepthread.validators.secret_rules import Secret

CANDIDATES_MAX = 30
"""Entries tried for a citation without an id, newest first."""

GIVEN_MAX = 8
"""Earlier calls looked at for words that an entry only reads back."""

FACTS_CITING_MAX = 50
"""Facts of one source looked at: the newest."""

_WRITES = ("fact", "decision")


class Caller(NamedTuple):
    """Who calls: the author of what is written, the work tree, and the client's id of the call."""

    author: Author
    tree: str = ""
    tool_use_id: str = ""
    captures: bool = False  # a hook or relay delivered something in this window


class Vectors(NamedTuple):
    """The vectors that a gate keeps in memory between writes."""

    facts: RecordVectors
    decisions: RecordVectors


class GateView:
    """Implements ``validators.view.View``. ``embedder`` is None while no model may be asked."""

    def __init__(
        self,
        connection: apsw.Connection,
        caller: Caller,
        now: float,
        embedder: Embedder | None,
        pinned_overflow: Callable[[str, Sequence[str]], int],
        vectors: Vectors,
        key: bytes,
    ) -> None:
        self._key = key
        self._connection, self._caller, self._now = connection, caller, now
        self._vectors = vectors
        self._embedder, self._pinned_overflow = embedder, pinned_overflow
        self._workspace = caller.author.workspace

    @property
    def now(self) -> float:
        return self._now

    def entry(self, record: str) -> Entry | None:
        found = parse_id(record)
        return (
            None if found is None else archive.get_entry(self._connection, self._workspace, found)
        )

    def entries_of_tool(self, tool: str) -> list[Entry]:
        return self._window_then_task(
            lambda **narrow: recent.recent_by_tool(
                self._connection, self._workspace, tool, limit=CANDIDATES_MAX, **narrow
            )
        )

    def entries_like(self, text: str, tool: str) -> list[Entry]:
        return self._calls_matching(text, "lower(e.tool) = lower(?)", tool, CANDIDATES_MAX)

    def calls_given(self, text: str, before: int) -> list[Entry]:
        return self._calls_matching(text, "p.field = 'args' AND e.seq < ?", before, GIVEN_MAX)

    def entries_of_file(self, path: str) -> list[Entry]:
        path = path.removeprefix("./")
        if self._caller.tree and path.startswith(self._caller.tree):
            path = path[len(self._caller.tree) :].lstrip("/")
        return recent.recent_by_path(self._connection, self._workspace, path, limit=CANDIDATES_MAX)

    def user_messages(self) -> list[Entry]:
        window = self._caller.author.window
        return recent.recent(
            self._connection, self._workspace, where="user", limit=CANDIDATES_MAX, window=window
        )

    def known_tools(self) -> list[str]:
        rows = fetch_all(
            self._connection,
            "SELECT tool FROM entry WHERE workspace = ? AND own = 0 AND role = '' AND channel <> 'check' "
            "GROUP BY tool ORDER BY max(seq) DESC LIMIT 20",
            (self._workspace,),
        )
        return [str(r[0]) for r in rows]

    def fact(self, record: str) -> Fact | None:
        found = parse_id(record)
        if found is None or found.kind != "fact":
            return None
        seq = facts.find_fact(self._connection, self._workspace, found)
        return None if seq is None else facts.load_facts(self._connection, [seq]).get(seq)

    def facts(self, seqs: Sequence[int]) -> list[Fact]:
        found = facts.load_facts(self._connection, seqs)
        return [found[s] for s in seqs if s in found]

    def is_weakened(self, fact: Fact) -> bool:
        below = facts.rests_on(self._connection, [fact.seq])
        suspect = facts.suspects(self._connection, [fact.seq])
        return bool(suspect or facts.weakened(self._connection, below))

    def similar_facts(
        self, text: str, subject: str, vector: bytes | None
    ) -> list[tuple[Fact, float | None]]:
        near = facts.similar(
            self._connection, self._workspace, f"{subject} {text}", vector, self._vectors.facts
        )
        loaded = facts.load_facts(self._connection, near)
        return [(loaded[s], cosine) for s, cosine in near.items() if s in loaded]

    def facts_of_calls(self, calls: Sequence[Entry]) -> list[Fact]:
        seqs = [
            seq
            for tool in {call.tool for call in calls if not call.role}
            for seq in recent.facts_of_tool(self._connection, self._workspace, tool)
        ]
        return self.facts(seqs)

    def facts_citing(self, entries: Sequence[int]) -> list[Fact]:
        cited = {seq for entry in entries for seq in facts.cited_facts(self._connection, entry)}
        return self.facts(sorted(cited)[-FACTS_CITING_MAX:])

    def decision(self, record: str) -> Decision | None:
        found = parse_id(record)
        if found is None or found.kind != "decision":
            return None
        seq = decisions.find_decision(self._connection, self._workspace, found)
        return None if seq is None else decisions.load_decisions(self._connection, [seq]).get(seq)

    def similar_decisions(
        self, text: str, vector: bytes | None
    ) -> list[tuple[Decision, float | None]]:
        near = decisions.similar_decisions(
            self._connection, self._workspace, text, vector, self._vectors.decisions
        )
        loaded = decisions.load_decisions(self._connection, near)
        return [(loaded[s], cosine) for s, cosine in near.items() if s in loaded]

    def item(self, record: str) -> PlanItem | None:
        found = parse_id(record)
        if found is None or found.kind != "plan":
            return None
        item = ledger.find_item(self._connection, self._workspace, found)
        return (
            None
            if item is None
            else ledger.plan_items(self._connection, self._workspace, items=[item])[0]
        )

    def question(self, record: RecordId) -> Question | None:
        """The question with this id, open or answered."""
        return find_question(self._connection, self._workspace, record)

    def items(self) -> list[PlanItem]:
        return ledger.plan_items(self._connection, self._workspace, self._caller.author.task)

    def unfinished_tasks(self) -> list[Task]:
        """The unfinished tasks of the workspace, the one worked on next first."""
        return unfinished_tasks(self._connection, self._workspace)

    def entries_by_seq(self, seqs: Sequence[int]) -> dict[int, Entry]:
        return archive.entries(self._connection, list(seqs))

    def rests_on(self, seq: int) -> set[int]:
        rows = fetch_all(
            self._connection,
            "WITH RECURSIVE below(seq) AS (SELECT rests_on FROM support WHERE owner = ? "
            "UNION SELECT s.rests_on FROM support s JOIN below b ON s.owner = b.seq) SELECT seq FROM below",
            (seq,),
        )
        return {r[0] for r in rows}

    def writes_in_window(self) -> int:
        window = self._caller.author.window
        return 0 if window is None else count_records(self._connection, window, _WRITES)

    def cited_in_window(self) -> list[Entry]:
        window = self._caller.author.window
        rows = fetch_all(
            self._connection,
            "SELECT c.entry FROM journal j JOIN citation c ON c.owner = j.seq AND c.position = 0 "
            "WHERE j.window = ? AND j.kind = 'fact'",
            (window,),
        )
        found = archive.entries(self._connection, [r[0] for r in rows])
        return [found[r[0]] for r in rows if r[0] in found]

    def writes_since_call(self) -> int | None:
        window = self._caller.author.window
        if window is None or not self._caller.captures:
            return None
        return recent.calls_since(self._connection, self._workspace, window, _WRITES)

    def last_served_version(self, item: PlanItem) -> int | None:
        window = self._caller.author.window
        return (
            None
            if window is None
            else served.last_served_version(self._connection, window, item.item)
        )

    def vectors(self, texts: Sequence[str]) -> Sequence[bytes] | None:
        return None if self._embedder is None else self._embedder.embed(texts)

    def similarity(self, claim: str, passages: Sequence[str]) -> Sequence[float] | None:
        if self._embedder is None:
            return None
        if not passages:
            return []
        first, *rest = self._embedder.embed([claim, *passages])
        return [
            1.0 - fetch_value(self._connection, "SELECT vec_distance_cosine(?, ?)", (first, v))
            for v in rest
        ]

    def untrusted_passages(self, text: str) -> list[tuple[str, str]]:
        match = bounded_match(self._connection, text, PASSAGES)
        if not match.expression:
            return []
        rows = fetch_all(
            self._connection,
            "SELECT j.kind || '-' || j.number, substr(b.text, p.start + 1, p.stop - p.start) FROM ("
            "SELECT p.*, f.rank FROM passage_fts f JOIN passage p ON p.id = f.rowid JOIN entry e ON e.seq = p.entry "
            "WHERE passage_fts MATCH ? AND f.rowid >= ? AND e.workspace = ? AND e.role NOT IN ('user', 'assistant') "
            "ORDER BY f.rank LIMIT 5) p JOIN journal j ON j.seq = p.entry "
            "JOIN body b ON b.seq = p.entry AND b.field = p.field ORDER BY p.rank",
            (*match, self._workspace),
        )
        return [(str(r[0]), str(r[1])) for r in rows]

    def known_secrets(self, text: str) -> Sequence[Secret]:
        return KnownSecrets(self._connection, self._key).find(text)

    def pinned_fits(self, goal: str, constraints: Sequence[str]) -> int:
        return self._pinned_overflow(goal, constraints)

    def _calls_matching(self, text: str, condition: str, value: object, limit: int) -> list[Entry]:
        """Calls with a passage that shares words with ``text``, the most alike first."""
        match = bounded_match(self._connection, text, PASSAGES)
        if not match.expression:
            return []
        rows = fetch_all(
            self._connection,
            "SELECT e.seq FROM passage_fts f JOIN passage p ON p.id = f.rowid JOIN entry e ON e.seq = p.entry "
            "WHERE passage_fts MATCH ? AND f.rowid >= ? AND e.workspace = ? AND e.own = 0 AND e.role = '' "
            f"AND {condition} ORDER BY rank LIMIT ?",
            (*match, self._workspace, value, limit),
        )
        best_first = list(dict.fromkeys(r[0] for r in rows))
        found = archive.entries(self._connection, best_first)
        return [found[seq] for seq in best_first]

    def _window_then_task(self, read: "Callable[..., list[Entry]]") -> list[Entry]:
        """Newest entries of the window first, then of the workspace's earlier windows of the task."""
        window = self._caller.author.window
        own = read(window=window) if window is not None else []
        rest = read() if len(own) < CANDIDATES_MAX else []
        return list({e.seq: e for e in (*own, *rest)}.values())[:CANDIDATES_MAX]


def encode_request(tool: str, arguments: object) -> str:
    """Return the canonical text of a call, by which a repeated one is recognised."""
    return json.dumps([tool, arguments], sort_keys=True, ensure_ascii=False, default=str)
