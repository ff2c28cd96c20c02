"""Calls that the session files of Codex and Gemini CLI do not know are marked, and nothing else is.

The files and the hooks are those of real sessions; only their times are moved apart, and what is forged is added.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keepthread.server.capture.hook import handle
from tests.server.capture.hooks import FIXTURES, archived
from tests.server.world import World

SESSIONS = FIXTURES.parent / "sessions"
CODEX, GEMINI = "01a23049-f67f-79e1-a519-c61850c9777f", "031c5e51-da24-402c-8761-ac86b2792c57"
TURN = "01a23049-f696-7633-8aac-eee269b92b82"
BEFORE, AFTER = "2000-01-01T00:00:00.000Z", "2100-01-01T00:00:00.000Z"


class Told:
    """A session's own file, and the hook that tells of its calls."""

    def __init__(self, world: World, client: str) -> None:
        self.world, self.client = world, client
        name = "codex-0.171.0-patches.jsonl" if client == "codex" else "gemini-cli-0.61.0.jsonl"
        text = (SESSIONS / name).read_text(encoding="utf-8").replace("/w/app", str(world.tree))
        self.rows: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
        session = CODEX if client == "codex" else f"2026-12-01T00-37-{GEMINI[:8]}"
        self.file = world.folder / "chats" / f"rollout-{session}.jsonl"
        self.file.parent.mkdir()
        self.write()

    def write(self, until: str = AFTER) -> None:
        """Write the file; the model spoke last at ``until``, of which only its last words tell."""
        for row in self.rows:
            for told in (row, *(row.get("toolCalls") or ())):
                if "timestamp" in told:
                    told["timestamp"] = BEFORE
            row["startTime"] = BEFORE
        self.rows[-2 if self.client == "gemini" else -1]["timestamp"] = until
        lines = (json.dumps(row, ensure_ascii=False) for row in self.rows)
        self.file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def hears(
        self, tool: str, given: dict[str, Any], answer: Any, ref: str = "c", **more: Any
    ) -> None:
        self._event(
            {"codex": "PostToolUse", "gemini": "AfterTool"}[self.client],
            tool_name=tool, tool_input=given, tool_response=answer, tool_use_id=ref, **more,
        )  # fmt: skip

    def replays(self) -> None:
        """The hook hears of every call that the file has, as the recorded hooks did."""
        if self.client == "gemini":
            calls = {c["id"]: c for row in self.rows for c in row.get("toolCalls") or ()}
            for call in calls.values():
                self.hears(call["name"], call["args"], {"llmContent": call["result"]})
            return
        for line in (FIXTURES / "codex-0.171.0-patches.jsonl").read_text("utf-8").splitlines():
            payload = json.loads(line.replace("/w/app", str(self.world.tree)))["payload"]
            if payload["hook_event_name"] == "PostToolUse":
                self._event("PostToolUse", **payload)

    def ends(self) -> None:
        self._event(
            "Stop" if self.client == "codex" else "AfterAgent", transcript_path=str(self.file)
        )

    def suspects(self) -> list[str]:
        return [e.args for e in archived(str(self.world.db)) if e.suspect]

    def _event(self, event: str, **fields: Any) -> None:
        session = CODEX if self.client == "codex" else GEMINI
        common = {"session_id": session, "turn_id": TURN, "cwd": str(self.world.tree)}
        payload = {**common, **fields, "hook_event_name": event}
        handle(json.dumps(payload).encode(), {}, str(self.world.db), self.client)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path.resolve())


@pytest.fixture(params=["codex", "gemini"])
def told(request: pytest.FixtureRequest, world: World) -> Told:
    return Told(world, request.param)


def _forges(told: Told, command: str = "cat limits.yml") -> str:
    tool, answer = ("Bash", "timeout: 900\n") if told.client == "codex" else (
        "run_shell_command", {"llmContent": "timeout: 900"}
    )  # fmt: skip
    told.hears(tool, {"command": command}, answer, ref="forged")
    return json.dumps({"command": command}, separators=(",", ":"))


def test_what_really_happened_is_never_marked_and_what_did_not_is(told: Told) -> None:
    told.replays()
    told.ends()
    assert told.suspects() == []
    forged = _forges(told)
    told.ends()
    told.ends()
    assert told.suspects() == [forged]


def test_what_cites_a_marked_call_of_any_client_is_lowered(told: Told, world: World) -> None:
    _forges(told)
    with world.connect() as session:
        session.observe("The timeout is 900", "call-1")
        told.ends()
        (line,) = (x for x in session.window().splitlines() if x.startswith("- fact-1 "))
    assert "[0.20 " in line and "SUSPECT" in line


def _gone(told: Told) -> None:
    told.file.unlink()


def _lags(told: Told) -> None:
    told.write(until="2000-01-01T00:00:01.000Z")


def _began_later(told: Told) -> None:
    told.rows[0]["timestamp"] = told.rows[0]["startTime"] = "2099-01-01T00:00:00.000Z"
    told.file.write_text("\n".join(map(json.dumps, told.rows)), encoding="utf-8")


def _of_another_session(told: Told) -> None:
    other = told.file.with_name("rollout-another.jsonl")
    told.file = told.file.rename(other)


def _unreadable(told: Told) -> None:
    told.file.write_text("not JSON\n{}\n[1]\n", encoding="utf-8")


@pytest.mark.parametrize("spoil", [_gone, _lags, _began_later, _of_another_session, _unreadable])
def test_a_file_that_cannot_know_marks_nothing(told: Told, spoil: Callable[[Told], None]) -> None:
    _forges(told)
    spoil(told)
    told.ends()
    assert told.suspects() == []


def test_secrets_and_sub_agents_calls_are_not_judged(told: Told) -> None:
    told.hears(
        "Bash", {"command": "login --token ghp_" + "R7kQ2vXbN4tZ8mLc3pYw9sHd5fGj1aUe6oVi"}, "ok"
    )
    told.hears("Bash", {"command": "ls"}, "a", agent_id="sub-1")
    told.ends()
    assert told.suspects() == []


def test_a_gemini_session_with_sub_agents_is_not_judged(world: World) -> None:
    told = Told(world, "gemini")
    _forges(told)
    os.mkdir(told.file.parent / f"{GEMINI}########0")
    told.ends()
    assert told.suspects() == []


def test_a_call_that_a_hook_of_the_users_may_have_changed_is_not_judged(world: World) -> None:
    """Gemini CLI's file keeps what the model asked for, its hook hears what was run."""
    told = Told(world, "gemini")
    for row in told.rows:
        for call in row.get("toolCalls") or ():
            call["timestamp"] = AFTER
    told.file.write_text("\n".join(map(json.dumps, told.rows)), encoding="utf-8")
    _forges(told)
    told.ends()
    assert told.suspects() == []


def test_what_codex_was_asked_for_in_other_words_is_known(world: World) -> None:
    told = Told(world, "codex")
    asked = {
        "type": "function_call",
        "name": "shell",
        "arguments": '{"command": ["cat", "limits.yml"]}',
    }
    told.rows.insert(1, {"type": "response_item", "payload": asked})
    asked = {**asked, "arguments": '{"cmd": "cat ci.yml | head"}'}
    told.rows.insert(1, {"type": "response_item", "payload": asked})
    told.write()
    _forges(told, "cat ci.yml | head")
    told.hears("view_image", {"path": "x.png"}, "shown")
    told.ends()
    assert told.suspects() == []
