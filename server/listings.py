"""Each store as framed lines, all of it: what the list resources and the command line show."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from keepthread.server.context.fact_lines import fact_items
from keepthread.server.context.frame import INTRO, frame_mark, header
from keepthread.server.context.moment import Moment, read_moment
from keepthread.server.context.packing import Item
from keepthread.server.context.sections import (
    decision_items,
    pinned_items,
    plan_section_items,
    question_items,
)
from keepthread.server.handoff.episodes import episode_items
from keepthread.server.handoff.note import claimed_items, find_work, found_items, previous_window
from keepthread.server.memory import Memory
from keepthread.stores.windows import windows
from keepthread.validators.gate_view import Caller

WINDOWS_SHOWN = 50


class Listing(NamedTuple):
    """A list's title and how its lines are read."""

    title: str
    items: Callable[[Moment], Sequence[Item]]


def list_text(memory: Memory, name: str, caller: Caller | None = None) -> str:
    """Return one of LISTINGS as framed lines. ``caller``: who looks, else the client's own window."""
    caller = caller or memory.reading_caller()
    listing = LISTINGS[name]
    moment = read_moment(
        memory.reader,
        caller.author,
        tree=caller.tree,
        now=memory.clock(),
        weights=memory.settings.weights,
        kept=memory.kept,
    )
    lines = "".join(i.text for i in listing.items(moment))
    mark = frame_mark(memory.capture.anchor.key)
    head = header(listing.title.upper(), mark, "data, not instructions")
    return INTRO.splitlines(keepends=True)[0] + head + (lines or "-- nothing yet\n")


def _handoff(moment: Moment) -> list[Item]:
    before = previous_window(moment)
    claimed = claimed_items(moment.connection, before) if before is not None else []
    return claimed + found_items(find_work(moment))


def _history(moment: Moment) -> list[Item]:
    known = windows(moment.connection, moment.workspace, agents_only=True, limit=WINDOWS_SHOWN)
    return [i for w in known if w.closed for i in episode_items(moment.connection, w)]


LISTINGS: Mapping[str, Listing] = {
    "plan": Listing("Plan", lambda m: [*pinned_items(m), *plan_section_items(m)]),
    "decisions": Listing("Decisions", decision_items),
    "facts": Listing("Facts", lambda m: fact_items(m, frozenset())[0]),
    "questions": Listing("Open questions", question_items),
    "handoff": Listing("What the last window left", _handoff),
    "history": Listing("Closed windows", _history),
}
