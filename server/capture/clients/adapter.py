"""What tells one client's hooks from another's: names of events and fields, and how to inject text.

An adapter says a client's event in Claude Code's words, which the hook handles. Fields it does
not know stay; an event it does not know goes through under its own name and is kept raw.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from keepthread.server.capture.events import OUR_TOOLS, Call

Payload = Mapping[str, Any]

NAMES = ("claude-code", "codex", "gemini", "cursor")


class Adapter(NamedTuple):
    """One client. ``ignored`` events tell nothing that is kept."""

    client: str
    ignored: frozenset[str]
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


def made_ref(*parts: Any) -> str:
    """Return a reference for an event that has none of its own: equal events, equal references."""
    whole = json.dumps(parts, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:32]


def is_our_tool(tool: str) -> bool:
    """True for our tools under the bare or prefixed names of clients that do not say ``mcp__``."""
    bare = tool.rpartition(":")[2].rpartition("__")[2]
    return bare in OUR_TOOLS or any(bare.endswith(f"keepthread_{ours}") for ours in OUR_TOOLS)
