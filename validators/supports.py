"""Supports: what an inference or a decision rests on: facts, archive entries, and decisions another one."""

from keepthread.stores.records import parse_id
from keepthread.validators.citations import check_citable
from keepthread.validators.confidence import USER, entry_confidence, inference_confidence
from keepthread.validators.limits import LIST_MAX
from keepthread.validators.verdict import Refusal, Write
from keepthread.validators.view import View


def resolve_inference(write: Write, view: View) -> Refusal | Write | None:
    """``unsupported_inference``, and what ``resolve_supports`` refuses and fills in."""
    given = [s.strip() for s in (*write.supports_given, *write.source.split(",")) if s.strip()]
    if not given:
        return Refusal(
            "unsupported_inference",
            "an inference needs what it rests on.",
            'Pass supports=["fact-3", "call-12"]; if you saw it directly, record an observation with its source.',
        )
    return resolve_supports(write._replace(supports_given=tuple(given)), view)


def resolve_supports(write: Write, view: View) -> Refusal | Write | None:
    """``unknown_support``: every support is a current fact or an entry of this workspace; of a decision
    also an active decision.

    Fills in ``supports``, ``confidence``, ``level``.
    """
    if len(write.supports_given) > LIST_MAX:
        return Refusal("too_long", f"more than {LIST_MAX} supports.", "Name the decisive ones.")
    seqs: list[int] = []
    weights: list[float] = []
    levels: list[int] = []
    for given in write.supports_given:
        found = _support(given.strip(), view, write.kind)
        if isinstance(found, Refusal):
            return found
        seqs.append(found[0])
        weights.append(found[1])
        levels.append(found[2])
    return write._replace(
        supports=tuple(dict.fromkeys(seqs)),
        confidence=inference_confidence(weights) if weights else 0.0,
        level=min(levels, default=0),
    )


def check_circular(write: Write, view: View) -> Refusal | None:
    """``circular_support``: a record never replaces what it rests on."""
    below = set(write.supports)
    for seq in write.supports:
        below |= view.rests_on(seq)
    hit = below & set(write.supersedes)
    if not hit:
        return None
    names = ", ".join(f.id for f in view.facts(sorted(hit)))
    return Refusal(
        "circular_support",
        f"this would replace {names}, on which it rests.",
        "Record the new conclusion beside it, or cite evidence of its own.",
    )


def _support(given: str, view: View, kind: str) -> tuple[int, float, int] | Refusal:
    """Return (seq, confidence, level) of one support."""
    name = given.rpartition("#")[2]
    record = parse_id(name)
    if record is None:
        return Refusal(
            "unknown_support",
            f"{given[:80]!r} is no id.",
            "Name facts (fact-3) or archive entries (call-12).",
        )
    if record.kind == "fact":
        fact = view.fact(name)
        if fact is None or not fact.current:
            state = "does not exist here" if fact is None else "was superseded or retracted"
            return Refusal(
                "unknown_support",
                f"{name} {state}.",
                "Rest on what holds now: read_record shows its successor.",
            )
        return fact.seq, fact.confidence, fact.level
    if record.kind == "decision" and kind == "decision":
        decision = view.decision(name)
        if decision is None or not decision.active:
            state = "does not exist here" if decision is None else "is no longer active"
            return Refusal(
                "unknown_support", f"{name} {state}.", "memory://decisions lists the active ones."
            )
        return decision.seq, 1.0, USER
    if record.kind not in ("call", "msg"):
        return Refusal(
            "unknown_support",
            f"{name} cannot support anything.",
            "Name facts (fact-3), tool calls (call-12) or messages of the user (msg-4).",
        )
    entry = view.entry(name)
    refused = check_citable(given, entry, view)
    if refused is not None or entry is None:
        why = refused.what if refused else f"{name} is no entry of this workspace."
        return Refusal("unknown_support", why, "search_archive finds entries.")
    level = USER if entry.channel == "user" else entry.level
    return entry.seq, entry_confidence(entry), level
