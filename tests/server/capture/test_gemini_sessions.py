"""Past chats of Gemini CLI become entries once, as its hook would have told them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keepthread.server.capture.hook import handle
from keepthread.server.capture.imports import import_file
from keepthread.server.capture.sessions import find_sessions, import_sessions
from keepthread.stores.clock import Clock
from keepthread.stores.database import open_database
from keepthread.stores.journal import Journal
from tests.server.capture.hooks import archived

RECORDED = Path(__file__).parents[2] / "fixtures" / "sessions" / "gemini-cli-0.61.0.jsonl"
SESSION = "031c5e51-da24-402c-8761-ac86b2792c57"


@pytest.fixture
def journal(db: str, clock: Clock) -> Iterator[Journal]:
    opened = Journal(db, open_database(db, "trusted"), clock)
    yield opened
    opened.connection.close()


@pytest.fixture
def home(tmp_path: Path, work: Path) -> Path:
    """A home in which Gemini CLI worked in ``work``, and elsewhere."""
    folder = tmp_path / "home"
    for name, root in (("work", str(work)), ("elsewhere", "/w/app")):
        chats = folder / ".gemini/tmp" / name / "chats"
        chats.mkdir(parents=True)
        (chats.parent / ".project_root").write_text(root, encoding="utf-8")
        text = RECORDED.read_text(encoding="utf-8").replace("/w/app", root)
        (chats / "session-2026-12-01T00-37-031c5e51.jsonl").write_text(text, encoding="utf-8")
    return folder


def heard(db: str, work: Path, event: str, **fields: Any) -> None:
    """Tell the hook of an event as Gemini CLI does."""
    common = {
        "hook_event_name": event,
        "session_id": SESSION,
        "cwd": str(work),
        "timestamp": "2026-12-01T00:37:08Z",
    }
    handle(json.dumps(common | fields).encode(), {}, db, "gemini")


def test_calls_and_words_become_entries(home: Path, work: Path, journal: Journal, db: str) -> None:
    (session,) = find_sessions(str(work), {"HOME": str(home)})
    assert (session.client, session.begun) == ("gemini", "2026-12-01T00:37:07.787Z")
    done = import_sessions(journal, str(work), [session])
    assert (done.entries, done.faults) == (5, ())
    said, cat, missing, own, answer = archived(db)
    assert (said.role, said.output) == ("user", "Go on. Keep commits small."), (
        "without what a hook injected"
    )
    assert (cat.tool, cat.path, cat.is_error, cat.level) == (
        "run_shell_command",
        "ci.yml",
        False,
        1,
    )
    assert (
        cat.output.startswith("Output: timeout: 300\n")
        and cat.seen_at == "2026-12-01T00:37:08.139Z"
    )
    assert missing.is_error and "No such file" in missing.output
    assert (own.tool, own.own, own.output) == ("mcp__keepthread__record_fact", True, "")
    assert (answer.role, answer.output) == ("assistant", "done")
    assert import_sessions(journal, str(work), [session]).known == 5


def test_what_the_hook_captured_is_known(home: Path, work: Path, journal: Journal, db: str) -> None:
    heard(
        db,
        work,
        "BeforeAgent",
        prompt="<hook_context>x</hook_context>\n\nGo on. Keep commits small.",
    )
    heard(
        db, work, "AfterTool", tool_name="run_shell_command", tool_input={"command": "cat ci.yml"},
        tool_response={"llmContent": "Output: timeout: 300"},
    )  # fmt: skip
    heard(db, work, "AfterAgent", prompt="x", prompt_response="done")
    done = import_sessions(journal, str(work), find_sessions(str(work), {"HOME": str(home)}))
    assert (done.entries, done.known) == (2, 3)


def test_failures_and_odd_rows(work: Path, journal: Journal, db: str, tmp_path: Path) -> None:
    call = {
        "id": "c1",
        "name": "read_file",
        "args": {"file_path": "/x"},
        "status": "error",
        "result": "denied",
    }
    rows = [
        {"sessionId": "s", "projectHash": "h"},
        {"id": "m1", "type": "user", "content": [{"functionResponse": {}}]},
        {
            "id": "m2",
            "type": "user",
            "content": "<session_context>folders</session_context>",
            "timestamp": "?",
        },
        {"id": "m3", "type": "gemini", "content": None, "toolCalls": [call, "none"]},
        {"id": "m4", "type": "gemini", "content": "as text", "toolCalls": None},
        {"id": "m5", "type": "info", "content": "of the client's own"},
    ]
    file = tmp_path / "chat.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert import_file(journal, str(work), str(file)).faults == ()
    machine, read, said = archived(db)
    assert (machine.role, said.output) == ("machine", "as text")
    assert (read.tool, read.is_error, read.output) == ("read_file", True, "denied")
