"""Citations: from what the model wrote as a source to the archive entries that contain the claim.

Models rarely know ids. ``tool:Bash``, ``file:ci.yml`` and ``user`` are resolved to the newest
entry in which the claim is grounded; the answer names it in full.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from keepthread.stores.records import Citation, Entry, parse_id
from keepthread.validators.confidence import (
    MODEL_WRITTEN,
    USER,
    entry_confidence,
    observation_confidence,
)
from keepthread.validators.evidence import Evidence
from keepthread.validators.grounding import Grounding, ground
from keepthread.validators.quoting import quote
from keepthread.validators.shell_origin import run_of
from keepthread.validators.verdict import Refusal, Write
from keepthread.validators.view import View

SOURCES_MAX = 5
REPORTED = "user:reported"

_FULL = re.compile(r"(?:(tool|file|user):[^#,]*#?)?((?:call|msg|say|sys)-\d+)")
_SPREAD_MAX = 5
_QUOTED_MAX = 300


class Cited(NamedTuple):
    """One citation resolved: entries it may mean, the likeliest first; ``fixed`` when an id was given."""

    given: str
    entries: tuple[Entry, ...]
    fixed: bool
    tool: str = ""  # the tool named, where only the tool was


def resolve_source(write: Write, view: View) -> Refusal | Write | None:
    """``uncited_observation``, ``unknown_source``, ``self_citation``, ``not_in_source``.

    Fills in ``cited``, ``citations``, ``passage``, ``level``, ``confidence``, ``model_written``,
    ``observed_at``.
    """
    sources = [s.strip() for s in write.source.split(",") if s.strip()]
    if not sources:
        return Refusal(
            "uncited_observation",
            "an observation needs the entry that shows it.",
            'Pass source="tool:Bash", "file:ci.yml" or "user" (the server finds the entry), or an id '
            "from search_archive. What cannot be cited is an inference with supports, or an open question.",
        )
    if len(sources) > SOURCES_MAX:
        return Refusal(
            "too_long", f"{len(sources)} sources; at most {SOURCES_MAX}.", "Cite the decisive ones."
        )
    resolved: list[Cited] = []
    for given in sources:
        found = resolve_citation(given, view)
        if isinstance(found, Refusal):
            return found
        resolved.append(found)
    return ground_write(write, resolved, view)


def resolve_citation(given: str, view: View) -> Cited | Refusal:
    """Return the entries one citation may mean, or the refusal that says why there is none."""
    if re.fullmatch(r"(?:fact|decision|plan|question|task|window)-\d+", given):
        return Refusal(
            "self_citation",
            f"{given} is a record of this memory, and memory is no evidence for memory.",
            "Cite the archive entry it rests on (read_record shows it), or list it in `supports` of an inference.",
        )
    full = _FULL.fullmatch(given)
    if full:
        entry = view.entry(full[2])
        return check_citable(given, entry, view) or Cited(given, (entry,) if entry else (), True)
    head, _, rest = given.partition(":")
    tool = ""
    if given == "user" or (head == "user" and parse_id(rest) is None):
        entries = view.user_messages()
    elif head == "tool" and rest:
        entries, tool = view.entries_of_tool(rest), rest
    elif head == "file" and rest:
        entries = view.entries_of_file(rest)
    elif given in view.known_tools():
        entries, tool = view.entries_of_tool(given), given
    else:
        entries = view.entries_of_file(given) if "/" in given or "." in given else []
    if not entries:
        return _unknown(given, view)
    return Cited(given, strongest_first(entries), False, tool)


def strongest_first(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Order entries, newest first, so that a copy never stands before what is better evidence of the same.

    Two are of the same when they show one file, or are one call, with equal output and no other
    content of it between them.
    """
    ordered: dict[int, Entry] = {}
    for place, entry in enumerate(entries):
        alike = [entry]
        for older in entries[place + 1 :]:
            if _shows(older) != _shows(entry):
                continue
            if older.output == entry.output:
                alike.append(older)
            elif older.output not in entry.output and entry.output not in older.output:
                break
        best = max(alike, key=entry_confidence)
        ordered.setdefault(best.seq, best)
        ordered.setdefault(entry.seq, entry)
    return tuple(ordered.values())


