"""A small MCP server of the SDK over plain stdio, which speaks both eras of the protocol."""

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("ci", log_level="ERROR")


@server.tool()
async def limits(job: str, context: Context) -> str:
    """Return the limits of a job."""
    await context.report_progress(1, 2, "reading")
    return f"{job}: The CI limit is 45 minutes."


@server.tool()
def history(runs: int) -> str:
    """Return the log of many runs."""
    return "run: ok\n" * runs


@server.tool()
async def wait() -> str:
    """Wait for ever."""
    await anyio.sleep_forever()
    return "never"


server.run()
