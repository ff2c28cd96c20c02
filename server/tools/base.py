"""A tool as every client can take it: strict arguments, a portable schema, errors a model can act on."""

import difflib
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.to_thread
import apsw
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ValidationError

from keepthread.server.capture.files import FileRefused
from keepthread.server.context.assembly import WindowTooSmall
from keepthread.stores.database import explain
from keepthread.stores.errors import StoreError
from keepthread.validators.verdict import Outcome, Refused

logger = logging.getLogger("keepthread")

Run = Callable[[Callable[[], Any]], Awaitable[Any]]

_ARGUMENT_CHARS_SHOWN = 60


class StrictTool(Tool):
    """The SDK's tool, with unknown arguments refused and faults told in a sentence."""

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        """Validate, run, and turn our own errors into answers the model can read."""
        try:
            self.fn_metadata.validate_arguments(arguments)
        except ValidationError as error:
            return failure("bad_arguments", f"error[bad_arguments]: {_explain(self, error)}")
        try:
            return await super().run(arguments, context, convert_result)
        except Exception as error:
            known = _known_error(error)
            if known is None:
                raise
            return known


def make_tool(
    fn: Callable[..., Awaitable[CallToolResult | InputRequiredResult]],
    *,
    title: str,
    read_only: bool,
    idempotent: bool = True,
    always_loaded: bool = False,
) -> Tool:
    """Return ``fn`` as a tool; its docstring is what the model reads.

    No output schema is published: clients that check it would check refusals against it too.
    """
    made = StrictTool.from_function(
        fn,
        title=title,
        annotations=ToolAnnotations(
            read_only_hint=read_only,
            destructive_hint=False,
            idempotent_hint=idempotent,
            open_world_hint=False,
        ),
        meta={"anthropic/alwaysLoad": True} if always_loaded else None,
        description=inspect.cleandoc(fn.__doc__ or ""),
        structured_output=False,
    )
    model = made.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    made.parameters = without_titles(model.model_json_schema(by_alias=True))
    return made


def without_titles(schema: Any) -> Any:
    """Drop pydantic's ``title`` and descriptions of models, which cost tokens; keep a property named title."""
    if isinstance(schema, dict):
        return {
            k: without_titles(v)
            for k, v in schema.items()
            if not (k in ("title", "description") and isinstance(v, str))
        }
    return [without_titles(v) for v in schema] if isinstance(schema, list) else schema


def single_thread() -> Run:
    """Return a runner that crosses to one worker thread, one call at a time.

    A call that has begun runs to its end, whatever the client does meanwhile.
    """
    limiter = anyio.CapacityLimiter(1)

    async def run(work: Callable[[], Any]) -> Any:
        return await anyio.to_thread.run_sync(work, limiter=limiter)

    return run


def success(text: str, structured: BaseModel | None = None) -> CallToolResult:
    """Return a result; where a tool has structured content, the text says the same."""
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=None if structured is None else structured.model_dump(),
    )


def failure(code: str, text: str) -> CallToolResult:
    """Return an error result that the model reads."""
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content={"code": code, "message": text},
        is_error=True,
    )


def outcome_text(outcome: Outcome) -> str:
    """Return an outcome in one line: what was done, to which record, and what to know about it."""
    head = f"{outcome.action}: {outcome.id}" if outcome.id else outcome.action
    return ". ".join([head, *outcome.remarks])


def tool_use_id(context: Context[Any, Any]) -> str:
    """Return the client's id of this very call, where it sends one."""
    meta = context.request_context.meta
    if meta is None:
        return ""
    found = dict(meta) if not isinstance(meta, BaseModel) else meta.model_dump()
    value = found.get("claudecode/toolUseId") or found.get("toolUseId")
    return value if isinstance(value, str) else ""


def _known_error(error: BaseException) -> CallToolResult | None:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, Refused):
            return failure(cause.refusal.code, str(cause))
        if isinstance(cause, apsw.Error):
            cause = explain(cause)
        if isinstance(cause, StoreError):
            return failure(cause.code, f"error[{cause.code}]: {cause}")
        if isinstance(cause, FileRefused):
            return failure("file_refused", f"error[file_refused]: {cause}")
        if isinstance(cause, WindowTooSmall):
            return failure("window_too_small", f"error[window_too_small]: {cause}")
        cause = cause.__cause__
    return None


def _explain(tool: Tool, error: ValidationError) -> str:
    """Say what is wrong with the arguments, without echoing their values."""
    known = list(tool.parameters.get("properties", {}))
    parts = []
    for fault in error.errors(include_url=False, include_input=False)[:5]:
        name = ".".join(str(p) for p in fault["loc"])[:_ARGUMENT_CHARS_SHOWN]
        if fault["type"] == "extra_forbidden":
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean `{near[0]}`?" if near else f"it takes {', '.join(known)}."
            parts.append(f"`{name}` is no argument of {tool.name}; {hint}")
        elif fault["type"] == "missing":
            parts.append(f"`{name}` is required.")
        else:
            parts.append(f"`{name}`: {fault['msg']}.")
    return " ".join(parts)
