"""``keepthread why``: why a record is believed as much as it is, and why windows show it or do not."""

from collections.abc import Sequence
from typing import NamedTuple

from keepthread.server.context.assembly import Window
from keepthread.server.context.fact_lines import expired
from keepthread.server.context.moment import Moment, read_moment
from keepthread.server.context.packing import Section
from keepthread.server.context.sections import scope_text
from keepthread.server.context.staleness import check_soundness
from keepthread.server.memory import Memory
from keepthread.server.record_pages import read_record, record_named, record_page
from keepthread.stores import decisions, facts, ledger
from keepthread.stores.archive import entries
from keepthread.stores.clock import stamp
from keepthread.stores.facts import Standing
from keepthread.stores.launch import command_line
from keepthread.stores.parts import ids_of, seq_of
from keepthread.stores.records import Decision, Fact, Tags, scope_agrees
from keepthread.stores.served import Serving, servings
from keepthread.validators.confidence import INFERRED, Step, entry_steps, served_steps

PAGE_TOKENS = 4_000
WINDOWS_SHOWN = 10

_SHOWN = ("fact", "decision", "plan")
_OUT = "not in the window"


class Why(NamedTuple):
    """A record's page, the steps of its confidence, what rests on it, the windows that it was served to,
    and where the window has it now or why not (``""`` where windows show no such records)."""

    id: str
    page: str
    confidence: tuple[Step, ...]
    dependents: tuple[str, ...]
    served: tuple[Serving, ...]
    now: str

    def text(self) -> str:
        """Return the answer as lines."""
        lines = [self.page.rstrip("\n")]
        if self.confidence:
            lines.append("confidence:")
            lines += [f"  {step.value:.2f} {step.why}" for step in self.confidence]
        if self.dependents:
            lines.append(f"rest on it: {', '.join(self.dependents)}")
        for serving in self.served[:WINDOWS_SHOWN]:
            lines.append(f"served: {serving.text()}")
        if len(self.served) > WINDOWS_SHOWN:
            lines.append(f"served: to {len(self.served) - WINDOWS_SHOWN} older windows as well")
        if self.now:
            lines.append(f"now: {self.now}")
        return "\n".join(lines) + "\n"


def explain_record(memory: Memory, given: str) -> Why:
    """Return why ``given`` is what it is. Raises UnknownRecord."""
    record, reader = record_named(given), memory.reader
    workspace = memory.onlooker().author.workspace
    seq = seq_of(reader, workspace, record)
    confidence: Sequence[Step] = ()
    now, refs = "", [seq] if seq is not None else []
    if seq is None or record.kind not in _SHOWN:
        page = read_record(memory, given, 0, PAGE_TOKENS)
    else:
        page = record_page(memory, record)
    if record.kind == "fact" and seq is not None:
        fact = facts.load_facts(reader, [seq])[seq]
        confidence, now = _confidence(memory, fact), _now_of_fact(memory, fact)
    elif record.kind == "decision" and seq is not None:
        now = _now_of_decision(memory, decisions.load_decisions(reader, [seq])[seq])
    elif record.kind == "plan" and seq is not None:
        refs = [version.seq for version in ledger.item_history(reader, seq)]
        now = (
            _place(memory, refs)
            or f"{_OUT}: it belongs to another task, or its section has no room"
        )
    above = ids_of(reader, facts.dependents(reader, seq) if seq is not None else ())
    return Why(
        str(record),
        page,
        tuple(confidence),
        tuple(above[s] for s in sorted(above)),
        tuple(servings(reader, refs)),
        now,
    )


def _confidence(memory: Memory, fact: Fact) -> list[Step]:
    reader = memory.reader
    steps: list[Step] = []
    if fact.reported:
        steps.append(Step(fact.confidence, "the model reports that the user said so"))
    elif fact.kind == "inference":
        steps.append(Step(fact.confidence, f"an inference: {INFERRED} of its weakest support"))
    else:
        cited = entries(reader, [c.entry for c in fact.citations]).values()
        weakest = min(cited, key=lambda e: entry_steps(e)[-1].value, default=None)
        if weakest is not None:
            least = ", the least of its sources" if len(cited) > 1 else ""
            steps += [Step(s.value, f"{s.why} ({weakest.id}{least})") for s in entry_steps(weakest)]
    state = facts.standing(reader, [fact.seq]).get(fact.seq, Standing())
    sound = check_soundness(reader, [fact.seq], memory.kept.watch(memory.place.tree))
    return [*steps, *served_steps(fact.confidence, state, fact.seq in sound.weak)]


def _moment(memory: Memory) -> Moment:
    caller = memory.onlooker()
    return read_moment(
        memory.reader,
        caller.author,
        tree=caller.tree,
        now=memory.clock(),
        weights=memory.settings.weights,
        kept=memory.kept,
    )


def _now_of_fact(memory: Memory, fact: Fact) -> str:
    if not fact.current:
        return f"{_OUT}: it is history"
    moment = _moment(memory)
    over = bool(fact.expires_at) and fact.expires_at <= stamp(moment.now)
    if over or expired(moment, fact):
        return f"{_OUT}: it has expired"
    no_room = f"{_OUT}: others rank higher; {command_line('context --explain')} shows the ranks"
    return _place(memory, [fact.seq]) or _other_scope(moment, fact.scope) or no_room


def _now_of_decision(memory: Memory, decision: Decision) -> str:
    if not decision.active:
        return f"{_OUT}: it is history"
    elsewhere = _other_scope(_moment(memory), decision.scope)
    return _place(memory, [decision.seq]) or elsewhere or f"{_OUT}: its section has no room"


def _other_scope(moment: Moment, scope: Tags) -> str:
    focus = moment.focus
    if focus is None or scope_agrees(scope, focus.scope):
        return ""
    return f"{_OUT}: its scope is not that of the focus {focus.id}{scope_text(focus.scope)}"


def _place(memory: Memory, refs: Sequence[int]) -> str:
    window: Window = memory.context(caller=memory.onlooker())
    for section in window.sections:
        for place, item in enumerate(section.shown, 1):
            if item.ref in refs:
                return _line(section, place, item.parts)
    return ""


def _line(section: Section, place: int, parts: str) -> str:
    rank = f", {parts}" if parts else ""
    return f"in the window, under {section.name}, {place} of {len(section.shown)}{rank}"
