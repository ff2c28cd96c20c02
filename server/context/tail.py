"""The tail: what the window before left, the user's last message, older steps in brief, the last eight."""

from keepthread.server.context.frame import quote
from keepthread.server.context.moment import Moment
from keepthread.server.context.packing import Item
from keepthread.server.handoff.note import handoff_items
from keepthread.server.handoff.steps import arguments, brief_line, call_text, step_line
from keepthread.server.handoff.summaries import SUMMARY_TOOL
from keepthread.stores.recent import (
    OLDER_CALLS_MAX,
    newest_of,
    older_calls,
    older_failures,
    recent_work,
)
from keepthread.stores.records import Entry

STEPS_SHOWN = 8
_TOOLS_SHOWN = 8
_FAILURES_READ, _FAILURES_SHOWN = 20, 5


def tail_items(moment: Moment) -> list[Item]:
    """Return the lines, oldest first; the newest are packed first."""
    steps = list(
        reversed(recent_work(moment.connection, moment.workspace, where="call", limit=STEPS_SHOWN))
    )
    items = [i._replace(priority=-200 + n) for n, i in enumerate(handoff_items(moment))]
    items.extend(last_request(moment, priority=-100))
    items.extend(_older_steps(moment, steps))
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


def _older_steps(moment: Moment, shown: list[Entry]) -> list[Item]:
    """Older steps in brief, packed after the last ones: a model's summary of a window where there is
    one, an extract of what failed, and how many calls of which tools."""
    if not shown:
        return []
    connection, workspace = moment.connection, moment.workspace
    summary = newest_of(connection, workspace, SUMMARY_TOOL, "assistant")
    items = [Item(_summary_line(summary), summary.seq, priority=1)] if summary else []
    rows = older_calls(connection, workspace, shown[0].seq)
    if not rows:
        return items
    failures = older_failures(connection, workspace, shown[0].seq, _FAILURES_READ)
    known = {call_text(s) for s in shown}  # what was tried again since says more
    distinct = {c: s for s in reversed(failures) if (c := call_text(s)) not in known}
    for place, step in enumerate(sorted(distinct.values(), key=lambda s: -s.seq)[:_FAILURES_SHOWN]):
        items.append(Item(brief_line(step), step.seq, priority=3 + place))
    named = ", ".join(f"{n} {tool}" for tool, n, _ in rows[:_TOOLS_SHOWN])
    safe = named if named.isascii() and named.isprintable() else "several tools"
    calls, failed = sum(n for _, n, _ in rows), sum(f for _, _, f in rows)
    more = "at least " if calls == OLDER_CALLS_MAX else ""
    items.append(
        Item(
            f"- before these: {more}{calls} calls ({safe}), {failed} failed; search_archive finds them\n",
            priority=2,
        )
    )
    return items


def _summary_line(summary: Entry) -> str:
    """Say what steps a model summarised, and how; they are read by their ids."""
    about = arguments(summary)
    steps, model = about.get("steps"), about.get("model")
    span = f"{steps[0]} to {steps[-1]}" if isinstance(steps, list) and steps else "its window"
    return f"- {summary.id}, CLAIMED by {quote(str(model), 60)} of {span}: {quote(summary.output)}\n"
