"""The write gate: the only door for what the model writes, and the owner of its transaction.

Rules run first, on what the database says now; models (embedding, judge) are asked there, before
any lock. Inside the transaction the gate checks that no record the rules decided on came in
between; if one did it starts over, the third time under the lock with no model at all. A refusal
is recorded without its payload. A repeated call answers with the record it made.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, NoReturn

from keepthread.stores.embeddings import Embedder
from keepthread.stores.journal import Journal, Transaction, head
from keepthread.stores.query import fetch_one
from keepthread.stores.record_vectors import RecordVectors
from keepthread.stores.records import Author
from keepthread.stores.refusals import add_refusal, was_refused
from keepthread.stores.vectors import ModelMismatch, ensure_model, put_record_vector, stored_model
from keepthread.validators.contradictions import Judge
from keepthread.validators.gate_view import Caller, GateView, Vectors, encode_request
from keepthread.validators.judges.local import judge as local_judge
from keepthread.validators.limits import check_length
from keepthread.validators.rules import apply_rules, rules_table
from keepthread.validators.verdict import Outcome, Refusal, Refused, Write

_TRIES = 3
_EMBEDDED = ("observation", "inference", "instruction", "decision")
_DECIDING = (
    "fact fact_event decision decision_event plan plan_event question question_event task task_event "
    "erasure"
).split()

Commit = Callable[[Transaction, Author, Write], tuple[Outcome, int | None]]
"""Writes an admitted Write; returns the outcome and the seq of the record it made, if any."""


class GateSettings(NamedTuple):
    """Write budgets (0 = none) and the judge."""

    writes_per_window: int = 60
    writes_between_calls: int = 6
    judge: Judge = local_judge


class Gate:
    """Admits or refuses writes over the model's own connection. One thread at a time."""

    def __init__(
        self,
        journal: Journal,
        *,
        embedder: Callable[[], Embedder | None],
        settings: GateSettings,
        pinned_overflow: Callable[[str, Sequence[str]], int],
    ) -> None:
        self._journal, self._embedder = journal, embedder
        self._pinned_overflow = pinned_overflow
        self._vectors = Vectors(RecordVectors("fact"), RecordVectors("decision"))
        limits = (settings.writes_per_window, settings.writes_between_calls)
        self._rules = rules_table(settings.judge, *limits)
        self._local_rules = rules_table(local_judge, *limits)

    def admit(
        self,
        caller: Caller,
        write: Write,
        commit: Commit,
        *,
        arguments: Mapping[str, object],
        prepare: Callable[[Write, GateView], Write | Refusal] | None = None,
        repeatable: bool = False,
    ) -> Outcome:
        """Run the rules of ``write.kind`` and commit; raise Refused with the recorded refusal.

        ``prepare`` resolves what needs the view before the rules (ids, items). ``repeatable``
        writes answer the same content only when the client's call id is the same too.
        """
        keys = self._request_keys(caller, write.tool, arguments, repeatable)
        for attempt in range(_TRIES + 1):
            last = attempt == _TRIES
            embedder = None if last else self.embedder()
            with self._journal.transaction() if last else nullcontext() as held:
                seen = held.seq if held is not None else head(self._journal.connection)[0]
                outcome = self._repeated(caller, keys)
                if outcome is not None:
                    return outcome
                result = self._judge(caller, write, embedder, prepare, last)
                if not isinstance(result, Refusal):
                    outcome = self._commit(caller, result, commit, keys, seen, held)
                    if outcome is not None:
                        return outcome
            if isinstance(result, Refusal):
                self.refuse(caller, write.tool, result, arguments)
        raise AssertionError("unreachable: the last try holds the lock")

    def refuse(
        self, caller: Caller, tool: str, refusal: Refusal, arguments: Mapping[str, object]
    ) -> NoReturn:
        """Record a refusal, without its words, and raise it."""
        with self._journal.transaction() as tx:
            add_refusal(
                tx,
                caller.author,
                tool=tool,
                code=refusal.code,
                payload=encode_request(tool, arguments),
                key=self._journal.anchor.key,
            )
        raise Refused(refusal)

    def was_refused(
        self, caller: Caller, tool: str, code: str, arguments: Mapping[str, object]
    ) -> bool:
        """True when the same was refused with ``code`` in the caller's window before."""
        return was_refused(
            self._journal.connection,
            caller.author.window,
            code=code,
            payload=encode_request(tool, arguments),
            key=self._journal.anchor.key,
        )

    def embedder(self) -> Embedder | None:
        """Return the embedder when it is ready and the stored vectors are of its model."""
        found = self._embedder()
        if found is None:
            return None
        stored = stored_model(self._journal.connection)
        return found if stored is None or stored[1] == found.model_id else None

    def view(self, caller: Caller) -> GateView:
        """Return the rules' view of a caller, for answers that need what the rules see."""
        return self._view(caller, self.embedder())

    def _view(self, caller: Caller, embedder: Embedder | None) -> GateView:
        now = self._journal.clock()
        return GateView(
            self._journal.connection,
            caller,
            now,
            embedder,
            self._pinned_overflow,
            self._vectors,
            self._journal.anchor.key,
        )

    def _judge(
        self,
        caller: Caller,
        write: Write,
        embedder: Embedder | None,
        prepare: Callable[[Write, GateView], Write | Refusal] | None,
        last: bool,
    ) -> Write | Refusal:
        view = self._view(caller, embedder)
        too_long = check_length(write, view)
        if too_long is not None:
            return too_long
        if embedder is not None and write.kind in _EMBEDDED:
            write = write._replace(vector=embedder.embed([write.text])[0])
        if prepare is not None:
            prepared = prepare(write, view)
            if isinstance(prepared, Refusal):
                return prepared
            write = prepared
        rules = self._local_rules if last else self._rules
        return apply_rules(rules[write.kind], write, view)

    def _commit(
        self,
        caller: Caller,
        write: Write,
        commit: Commit,
        keys: Sequence[bytes],
        seen: int,
        held: Transaction | None,
    ) -> Outcome | None:
        """Write it, unless something the rules decided on came in since; None to start over."""
        context: AbstractContextManager[Transaction] = (
            nullcontext(held) if held is not None else self._journal.transaction()
        )
        with context as tx:
            if tx.seq != seen and self._moved(tx, seen):
                return None
            outcome, made = commit(tx, caller.author, write)
            if made is not None and write.vector is not None:
                self._put_vector(tx, made, write.vector)
            if made is not None and caller.author.window is not None:
                for key in keys:
                    tx.connection.execute(
                        "INSERT OR IGNORE INTO request VALUES(?,?,?)",
                        (caller.author.window, key, made),
                    )
            return outcome

    def _moved(self, tx: Transaction, seen: int) -> bool:
        marks = ",".join("?" * len(_DECIDING))
        row = fetch_one(
            tx.connection,
            f"SELECT 1 FROM journal WHERE seq > ? AND kind IN ({marks}) LIMIT 1",
            (seen, *_DECIDING),
        )
        return row is not None

    def _put_vector(self, tx: Transaction, seq: int, vector: bytes) -> None:
        embedder = self._embedder()
        if embedder is None:
            return
        try:
            model = ensure_model(tx.connection, embedder.model_id, embedder.dimension)
        except ModelMismatch:
            return  # another process began with another model: full text serves until `reindex`
        put_record_vector(tx.connection, seq, model, vector)

    def _repeated(self, caller: Caller, keys: Sequence[bytes]) -> Outcome | None:
        """Answer a call that was made already; a fact cited anew after something happened is none."""
        for key in keys:
            row = fetch_one(
                self._journal.connection,
                "SELECT j.kind || '-' || j.number, j.seq FROM request r JOIN journal j USING(seq) "
                "WHERE r.window = ? AND r.digest = ? AND j.number IS NOT NULL "
                "AND (j.kind <> 'fact' OR (EXISTS(SELECT 1 FROM fact_current c WHERE c.seq = j.seq) AND NOT EXISTS("
                "SELECT 1 FROM entry e WHERE e.seq > j.seq AND e.workspace = j.workspace AND e.own = 0)))",
                (caller.author.window, key),
            )
            if row is not None:
                return Outcome(
                    "merged", str(row[0]), ("this very call was already made; nothing was added",)
                )
        return None

    def _request_keys(
        self, caller: Caller, tool: str, arguments: Mapping[str, object], repeatable: bool
    ) -> list[bytes]:
        keys = []
        if caller.tool_use_id:
            keys.append(f"id:{tool}:{caller.tool_use_id}")
        if not repeatable:
            keys.append(f"content:{encode_request(tool, arguments)}")
        return [hashlib.sha256(k.encode("utf-8", "replace")).digest() for k in keys]
