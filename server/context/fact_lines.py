"""The lines of the facts section, in blocks: re-verify, observations, inferences, disputed, reported.

Superseded, retracted and expired facts are never here. A fact whose file changed is only ever
shown in the re-verify block, marked STALE.
"""

from collections.abc import Sequence
from typing import NamedTuple

from keepthread.server.context.frame import quote
from keepthread.server.context.moment import Moment
from keepthread.server.context.packing import Item
from keepthread.server.context.ranking import Score, rank_facts
from keepthread.server.context.sections import scope_text
from keepthread.server.context.staleness import Soundness, check_soundness, last_seen
from keepthread.stores.archive import entries
from keepthread.stores.clock import seconds, stamp
from keepthread.stores.facts import Standing, load_facts, standing
from keepthread.stores.journal import intact_records
from keepthread.stores.parts import ids_of
from keepthread.stores.recent import show_agents_files
from keepthread.stores.records import Entry, Fact
from keepthread.stores.tasks import get_task
from keepthread.validators.confidence import entry_confidence, served_confidence

LOADED_MAX = 400
"""Facts read in full for one window: more than fit any default budget."""

REPORTED_DAYS = 30
HYPOTHESIS_DAYS = 30
_DAY = 86_400

BLOCKS = ("re-verify", "observations", "inferences", "disputed", "reported, not confirmed")


class _Reading(NamedTuple):
    facts: dict[int, Fact]
    scores: dict[int, Score]
    sound: Soundness
    standing: dict[int, Standing]
    cited: dict[int, Entry]
    agents: set[int]
    names: dict[int, str]  # ids of what facts rest on and are disputed with


def fact_items(
    moment: Moment, pinned: frozenset[int], most: int = LOADED_MAX
) -> tuple[list[Item], int]:
    """Return the section's lines in block order, best rank first in each block, and how many were not read.

    ``pinned`` are the instructions that pinned already shows; those it had no room for come first.
    At most ``most`` facts are read in full.
    """
    reading, total = _read(moment, most)
    items = [
        Item(f"- instruction {f.id}, from the user, no room in pinned: {quote(f.text)}\n", f.seq)
        for f in moment.instructions
        if f.seq not in pinned
    ]
    blocks: dict[str, list[Item]] = {block: [] for block in BLOCKS}
    blocks[BLOCKS[0]] += [
        Item(
            f"- {f.id} [SUSPECT: its session's transcript does not know the message; ask the user]: "
            f"{quote(f.text)}\n",
            f.seq,
        )
        for f in moment.suspect_instructions
    ]
    for seq, score in reading.scores.items():
        fact = reading.facts.get(seq)
        if fact is not None and not expired(moment, fact):
            line = _line(moment, reading, fact)
            told = "" if _stated_by_user(reading, fact) else fact.text
            blocks[_block(reading, fact)].append(
                Item(line, seq, score.total, parts=score.parts(), checked=True, told=told)
            )
    for block, lines in blocks.items():
        if lines:
            items.append(lines[0]._replace(text=f"{block}:\n{lines[0].text}"))
            items.extend(lines[1:])
    return items, total - len(reading.scores)


def _read(moment: Moment, most: int) -> tuple[_Reading, int]:
    """Read the best facts in scope; a record that differs from its digest is never served."""
    connection = moment.connection
    scores, total = rank_facts(
        connection,
        moment.facts,
        moment.focus.scope if moment.focus else (),
        moment.query(),
        moment.focus.item if moment.focus else moment.author.task,
        moment.weights,
        stamp(moment.now),
        most,
    )
    facts = load_facts(connection, intact_records(connection, list(scores)))
    cited = entries(connection, list({c.entry for f in facts.values() for c in f.citations}))
    sound = check_soundness(connection, facts, moment.watch)
    agents = show_agents_files(connection, moment.workspace, cited.values())
    since = standing(connection, scores)
    named = {seq for f in facts.values() for seq in f.supports}
    named.update(seq for s in since.values() for seq in s.disputed_with)
    names = ids_of(connection, named)
    return _Reading(facts, scores, sound, since, cited, agents, names), total


def expired(moment: Moment, fact: Fact) -> bool:
    """True when what a fact said of its own end came true, or nobody confirmed a reported one in time."""
    expires = fact.expires_when.strip()
    if fact.reported and moment.now - seconds(fact.at) > REPORTED_DAYS * _DAY:
        return True
    if expires == "task_end" and fact.task is not None:
        return get_task(moment.connection, fact.task).state == "done"
    if expires.startswith("changed:"):
        seen = last_seen(moment.connection, moment.workspace, expires[8:].strip(), fact.seq)
        return seen is not None and moment.watch.changed(seen) is not None
    return False


