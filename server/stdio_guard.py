"""MCP over stdin and stdout, with a guard in front of the SDK.

The SDK leaves a request that it cannot parse without any reply, which a client waits for
until its time limit; it also takes lines of any length. Here each line is checked before
the SDK sees it: what it would drop is answered with a JSON-RPC error, everything else goes
on byte for byte. While serving, and after it, file descriptor 1 is stderr, so that nothing
but protocol messages can reach the client.

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
from typing import cast

import anyio
import anyio.from_thread
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server import MCPServer
from mcp.server.stdio import stdio_server

from keepthread.server.stdio_lines import check_line, error_reply, read_lines

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
    lines, received = anyio.create_memory_object_stream[str](0)
    async with lines, received, anyio.create_task_group() as tasks:

        def end() -> None:
            """End the input, as if the client had closed it, and limit the time that is left."""
            lines.close()
            limit = anyio.current_time() + SHUTDOWN_SECONDS
            tasks.cancel_scope.deadline = min(tasks.cancel_scope.deadline, limit)

        token = anyio.lowlevel.current_token()

        def call(function: Callable[[], object]) -> None:
            anyio.from_thread.run_sync(function, token=token)

        wire = _Wire(stdout, call, end)

        def pump() -> None:
            try:
                for line in read_lines(lambda: os.read(stdin, CHUNK_BYTES)):
                    refusal = check_line(line)
                    if refusal:
                        wire.send(error_reply(line, refusal))
                    else:
                        anyio.from_thread.run(lines.send, line.content.decode(), token=token)
            finally:
                call(end)

        _start_daemon("stdin", pump)
        _start_daemon("stdout", wire.run)
        tasks.start_soon(_watch_signals, end)
        tasks.start_soon(_watch_parent, end)
        # It only iterates over the one and writes to the other.
        async with stdio_server(
            stdin=cast("anyio.AsyncFile[str]", _Input(received)),
            stdout=cast("anyio.AsyncFile[str]", wire),
        ) as (read, write):
            # MCPServer has no public way to be run over given streams.
            low = server._lowlevel_server
            await low.run(read, write, low.create_initialization_options())
        tasks.cancel_scope.cancel()


class _Input:
    """The checked lines, as the SDK iterates over them."""

    def __init__(self, received: MemoryObjectReceiveStream[str]) -> None:
        self._received = received

    def __aiter__(self) -> "_Input":
        return self

    async def __anext__(self) -> str:
        try:
            return await self._received.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class _Wire:
    """The way to the client: whole messages, from the SDK and from the guard.

    Writes happen in daemon threads, as a client that stops reading blocks them for ever.
    """

    def __init__(
        self,
        fd: int,
        call: Callable[[Callable[[], object]], None],
        on_broken: Callable[[], None],
    ) -> None:
        self._fd = fd
        self._call = call
        self._on_broken = on_broken
        self._lock = threading.Lock()
        self._outgoing: queue.SimpleQueue[tuple[bytes, anyio.Event]] = queue.SimpleQueue()

    async def write(self, text: str) -> None:
        """Send what the SDK has to say; return when it is sent."""
        sent = anyio.Event()
        self._outgoing.put((text.encode(), sent))
        await sent.wait()

    async def flush(self) -> None:
        """Do nothing: `write` has sent all."""

    def run(self) -> None:
        """Send what `write` was given."""
        while True:
            message, sent = self._outgoing.get()
            self.send(message)
            self._call(sent.set)

    def send(self, message: bytes) -> None:
        """Send a message from a thread; what a client that is gone would get is dropped."""
        rest = memoryview(message)
        try:
            with self._lock:
                while rest:
                    rest = rest[os.write(self._fd, rest) :]
        except OSError:
            self._call(self._on_broken)


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
