"""The tail: what the window before left, the user's last message, older steps in brief, the last eight."""

from keepthread.server.context.moment import Moment
from keepthread.server.context.packing import Item
from keepthread.server.handoff.note import handoff_items
from keepthread.server.handoff.steps import step_line
from keepthread.stores.archive import OLDER_CALLS_MAX, older_calls, recent_work
from keepthread.stores.records import Entry

STEPS_SHOWN = 8
_TOOLS_SHOWN = 8


def tail_items(moment: Moment) -> list[Item]:
    """Return the lines, oldest first; the newest are packed first."""
    steps = list(
        reversed(recent_work(moment.connection, moment.workspace, where="call", limit=STEPS_SHOWN))
    )
    items = [i._replace(priority=-200 + n) for n, i in enumerate(handoff_items(moment))]
    items.extend(last_request(moment, priority=-100))
    brief = _older_steps(moment, steps)
    if brief is not None:
        items.append(brief)
    for place, step in enumerate(steps):
        line = step_line(step)
        if not place:
            line = "last steps, newest last:\n" + line
        items.append(Item(line, step.seq, priority=-place))
    return items


def last_request(moment: Moment, *, priority: int) -> list[Item]:
    """Return the user's last message as one line; [] before there is any."""
    asked = recent_work(moment.connection, moment.workspace, where="user", limit=1)
    return [Item("last request:\n" + step_line(e), e.seq, priority=priority) for e in asked]


def _older_steps(moment: Moment, shown: list[Entry]) -> Item | None:
    """Older steps in one line: how many calls of which tools, and how many failed."""
    if not shown:
        return None
    rows = older_calls(moment.connection, moment.workspace, shown[0].seq)
    if not rows:
        return None
    named = ", ".join(f"{n} {tool}" for tool, n, _ in rows[:_TOOLS_SHOWN])
    safe = named if named.isascii() and named.isprintable() else "several tools"
    calls, failed = sum(n for _, n, _ in rows), sum(f for _, _, f in rows)
    more = "at least " if calls == OLDER_CALLS_MAX else ""
    return Item(
        f"- before these: {more}{calls} calls ({safe}), {failed} failed; search_archive finds them\n",
        priority=1,
    )
