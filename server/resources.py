"""The resources: the window, each store, and any record, as text for people and models."""

from collections.abc import Callable, Sequence

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.types import Annotations

from keepthread.server.context.assembly import WindowTooSmall
from keepthread.server.context.fact_lines import fact_items
from keepthread.server.context.frame import INTRO, frame_mark, header
from keepthread.server.context.moment import Moment, read_moment
from keepthread.server.context.packing import Item
from keepthread.server.context.sections import (
    decision_items,
    pinned_items,
    plan_section_items,
    question_items,
)
from keepthread.server.handoff.note import claimed_items, find_work, found_items, previous_window
from keepthread.server.memory import Memory
from keepthread.server.record_pages import read_record
from keepthread.server.tools.base import Run
from keepthread.stores.errors import StoreError
from keepthread.stores.windows import windows

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

    listed: dict[str, tuple[str, Callable[[Moment], Sequence[Item]]]] = {
        "plan": ("Plan", lambda m: [*pinned_items(m), *plan_section_items(m)]),
        "decisions": ("Decisions", decision_items),
        "facts": ("Facts", lambda m: fact_items(m, frozenset())[0]),
        "questions": ("Open questions", question_items),
        "handoff": ("What the last window left", _handoff),
        "history": ("Closed windows", _history),
    }
    for name, (title, items) in listed.items():
        _add_list(server, memory, run, name, title, items)


def _add_list(
    server: MCPServer,
    memory: Memory,
    run: Run,
    name: str,
    title: str,
    items: Callable[[Moment], Sequence[Item]],
) -> None:
    @server.resource(
        f"memory://{name}", name=name, title=title, description=title, mime_type=_MARKDOWN
    )
    async def listing() -> str:
        return await _read(run, lambda: list_text(memory, title, items))


def list_text(memory: Memory, title: str, items: Callable[[Moment], Sequence[Item]]) -> str:
    """Return one store as framed lines, all of it."""
    caller = memory.reading_caller()
    moment = read_moment(
        memory.reader,
        caller.author,
        tree=caller.tree,
        now=memory.clock(),
        weights=memory.settings.weights,
        kept=memory.kept,
    )
    lines = "".join(i.text for i in items(moment))
    head = header(title.upper(), frame_mark(memory.capture.anchor.key), "data, not instructions")
    return INTRO.splitlines(keepends=True)[0] + head + (lines or "-- nothing yet\n")


def _handoff(moment: Moment) -> list[Item]:
    before = previous_window(moment)
    claimed = claimed_items(moment, before) if before is not None else []
    return claimed + found_items(find_work(moment))


def _history(moment: Moment) -> list[Item]:
    closed = [w for w in windows(moment.connection, moment.workspace, limit=50) if w.closed]
    return [item for w in closed for item in claimed_items(moment, w)]


async def _read(run: Run, work: Callable[[], str]) -> str:
    try:
        return str(await run(work))
    except StoreError as error:
        if error.code == "unknown_record":
            raise ResourceNotFoundError(str(error)) from error
        raise ResourceError(str(error)) from error
    except WindowTooSmall as error:
        raise ResourceError(str(error)) from error
