"""Keepthread in-process: gate, window, capture and search for one workspace of one user.

The MCP server and the command line are callers of this, and so may your own agent loop be.
Synchronous and for one thread at a time: the server crosses threads once, in front of it.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from keepthread.server.capture.append import append_call
from keepthread.server.capture.events import Call
from keepthread.server.capture.files import read_file
from keepthread.server.capture.host import session_of
from keepthread.server.capture.windows import close_session, resolve_window
from keepthread.server.context.assembly import Request, Window, assemble, pinned_size
from keepthread.server.context.layout import STAGES
from keepthread.server.context.moment import Kept, Moment, pick_focus
from keepthread.server.context.tokens import TokenCounter
from keepthread.server.handoff.commands import read_commands
from keepthread.server.handoff.hearing import hear_user
from keepthread.server.handoff.reconcile import Report, reconcile, reconcile_at_opening
from keepthread.server.handoff.summaries import (
    ModelSummariser,
    Summarise,
    SummaryFailed,
    summarise_window,
)
from keepthread.server.places import Place
from keepthread.server.settings import Settings
from keepthread.stores.archive import entries
from keepthread.stores.clock import Clock
from keepthread.stores.database import Role, open_database
from keepthread.stores.embeddings import BackgroundEmbedder
from keepthread.stores.errors import ReadOnly, StorageFull, StoreError, UnknownRecord
from keepthread.stores.facts import has_facts
from keepthread.stores.journal import Journal, intact_records
from keepthread.stores.ledger import plan_items
from keepthread.stores.questions import open_questions
from keepthread.stores.recent import has_capture
from keepthread.stores.records import Author, Entry
from keepthread.stores.search import Filters, Hit, recent_passages, search_passages
from keepthread.stores.served import log_served
from keepthread.stores.tasks import current_task
from keepthread.stores.vector_index import VectorIndex
from keepthread.stores.vectors import how_to_reindex, records_to_embed, stored_model
from keepthread.stores.workspaces import USER_SCOPE, ensure_workspace, find_workspace
from keepthread.validators.contradictions import Judge
from keepthread.validators.gate import Gate, GateSettings
from keepthread.validators.gate_view import Caller
from keepthread.validators.judges.local import Judgement, Statement, judge

IDLE_SECONDS = 1_800.0
_LOADING = "degraded: embedder loading, search and ranking use full text only"
QUERY_CHARS_MAX = 1_000
"""What is searched for; a longer query is cut."""


class Client(NamedTuple):
    """Who is at the other end: its name, its session id if it gave one, and its process."""

    name: str = "python"
    session: str = ""
    host: tuple[int, str] = (0, "")


class Memory:
    """One user's database, seen from one workspace. ``gate`` admits the model's writes.

    ``client`` is who calls, or is asked at each call where several clients share one memory.
    """

    def __init__(
        self,
        settings: Settings,
        place: Place,
        *,
        client: Client | Callable[[], Client] | None = None,
        clock: Clock = time.time,
        embedder: BackgroundEmbedder | None = None,
        counter: TokenCounter | None = None,
    ) -> None:
        self.settings, self.place, self.clock = settings, place, clock
        chosen = client or Client(session=f"python-{os.getpid()}-{time.time_ns()}")
        self._who: Callable[[], Client] = chosen if callable(chosen) else lambda: chosen
        self.embedder = embedder or BackgroundEmbedder(settings.embedder)
        self.counter = counter or TokenCounter(settings.token_safety)
        self._unwritable = ""
        self.capture, self._model = self._journal("trusted"), self._journal("model")
        self.reader = open_database(settings.db, "reader", vectors=True)
        self.kept, self.vectors = Kept(), VectorIndex()
        self.summariser = _summariser_of(settings)
        self._heard = 0  # the user's newest message that was held against the facts
        self.embedding_fault: Callable[[], str] = str  # why no vectors are made; "" while they are
        self.gate = Gate(
            self._model,
            embedder=self.embedder.get,
            settings=GateSettings(
                settings.writes_per_window,
                settings.writes_between_calls,
                _judge_of(settings),
            ),
            pinned_overflow=self._pinned_overflow,
        )

    @property
    def client(self) -> Client:
        """Who is calling now."""
        return self._who()

    def caller(self, tool_use_id: str = "") -> Caller:
        """Return who writes now: the window of this call, opened where there is none (see
        capture.windows), its focus item, and whether anything was captured in it."""
        found = self._in_window()
        author = found.author
        focus = pick_focus(
            plan_items(self.reader, author.workspace, author.task),
            open_questions(self.reader, author.workspace),
        )
        captures = has_capture(self.reader, author.workspace, author.window or 0)
        author = author._replace(item=focus.item if focus else None)
        return Caller(author, found.tree, tool_use_id, captures)

    def _in_window(self, fresh_after: float = 0.0) -> Caller:
        """Resolve the window of this call; ``fresh_after`` seconds of idleness open the next one."""
        client = self.client
        with self.capture.transaction() as tx:
            author, tree = resolve_window(
                tx,
                session=client.session,
                host=client.host,
                place=self.place,
                client=client.name,
                idle_seconds_max=fresh_after,
            )
        assert author.window is not None  # resolve_window always opens one
        return Caller(author._replace(origin="model"), tree)

    def reading_caller(self, *, fresh_after: float = 0.0) -> Caller:
        """Return who reads now; where nothing can be written, look on instead, and say so in every answer.

        A full disk, a read-only mount, or a history in doubt must not cost what is there to read.
        """
        try:
            found = self._in_window(fresh_after)
            self._unwritable = ""
            return found
        except StoreError as error:
            self._unwritable = f"nothing can be recorded now ({error.code}): {error}"
            return self.onlooker()

    def onlooker(self) -> Caller:
        """Return a caller without a window: for looking from outside, which opens none."""
        workspace = find_workspace(self.reader, self.place.workspace)
        if workspace is None:
            try:
                with self.capture.transaction() as tx:
                    workspace = ensure_workspace(tx.connection, self.place.workspace)
            except StoreError:
                workspace = (
                    USER_SCOPE  # unknown here and not to be made: the user's own records only
                )
        task = current_task(self.reader, workspace)
        author = Author(workspace, "user", task=task.task if task else None)
        return Caller(author, self.place.tree)

    def context(
        self,
        *,
        item: str = "",
        stage: str = "execute",
        max_tokens: int = 0,
        explain: bool = False,
        caller: Caller | None = None,
    ) -> Window:
        """Assemble the window. Raises WindowTooSmall, or StoreError for an unknown item."""
        caller = caller or self.reading_caller(fresh_after=IDLE_SECONDS)
        with suppress(StoreError):  # a disk that is full by now must not cost the window
            reconcile_at_opening(self.capture, caller.author, caller.tree)
            if caller.author.window is not None:
                self._heard = hear_user(self.capture, caller.author, self._heard)
        focus = None
        if item:
            named = self.gate.view(caller).item(item)
            if named is None:
                raise UnknownRecord(
                    f"{item[:60]!r} is no plan item here; memory://plan lists them."
                )
            focus = named
        window = assemble(
            self.reader,
            caller.author,
            Request(stage, max_tokens, focus, explain),
            tree=caller.tree,
            now=self.clock(),
            count=self.counter.count,
            key=self.capture.anchor.key,
            weights=self.settings.weights,
            kept=self.kept,
            status=lambda moment: (
                self._window_status(moment) if moment.author.window or self._unwritable else ()
            ),
        )
        if caller.author.window is not None:
            self._log(caller.author.window, window)
        return window

    def search(
        self, query: str, filters: Filters, limit: int
    ) -> tuple[list[Hit], dict[int, Entry]]:
        """Return the best passages and their entries."""
        query = query[:QUERY_CHARS_MAX]
        workspace = self.onlooker().author.workspace
        if not query.strip():
            hits = recent_passages(self.reader, workspace, filters, limit)
        else:
            model = self.gate.embedder()
            vector = model.embed([query])[0] if model is not None else None
            hits = search_passages(
                self.reader, workspace, query, vector, filters, limit, self.vectors
            )
        found = {e for h in hits for e in (h.entry, *h.also)}
        sound = intact_records(self.reader, sorted(found))
        return [h for h in hits if h.entry in sound], entries(self.reader, list(sound))

    def reconcile(self, caller: Caller | None = None, *, run_commands: bool) -> Report:
        """Hold the ledger against the work tree; with ``run_commands`` run what the user named for checks."""
        caller = caller or self.caller()
        found = read_commands(caller.tree, self.settings.config, self.settings.trust_file)
        report = reconcile(
            self.capture,
            caller.author,
            caller.tree,
            found.by_name,
            run_commands=run_commands and bool(caller.tree),
        )
        if found.refused:
            report = report._replace(remarks=(*report.remarks, found.refused))
        return report

    def summarise(self, caller: Caller) -> str:
        """Have a model summarise the caller's window, where one is set; return what to say of it."""
        if self.summariser is None:
            return ""
        try:
            made = summarise_window(
                self.capture, caller.author, self.summariser, self.settings.judge_model
            )
        except SummaryFailed as failed:
            return f"no summary by the model: {failed}; the next window shows an extract of the steps"
        return f"steps summarised by {self.settings.judge_model}, {made}" if made else ""

    def capture_file(self, path: str) -> tuple[Entry, str]:
        """Read a file of the work tree, archive it at level ``checked``; return (entry, whole text).

        Raises FileRefused for anything outside, and for what is no regular file.
        """
        caller = self.caller()
        seen = read_file(caller.tree, path)
        text = seen.data.decode("utf-8", "replace")
        call = Call(
            tool="capture_file", args=f'{{"path":"{seen.path}"}}', output=text, path=seen.path
        )
        with self.capture.transaction() as tx:
            stamp = append_call(
                tx,
                caller.author._replace(origin="check"),
                call,
                channel="check",
                level=4,
                tree=caller.tree,
                key=self.capture.anchor.key,
                read=seen,
            )
        entry = entries(self.reader, [stamp.seq])[stamp.seq]
        return entry, text

    def end_window(self, session: str, reason: str) -> None:
        """Close the window of a client session that is over; nothing where it has none."""
        with self.capture.transaction() as tx:
            close_session(tx, session=session, event="ended", reason=reason)

    def _window_status(self, moment: Moment) -> list[str]:
        """Return the lines of a window: it ranks by stored vectors, so a model that still loads weakens it
        only where a record waits for its vector."""
        lines = self.status_lines()
        waits = has_facts(self.reader, moment.workspace) and records_to_embed(self.reader, 1)
        return lines if waits else [line for line in lines if line != _LOADING]

    def status_lines(self) -> list[str]:
        """Say what does not work fully right now: every search answer carries it."""
        lines = [f"degraded: {self._unwritable}"] if self._unwritable else []
        if self.embedder.state == "loading":
            return [*lines, _LOADING]
        if self.embedder.state != "ready":
            return [*lines, f"degraded: no embedder ({self.embedder.state}); full text only"]
        if self.embedding_fault():
            return [*lines, f"degraded: new texts get no vectors: {self.embedding_fault()}"]
        stored, model = stored_model(self.reader), self.embedder.get()
        if stored is not None and model is not None and stored[1] != model.model_id:
            return [*lines, f"degraded: vectors are of {stored[1]}; {how_to_reindex()}"]
        return lines

    def close(self) -> None:
        """Close the connections; the last one checkpoints."""
        for connection in (self.reader, self._model.connection, self.capture.connection):
            connection.close()

    def _journal(self, role: Role) -> Journal:
        """Open a connection to write with, or, where nothing can be written, to be told so at each try."""
        db = self.settings.db
        try:
            connection = open_database(db, role, vectors=True)
        except (ReadOnly, StorageFull) as error:
            if not os.path.exists(db):
                raise
            self._unwritable = f"nothing can be recorded now ({error.code}): {error}"
            connection = open_database(db, "reader", vectors=True)
        return Journal(db, connection, self.clock)

    def _log(self, seq: int, window: Window) -> None:
        try:
            with self._model.transaction() as tx:
                log_served(tx.connection, seq, window.head, window.shown)
        except StoreError:
            return  # best effort by contract: a full or read-only disk must not cost the window

    def _pinned_overflow(self, goal: str, constraints: Sequence[str]) -> int:
        need = pinned_size("task-1000", goal, constraints, self.counter.count)
        return need - STAGES["execute"]["pinned"]


def client_of_environment(
    name: str, environ: Mapping[str, str], host: Callable[[], tuple[int, str]]
) -> Client:
    """Return the client as the environment tells: Claude Code gives server and hooks the same session id."""
    found = host()
    return Client(name, session_of(environ, found), found)


def _judge_of(settings: Settings) -> Judge:
    """Return the judge that the settings name. The key is read by the API's own client."""
    if settings.judge == "none":
        return _no_judge
    if settings.judge == "anthropic":
        from keepthread.validators.judges.anthropic import ModelJudge  # noqa: PLC0415  (pydantic)

        return ModelJudge(settings.judge_model)
    return judge


def _summariser_of(settings: Settings) -> Summarise | None:
    """Return what summarises steps: the judge's model, where one is set."""
    if settings.judge != "anthropic":
        return None
    return ModelSummariser(settings.judge_model)


def _no_judge(old: Statement, new: Statement, similarity: float | None) -> Judgement:
    """The judge ``none``: every pair may stand."""
    return Judgement("unrelated", 0.0, False, "no judge is configured")
