"""Contradiction and duplicates: what a new fact does to the facts that are there.

Candidates are near in words or meaning, or share the subject, in a scope that agrees; a judge
says whether both can be true. The ranks here decide what follows: the user over observations,
observations over inferences, stronger evidence over weaker; unsure means disputed.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from keepthread.stores.clock import seconds
from keepthread.stores.records import Entry, Fact, scope_agrees
from keepthread.validators.arbitration import borne_out, share_passage
from keepthread.validators.confidence import strength
from keepthread.validators.duplicates import is_duplicate
from keepthread.validators.judges.local import Judgement, Statement
from keepthread.validators.newer_runs import outdated_by_run
from keepthread.validators.verdict import Refusal, Write
from keepthread.validators.view import View
from keepthread.validators.words import content_stems

Judge = Callable[[Statement, Statement, float | None], Judgement]

_KIND = {
    "observation": "observation",
    "inference": "inference",
    "instruction": "instruction-from-user",
}

NAMED = "named in supersedes"

_PASSAGE_SHOWN_MAX = 300

_SAME_MATTER = ("contradiction", "refinement", "duplicate")
_SHARED_WORDS_MIN = 1 / 3
_RELATED_MIN = 0.25
"""Cosine below which two texts have nothing to do with each other (unrelated pairs had at most .217)."""


class Conflict(NamedTuple):
    """A current fact that cannot be true together with the new one, and whether the judge is sure."""

    fact: Fact
    sure: bool
    why: str


def resolve_contradiction(judge: Judge) -> Callable[[Write, View], Refusal | Write | None]:
    """Return the rule for one judge.

    ``older_than_belief``, ``inference_against_observation``. Fills in ``supersedes``,
    ``disputes``, ``duplicate_of`` and remarks.
    """

    def check_contradiction(write: Write, view: View) -> Refusal | Write | None:
        near = view.similar_facts(write.text, write.subject, write.vector)
        new = Statement(write.text, write.subject, _KIND[write.kind])

        def related(fact: Fact) -> bool:
            cosine = next((c for f, c in near if f.seq == fact.seq), None)
            old = Statement(fact.text, fact.subject, fact.kind)
            return _share_words(old, new) or judge(old, new, cosine).label in _SAME_MATTER

        named = _named(write, view, related)
        if isinstance(named, Refusal):
            return named
        write, conflicts = named
        conflicts = [*conflicts, *_outrun(write, view, conflicts)]
        known = {c.fact.seq for c in conflicts}
        for fact, cosine in near:
            old = Statement(fact.text, fact.subject, fact.kind)
            agree = scope_agrees(write.scope, fact.scope)
            if fact.seq in known or not (agree and _may_meet(old, new, cosine)):
                continue
            verdict = judge(old, new, cosine)
            if verdict.note and verdict.note not in write.remarks:
                write = write._replace(remarks=(*write.remarks, verdict.note))
            if write.duplicate_of is None and _says_the_same(write, fact, cosine):
                if write.kind in ("inference", "instruction") and view.is_weakened(fact):
                    conflicts.append(Conflict(fact, True, "drawn anew from what holds now"))
                else:
                    write = write._replace(duplicate_of=fact.seq)
                continue
            if verdict.label == "contradiction" and not write.both_hold:
                conflicts.append(Conflict(fact, verdict.sure, verdict.why))
        for conflict in conflicts:
            result = _settle(write, conflict, view)
            if isinstance(result, Refusal):
                return result
            write = result
        return write

    return check_contradiction


def _outrun(write: Write, view: View, known: Sequence[Conflict]) -> list[Conflict]:
    """Facts on an outcome that a newer run of the same command came to otherwise."""
    seqs = {conflict.fact.seq for conflict in known}
    return [
        Conflict(fact, True, "a newer run of the same command says otherwise")
        for fact in ([] if write.both_hold else outdated_by_run(write, view))
        if fact.seq not in seqs and scope_agrees(write.scope, fact.scope)
    ]


def _named(
    write: Write, view: View, related: Callable[[Fact], bool]
) -> tuple[Write, list[Conflict]] | Refusal:
    """Read the ``supersedes`` argument: a fact id, ``none``, or nothing."""
    given = write.supersedes_given.strip()
    if not given:
        return write, []
    if given.lower() == "none":
        return write._replace(both_hold=True), []
    fact = view.fact(given)
    if fact is None or not fact.current:
        state = "does not exist here" if fact is None else "was already superseded or retracted"
        return Refusal(
            "unknown_record",
            f"supersedes names {given[:40]!r}, which {state}.",
            "Leave `supersedes` empty: contradictions are found by the server.",
        )
    if not related(fact):
        return Refusal(
            "unknown_record",
            f"supersedes names {fact.id}, which is about something else.",
            "Leave `supersedes` empty: both are kept, and contradictions are found by the server.",
            ((fact.id, fact.text),),
        )
    return write, [Conflict(fact, True, NAMED)]


def _share_words(old: Statement, new: Statement) -> bool:
    """True when two statements name one subject, or have a third of the shorter one's words in common."""
    if _share_subject(old, new):
        return True
    words = [content_stems(f"{s.text} {s.subject}") for s in (old, new)]
    shared = len(words[0] & words[1])
    return shared > 0 and shared >= _SHARED_WORDS_MIN * min(map(len, words))


def _share_subject(old: Statement, new: Statement) -> bool:
    """True when two statements are about one subject, by any of its names."""
    subjects = [
        {part.strip().casefold() for part in s.subject.split("|")} - {""} for s in (old, new)
    ]
    return bool(subjects[0] & subjects[1])


