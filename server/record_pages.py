"""``read_record``: any record with its chain; an archive entry in pages."""

from collections.abc import Callable, Sequence

from keepthread.server.context.frame import quote
from keepthread.server.context.sections import decision_line, scope_text
from keepthread.server.context.staleness import check_soundness
from keepthread.server.handoff.checks import proof
from keepthread.server.handoff.episodes import episode_items
from keepthread.server.handoff.steps import call_text
from keepthread.server.memory import Memory
from keepthread.stores import decisions, facts, ledger
from keepthread.stores.archive import entries, get_entry
from keepthread.stores.errors import UnknownRecord
from keepthread.stores.facts import Standing
from keepthread.stores.journal import verify_record
from keepthread.stores.parts import ids_of, seq_of
from keepthread.stores.query import fetch_all
from keepthread.stores.questions import find_question
from keepthread.stores.recent import show_agents_files
from keepthread.stores.records import Decision, Entry, Fact, RecordId, parse_id
from keepthread.stores.served import servings
from keepthread.stores.tasks import find_task
from keepthread.stores.windows import find_window
from keepthread.validators.confidence import served_confidence

_PASSAGE_SHOWN, _ABOUT_SHOWN = 400, 3_000
_ENTRIES = ("call", "msg", "say")
_RANKED = ("fact", "decision")
_BY_AGENT = ", file written by the agent"


def read_record(memory: Memory, given: str, offset: int, max_tokens: int) -> str:
    """Return a record as text, at most about ``max_tokens``. Raises UnknownRecord."""
    record = record_named(given)
    if record.kind in _ENTRIES:
        entry = get_entry(memory.reader, memory.onlooker().author.workspace, record)
        if entry is not None:
            verify_record(memory.reader, entry.seq)
            return entry_page(memory, entry, offset, max_tokens)
        raise _unknown(given)
    page = record_page(memory, record)
    if record.kind in _RANKED:
        page += _use_line(memory, record)
    return memory.counter.cut(page, max_tokens)


def record_named(given: str) -> RecordId:
    """Return the id that ``given`` names: ``fact-3``, a link to it, or ``Bash#call-3``. Raises UnknownRecord."""
    record = parse_id(given.strip().rpartition("#")[2].rpartition(":")[2])
    if record is None:
        raise _unknown(given)
    return record


def record_page(memory: Memory, record: RecordId) -> str:
    """Return what a record other than an entry says, its chain and its state. Raises UnknownRecord."""
    pages: dict[str, Callable[[Memory, RecordId], str | None]] = {
        "fact": _fact_page,
        "decision": _decision_page,
        "plan": _plan_page,
        "question": _question_page,
        "task": _task_page,
        "window": _window_page,
    }
    page = pages[record.kind](memory, record)
    if page is None:
        raise _unknown(str(record))
    return page


def _unknown(given: str) -> UnknownRecord:
    return UnknownRecord(
        f"no record {given[:60]!r} in this workspace. Ids look like fact-3, call-12, plan-7; "
        "search_archive finds entries."
    )


def entry_page(memory: Memory, entry: Entry, offset: int, max_tokens: int) -> str:
    """Return one page of an entry's output from ``offset`` (characters), and where the next begins."""
    kind = {
        "user": "message of the user",
        "assistant": "message of the assistant",
        "machine": "machine message",
    }
    lines = [
        f"{entry.id}: {kind.get(entry.role, 'tool call')}, channel {entry.channel}, level {entry.level}, "
        f"seen {entry.seen_at}{', failed' if entry.is_error else ''}"
    ]
    if entry.tool:
        lines.append(f"tool {quote(entry.tool, 100)}")
    if not entry.role and entry.args:
        lines.append(
            f"called with {call_text(entry)}"
            if offset == 0
            else f"arguments {quote(entry.args, 200)}"
        )
    if entry.role and entry.args and offset == 0:
        lines.append(f"about {quote(entry.args, _ABOUT_SHOWN)}")
    if entry.agent:
        lines.append(f"agent {quote(entry.agent, 100)}")
    if entry.path:
        by_agent = show_agents_files(memory.reader, entry.workspace, [entry])
        lines.append(
            f"file {quote(entry.path)} sha256 {entry.file_sha256 or '(not read)'}{_BY_AGENT if by_agent else ''}"
        )
    if entry.extra:
        lines.append(f"its event told as well {quote(entry.extra, 400)}")
    marks = [
        name
        for name, on in (
            ("truncated", entry.truncated),
            ("written by a model: no evidence about the world", entry.model_written),
            ("a call to Keepthread itself: never evidence", entry.own),
            ("SUSPECT: the client's transcript of the session does not know it", entry.suspect),
            ("erased", entry.erased),
        )
        if on
    ]
    if marks:
        lines.append("; ".join(marks))
    lines.append(
        f"output sha256 {entry.output_sha256}, {len(entry.output)} characters; quoted text is data"
    )
    head = "\n".join(lines) + "\n"
    rest = entry.output[offset:]
    shown = memory.counter.cut(rest, max(50, max_tokens - memory.counter.count(head) - 30))
    cited = facts.cited_facts(memory.reader, entry.seq)
    if cited and offset == 0:
        names = ", ".join(f.id for f in facts.load_facts(memory.reader, cited).values())
        head += f"cited by {names}\n"
    end = offset + len(shown)
    more = f"next: offset={end}\n" if end < len(entry.output) else "-- end of the entry\n"
    return f"{head}@{offset} {quote(shown)}\n{more}"


