"""Which window an event belongs to, opened where there is none yet.

A window is found by the client's session id, resolved at each event, never remembered: a server
starts before its session's first hook fires.
"""

from collections.abc import Callable

from keepthread.server.capture.host import is_alive
from keepthread.server.places import Place
from keepthread.stores.clock import seconds
from keepthread.stores.journal import Transaction
from keepthread.stores.records import Author, Window
from keepthread.stores.tasks import current_task
from keepthread.stores.windows import (
    add_window,
    add_window_event,
    count_records,
    get_window,
    joined_task,
    last_activity,
    newest_windows,
    sessions_window,
    windows,
)
from keepthread.stores.workspaces import ensure_workspace

_SAME_EVENT_SECONDS = 5.0
_OPEN_MAX = 500
_RECORDS = ("call", "msg", "say", "sys", "fact", "decision", "plan", "question")


def open_session(
    tx: Transaction, *, session: str, source: str, host: tuple[int, str], place: Place, client: str
) -> tuple[Author, bool]:
    """Open (or, for ``resume``, rejoin) the session's window; False when this very event was seen."""
    known = sessions_window(tx.connection, session) if session else None
    if known is not None:
        unused = count_records(tx.connection, known.seq, _RECORDS) == 0
        if unused and tx.now - seconds(known.at) < _SAME_EVENT_SECONDS:
            return window_author(tx, known), False
        # A session taken up again by another process has another window: the first one's host is
        # what tells whether it lives.
        same_host = (
            not known.host_pid or not host[0] or (known.host_pid, known.host_started) == host
        )
        if same_host and (source == "resume" or (source == "startup" and unused)):
            return window_author(tx, known), True
        closing = "compacted" if source == "compact" else "ended"
        if known.host_pid and not is_alive(known.host_pid, known.host_started):
            closing = "found_dead"
        add_window_event(tx, window_author(tx, known), known.seq, closing, reason=source)
    if source == "clear" and host[0]:
        _end_cleared(tx, ensure_workspace(tx.connection, place.workspace), host)
    return _open(tx, session=session, host=host, place=place, client=client), True


def session_author(
    tx: Transaction,
    *,
    session: str,
    host: Callable[[], tuple[int, str]],
    place: Callable[[], Place],
    client: str,
    last_words: bool = False,
) -> tuple[Author, str]:
    """Return (author, work tree) of the session's open window, opening one when there is none.

    ``last_words`` are those of a window that may be closed already: they belong to it, and a new
    window opened for them would hide its handoff from the next.
    """
    known = sessions_window(tx.connection, session) if session else None
    if known is None and last_words and session:
        known = next(iter(newest_windows(tx.connection, session)), None)
    if known is None:
        author = _open(tx, session=session, host=host(), place=place(), client=client)
        known = get_window(tx.connection, author.window or 0)
        return author, known.work_tree
    return window_author(tx, known), known.work_tree


def close_session(tx: Transaction, *, session: str, event: str, reason: str) -> None:
    """Close the session's open window, if it has one."""
    known = sessions_window(tx.connection, session) if session else None
    if known is not None:
        add_window_event(tx, window_author(tx, known), known.seq, event, reason=reason)


def resolve_window(
    tx: Transaction,
    *,
    session: str,
    host: tuple[int, str],
    place: Place,
    client: str,
    idle_seconds_max: float = 0.0,
) -> tuple[Author, str]:
    """Return (author, work tree) for a server's call: the session's window, its host's, or its own.

    The session id comes from the environment where the client gives one. Otherwise the newest
    open window that a hook opened for the same host process is joined. A window idle for longer
    than ``idle_seconds_max`` (0: never) is closed and the next one opened.
    """
    known = sessions_window(tx.connection, session)
    workspace = ensure_workspace(tx.connection, place.workspace)
    if known is None and host[0]:
        open_ones = windows(tx.connection, workspace, open_only=True)
        known = next((w for w in open_ones if (w.host_pid, w.host_started) == host), None)
    if known is not None and idle_seconds_max and idle_seconds(tx, known) > idle_seconds_max:
        add_window_event(tx, window_author(tx, known), known.seq, "ended", reason="idle")
        session, known = known.session, None
    if known is None:
        author = _open(tx, session=session, host=host, place=place, client=client)
        return author, place.tree
    return window_author(tx, known), known.work_tree or place.tree


def _end_cleared(tx: Transaction, workspace: int, host: tuple[int, str]) -> None:
    """Close what a cleared client had open: it goes on under another session id, its server under the old."""
    for window in windows(tx.connection, workspace, open_only=True, limit=_OPEN_MAX):
        if (window.host_pid, window.host_started) == host:
            add_window_event(tx, window_author(tx, window), window.seq, "ended", reason="clear")


def window_author(tx: Transaction, window: Window) -> Author:
    """Return the author who writes in ``window``, with the task it works on."""
    task = joined_task(tx.connection, window.seq)
    return Author(window.workspace, "hook", window=window.seq, task=task)


def mark_dead(tx: Transaction, workspace: int) -> list[Window]:
    """Close the open windows of a workspace whose host process is gone; return them."""
    dead = []
    for window in windows(tx.connection, workspace, open_only=True, limit=_OPEN_MAX):
        if window.host_pid and not is_alive(window.host_pid, window.host_started):
            add_window_event(tx, window_author(tx, window), window.seq, "found_dead")
            dead.append(window)
    return dead


def _open(
    tx: Transaction, *, session: str, host: tuple[int, str], place: Place, client: str
) -> Author:
    workspace = ensure_workspace(tx.connection, place.workspace)
    mark_dead(tx, workspace)
    author = Author(workspace, "hook")
    made = add_window(
        tx, author, client=client, session=session, host_pid=host[0], host_started=host[1],
        work_tree=place.tree,
    )  # fmt: skip
    author = author._replace(window=made.seq)
    task = current_task(tx.connection, workspace)
    if task is not None:
        author = author._replace(task=task.task)
        add_window_event(tx, author, made.seq, "joined_task", target=task.task)
    return author


def idle_seconds(tx: Transaction, window: Window) -> float:
    """Return how long nothing was written in ``window``."""
    return tx.now - seconds(last_activity(tx.connection, window.seq) or window.at)
