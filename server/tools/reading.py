"""The reading tools: context, search, records, files. Text only; all stored text is framed as data."""

from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult

from keepthread.server.context.frame import quote
from keepthread.server.memory import Memory
from keepthread.server.record_pages import read_record as read_page
from keepthread.server.schemas import Flag, Number, Stage, Text, Texts
from keepthread.server.search_answer import parse_filters, search_text
from keepthread.server.tools.base import Run, failure, make_tool, success

LIMIT_MAX = 50


def reading_tools(memory: Memory, run: Run) -> list[Tool]:
    """get_context, search_archive, read_record and capture_file."""

    async def get_context(
        item: Text = "", stage: Stage = "execute", max_tokens: Number = 0, explain: Flag = False
    ) -> CallToolResult:
        """Recall the memory of this workspace: goal, plan, decisions, facts, what the last window left.
        Call first in a new session. item: focus on a plan item. stage shifts room to the plan, to facts (execute)
        or to what happened (review). max_tokens 0 = about 12,000. explain: how facts were ranked."""
        window = await run(
            lambda: memory.context(item=item, stage=stage, max_tokens=max_tokens, explain=explain)
        )
        return success(window.text)

    async def search_archive(
        query: str,
        tool: Text = "",
        since: Text = "",
        until: Text = "",
        scope: Texts = [],  # noqa: B006
        limit: Number = 10,
        max_tokens: Number = 2000,
    ) -> CallToolResult:
        """Recall what happened: search tool calls and outputs, messages and files by words and meaning.
        Answers snippets with ids to cite. Narrow by tool, time (ISO) or scope ("path:src/"); an empty query
        lists the newest."""
        filters = parse_filters(tool, since, until, scope)
        if isinstance(filters, str):
            return failure("bad_arguments", f"error[bad_arguments]: {filters}")
        wanted = min(limit or 10, LIMIT_MAX)
        return success(
            await run(lambda: search_text(memory, query, filters, wanted, max_tokens or 2000))
        )

    async def read_record(id: str, offset: Number = 0, max_tokens: Number = 2000) -> CallToolResult:
        """Read a record by id: a fact with its evidence and history, a decision, a plan item, or an archive
        entry in pages (offset)."""
        page = await run(lambda: read_page(memory, id, offset, max_tokens or 2000))
        return success(page)

    async def capture_file(path: str) -> CallToolResult:
        """Read a file of the workspace and archive it, so that facts can cite it."""

        def work() -> str:
            entry, text = memory.capture_file(path)
            shown = memory.counter.cut(entry.output, 4000)
            more = (
                ""
                if len(shown) == len(text)
                else f" (first {len(shown)} of {len(text)} characters; read_record {entry.id} goes on)"
            )
            return f"{entry.id}: {quote(entry.path)} sha256 {entry.file_sha256[:16]}{more}\n{quote(shown)}\n"

        return success(await run(work))

    return [
        make_tool(get_context, title="Get context", read_only=True, always_loaded=True),
        make_tool(search_archive, title="Search archive", read_only=True),
        make_tool(read_record, title="Read record", read_only=True),
        make_tool(capture_file, title="Capture file", read_only=False),
    ]
