"""Facts through the gate: record and retract."""

from collections.abc import Sequence

from keepthread.stores.archive import entries
from keepthread.stores.facts import FactDraft, add_fact, add_fact_event, load_facts
from keepthread.stores.journal import Transaction
from keepthread.stores.query import fetch_all
from keepthread.stores.records import Author, Entry
from keepthread.stores.workspaces import USER_SCOPE
from keepthread.validators.citations import resolve_citation
from keepthread.validators.confidence import origin_of
from keepthread.validators.gate import Gate
from keepthread.validators.gate_view import Caller, GateView
from keepthread.validators.verdict import Outcome, Refusal, Write

KINDS = {
    "observation": "observation",
    "inference": "inference",
    "instruction-from-user": "instruction",
}

_PASSAGE_SHOWN_MAX = 300


def record_fact(
    gate: Gate,
    caller: Caller,
    *,
    text: str,
    kind: str,
    source: str = "",
    scope: Sequence[str] = (),
    subject: str = "",
    supports: Sequence[str] = (),
    observed_at: str = "",
    expires_when: str = "",
    supersedes: str = "",
    everywhere: bool = False,
    given_source: str | None = None,
    rehearse: bool = False,
) -> Outcome:
    """Record one conclusion. Raises Refused.

    ``everywhere``: for every workspace of the user; no tool of the model has this argument.
    ``given_source`` is what the call gave, by which its repetition is known, where the server asked the
    user meanwhile. ``rehearse`` stores nothing and answers ``rehearsed``, or ``merged``.

    Answers ``added``, ``superseded`` (it replaced facts), or ``merged`` (it was known; a new
    source is attached to the known fact).
    """
    write = Write(
        tool="record_fact",
        kind=KINDS[kind],
        text=text.strip(),
        source=source,
        scope_given=tuple(scope),
        subject=subject.strip(),
        supports_given=tuple(supports),
        observed_at=observed_at.strip(),
        expires_when=expires_when.strip(),
        supersedes_given=supersedes,
        user_scope=everywhere,
    )
    arguments = {
        "text": text, "kind": kind, "source": source if given_source is None else given_source,
        "scope": list(scope), "subject": subject,
        "supports": list(supports), "expires_when": expires_when, "supersedes": supersedes,
        "everywhere": everywhere,
    }  # fmt: skip
    commit = _rehearse if rehearse else _commit
    outcome = gate.admit(caller, write, commit, arguments=arguments)
    return outcome if outcome.fields else _with_evidence(outcome, gate.view(caller))


def retract_fact(
    gate: Gate, caller: Caller, *, fact: str, reason: str, source: str = ""
) -> Outcome:
    """Retract a fact with a reason; what it had superseded is current again. Raises Refused."""

    def prepare(write: Write, view: GateView) -> Write | Refusal:
        found = view.fact(fact)
        if found is None or not found.current:
            state = "does not exist here" if found is None else "is not current any more"
            return Refusal(
                "unknown_record", f"{fact[:40]!r} {state}.", "memory://facts lists current facts."
            )
        entry: Entry | None = None
        if source.strip():
            cited = resolve_citation(source.strip(), view)
            if isinstance(cited, Refusal):
                return cited
            entry = cited.entries[0]
        if found.kind == "instruction-from-user" and not found.reported:
            if entry is None or entry.role != "user" or entry.channel != "user" or entry.suspect:
                return Refusal(
                    "not_the_users_words",
                    f"{found.id} is the user's own instruction; only the user takes it back.",
                    'Cite the message that does: source="user".',
                    ((found.id, found.text),),
                )
        return write._replace(supersedes=(found.seq,), cited=(entry,) if entry else ())

    def commit(tx: Transaction, author: Author, write: Write) -> tuple[Outcome, int | None]:
        seq = write.supersedes[0]
        cited = write.cited[0].seq if write.cited else None
        restored = [
            f.id
            for f in load_facts(tx.connection, _superseded_by(tx, seq)).values()
            if not f.current
        ]
        stamp = add_fact_event(tx, author, seq, "retracted", source=cited, reason=reason)
        again = [
            f.id for f in load_facts(tx.connection, _superseded_by(tx, seq)).values() if f.current
        ]
        remarks = (
            (f"current again: {', '.join(i for i in again if i in restored)}",) if again else ()
        )
        return Outcome("retracted", fact.strip(), remarks), stamp.seq

    write = Write("retract_fact", "retraction", text=reason.strip())
    arguments = {"fact": fact, "reason": reason, "source": source}
    return gate.admit(caller, write, commit, arguments=arguments, prepare=prepare)