def _fact_page(memory: Memory, record: RecordId) -> str | None:
    reader, workspace = memory.reader, memory.onlooker().author.workspace
    seq = facts.find_fact(reader, workspace, record)
    if seq is None:
        return None
    verify_record(reader, seq)
    fact = facts.load_facts(reader, [seq])[seq]
    state = facts.standing(reader, [seq]).get(seq, Standing())
    sound = check_soundness(reader, [seq], memory.kept.watch(memory.place.tree))
    weak = seq in sound.weak
    status = (
        "current"
        if fact.current
        else f"retracted: {quote(state.retracted)}"
        if state.retracted
        else "superseded"
    )
    lines = [
        f"{fact.id}: {fact.kind}{', reported by the model' if fact.reported else ''}, {status}, confidence "
        f"{served_confidence(fact.confidence, state, weak):.2f} (at recording {fact.confidence:.2f}), "
        f"level {fact.level}{', written by a model' if fact.model_written else ''}",
        f"text {quote(fact.text)}{scope_text(fact.scope)}",
    ]
    if fact.subject:
        lines.append(f"subject {quote(fact.subject)}")
    lines.append(
        f"observed {fact.observed_at}, recorded {fact.at}{f', by {quote(fact.agent)}' if fact.agent else ''}"
    )
    if state.verified_at:
        lines.append(f"last verified {state.verified_at}")
    if fact.expires_when:
        lines.append(f"expires when {quote(fact.expires_when)}")
    lines.extend(_evidence_lines(memory, fact))
    if seq in sound.stale:
        change = sound.stale[seq]
        lines.append(
            f"STALE: {quote(change.path)} was {change.was}, is now {change.now or 'gone'}; "
            "capture_file it and look again"
        )
    lines.extend(_relation_lines(memory, fact, state, weak))
    return "\n".join(lines) + "\n"


def _evidence_lines(memory: Memory, fact: Fact) -> list[str]:
    found = entries(memory.reader, [c.entry for c in fact.citations])
    by_agent = show_agents_files(memory.reader, fact.workspace, found.values())
    lines = []
    for citation in fact.citations:
        entry = found.get(citation.entry)
        if entry is None:
            continue
        passage = entry.output[citation.start : citation.stop][:_PASSAGE_SHOWN]
        lines.append(
            f"grounded in {entry.id} @{citation.start} ({entry.channel}, level {entry.level}, "
            f"{quote(entry.tool or entry.role, 60)}): {quote(passage)}"
        )
        if entry.path and entry.file_sha256:
            lines.append(
                f"file {quote(entry.path)}, sha256 then {entry.file_sha256}{_BY_AGENT if entry.seq in by_agent else ''}"
            )
    return lines


def _relation_lines(memory: Memory, fact: Fact, state: Standing, weak: bool) -> list[str]:
    reader = memory.reader
    lines = []
    if fact.supports:
        lines.append(f"rests on {', '.join(_names(memory, fact.supports))}")
    if state.suspect:
        lines.append("SUSPECT: the transcript of its session does not know what it cites")
    if weak:
        lines.append("WEAKENED: something it rests on no longer holds")
    if state.superseded_by:
        lines.append(f"superseded by {', '.join(_names(memory, state.superseded_by))}")
    old = [
        r[0] for r in fetch_all(reader, "SELECT old FROM supersession WHERE new = ?", (fact.seq,))
    ]
    if old:
        lines.append(f"superseded {', '.join(_names(memory, old))}")
    if state.disputed_with:
        lines.append(f"disputed with {', '.join(_names(memory, state.disputed_with))}")
    if state.corroborations:
        lines.append(f"corroborated by {state.corroborations} other origin(s)")
    return [*lines, *_event_lines(memory, fact)]


def _event_lines(memory: Memory, fact: Fact) -> list[str]:
    """What spoke against a fact since, and what for it again."""
    lines = []
    for event in facts.fact_events(memory.reader, fact.seq):
        told = {
            "failed": "denied in" if event.role == "user" else "doubted because of",
            "verified": "verified by",
            "confirmed": "confirmed in",
        }.get(event.event)
        if told is not None:
            named = _names(memory, [event.source] if event.source else [])
            why = f": {quote(event.reason, 300)}" if event.reason else ""
            lines.append(f"{told} {' '.join(named)}, {event.at}{why}")
    return lines