def _may_meet(old: Statement, new: Statement, cosine: float | None) -> bool:
    """False where two texts are too far apart in meaning to be worth judging."""
    return cosine is None or cosine >= _RELATED_MIN or _share_subject(old, new)


def _settle(write: Write, conflict: Conflict, view: View) -> Refusal | Write:
    old = conflict.fact
    if write.kind == "inference":
        if old.kind != "inference":
            return Refusal(
                "inference_against_observation",
                f"it contradicts {old.id}, which was {'said by the user' if old.kind != 'observation' else 'observed'} "
                f"({conflict.why}).",
                "Look again: record a newer observation with its source if the world changed.",
                ((old.id, old.text),),
            )
        return _supersede(write, conflict) if conflict.sure else _dispute(write, conflict)
    if write.kind == "instruction" and old.reported and conflict.why == NAMED:
        return _supersede(write, conflict)  # the user says now what was only reported
    if write.reported or old.reported:
        return _dispute(write, conflict)
    if write.kind == "instruction":
        return (
            _supersede(write, conflict)
            if old.kind == "instruction-from-user"
            else _dispute(write, conflict)
        )
    if old.kind == "instruction-from-user":
        return _dispute(write, conflict)._replace(
            remarks=(*write.remarks, f"violates the user's instruction {old.id}: tell the user")
        )
    if old.kind == "inference":
        return _supersede(write, conflict)
    before = list(view.entries_by_seq([c.entry for c in old.citations]).values())
    return _arbitrate(write, conflict, before) or _settle_by_rank(write, conflict, before, view.now)


def _arbitrate(write: Write, conflict: Conflict, before: Sequence[Entry]) -> Refusal | Write | None:
    """Of two facts of one passage the one stands that the passage bears out; None where that is unclear."""
    old = conflict.fact
    if conflict.why == NAMED or not share_passage(write, old, before):
        return None
    said = borne_out(old.text, write.text, write.passage)
    if said == write.text:
        return _supersede(write, conflict._replace(why="the passage that both cite says this"))
    if said != old.text:
        return None
    return Refusal(
        "not_in_source",
        f"the passage it cites bears out {old.id}, which says otherwise.",
        "State what the passage says, or cite the entry that says it.",
        ((old.id, old.text), ("the passage", write.passage[:_PASSAGE_SHOWN_MAX])),
    )


def _settle_by_rank(
    write: Write, conflict: Conflict, before: Sequence[Entry], now: float
) -> Refusal | Write:
    """Two observations that cannot both hold: the newer, unless the older rests on stronger evidence."""
    old = conflict.fact
    if conflict.sure and _is_older(write.cited, before, now):
        return Refusal(
            "older_than_belief",
            f"{old.id} was observed later and says otherwise ({conflict.why}).",
            "Nothing to do if the newer one is right; else look again and cite what you see now.",
            ((old.id, old.text),),
        )
    if _rewritten(write.cited, old, before):
        return _supersede(write, conflict._replace(why="its file says so no longer"))
    if not conflict.sure or strength(before) > strength(write.cited):
        return _dispute(write, conflict)
    return _supersede(write, conflict)


def _is_older(new: Sequence[Entry], old: Sequence[Entry], now: float) -> bool:
    """True when all new evidence precedes the old. By sequence; by (clamped) time where either was imported."""
    if not new or not old:
        return False
    if all(e.channel != "import" for e in (*new, *old)):
        return max(e.seq for e in new) < max(e.seq for e in old)

    def at(entry: Entry) -> float:
        return min(seconds(entry.seen_at), now)

    return max(map(at, new)) < max(map(at, old))


def _rewritten(new: Sequence[Entry], old: Fact, before: Sequence[Entry]) -> bool:
    """True when the new evidence is the whole of the old one's file, read again, without its passage."""
    now = {e.path: e for e in new if e.channel == "check" and e.path and not e.truncated}
    by_seq = {e.seq: e for e in before}
    passages = [(by_seq[c.entry], c) for c in old.citations if c.entry in by_seq]
    return bool(passages) and all(
        e.path in now
        and now[e.path].seq > e.seq
        and e.output[c.start : c.stop].strip() not in now[e.path].output
        for e, c in passages
    )


def _supersede(write: Write, conflict: Conflict) -> Write:
    remark = f"supersedes {conflict.fact.id} ({conflict.why})"
    return write._replace(
        supersedes=(*write.supersedes, conflict.fact.seq), remarks=(*write.remarks, remark)
    )


def _dispute(write: Write, conflict: Conflict) -> Write:
    remark = f"disputed with {conflict.fact.id} ({conflict.why}): both stand until one is checked"
    return write._replace(
        disputes=(*write.disputes, conflict.fact.seq), remarks=(*write.remarks, remark)
    )


def _says_the_same(write: Write, fact: Fact, cosine: float | None) -> bool:
    """True for a duplicate of a fact of its own kind; a report never stands for the user's words, while
    one of what the user said is known.

    The near-duplicate rule decides, not the judge's label: a paraphrase with less or other detail
    would attach its evidence to words it does not contain.
    """
    same_kind = fact.kind == _KIND[write.kind] and (write.reported or not fact.reported)
    if not same_kind or not (write.scope == fact.scope or scope_agrees(write.scope, fact.scope)):
        return False
    old, new = Statement(fact.text, fact.subject), Statement(write.text, write.subject)
    subject = f"{fact.subject} | {write.subject}" if _share_subject(old, new) else ""
    return is_duplicate(fact.text, write.text, cosine, subject)