def _rehearse(tx: Transaction, author: Author, write: Write) -> tuple[Outcome, int | None]:
    if _is_known(write):
        return Outcome("merged", ""), None
    rivals = [f.id for f in load_facts(tx.connection, write.disputes).values()]
    return Outcome("rehearsed", "", (), {"disputed_with": rivals}), None


def _is_known(write: Write) -> bool:
    return write.duplicate_of is not None and not write.supersedes and not write.disputes


def _commit(tx: Transaction, author: Author, write: Write) -> tuple[Outcome, int | None]:
    if _is_known(write):
        return _merge(tx, author, write), None
    author = author._replace(workspace=USER_SCOPE) if write.user_scope else author
    draft = FactDraft(
        text=write.text,
        kind={v: k for k, v in KINDS.items()}[write.kind],
        scope=write.scope,
        subject=write.subject,
        citations=write.citations,
        supports=write.supports,
        supersedes=write.supersedes,
        disputes=write.disputes,
        observed_at=write.observed_at or tx.at,
        expires_at=write.expires_at,
        expires_when=write.expires_when,
        confidence=write.confidence,
        level=write.level,
        reported=write.reported,
        model_written=write.model_written,
        label=write.others.get("label", ""),
    )
    stamp = add_fact(tx, author, draft)
    outcome = Outcome(
        "superseded" if write.supersedes else "added",
        stamp.id,
        write.remarks,
        {
            "confidence": round(write.confidence, 2),
            "source": ", ".join(_full_citation(e) for e in write.cited),
            "passage": write.passage[:_PASSAGE_SHOWN_MAX],
            "superseded": [f.id for f in load_facts(tx.connection, write.supersedes).values()],
            "disputed_with": [f.id for f in load_facts(tx.connection, write.disputes).values()],
        },
    )
    return outcome, stamp.seq


def _with_evidence(outcome: Outcome, view: GateView) -> Outcome:
    """Return the outcome of a repeated call with what the first one answered."""
    fact = view.fact(outcome.id)
    if fact is None:
        return outcome
    cited = view.entries_by_seq([c.entry for c in fact.citations])
    passage = ""
    if fact.citations and fact.citations[0].entry in cited:
        first = fact.citations[0]
        passage = cited[first.entry].output[first.start : first.stop]
    fields = {
        "confidence": round(fact.confidence, 2),
        "source": ", ".join(_full_citation(e) for e in cited.values()),
        "passage": passage[:_PASSAGE_SHOWN_MAX],
    }
    return outcome._replace(fields=fields)


def _merge(tx: Transaction, author: Author, write: Write) -> Outcome:
    """Attach the new source to the known fact; it counts only when its origin is a new one."""
    assert write.duplicate_of is not None
    known = load_facts(tx.connection, [write.duplicate_of])[write.duplicate_of]
    fields: dict[str, object] = {
        "confidence": round(known.confidence, 2),
        "source": ", ".join(_full_citation(e) for e in write.cited),
        "passage": write.passage[:_PASSAGE_SHOWN_MAX],
    }
    before = _sources(tx, known.seq)
    fresh = [e for e in write.cited if e.seq not in before]
    if not fresh:
        return Outcome("merged", known.id, ("this is known; nothing was added",), fields)
    origins = {origin_of(e) for e in before.values()}
    for entry in fresh:
        own_words = entry.model_written or write.model_written
        independent = not own_words and origin_of(entry) not in origins
        origins.add(origin_of(entry))
        add_fact_event(
            tx, author, known.seq, "corroborated", source=entry.seq, independent=independent
        )
    return Outcome(
        "merged", known.id, (f"known as {known.id}; the new source was attached to it",), fields
    )


def _sources(tx: Transaction, fact: int) -> dict[int, Entry]:
    """Return the entries a fact cites or was corroborated by."""
    rows = fetch_all(
        tx.connection,
        "SELECT entry FROM citation WHERE owner = ?1 UNION "
        "SELECT source FROM fact_event WHERE fact = ?1 AND source IS NOT NULL",
        (fact,),
    )
    return entries(tx.connection, [int(str(r[0])) for r in rows])


def _superseded_by(tx: Transaction, fact: int) -> list[int]:
    rows = fetch_all(tx.connection, "SELECT old FROM supersession WHERE new = ?", (fact,))
    return [int(str(r[0])) for r in rows]


def _full_citation(entry: Entry) -> str:
    return f"user:{entry.id}" if entry.role == "user" else f"tool:{entry.tool}#{entry.id}"
