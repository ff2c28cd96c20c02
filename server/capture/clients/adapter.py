"""What tells one client's hooks from another's: names of events and fields, and how to inject text.

An adapter says a client's event in Claude Code's words, which the hook handles. An event it does
not know goes through under its own name and is kept raw; so are fields that it does not know.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from keepthread.server.capture.events import OUR_TOOLS, Call

Payload = Mapping[str, Any]

NAMES = ("claude-code", "codex", "gemini", "cursor")


_COMMON_FIELDS = frozenset(
    "hook_event_name session_id transcript_path cwd permission_mode model source reason trigger prompt "
    "tool_name tool_input tool_response tool_use_id agent_id agent_type stop_hook_active "
    "last_assistant_message".split()
)


class Adapter(NamedTuple):
    """One client. ``ignored`` events tell nothing that is kept; ``fields`` are known, beside
    those that most clients have."""

    client: str
    ignored: frozenset[str]
    fields: frozenset[str]
    event: Callable[[Payload], Payload]
    call: Callable[[Payload], Call]
    injected: Callable[[str], str]


def load_adapter(name: str) -> Adapter:
    """Return the adapter of one of NAMES; only its own module is imported."""
    if name == "codex":
        from keepthread.server.capture.clients.codex import ADAPTER as adapter  # noqa: PLC0415
    elif name == "gemini":
        from keepthread.server.capture.clients.gemini import ADAPTER as adapter  # noqa: PLC0415
    elif name == "cursor":
        from keepthread.server.capture.clients.cursor import ADAPTER as adapter  # noqa: PLC0415
    else:
        from keepthread.server.capture.clients.claude_code import ADAPTER as adapter  # noqa: PLC0415
    return adapter


def unknown_fields(adapter: Adapter, payload: Payload) -> str:
    """Return the fields that this version does not know, as JSON; ``""`` for none."""
    known = _COMMON_FIELDS | adapter.fields
    unknown = {name: value for name, value in payload.items() if name not in known}
    return json.dumps(unknown, ensure_ascii=False) if unknown else ""


def made_ref(*parts: Any) -> str:
    """Return a reference for an event that has none of its own: equal events, equal references."""
    whole = json.dumps(parts, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:32]


def is_our_tool(tool: str) -> bool:
    """True for our tools under the bare or prefixed names of clients that do not say ``mcp__``."""
    bare = tool.rpartition(":")[2].rpartition("__")[2]
    return bare in OUR_TOOLS or any(bare.endswith(f"keepthread_{ours}") for ours in OUR_TOOLS)
