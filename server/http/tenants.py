"""One server for each user and workspace: what two of them never share is then nothing a rule must check.

A tenant has its own connections to its user's database file, its own MCP server, sessions and
subscriptions. Opened at its first request; the least recently used ones make room for others.
Only what holds no user's data is shared: the embedding model and the token counter.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import anyio
from anyio.abc import TaskGroup, TaskStatus
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from keepthread.server.app import build_server
from keepthread.server.context.tokens import TokenCounter
from keepthread.server.embedding_worker import EmbeddingWorker
from keepthread.server.http.tokens import user_database
from keepthread.server.memory import Client, Memory
from keepthread.server.places import Place
from keepthread.server.settings import Settings
from keepthread.server.tools.base import single_thread
from keepthread.stores.embeddings import BackgroundEmbedder

OPEN_MAX = 32
"""Each holds about eight file descriptors, of which a process often may have 1,024."""
SESSIONS_MAX = 100
_NAME_CHARS_MAX = 40

Key = tuple[str, str]
"""A user and the name of a workspace."""


class Busy(Exception):
    """As many workspaces as may be are in use at this moment."""


class Tenant:
    """One workspace of one user while it is served."""

    def __init__(self, key: Key, memory: Memory, security: TransportSecuritySettings) -> None:
        self.key, self.memory = key, memory
        self.run = single_thread()
        self.in_flight = 0
        self.ended = anyio.Event()
        server = build_server(memory, self.run, middleware=[self._know_client])
        self.sessions = StreamableHTTPSessionManager(
            server._lowlevel_server,  # MCPServer's own way makes a whole application of it
            security_settings=security,
            max_sessions=SESSIONS_MAX,
        )

    async def serve(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Serve until ``ended``; what a thread has begun is finished before the database closes."""
        try:
            async with self.sessions.run():
                task_status.started()
                await self.ended.wait()
        finally:
            with anyio.CancelScope(shield=True):
                await self.run(self.memory.close)

    async def _know_client(self, ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
        """Middleware: the calls inside work in the window of this client.

        A session of the older era has a window of its own, which ends with it. The newest era has no
        sessions: there a client is known by its token and the name that it gives itself.
        """
        connection, client = ctx.session._connection, _client_of(ctx, self.key[1])
        if connection.session_id and "window" not in connection.state:
            connection.state["window"] = client.session
            connection.exit_stack.push_async_callback(
                self.run, lambda: self.memory.end_window(client.session, "session ended")
            )
        before = _CLIENT.set(client)
        try:
            return await call_next(ctx)
        finally:
            _CLIENT.reset(before)


class Tenants:
    """All tenants of a server. ``folders`` says which workspaces have their files on this machine."""

    def __init__(
        self,
        settings: Settings,
        folders: Mapping[Key, str],
        security: TransportSecuritySettings,
        group: TaskGroup,
    ) -> None:
        self._settings, self._folders, self._security = settings, folders, security
        self._group = group
        self._embedder = BackgroundEmbedder(settings.embedder)
        self._counter = TokenCounter(settings.token_safety)
        self._open: dict[Key, Tenant] = {}  # the least recently used first
        self._workers: dict[str, EmbeddingWorker] = {}
        self._opening = anyio.Lock()
        self._embedder.start()

    @asynccontextmanager
    async def use(self, key: Key) -> AsyncIterator[Tenant]:
        """Have a tenant open for as long as one request lasts. Raises Busy, and StoreError."""
        if key not in self._open:
            async with self._opening:
                if key not in self._open:
                    self._open[key] = await self._begin(key)
        tenant = self._open[key] = self._open.pop(key)
        tenant.in_flight += 1
        try:
            yield tenant
        finally:
            tenant.in_flight -= 1

    async def settle(self) -> None:
        """Wait until what each tenant's thread has begun is done."""
        for tenant in list(self._open.values()):
            await tenant.run(lambda: None)

    def close(self) -> None:
        """End every tenant, and the making of vectors; the task group waits until they are closed."""
        for worker in self._workers.values():
            worker.stop()
        for tenant in self._open.values():
            tenant.ended.set()

    async def _begin(self, key: Key) -> Tenant:
        if len(self._open) >= OPEN_MAX:
            unused = next((t for t in self._open.values() if not t.in_flight), None)
            if unused is None:
                raise Busy
            self._end(unused)
        memory = await anyio.to_thread.run_sync(self._open_memory, *key)
        tenant = Tenant(key, memory, self._security)
        await self._group.start(tenant.serve)
        return tenant

    def _end(self, tenant: Tenant) -> None:
        user, _ = tenant.key
        del self._open[tenant.key]
        tenant.ended.set()
        if all(other != user for other, _ in self._open):
            self._workers.pop(user).stop(0)

    def _open_memory(self, user: str, workspace: str) -> Memory:
        db = user_database(self._settings.db, user)
        os.makedirs(os.path.dirname(os.path.dirname(db)), mode=0o700, exist_ok=True)
        config = os.path.join(os.path.dirname(db), "keepthread.toml")  # not the operator's commands
        memory = Memory(
            self._settings._replace(db=db, config=config),
            Place(workspace, self._folders.get((user, workspace), "")),
            client=_CLIENT.get,
            embedder=self._embedder,
            counter=self._counter,
        )
        worker = self._workers.get(user)
        if worker is None:
            worker = self._workers[user] = EmbeddingWorker(db, self._embedder)
            worker.start()
        memory.embedding_fault = lambda: worker.fault
        return memory


_CLIENT: ContextVar[Client] = ContextVar("client")


def _client_of(ctx: ServerRequestContext[Any, Any], workspace: str) -> Client:
    assert ctx.request is not None  # over HTTP there always is one
    token = ctx.request.scope["user"].username
    told = ctx.session.client_params
    name = told.client_info.name if told else ""
    name = "".join(c for c in name if c.isascii() and (c.isalnum() or c in "._-"))[:_NAME_CHARS_MAX]
    session = ctx.session._connection.session_id or name
    return Client(name or "http", f"http:{token}:{workspace}:{session}")
