"""Past sessions of Codex become entries once, as its hook would have told them."""

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
from tests.server.capture.hooks import archived, wrote

HOOKS = Path(__file__).parents[2] / "fixtures" / "hooks"
PATCHES = "codex-0.171.0-patches.jsonl"
RECORDED = Path(__file__).parents[2] / "fixtures" / "sessions" / "codex-0.171.0.jsonl"
SESSION = "01a22f3c-35a8-79c0-a3dd-f5dc0c102a81"
TURN = "01a22f3c-35da-7b22-883c-aa9d23078494"


@pytest.fixture
def journal(db: str, clock: Clock) -> Iterator[Journal]:
    opened = Journal(db, open_database(db, "trusted"), clock)
    yield opened
    opened.connection.close()


@pytest.fixture
def home(tmp_path: Path, work: Path) -> Path:
    """A home in which Codex worked in ``work``."""
    folder = tmp_path / "home"
    file = folder / f".codex/sessions/2026/12/01/rollout-2026-12-01T01-33-24-{SESSION}.jsonl"
    file.parent.mkdir(parents=True)
    text = RECORDED.read_text(encoding="utf-8").replace("/w/app", str(work))
    file.write_text(text, encoding="utf-8")
    (file.parent / "rollout-elsewhere.jsonl").write_text(
        text.replace(str(work), "/w/app"), encoding="utf-8"
    )
    return folder


def heard(db: str, work: Path, event: str, **fields: Any) -> None:
    """Tell the hook of an event as Codex does."""
    common = {"hook_event_name": event, "session_id": SESSION, "turn_id": TURN, "cwd": str(work)}
    handle(json.dumps(common | fields).encode(), {}, db, "codex")


def test_commands_patches_and_words_become_entries(
    home: Path, work: Path, journal: Journal, db: str
) -> None:
    (session,) = find_sessions(str(work), {"HOME": str(home)})
    assert (session.client, session.id, session.begun[:10]) == ("codex", SESSION, "2026-12-01")
    assert find_sessions(str(work), {"CODEX_HOME": str(home / ".codex")}) == [session]
    done = import_sessions(journal, str(work), [session])
    assert (done.entries, done.faults) == (6, ())
    said, cat, patch, own, answer, slow = archived(db)
    assert (said.role, said.output) == ("user", "Go on. Keep commits small.")
    assert (cat.tool, json.loads(cat.args), cat.output) == (
        "Bash",
        {"command": "cat ci.yml"},
        "timeout: 300\n",
    )
    assert (cat.path, cat.is_error, cat.channel, cat.level) == ("ci.yml", False, "import", 1)
    assert (patch.tool, patch.path, patch.model_written) == ("apply_patch", "notes.md", True)
    assert (own.tool, own.own, own.output) == ("mcp__keepthread__record_fact", True, "")
    assert (answer.role, answer.output) == ("assistant", "done")
    assert (slow.is_error, slow.seen_at) == (True, "2026-12-01T01:33:28.665Z")
    assert import_sessions(journal, str(work), [session]).known == 6


def test_what_the_hook_captured_is_known(home: Path, work: Path, journal: Journal, db: str) -> None:
    heard(db, work, "UserPromptSubmit", prompt="Go on. Keep commits small.")
    heard(
        db, work, "PostToolUse", tool_name="Bash", tool_input={"command": "cat ci.yml"},
        tool_response="timeout: 300\n", tool_use_id="call_0",
    )  # fmt: skip
    heard(db, work, "Stop", last_assistant_message="done")
    done = import_sessions(journal, str(work), find_sessions(str(work), {"HOME": str(home)}))
    assert (done.entries, done.known) == (3, 3)


def test_patches_and_calls_of_servers_are_known_too(
    work: Path, journal: Journal, db: str, tmp_path: Path
) -> None:
    """A real session as its hooks and its own file tell of it; no hook hears of a call that failed."""
    for line in (HOOKS / PATCHES).read_text(encoding="utf-8").splitlines():
        payload = json.loads(line.replace("/w/app", str(work)))["payload"]
        handle(json.dumps(payload).encode(), {}, db, "codex")
    before = archived(db)
    rows = (RECORDED.parent / PATCHES).read_text(encoding="utf-8").replace("/w/app", str(work))
    file = tmp_path / "rollout.jsonl"
    file.write_text(rows, encoding="utf-8")
    assert import_file(journal, str(work), str(file)).known == len(before) == 7
    (failed,) = archived(db)[len(before) :]
    assert (failed.tool, failed.is_error) == ("mcp__every_thing__get_sum", True)
    assert import_file(journal, str(work), str(file)).known == 8


def test_a_patch_alone_in_the_file_reads_as_its_hook_would_have_told_it(
    work: Path, journal: Journal, db: str, tmp_path: Path
) -> None:
    rows = (RECORDED.parent / PATCHES).read_text(encoding="utf-8").replace("/w/app", str(work))
    cut_short = [row for row in rows.splitlines() if "custom_tool_call_output" not in row]
    for number, lines in enumerate((rows.splitlines(), cut_short)):
        file = tmp_path / f"rollout-{number}.jsonl"
        file.write_text("\n".join(lines), encoding="utf-8")
        other = Journal(f"{db}{number}", open_database(f"{db}{number}", "trusted"), journal.clock)
        import_file(other, str(work), str(file))
        other.connection.close()
        patches = [e for e in archived(f"{db}{number}") if e.tool == "apply_patch"]
        assert [wrote(f"{db}{number}", e.seq) for e in patches] == [
            ["a.py", "notes.md"], ["a.py", "docs/n.md", "notes.md"],
        ]  # fmt: skip
        assert "Updated the following files" in patches[0].output
        assert ("*** Begin Patch" in patches[0].args) == (number == 0)


def test_a_sub_agents_prompt_is_a_machines_and_odd_rows_tell_nothing(
    work: Path, journal: Journal, db: str, tmp_path: Path
) -> None:
    def item(kind: str, **fields: Any) -> dict[str, Any]:
        about = {
            "type": "item_completed",
            "turn_id": "t",
            "item": {"type": kind, "id": "i", **fields},
        }
        return {"type": "event_msg", "timestamp": "when?", "payload": about}

    rows: list[Any] = [
        {"type": "session_meta", "payload": {"id": "sub", "thread_source": "subagent", "cwd": str(work)}},
        item("UserMessage", content=[{"type": "text", "text": "look around"}]),
        item("AgentMessage", content="no blocks"),
        item("CommandExecution", command="make", aggregated_output=None, cwd=7),
        item("FileChange", changes=None, status="failed"),
        item("McpToolCall", server="ci", tool="limits", result=None, error={"message": "down"}, status="failed"),
        item("OfTomorrow"),
        {"type": "event_msg", "payload": {"type": "item_completed", "item": "none"}},
        {"type": "event_msg", "payload": None},
    ]  # fmt: skip
    file = tmp_path / "rollout.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = import_file(journal, str(work), str(file))
    assert [line for line, _ in done.faults] == [9]
    prompt, make, patch, limits = archived(db)
    assert (prompt.role, prompt.agent) == ("machine", "sub")
    assert (json.loads(make.args), make.is_error, make.agent) == ({"command": "make"}, True, "sub")
    assert patch.is_error and patch.tool == "apply_patch"
    assert limits.is_error and limits.tool == "mcp__ci__limits" and "down" in limits.output
