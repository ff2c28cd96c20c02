"""Episodes: what a closed window was, told from the records written in it.

Nothing is stored for it: the journal says which window wrote what, so an episode cannot disagree
with the records.
"""

from collections.abc import Sequence

import apsw

from keepthread.server.context.frame import quote
from keepthread.server.context.packing import Item
from keepthread.server.handoff.note import HOW_CLOSED, claimed_items
from keepthread.stores.ledger import moved_in
from keepthread.stores.records import Window
from keepthread.stores.windows import closed_at, count_failed, count_records, ids_written

IDS_SHOWN = 20
_RECORDS = ("fact", "decision", "question")


def episode_items(connection: apsw.Connection, window: Window) -> list[Item]:
    """Return a closed window's line (time, outcome, entries), then what it said of itself."""
    ended = closed_at(connection, window.seq)
    span = f"{_minute(window.at)} to {_minute(ended)[11 if ended[:10] == window.at[:10] else 0 :]}"
    parts = [
        _calls(connection, window.seq),
        *_outcome(connection, window.seq),
        *(_listed(ids_written(connection, window.seq, kind)) for kind in _RECORDS),
    ]
    refused = count_records(connection, window.seq, ("refusal",))
    parts += [f"{refused} refused"] if refused else []
    told = " · ".join(p for p in parts if p)
    head = (
        f"- {window.id} [{HOW_CLOSED[window.closed]}, {quote(window.client, 40)}, {span}]: {told}\n"
    )
    return [Item(head, window.seq), *claimed_items(connection, window)[1:]]


def _calls(connection: apsw.Connection, window: int) -> str:
    calls = ids_written(connection, window, "call")
    if not calls:
        return "no calls"
    failed = count_failed(connection, window)
    ids = calls[0] if len(calls) == 1 else f"{calls[0]} to {calls[-1]}"
    return f"{len(calls)} calls ({ids}), {failed} failed"


def _outcome(connection: apsw.Connection, window: int) -> list[str]:
    """Say where the plan items that moved in the window stood at its end."""
    by_status: dict[str, list[str]] = {}
    for item in moved_in(connection, window):
        status = "done and verified" if item.verified else item.status.replace("_", " ")
        by_status.setdefault(status, []).append(item.id)
    return [f"{status}: {_listed(ids)}" for status, ids in by_status.items()]


def _listed(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - IDS_SHOWN} more" if len(ids) > IDS_SHOWN else ""
    return " ".join(ids[:IDS_SHOWN]) + more


def _minute(at: str) -> str:
    return at[:16].replace("T", " ")
