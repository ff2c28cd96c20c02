"""Codex's own session files (0.171.0): what was completed, an item a row.

All is told to its hook's adapter as the hook would hear it, so that what was captured is known. Of a patch
the hook hears what the model sent and got back, which stand in rows before and after the one of its changes.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from keepthread.server.capture.clients.codex import ADAPTER
from keepthread.server.capture.events import Call, answer_ref, is_machine_text, prompt_refs
from keepthread.server.capture.formats.item import (
    BadLine,
    Item,
    Row,
    text_of,
    time_told,
    within_project,
)

_SHELL_FLAGS = ("-c", "-lc")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")  # of MCP servers and tools, as the model and the hook know them


class Codex:
    """Reads one session, a sub-agent's too: that has a file of its own."""

    def __init__(self) -> None:
        self._session = self._agent = self._cwd = self._turn = self._at = ""
        self._patches: dict[str, str] = {}  # by call id, until the answer
        self._changed: dict[str, tuple[Row, Item]] = {}  # what a patch did, by call id, until the answer

    def read(self, row: Row) -> Iterable[Item]:
        """Return what a row tells; nothing for requests, answers in parts and bookkeeping."""
        about = row.get("payload")
        if not isinstance(about, dict):
            raise BadLine("a row of a Codex session has a payload")
        if row.get("type") == "session_meta":
            self._begin(about)
        if about.get("type") in ("custom_tool_call", "custom_tool_call_output"):
            return self._patch(about)
        item = about.get("item")
        if about.get("type") != "item_completed" or not isinstance(item, dict):
            return ()
        self._at = time_told(row) or self._at
        self._turn = text_of(about.get("turn_id"))
        kind = text_of(item.get("type"))
        read = self._items().get(kind)
        # Providers may count their call ids anew for each answer.
        ref = f"{self._session}:{self._turn}:{kind}:{item.get('id')}:{about.get('started_at_ms')}"
        return read(item, ref) if read else ()

    def end(self) -> Iterable[Item]:
        """Return the patches whose answer never came."""
        return [item for _, item in self._changed.values()]

    def _begin(self, about: Mapping[str, Any]) -> None:
        self._session = text_of(about.get("session_id")) or text_of(about.get("id"))
        self._cwd = text_of(about.get("cwd"))
        person = about.get("thread_source") in (None, "user")
        self._agent = "" if person else text_of(about.get("id"))

    def _items(self) -> Mapping[str, Callable[[Row, str], Iterator[Item]]]:
        return {
            "UserMessage": self._prompt,
            "AgentMessage": self._answer,
            "CommandExecution": self._command,
            "FileChange": self._change,
            "McpToolCall": self._mcp_call,
        }

    def _prompt(self, item: Row, ref: str) -> Iterator[Item]:
        text = _words(item)
        if not text.strip():
            return
        human = not self._agent and not is_machine_text(text)
        heard = ADAPTER.event({"turn_id": self._turn, "prompt": text})
        as_person, as_machine = prompt_refs(self._session, heard["prompt_id"], text)
        known = ("user", as_person) if human else ("hook", as_machine)
        yield self._item("msg" if human else "sys", ref, text=text, known_as=(known,))

    def _answer(self, item: Row, ref: str) -> Iterator[Item]:
        text = _words(item)
        if text.strip():
            known = answer_ref(self._session, self._agent, self._turn, text)
            yield self._item("say", ref, text=text, known_as=(("hook", known),))

    def _command(self, item: Row, ref: str) -> Iterator[Item]:
        cwd = unquote(urlsplit(text_of(item.get("cwd"))).path) or self._cwd
        heard = self._heard(
            "Bash", {"command": _command_of(item)}, item.get("aggregated_output"), item
        )
        call = ADAPTER.call({**heard, "cwd": cwd})
        call = within_project(call._replace(is_error=item.get("exit_code") != 0), cwd)
        yield self._item("call", ref, call=call, known_as=(("hook", heard["tool_use_id"]),))

    def _mcp_call(self, item: Row, ref: str) -> Iterator[Item]:
        names = (_NOT_IN_NAMES.sub("_", text_of(item.get(n))) for n in ("server", "tool"))
        tool = "__".join(("mcp", *names))
        answer = item.get("result") or item.get("error")
        heard = self._heard(tool, item.get("arguments"), answer, item)
        call = ADAPTER.call({**heard, "cwd": self._cwd})
        failed = call.is_error or item.get("status") == "failed"
        known = ("hook", heard["tool_use_id"])
        yield self._item("call", ref, call=call._replace(is_error=failed), known_as=(known,))

    def _change(self, item: Row, ref: str) -> Iterator[Item]:
        changes = item.get("changes")
        wrote = _files_of(changes)
        failed = item.get("status") != "completed"
        call = Call(
            tool="apply_patch",
            args=json.dumps({"changes": changes}, ensure_ascii=False, separators=(",", ":")),
            output=text_of(item.get("stdout")) + text_of(item.get("stderr")),
            is_error=failed,
            path=wrote[0] if len(wrote) == 1 else "",
            wrote=() if failed else wrote,
        )
        made = self._item("call", ref, call=within_project(call, self._cwd))
        if text_of(item.get("id")) in self._patches:
            self._changed[text_of(item.get("id"))] = (item, made)
        else:
            yield made  # the shell was asked for it: its hook hears nothing

    def _patch(self, about: Row) -> Iterable[Item]:
        """Return the patch whose answer this is, as the hook heard it."""
        call = text_of(about.get("call_id"))
        if about.get("type") == "custom_tool_call":
            if about.get("name") == "apply_patch":
                self._patches[call] = text_of(about.get("input"))
            return ()
        patch = self._patches.pop(call, "")
        if call not in self._changed:
            return ()
        item, made = self._changed.pop(call)
        answer = text_of(about.get("output"))
        heard = self._heard("apply_patch", {"command": patch}, answer, item)
        told = ADAPTER.call(heard)
        assert made.call is not None
        whole = made.call._replace(args=told.args, output=told.output)
        return (made._replace(call=whole, known_as=(("hook", heard["tool_use_id"]),)),)

    def _heard(self, tool: str, args: Any, answer: Any, item: Row) -> Mapping[str, Any]:
        """Return the event of a call as the hook hears it."""
        told = {
            "hook_event_name": "PostToolUse", "session_id": self._session, "turn_id": self._turn,
            "tool_name": tool, "tool_input": args, "tool_response": answer, "tool_use_id": item.get("id"),
        }  # fmt: skip
        return ADAPTER.event({**told, "agent_id": self._agent} if self._agent else told)

    def _item(self, kind: str, ref: str, **fields: Any) -> Item:
        return Item(kind, ref, self._at, agent=self._agent, **fields)


def _files_of(changes: Any) -> tuple[str, ...]:
    """Return the files that a patch changed, and those that it moved them to."""
    changes = changes if isinstance(changes, dict) else {}
    moved = (text_of(c.get("move_path")) for c in changes.values() if isinstance(c, dict))
    return (*changes, *filter(None, moved))


def _words(item: Row) -> str:
    content = item.get("content")
    blocks = content if isinstance(content, list) else []
    return "\n".join(
        text_of(b.get("text")) for b in blocks if isinstance(b, dict) and b.get("text")
    )


def _command_of(item: Row) -> str:
    """Return the command as the model wrote it, without the shell that runs it."""
    given = item.get("command")
    words = [w for w in given if isinstance(w, str)] if isinstance(given, list) else []
    if len(words) == 3 and words[1] in _SHELL_FLAGS:
        return words[2]
    return shlex.join(words) if words else text_of(given)
