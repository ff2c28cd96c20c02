"""Decisions through the gate."""

from collections.abc import Sequence

from keepthread.stores.decisions import DecisionDraft, add_decision, load_decisions
from keepthread.stores.journal import Transaction
from keepthread.stores.records import Author
from keepthread.validators.gate import Gate
from keepthread.validators.gate_view import Caller, GateView
from keepthread.validators.limits import LIST_MAX
from keepthread.validators.quoting import quote
from keepthread.validators.verdict import Outcome, Refusal, Write


def record_decision(
    gate: Gate,
    caller: Caller,
    *,
    decision: str,
    reason: str,
    scope: Sequence[str] = (),
    alternatives: Sequence[str] = (),
    supports: Sequence[str] = (),
    supersedes: str = "",
) -> Outcome:
    """Settle a question with its reason. Raises Refused, quoting the settled decision where there is one."""
    others = {"reason": reason.strip()}
    others.update({f"alternatives[{i}]": a.strip() for i, a in enumerate(alternatives)})
    write = Write(
        tool="record_decision",
        kind="decision",
        text=decision.strip(),
        others=others,
        scope_given=tuple(scope),
        supports_given=tuple(supports),
        supersedes_given=supersedes,
    )

    def prepare(write: Write, view: GateView) -> Write | Refusal:
        if len(alternatives) <= LIST_MAX:
            return write
        return Refusal("too_long", f"at most {LIST_MAX} alternatives.", "Name those that matter.")

    def commit(tx: Transaction, author: Author, write: Write) -> tuple[Outcome, int | None]:
        if write.duplicate_of is not None and not write.supersedes:
            known = load_decisions(tx.connection, [write.duplicate_of])[write.duplicate_of]
            remark = f"already settled as {known.id}, because {quote(known.reason)}"
            return Outcome("merged", known.id, (remark,)), None
        draft = DecisionDraft(
            decision=write.text,
            reason=write.others["reason"],
            alternatives=tuple(a.strip() for a in alternatives if a.strip()),
            scope=write.scope,
            supports=write.supports,
            supersedes=write.supersedes[0] if write.supersedes else None,
        )
        stamp = add_decision(tx, author, draft)
        replaced = [d.id for d in load_decisions(tx.connection, write.supersedes).values()]
        action = "superseded" if replaced else "added"
        return Outcome(action, stamp.id, fields={"superseded": replaced}), stamp.seq

    arguments = {
        "decision": decision, "reason": reason, "scope": list(scope), "alternatives": list(alternatives),
        "supports": list(supports), "supersedes": supersedes,
    }  # fmt: skip
    return gate.admit(caller, write, commit, arguments=arguments, prepare=prepare)