def _shows(entry: Entry) -> tuple[str, ...]:
    return (entry.path,) if entry.path else (entry.tool.lower(), entry.args)


def check_citable(given: str, entry: Entry | None, view: View) -> Refusal | None:
    """Refuse an entry that is missing, our own, or nobody's evidence."""
    if entry is None:
        return _unknown(given, view)
    if entry.own:
        return Refusal(
            "self_citation",
            f"{entry.id} is a call to Keepthread itself, and memory is no evidence for memory.",
            "Cite the call or message that shows it.",
        )
    if entry.role in ("assistant", "machine"):
        who = "the assistant's own words" if entry.role == "assistant" else "a message of a machine"
        return Refusal(
            "unknown_source",
            f"{entry.id} is {who}; it is evidence of nothing.",
            "Cite the tool call or the user's message.",
        )
    if entry.erased:
        return Refusal(
            "unknown_source", f"the words of {entry.id} were erased.", "Look again and cite that."
        )
    return None


def ground_write(write: Write, resolved: Sequence[Cited], view: View) -> Refusal | Write:
    """Find entries, among those cited, that contain the claim; the newest that do are stored."""
    best: tuple[Grounding, tuple[Entry, ...]] | None = None
    fixed = {c.entries[0].seq for c in resolved if c.fixed}
    over: set[str] = set()  # runs that a newer run of the same command speaks against
    for chosen in chain(_choices(resolved), _older_choices(write.text, resolved, view)):
        loose = [e for e in chosen if e.seq not in fixed]
        if any(run_of(e) in over for e in loose):
            continue
        found = ground(write.text, [as_evidence(e) for e in chosen], _similarity(view))
        if found.grounded:
            return _grounded(write, chosen, found)
        if found.against and len(loose) == 1 and not loose[0].role:
            over.add(run_of(loose[0]))
        if best is None or _tells_more(found, best[0]):
            best = (found, chosen)
    assert best is not None  # _choices yields at least once, every citation has an entry
    return not_in_source(best[0], best[1], view)


def _tells_more(found: Grounding, than: Grounding) -> bool:
    """Whether a refusal is nearer to the matter: the entry says the contrary, or less is missing."""
    if found.against != than.against:
        return found.against
    return len(found.missing) < len(than.missing)


def _older_choices(text: str, resolved: Sequence[Cited], view: View) -> Iterator[tuple[Entry, ...]]:
    """Calls of a loosely cited tool from further back, by the words they share with the claim."""
    loose = [c for c in resolved if not c.fixed]
    if len(loose) != 1 or not loose[0].tool:
        return
    fixed = tuple(c.entries[0] for c in resolved if c.fixed)
    tried = {e.seq for e in loose[0].entries}
    for entry in view.entries_like(text, loose[0].tool):
        if entry.seq not in tried:
            yield (*fixed, entry)


def as_evidence(entry: Entry) -> Evidence:
    """Return an entry as the grounding rules read it."""
    return Evidence(
        entry=entry.id,
        kind="message" if entry.role else "capture" if entry.channel == "check" else "call",
        role=entry.role,
        tool=entry.tool,
        args=entry.args,
        output=entry.output,
        is_error=entry.is_error,
        truncated=entry.truncated,
        path=entry.path,
        model_written=entry.model_written,
    )


def not_in_source(found: Grounding, entries: Sequence[Entry], view: View) -> Refusal:
    """The refusal for a claim its sources do not contain, with the nearest passages."""
    by_id = {e.id: e for e in entries}
    material = [
        (
            f"nearest passage, {p.entry} at {p.start}",
            by_id[p.entry].output[p.start : p.stop][:_QUOTED_MAX],
        )
        for p in found.nearest
        if p.entry in by_id
    ]
    if not material:
        material = [(f"{e.id} was called with", e.args[:_QUOTED_MAX]) for e in entries if e.args]
    if any(e.role == "user" for e in entries):
        material += [
            (f"the user said, {m.id}", m.output[:_QUOTED_MAX]) for m in view.user_messages()[:3]
        ]
    missing = f" Not found: {', '.join(found.missing[:5])}." if found.missing else ""
    return Refusal(
        "not_in_source",
        f"{found.why.rstrip('.')}.{missing}",
        "State what the entry says, cite the entry that says it (search_archive), or record an "
        "inference with supports.",
        tuple(dict.fromkeys(material)),
    )


