"""A small MCP server over the guarded stdio, as a process for test_stdio_guard."""

import os
import subprocess
import sys
import time

import anyio
from mcp.server import MCPServer

from keepthread.server.stdio_guard import serve_stdio

server = MCPServer("tiny", log_level="ERROR")


@server.tool()
def echo(text: str) -> str:
    """Return the text."""
    return text


@server.tool()
def half() -> str:
    """Return half of a surrogate pair, as in a file name that is not UTF-8."""
    return os.fsdecode(b"caf\xe9")


@server.tool()
def stray() -> str:
    """Write to stdout in every way there is."""
    print("STRAY print, not flushed")
    os.write(1, b"STRAY write\n")
    subprocess.run([sys.executable, "-c", "print('STRAY child')"], check=True)
    return "done"


@server.tool()
def slow(seconds: float) -> str:
    """Take some time in a thread, as a write to the database does."""
    time.sleep(seconds)
    print("SLOW finished", file=sys.stderr, flush=True)
    return "done"


@server.tool()
async def wait() -> str:
    """Wait for ever."""
    await anyio.sleep_forever()
    return "never"


print("STRAY before serving")
anyio.run(serve_stdio, server)
print("RETURNED", file=sys.stderr, flush=True)
