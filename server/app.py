"""The composition root of the server: builds everything, and is the only place that does."""

import secrets
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import anyio
from mcp.server import CacheHint, MCPServer
from mcp.server.connection import Connection
from mcp.server.context import ServerMiddleware, ServerRequestContext
from mcp.server.mcpserver import RequestStateSecurity
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated
from mcp.types import EmptyResult, SubscribeRequestParams, UnsubscribeRequestParams

from keepthread.server.capture.host import host_process
from keepthread.server.embedding_worker import EmbeddingWorker
from keepthread.server.instructions import INSTRUCTIONS
from keepthread.server.memory import Memory, client_of_environment
from keepthread.server.places import find_place
from keepthread.server.prompts import add_prompts
from keepthread.server.resources import CHANGING, add_resources
from keepthread.server.settings import read_settings
from keepthread.server.stdio_guard import serve_stdio
from keepthread.server.tools.asking import ANSWER_SECONDS_MAX
from keepthread.server.tools.base import Run, single_thread
from keepthread.server.tools.reading import reading_tools
from keepthread.server.tools.writing import (
    decision_tools,
    fact_tools,
    plan_tools,
    question_tools,
    task_tools,
)

NAME = "keepthread"
_NOTIFY_SECONDS = 1.0


def build_server(
    memory: Memory, run: Run | None = None, middleware: Sequence[ServerMiddleware[Any]] = ()
) -> MCPServer:
    """Return the MCP server over ``memory``. ``run`` crosses to the one thread that may use it;
    ``middleware`` stands around every message.
    """
    run = run or single_thread()
    bus = InMemorySubscriptionBus()
    watchers = _Watchers(bus)
    server = MCPServer(
        NAME,
        version=version("keepthread"),
        instructions=INSTRUCTIONS,
        tools=[
            *fact_tools(memory, run),
            *decision_tools(memory, run),
            *plan_tools(memory, run),
            *question_tools(memory, run),
            *reading_tools(memory, run),
            *task_tools(memory, run),
        ],
        subscriptions=bus,
        log_level="WARNING",
        request_state_security=RequestStateSecurity(
            keys=[secrets.token_bytes(32)], ttl=ANSWER_SECONDS_MAX
        ),
        cache_hints={"tools/list": CacheHint(ttl_ms=60_000)},
        middleware=[*middleware, watchers.after_write],
    )
    add_resources(server, memory, run)
    add_prompts(server, memory, run)
    watchers.serve_subscriptions(server)
    return server


def serve(environ: Mapping[str, str], folder: str) -> int:
    """Serve one client over stdio until it goes away."""
    wire, sys.stdout = sys.stdout, sys.stderr  # a stray print must not reach the client
    settings = read_settings(environ)
    place = find_place(folder, settings.workspace)
    memory = Memory(
        settings,
        place,
        client=client_of_environment("mcp", environ, lambda: host_process(environ)),
    )
    worker = EmbeddingWorker(settings.db, memory.embedder, memory.vectors)
    memory.embedding_fault = lambda: worker.fault
    server = build_server(memory)
    # Loading starts after the first answers have gone out: they must not wait for it.
    later = threading.Timer(0.5, _load_models, (memory, worker))
    later.daemon = True
    later.start()
    try:
        anyio.run(serve_stdio, server)
    finally:
        later.cancel()
        if worker.started:
            worker.stop()
        memory.close()
        sys.stdout = wire
    return 0


def _load_models(memory: Memory, worker: EmbeddingWorker) -> None:
    memory.embedder.start()
    worker.start()
    memory.counter.load()


class _Watchers:
    """Tells subscribers of both protocol eras that memory changed, after each write."""

    def __init__(self, bus: InMemorySubscriptionBus) -> None:
        self._bus = bus
        self._watching: dict[Connection, tuple[ServerSession, set[str]]] = {}

    async def after_write(self, ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
        """Middleware: pass the message on, then tell subscribers if it was a successful write."""
        result = await call_next(ctx)
        if ctx.method == "tools/call" and _wrote(ctx, result):
            for uri in CHANGING:
                await self._bus.publish(ResourceUpdated(uri=uri))
            for connection, (session, uris) in list(self._watching.items()):
                with anyio.move_on_after(_NOTIFY_SECONDS) as patience:
                    for uri in sorted(uris.intersection(CHANGING)):
                        await session.send_resource_updated(uri)
                if patience.cancelled_caught:  # it does not read: nobody else waits for it again
                    self._watching.pop(connection, None)
        return result

    def serve_subscriptions(self, server: MCPServer) -> None:
        """Answer resources/subscribe, which the SDK leaves to the lower level in the older era."""

        async def subscribe(
            context: ServerRequestContext[Any, Any], params: SubscribeRequestParams
        ) -> EmptyResult:
            connection = context.session._connection  # a session object lives for one request only
            if connection not in self._watching:
                self._watching[connection] = (context.session, set())
                connection.exit_stack.callback(self._watching.pop, connection, None)
            self._watching[connection][1].add(str(params.uri))
            return EmptyResult()

        async def unsubscribe(
            context: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams
        ) -> EmptyResult:
            _, uris = self._watching.get(context.session._connection, (None, set()))
            uris.discard(str(params.uri))
            return EmptyResult()

        low = server._lowlevel_server  # no public door to these two requests; pinned by a test
        low.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
        low.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, unsubscribe)


_READING = frozenset(("get_context", "search_archive", "read_record"))


def _wrote(context: ServerRequestContext[Any, Any], result: Any) -> bool:
    name = (context.params or {}).get("name")
    fields = result if isinstance(result, dict) else result.model_dump(by_alias=True)
    ended = fields.get("resultType") != "input_required"  # else the user is asked first
    return name not in _READING and ended and not fields.get("isError")
