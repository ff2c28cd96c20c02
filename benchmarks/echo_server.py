"""The floor: a bare SDK server over stdio with one tool."""

from mcp.server import MCPServer

server = MCPServer("echo", log_level="ERROR")


@server.tool()
def echo(text: str, kind: str = "", source: str = "", subject: str = "") -> str:
    """Return the text."""
    return text


if __name__ == "__main__":
    server.run()
