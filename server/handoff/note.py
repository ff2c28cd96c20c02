"""What the window before left behind: what it CLAIMED, and what the archive FOUND.

Where the agent was killed or compacted and wrote no note, its last words stand in the note's
place, marked as claims; what was found comes from the archive either way.
"""

import json
from typing import NamedTuple

import apsw

from keepthread.server.context.frame import quote
from keepthread.server.context.moment import Moment
from keepthread.server.context.packing import Item
from keepthread.server.handoff.steps import call_text, command_of, shortened
from keepthread.server.handoff.summaries import SUMMARY_TOOL
from keepthread.stores.archive import entries
from keepthread.stores.parts import ids_of
from keepthread.stores.recent import files_written, recent, recent_work
from keepthread.stores.records import Entry, Window
from keepthread.stores.windows import count_records, joined_task, window_words, windows

FILES_SHOWN = 40
FILES_SHOWN_WITHOUT_TASK = 12
_TELLING = ("call", "msg", "fact", "decision", "plan")
_LOOK_BACK, _WINDOWS_LOOKED_AT = 200, 50
CLAIM_CHARS_MAX = 2_000


HOW_CLOSED = {
    "handed_off": "handed off",
    "compacted": "compacted without a note",
    "ended": "ended without a note",
    "found_dead": "killed without a note",
}


class Found(NamedTuple):
    """What the archive knows of the work so far, newest first."""

    files: tuple[tuple[str, str], ...]  # (path, id of the entry that wrote it last)
    last_command: Entry | None
    last_failure: Entry | None
    failure_resolved: bool  # the same command succeeded later


def handoff_items(moment: Moment) -> list[Item]:
    """Return CLAIMED and FOUND lines for the head of the tail; [] in a workspace's first window."""
    before = previous_window(moment)
    items = claimed_items(moment.connection, before) if before is not None else []
    return items + reconciled_items(moment, before) + found_items(find_work(moment))


def reconciled_items(moment: Moment, before: Window | None) -> list[Item]:
    """Return what reconciliations found: at the end of the window before, and at the opening of this."""
    lines: list[str] = []
    changed: list[str] = []
    for window in (before.seq if before is not None else None, moment.author.window):
        words, at = window_words(moment.connection, window, "reconciled") if window else ({}, "")
        if at:
            found = json.loads(words.get("found", "{}"))
            lines += found.get("lines", [])
            changed = found.get("changed", [])
    items = [Item(f"- FOUND {quote(line)[1:-1]}\n") for line in dict.fromkeys(lines)]
    if changed:
        listed = ", ".join(quote(path, 300) for path in changed)
        items.append(Item(f"- FOUND changed in version control since the work began: {listed}\n"))
    return items


def previous_window(moment: Moment) -> Window | None:
    """Return the newest closed window before this one in which anything happened, of the same task
    where there is one."""
    connection, author = moment.connection, moment.author
    other: Window | None = None
    for window in windows(connection, moment.workspace, agents_only=True, limit=_WINDOWS_LOOKED_AT):
        if not window.closed or (author.window is not None and window.seq >= author.window):
            continue
        same = author.task is None or joined_task(connection, window.seq) == author.task
        if not same and other is not None:
            continue
        if window.closed == "handed_off" or count_records(connection, window.seq, _TELLING):
            if same:
                return window
            other = window
    return other


def claimed_items(connection: apsw.Connection, window: Window) -> list[Item]:
    """Return what the closed window said of itself: its note, else its last words and summary."""
    how = HOW_CLOSED[window.closed]
    items = [
        Item(
            f"- {window.id} {how} ({window.client}, opened {window.at[:16].replace('T', ' ')})\n",
            window.seq,
        )
    ]
    note, at = window_words(connection, window.seq, "handed_off")
    for name, label in (("doing", "doing"), ("next", "next"), ("noticed", "noticed")):
        if note.get(name):
            items.append(
                Item(f"- CLAIMED {label}: {quote(note[name], CLAIM_CHARS_MAX)}\n", window.seq)
            )
    if at:
        return items
    said = recent(connection, window.workspace, where="assistant", limit=6, window=window.seq)
    summary = next((s for s in said if s.tool and s.tool != SUMMARY_TOOL), None)
    summary = summary or _summary(connection, window)
    words = next((s for s in said if not s.tool and not s.agent), None)
    if summary is not None:
        items.append(
            Item(
                f"- CLAIMED in the client's compaction summary, {summary.id}: "
                f"{quote(summary.output, CLAIM_CHARS_MAX)}\n",
                summary.seq,
            )
        )
    if words is not None:
        items.append(
            Item(
                f"- CLAIMED in its last message, {words.id}: {quote(words.output, CLAIM_CHARS_MAX)}\n",
                words.seq,
            )
        )
    return items


def find_work(moment: Moment) -> Found:
    """Return what the archive knows since the task began; without a task, the newest of it."""
    since = moment.author.task or 0
    most = FILES_SHOWN if since else FILES_SHOWN_WITHOUT_TASK
    calls = recent_work(
        moment.connection, moment.workspace, where="call", limit=_LOOK_BACK, words=("args", "path")
    )
    commands = [(e, command_of(e)) for e in calls]
    last_command = next((e for e, c in commands if c), None)
    failure = next((e for e in calls if e.is_error), None)
    resolved = failure is not None and any(
        e.seq > failure.seq and not e.is_error and c == command_of(failure)
        for e, c in commands
        if c
    )
    written = files_written(moment.connection, moment.workspace, since=since, limit=most)
    ids = ids_of(moment.connection, [seq for _, seq in written])
    files = tuple((path, ids[seq]) for path, seq in written)
    whole = entries(moment.connection, [e.seq for e in (last_command, failure) if e is not None])
    return Found(
        files,
        whole[last_command.seq] if last_command is not None else None,
        whole[failure.seq] if failure is not None else None,
        resolved,
    )


def found_items(found: Found) -> list[Item]:
    """Return the FOUND lines."""
    items = []
    if found.files:
        listed = ", ".join(f"{quote(path, 300)} ({entry})" for path, entry in found.files)
        items.append(Item(f"- FOUND files written, newest first: {listed}\n"))
    command = found.last_command
    if command is not None:
        ended = "failed" if command.is_error else "ran"
        items.append(
            Item(
                f"- FOUND last command, {command.id} {ended}: {call_text(command)} → {shortened(command)}\n",
                command.seq,
            )
        )
    failure = found.last_failure
    if failure is not None and failure != command:
        later = ", and the same call succeeded later" if found.failure_resolved else ""
        items.append(
            Item(
                f"- FOUND last failure, {failure.id}{later}: {call_text(failure)} → {shortened(failure)}\n",
                failure.seq,
            )
        )
    return items


def _summary(connection: apsw.Connection, window: Window) -> Entry | None:
    """The compaction summary arrives after its window was closed, in the next one."""
    said = recent(connection, window.workspace, where="assistant", limit=20)
    return next((s for s in said if s.tool == "compaction summary" and s.seq > window.seq), None)