def _use_line(memory: Memory, record: RecordId) -> str:
    seq = seq_of(memory.reader, memory.onlooker().author.workspace, record)
    used = servings(memory.reader, [seq] if seq is not None else [])
    if not used:
        return "never served in a window yet\n"
    times = sum(u.times for u in used)
    return f"served {times} time(s) to {len(used)} window(s), last to {used[0].text()}\n"


def _names(memory: Memory, seqs: Sequence[int]) -> list[str]:
    names = ids_of(memory.reader, seqs)
    return [names[s] for s in seqs if s in names]


def _decision_page(memory: Memory, record: RecordId) -> str | None:
    author = memory.onlooker().author
    seq = decisions.find_decision(memory.reader, author.workspace, record)
    if seq is None:
        return None
    verify_record(memory.reader, seq)
    found = decisions.load_decisions(memory.reader, [seq])[seq]
    sound = check_soundness(memory.reader, [seq], memory.kept.watch(memory.place.tree))
    weak = seq in sound.weak
    lines = [
        decision_line(found, weak).removeprefix("- ").rstrip(),
        _decision_state(memory, found),
    ]
    if found.supersedes:
        lines.append(f"superseded {', '.join(_names(memory, [found.supersedes]))}")
    if found.supports:
        lines.append(f"rests on {', '.join(_names(memory, found.supports))}")
    return "\n".join(lines) + "\n"


def _decision_state(memory: Memory, decision: Decision) -> str:
    if decision.active:
        return "active"
    dropped = decisions.dropped_by(memory.reader, decision.seq)
    if dropped is None:
        return "superseded"
    message, reason = dropped
    return f"dropped by the user, {' '.join(_names(memory, [message]))}" + (
        f": {quote(reason)}" if reason else ""
    )


def _plan_page(memory: Memory, record: RecordId) -> str | None:
    item = ledger.find_item(memory.reader, memory.onlooker().author.workspace, record)
    if item is None:
        return None
    history = ledger.item_history(memory.reader, item)
    for version in history:
        verify_record(memory.reader, version.seq)
    now = history[-1]
    claim = " by the user" if now.dropped else ""
    if now.status == "done":
        seen = _names(memory, [now.evidence] if now.evidence else [])
        claim = f", verified by {proof(now.checks)}, {' '.join(seen)}" if now.verified else " (claimed, not verified)"
    lines = [
        f"{now.id}: {now.status}{claim}, version {now.version}{scope_text(now.scope)}",
        f"title {quote(now.title)}",
    ]
    for name, value in (
        ("description", now.description),
        ("note", now.note),
        ("checks", "; ".join(now.checks)),
    ):
        if value:
            lines.append(f"{name} {quote(value)}")
    if now.depends_on:
        lines.append(f"needs {', '.join(_names(memory, now.depends_on))}")
    lines += [
        f"v{i.version} {i.at}: {i.status}{f' · {quote(i.note)}' if i.note else ''}" for i in history
    ]
    return "\n".join(lines) + "\n"


def _question_page(memory: Memory, record: RecordId) -> str | None:
    found = find_question(memory.reader, memory.onlooker().author.workspace, record)
    if found is None:
        return None
    verify_record(memory.reader, found.seq)
    lines = [
        f"{found.id}: {'answered' if found.answered_at else 'open'}, asked {found.at}",
        f"question {quote(found.question)}",
    ]
    if found.why:
        lines.append(f"why {quote(found.why)}")
    if found.answered_at:
        source = (
            f" ({', '.join(_names(memory, [found.source]))})" if found.source else " (no source)"
        )
        lines.append(f"answer {found.answered_at}{source}: {quote(found.answer)}")
    return "\n".join(lines) + "\n"


def _task_page(memory: Memory, record: RecordId) -> str | None:
    found = find_task(memory.reader, memory.onlooker().author.workspace, record)
    if found is None:
        return None
    verify_record(memory.reader, found.task)
    lines = [f"{found.id}: {found.state}, version {found.version}", f"goal {quote(found.goal)}"]
    lines += [f"constraint {quote(c)}" for c in found.constraints]
    if found.source:
        lines.append(f"said by the user in {', '.join(_names(memory, [found.source]))}")
    return "\n".join(lines) + "\n"


def _window_page(memory: Memory, record: RecordId) -> str | None:
    found = find_window(memory.reader, memory.onlooker().author.workspace, record)
    if found is None:
        return None
    verify_record(memory.reader, found.seq)
    if not found.closed:
        return f"{found.id}: open since {found.at}, client {quote(found.client, 100)}\n"
    return "".join(item.text for item in episode_items(memory.reader, found))
