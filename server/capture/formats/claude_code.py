"""Claude Code's own session files (2.1.332): one row a message, the results of tools in rows of the user.

The format is the client's and changes: rows and fields that are not known tell nothing. A fork of a
session repeats its rows under their first ``uuid``, which therefore is what makes a row the same one.
"""

from collections.abc import Iterable, Iterator
from os.path import basename, dirname, realpath
from typing import Any

from keepthread.server.capture.events import (
    Call,
    answer_ref,
    answers_of_question_tool,
    blocks_text,
    claude_code_call,
    is_machine_text,
    prompt_refs,
)
from keepthread.server.capture.formats.item import (
    BadLine,
    Item,
    Row,
    text_of,
    time_told,
    within_project,
)

_HARNESS_MODEL = "<synthetic>"
_INTERRUPTED = "[Request interrupted"
_RESULTS_FOLDER = "tool-results"


class ClaudeCode:
    """Reads one session, or one sub-agent's part of it. ``folder`` holds what the client kept aside."""

    def __init__(self, folder: str = "") -> None:
        self._folder = folder
        self._called: dict[str, tuple[str, Any]] = {}
        self._prompt_id = ""
        self._at = ""

    def read(self, row: Row) -> Iterable[Item]:
        """Return what a row tells; nothing for the client's own bookkeeping."""
        self._at = time_told(row) or self._at
        kind, message = row.get("type"), row.get("message")
        if kind == "assistant" and isinstance(message, dict):
            return self._assistant(row, message)
        if kind == "user" and isinstance(message, dict):
            self._prompt_id = text_of(row.get("promptId")) or self._prompt_id
            return self._user(row, message)
        if kind == "attachment" and isinstance(row.get("attachment"), dict):
            return self._queued(row, row["attachment"])
        return ()

    def end(self) -> Iterable[Item]:
        """Return nothing: a call without a result has not happened yet."""
        return ()

    def _assistant(self, row: Row, message: Row) -> Iterator[Item]:
        kind = "sys" if message.get("model") == _HARNESS_MODEL else "say"
        for place, block in enumerate(_blocks(message.get("content"))):
            if block.get("type") == "tool_use":
                self._called[text_of(block.get("id"))] = (
                    text_of(block.get("name")),
                    block.get("input"),
                )
            said = text_of(block.get("text"))
            if block.get("type") == "text" and said.strip():
                ref = answer_ref(_session(row), _agent(row), self._prompt_id, said)
                yield self._item(row, kind, place, text=said, known_as=(("hook", ref),))

    def _user(self, row: Row, message: Row) -> Iterator[Item]:
        blocks = _blocks(message.get("content"))
        results = [b for b in blocks if b.get("type") == "tool_result"]
        answer = row.get("toolUseResult") if len(results) == 1 else None
        for place, block in enumerate(blocks):
            if block.get("type") == "tool_result":
                yield self._result(row, place, block, answer)
        text = blocks_text([b for b in blocks if b.get("type") != "tool_result"])
        if not text.strip():
            return
        if row.get("isCompactSummary"):
            yield self._item(row, "say", len(blocks), text=text, tool="past compaction summary")
        else:
            yield self._prompt(row, len(blocks), text, human=_is_persons(row, text))

    def _queued(self, row: Row, queued: Row) -> Iterator[Item]:
        """What was typed, or reported by a machine, while the agent worked."""
        text = blocks_text(_blocks(queued.get("prompt")))
        if queued.get("type") != "queued_command" or not text.strip():
            return
        human = queued.get("commandMode") == "prompt" and not queued.get("isMeta")
        human = human and _may_be_persons(queued) and not is_machine_text(text)
        yield self._prompt(row, 0, text, human=human)

    def _prompt(self, row: Row, place: int, text: str, *, human: bool) -> Item:
        # A person's prompt is known by its own id only: one typed meanwhile comes under the turn's.
        as_person, _ = prompt_refs(_session(row), text_of(row.get("promptId")), text)
        _, as_machine = prompt_refs(_session(row), self._prompt_id, text)
        known = ("user", as_person) if human else ("hook", as_machine)
        return self._item(row, "msg" if human else "sys", place, text=text, known_as=(known,))

    def _result(self, row: Row, place: int, block: Row, answer: Any) -> Item:
        use = text_of(block.get("tool_use_id"))
        if use not in self._called:
            raise BadLine(f"the call {use!r} that this is the result of is not in the file")
        tool, given = self._called.pop(use)
        failed = block.get("is_error") is True
        payload = {
            "hook_event_name": "PostToolUseFailure" if failed else "PostToolUse",
            "tool_name": tool,
            "tool_input": given,
            "error": _content(block),
            "tool_response": answer if isinstance(answer, dict) else _content(block),
            "cwd": text_of(row.get("cwd")),
        }
        answers = answers_of_question_tool(payload) if tool == "AskUserQuestion" else ""
        if answers and not failed and not _agent(row):
            asked = claude_code_call(payload).args
            return self._item(
                row, "msg", place, text=answers, tool=tool, args=asked, known_as=(("user", use),)
            )
        call = self._kept_aside(claude_code_call(payload))
        call = within_project(call, text_of(row.get("cwd")))
        seen = (("relay", use), ("hook", use))
        return self._item(row, "call", place, call=call, known_as=seen, name=use)

    def _kept_aside(self, call: Call) -> Call:
        """Return the call without a file for its rest, unless it lies where the client keeps such files:
        a session file from elsewhere must not make us read another."""
        rest = realpath(call.rest_in) if call.rest_in and self._folder else ""
        ours = basename(dirname(rest)) == _RESULTS_FOLDER and rest.startswith(
            realpath(self._folder) + "/"
        )
        return call._replace(rest_in=rest if ours else "")

    def _item(self, row: Row, kind: str, place: int, **fields: Any) -> Item:
        whole = text_of(row.get("uuid")) or f"{_session(row)}:{self._at}"
        return Item(kind, f"{whole}:{place}", self._at, agent=_agent(row), **fields)


def _session(row: Row) -> str:
    return text_of(row.get("sessionId"))


def _agent(row: Row) -> str:
    return text_of(row.get("agentId"))


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def _content(block: Row) -> str:
    content = block.get("content")
    return blocks_text(content) if isinstance(content, list) else text_of(content)


def _may_be_persons(told: Row) -> bool:
    """False where a row names another origin than a person: a notification, another session."""
    origin = told.get("origin")
    return not isinstance(origin, dict) or origin.get("kind") in (None, "human", "user")


def _is_persons(row: Row, text: str) -> bool:
    """True for what a person or a program sent: newer clients mark it, and write a row's source in any
    case; of older ones the text decides."""
    if row.get("isMeta") or row.get("isSidechain") or _agent(row) or not _may_be_persons(row):
        return False
    if is_machine_text(text) or text.lstrip().startswith(_INTERRUPTED):
        return False
    return bool(row.get("promptSource")) or "rowSource" not in row