def _choices(resolved: Sequence[Cited]) -> list[tuple[Entry, ...]]:
    """Sets of entries to try: each alone first, then all together, then values spread over several calls."""
    fixed = tuple(c.entries[0] for c in resolved if c.fixed)
    loose = [c.entries for c in resolved if not c.fixed]
    if not loose:
        singles = [(e,) for e in fixed] if len(fixed) > 1 else []
        return [fixed, *singles]
    if len(loose) == 1:
        choices = [(*fixed, e) for e in loose[0]]
        spread = [(*fixed, *loose[0][:n]) for n in range(2, _SPREAD_MAX + 1) if n <= len(loose[0])]
        return [*choices, *spread]
    newest = tuple(entries[0] for entries in loose)
    wide = tuple(e for entries in loose for e in entries[:_SPREAD_MAX])
    return [
        (*fixed, *newest),
        (*fixed, *dict.fromkeys(wide)),
        *[(*fixed, e) for es in loose for e in es],
    ]


def _grounded(write: Write, chosen: tuple[Entry, ...], found: Grounding) -> Write:
    by_id = {e.id: e for e in chosen}
    used = [p for p in found.passages if p.entry in by_id]
    entries = tuple(dict.fromkeys(by_id[p.entry] for p in used)) or chosen[:1]
    citations = tuple(Citation(by_id[p.entry].seq, p.start, p.stop) for p in used) or (
        Citation(entries[0].seq, 0, min(len(entries[0].output), _QUOTED_MAX)),
    )
    first = citations[0]
    passage = next(e for e in entries if e.seq == first.entry).output[first.start : first.stop]
    model_written = found.model_written or all(e.model_written for e in entries)
    confidence = observation_confidence(entries)
    stated_by_user = all(e.role == "user" and e.channel == "user" for e in entries)
    seen = min((e.seen_at for e in entries), default="")
    return write._replace(
        cited=entries,
        citations=citations,
        passage=passage,
        model_written=model_written,
        confidence=min(confidence, MODEL_WRITTEN) if model_written else confidence,
        level=USER if stated_by_user else min(e.level for e in entries),
        observed_at=min(write.observed_at or seen, seen),
    )


def _similarity(view: View) -> "_Similarity | None":
    return _Similarity(view) if view.similarity("", []) is not None else None


class _Similarity:
    """The view's cosine as the plain function that grounding takes."""

    def __init__(self, view: View) -> None:
        self._view = view

    def __call__(self, claim: str, passages: Sequence[str]) -> Sequence[float]:
        return self._view.similarity(claim, passages) or [0.0] * len(passages)


def _unknown(given: str, view: View) -> Refusal:
    tools = ", ".join(f"tool:{quote(t)[1:-1]}" for t in view.known_tools()[:5])
    seen = (
        f" Captured here: {tools}."
        if tools
        else " No tool call was captured in this workspace yet."
    )
    remedy = "Call search_archive for the entry, capture_file for a file, or ask an open question."
    material = tuple(
        (f"the user said, {m.id}", m.output[:_QUOTED_MAX]) for m in view.user_messages()[:3]
    )
    if given.partition(":")[0] == "user" and not view.user_messages():
        return Refusal(
            "unknown_source",
            "no message of the user was captured in this window.",
            "Cite an earlier message by its id (search_archive finds it), or leave it to an open question.",
        )
    return Refusal(
        "unknown_source",
        f"{given[:80]!r} names no archive entry of this workspace.{seen}",
        remedy,
        material if given.startswith("user") else (),
    )
