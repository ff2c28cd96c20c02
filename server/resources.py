"""The resources: the window, each store, and any record, as text for people and models."""

from collections.abc import Callable

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.types import Annotations

from keepthread.server.context.assembly import WindowTooSmall
from keepthread.server.listings import LISTINGS, list_text
from keepthread.server.memory import Memory
from keepthread.server.record_pages import read_record
from keepthread.server.tools.base import Run
from keepthread.stores.errors import StoreError

PAGE_TOKENS = 8_000
_MARKDOWN = "text/markdown"

CHANGING = (
    "memory://context",
    "memory://plan",
    "memory://decisions",
    "memory://facts",
    "memory://questions",
    "memory://handoff",
    "memory://history",
)
"""Subscribers of these are told after every write."""


def add_resources(server: MCPServer, memory: Memory, run: Run) -> None:
    """Register every resource on ``server``."""
    audience = Annotations(audience=["assistant"], priority=1.0)

    @server.resource(
        "memory://context", title="Memory window", mime_type=_MARKDOWN, annotations=audience
    )
    async def context() -> str:
        """The assembled window: goal, plan, decisions, facts, and what the last window left."""
        return await _read(run, lambda: memory.context().text)

    @server.resource(
        "memory://context/{item}", title="Memory window for a plan item", mime_type=_MARKDOWN
    )
    async def context_for(item: str) -> str:
        """The window with one plan item in focus."""
        return await _read(run, lambda: memory.context(item=item).text)

    @server.resource(
        "memory://record/{id}", title="One record with its evidence", mime_type=_MARKDOWN
    )
    async def record(id: str) -> str:
        """Any record by id: fact-3, decision-1, plan-2, call-12."""
        return await _read(run, lambda: read_record(memory, id, 0, PAGE_TOKENS))

    for name, listing in LISTINGS.items():
        _add_list(server, memory, run, name, listing.title)


def _add_list(server: MCPServer, memory: Memory, run: Run, name: str, title: str) -> None:
    @server.resource(
        f"memory://{name}", name=name, title=title, description=title, mime_type=_MARKDOWN
    )
    async def listing() -> str:
        return await _read(run, lambda: list_text(memory, name))


async def _read(run: Run, work: Callable[[], str]) -> str:
    try:
        return str(await run(work))
    except StoreError as error:
        if error.code == "unknown_record":
            raise ResourceNotFoundError(str(error)) from error
        raise ResourceError(str(error)) from error
    except WindowTooSmall as error:
        raise ResourceError(str(error)) from error