def _block(reading: _Reading, fact: Fact) -> str:
    if fact.reported:
        return BLOCKS[4]
    state = reading.standing.get(fact.seq, Standing())
    sound = reading.sound
    if fact.seq in sound.stale or fact.seq in sound.weak or state.failures:
        return BLOCKS[0]
    if state.disputed_with:
        return BLOCKS[3]
    return BLOCKS[2] if fact.kind == "inference" else BLOCKS[1]


def _line(moment: Moment, reading: _Reading, fact: Fact) -> str:
    state = reading.standing.get(fact.seq, Standing())
    weak = fact.seq in reading.sound.weak
    confidence = served_confidence(fact.confidence, state, weak)
    fields = [
        f"{confidence:.2f}",
        fact.observed_at[:16],
        *_source_fields(fact, reading),
        *trust_fields(fact, _sources(reading, fact)),
    ]
    if fact.seq in reading.sound.stale:
        change = reading.sound.stale[fact.seq]
        gone = "was removed" if not change.now else "changed since"
        fields.append(
            f"STALE: {quote(change.path, 200)} {gone}; capture_file it and record what it says now"
        )
    if state.failures:
        fields.append(_doubt_field(moment, state))
    if state.suspect:
        fields.append("SUSPECT: its session's transcript does not know what it cites")
    if weak:
        fields.append(
            "WEAKENED: what it rests on no longer holds; record it anew on what does, or retract it"
        )
    if state.disputed_with:
        others = (reading.names[seq] for seq in sorted(state.disputed_with))
        fields.append(f"DISPUTED with {' '.join(others)}")
    if fact.model_written:
        fields.append("written by a model")
    elif any(c.entry in reading.agents for c in fact.citations):
        fields.append("file written by the agent")
    fields.extend(_life_fields(moment, fact, reading))
    explained = f" {{{reading.scores[fact.seq].parts()}}}" if moment.explain else ""
    return f"- {fact.id} [{' · '.join(fields)}{scope_text(fact.scope)}]{explained}: {quote(fact.text)}\n"


def _doubt_field(moment: Moment, state: Standing) -> str:
    against = entries(moment.connection, [state.failed_by] if state.failed_by else [])
    entry = against.get(state.failed_by or 0)
    if entry is None:
        return "DOUBTED: look again, and record what you see now"
    if entry.role == "user":
        return (
            f"DENIED by the user, {entry.id}: look again and cite what you see now; if the user is right, "
            f"retract_fact with source={entry.id}"
        )
    name = quote(entry.tool, 80)[1:-1]
    return f"DOUBTED: {name} keeps failing, {entry.id}: look again and cite what you see now"


def _source_fields(fact: Fact, reading: _Reading) -> list[str]:
    if fact.reported:
        return ["reported by the model"]
    if fact.kind == "inference":
        ids = [reading.names[seq] for seq in fact.supports if seq in reading.names]
        return [f"rests on {' '.join(ids[:5])}"]
    sources = _sources(reading, fact)
    if _stated_by_user(reading, fact):
        return [f"stated by the user, {' '.join(dict.fromkeys(e.id for e in sources))}"]
    names = dict.fromkeys(f"{quote(e.tool, 60)[1:-1]}#{e.id}" for e in sources)
    return [" ".join(names)] if names else []


def _sources(reading: _Reading, fact: Fact) -> list[Entry]:
    return [reading.cited[c.entry] for c in fact.citations if c.entry in reading.cited]


def _stated_by_user(reading: _Reading, fact: Fact) -> bool:
    sources = _sources(reading, fact)
    return bool(sources) and all(e.role == "user" for e in sources)


def trust_fields(fact: Fact, sources: Sequence[Entry]) -> list[str]:
    """Return the channel and level behind a fact: those of its least trusted source."""
    if fact.reported:
        return []
    if fact.kind == "inference":
        return [f"level {fact.level}"]
    told = [s for s in sources if s.channel != "user"]
    return [min(told, key=entry_confidence).trust] if told else []


def _life_fields(moment: Moment, fact: Fact, reading: _Reading) -> list[str]:
    if fact.expires_when:
        return [f"until {quote(fact.expires_when, 100)}"]
    has_file = any(
        reading.cited[c.entry].file_sha256 for c in fact.citations if c.entry in reading.cited
    )
    if fact.kind == "inference" or has_file or fact.reported:
        return []
    review = seconds(fact.observed_at) + HYPOTHESIS_DAYS * _DAY
    if review < moment.now:
        return ["review: no file would show a change, and it is over 30 days old"]
    return []
