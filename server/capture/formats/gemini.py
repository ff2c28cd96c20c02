"""Gemini CLI's own chat files (0.61.0): a message a row, its tool calls inside it once they have ended.

Neither the file nor the hook tells an id that both know: what a hook captured in the session is known by
what was called or said. Rows that set the state of the chat anew tell nothing.
"""

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from keepthread.server.capture.clients.gemini import ADAPTER
from keepthread.server.capture.events import is_machine_text
from keepthread.server.capture.formats.item import (
    Item,
    Row,
    text_of,
    time_told,
    within_project,
)

ROOT_FILE = ".project_root"
"""Beside the folder of chats: the folder that the client worked in."""

_MCP_TOOL = re.compile(r"(\S+) \((\S+) MCP Server\)")


class Gemini:
    """Reads one session. ``folder`` is where its file lies."""

    def __init__(self, folder: str = "") -> None:
        self._root = project_root(folder)
        self._session = self._at = ""

    def read(self, row: Row) -> Iterable[Item]:
        """Return what a row tells."""
        self._session = text_of(row.get("sessionId")) or self._session
        self._at = time_told(row) or self._at
        if row.get("type") == "user":
            return self._prompt(row)
        if row.get("type") == "gemini":
            return self._answer(row)
        return ()

    def end(self) -> Iterable[Item]:
        """Return nothing: every row stands for itself."""
        return ()

    def _prompt(self, row: Row) -> Iterator[Item]:
        heard = ADAPTER.event(
            {"hook_event_name": "BeforeAgent", "prompt": _words(row.get("content"))}
        )
        text = text_of(heard["prompt"])
        if text.strip():
            kind = "sys" if is_machine_text(text) else "msg"
            yield self._item(kind, f"{row.get('id')}", text=text)

    def _answer(self, row: Row) -> Iterator[Item]:
        text = _words(row.get("content"))
        if text.strip():
            yield self._item("say", f"{row.get('id')}", text=text)
        calls = row.get("toolCalls")
        for call in calls if isinstance(calls, list) else []:
            if isinstance(call, dict):
                yield self._call(call)

    def _call(self, told: Row) -> Item:
        self._at = time_told(told) or self._at
        of_server = _MCP_TOOL.fullmatch(text_of(told.get("displayName")))
        name = f"mcp__{of_server[2]}__{of_server[1]}" if of_server else text_of(told.get("name"))
        failed = told.get("status") not in (None, "success")
        answer = {"llmContent": told.get("result"), "error": told.get("status") if failed else None}
        heard = {"tool_name": name, "tool_input": told.get("args"), "tool_response": answer}
        call = within_project(ADAPTER.call({**heard, "cwd": self._root}), self._root)
        return self._item("call", text_of(told.get("id")), call=call)

    def _item(self, kind: str, ref: str, **fields: Any) -> Item:
        whole = f"{self._session}:{ref}"
        return Item(kind, whole, self._at, session=self._session, **fields)


def project_root(folder: str) -> str:
    """Return the folder that the chats in ``folder`` were about; ``""`` where nothing tells."""
    try:
        with open(os.path.join(os.path.dirname(folder), ROOT_FILE), encoding="utf-8") as file:
            return file.read(4096).strip() if folder else ""
    except (OSError, ValueError):
        return ""


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(text_of(p.get("text")) for p in parts if isinstance(p, dict) and p.get("text"))
