"""MCP over stdin and stdout, in place of the SDK's own transport.

The SDK leaves a request that it cannot parse without any reply, which a client waits for
until its time limit; it takes lines of any length; and it ends when an answer holds half
of a surrogate pair. Here each line is checked first, and answered with a JSON-RPC error if
the SDK would drop it. While serving, and after it, file descriptor 1 is stderr, so that
nothing but protocol messages can reach the client.

Serving ends, and `serve_stdio` returns, when stdin ends, on SIGTERM, SIGINT or SIGHUP,
when the process that started this one is gone, or when the client no longer reads.
"""

import concurrent.futures
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable

import anyio
import anyio.from_thread
import anyio.lowlevel
from anyio.lowlevel import EventLoopToken
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server import MCPServer
from mcp.shared.message import SessionMessage

from keepthread.server.stdio_lines import (
    Refusal,
    error_line,
    message_line,
    parse_line,
    read_lines,
)

CHUNK_BYTES = 1 << 16

PARENT_POLL_SECONDS = 1.0
SHUTDOWN_SECONDS = 1.5

# What a thread that still has something for the event loop is told when it is over.
SERVING_HAS_ENDED = (
    anyio.RunFinishedError,
    anyio.ClosedResourceError,
    anyio.BrokenResourceError,
    concurrent.futures.CancelledError,
)


async def serve_stdio(server: MCPServer) -> None:
    """Serve one client over this process's stdin and stdout until one of them is gone.

    To be awaited in the main thread, once in a process.
    """
    stdin, stdout = _claim_stdio()
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    async with to_server, incoming, outgoing, from_server, anyio.create_task_group() as watchers:

        def end() -> None:
            """End the input, as if the client had closed it, and limit the time that is left."""
            to_server.close()
            limit = anyio.current_time() + SHUTDOWN_SECONDS
            watchers.cancel_scope.deadline = min(watchers.cancel_scope.deadline, limit)

        token = anyio.lowlevel.current_token()
        wire = _Wire(stdout, token, end)

        def read() -> None:
            try:
                for line in read_lines(lambda: os.read(stdin, CHUNK_BYTES)):
                    message = parse_line(line)
                    if isinstance(message, Refusal):
                        wire.send(error_line(line, message))
                    else:
                        anyio.from_thread.run(to_server.send, SessionMessage(message), token=token)
            finally:
                anyio.from_thread.run_sync(end, token=token)

        _start_daemon("stdin", read)
        _start_daemon("stdout", wire.run)
        watchers.start_soon(_watch_signals, end)
        watchers.start_soon(_watch_parent, end)
        async with anyio.create_task_group() as serving:
            serving.start_soon(wire.forward, from_server)
            # MCPServer has no public way to be run over given streams.
            low = server._lowlevel_server
            await low.run(incoming, outgoing, low.create_initialization_options())
        watchers.cancel_scope.cancel()


class _Wire:
    """The way to the client: whole messages, from the SDK and from the guard.

    Writes happen in daemon threads, as a client that stops reading blocks them for ever.
    """

    def __init__(self, fd: int, token: EventLoopToken, on_broken: Callable[[], None]) -> None:
        self._fd = fd
        self._token = token
        self._on_broken = on_broken
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[tuple[bytes, anyio.Event]] = queue.SimpleQueue()

    async def forward(self, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Send what the SDK has to say, one message after the other."""
        async for item in messages:
            sent = anyio.Event()
            self._queue.put((message_line(item.message), sent))
            await sent.wait()

    def run(self) -> None:
        """Write what `forward` has queued; for a thread."""
        while True:
            message, sent = self._queue.get()
            self.send(message)
            anyio.from_thread.run_sync(sent.set, token=self._token)

    def send(self, message: bytes) -> None:
        """Send a message from a thread; what a client that is gone would get is dropped."""
        rest = memoryview(message)
        try:
            with self._lock:
                while rest:
                    rest = rest[os.write(self._fd, rest) :]
        except OSError:
            anyio.from_thread.run_sync(self._on_broken, token=self._token)


def _claim_stdio() -> tuple[int, int]:
    """Take stdin and stdout for the protocol and return descriptors for them.

    For everything else in the process, and for its children, stdin is then empty and
    stdout is stderr. This is never undone: text that `print` still holds would be written
    to the client when the interpreter ends.
    """
    stdin, stdout = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return stdin, stdout


def _start_daemon(name: str, work: Callable[[], None]) -> None:
    def run() -> None:
        try:
            work()
        except SERVING_HAS_ENDED:
            pass

    threading.Thread(target=run, name=name, daemon=True).start()


async def _watch_signals(end: Callable[[], None]) -> None:
    if sys.platform == "win32":
        return  # has no such signals; a client there closes stdin
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as received:
        async for _ in received:
            end()


async def _watch_parent(end: Callable[[], None]) -> None:
    """End when another process has become the parent: a pipe can outlive its client."""
    parent = os.getppid()
    while os.getppid() == parent:
        await anyio.sleep(PARENT_POLL_SECONDS)
    end()
