"""Hooks of Codex, Gemini CLI and Cursor.

Each line of a golden file is one payload and what the entry it makes must say (null: it makes
none). Those named ``built`` follow the clients' published schemas, the others are real runs.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keepthread.server.capture.clients.adapter import NAMES
from keepthread.server.capture.hook import handle
from keepthread.server.clients.descriptions import CLIENTS
from keepthread.stores.database import open_database
from keepthread.stores.windows import windows
from tests.server.capture.hooks import FIRST_RUN, FIXTURES, archived, wrote

DEV = Path(__file__).parents[3] / ".dev"
GOLDEN = {
    "codex": "codex-0.171.0.built.jsonl",
    "gemini": "gemini-cli-0.61.0.built.jsonl",
    "cursor": "cursor-2.0.77.built.jsonl",
}
RECORDED = {"codex": "codex-0.171.0.jsonl", "gemini": "gemini-cli-0.61.0.jsonl"}
BY_ITS_CODE = {"cursor": "cursor-sdk-1.0.18.built.jsonl"}
"""Built as the hook executor in Cursor's own npm package builds them; its agent needs an account to run."""

PATCHES = {"codex": "codex-0.171.0-patches.jsonl"}
"""A real session of a model that has the patch tool; its own file lies among the sessions."""

SUB_AGENT = {"codex": "codex-0.171.0-sub-agent.jsonl"}
"""A real session in which the model asked a sub-agent, through the event for the person's prompts."""


def golden(
    client: str, work: Path, files: dict[str, str] = GOLDEN
) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Yield each payload with what its entry must say."""
    for line in (FIXTURES / files[client]).read_text(encoding="utf-8").splitlines():
        row = json.loads(line.replace("/w/app", str(work)))
        yield row["payload"], row["entry"]


def send(client: str, payload: dict[str, Any], db: str, **environ: str) -> str:
    return handle(json.dumps(payload).encode(), environ, db, client)


@pytest.fixture
def source(work: Path) -> Path:
    """The work tree with the file that the golden payloads read."""
    (work / "src").mkdir()
    (work / "src/retry.py").write_text("RETRIES = 2\n", encoding="utf-8")
    return work


@pytest.mark.parametrize(
    ("client", "files"),
    [(c, files) for files in (GOLDEN, RECORDED, BY_ITS_CODE, PATCHES, SUB_AGENT) for c in files],
)
def test_each_event_becomes_the_entry_it_must(
    client: str, files: dict[str, str], db: str, source: Path
) -> None:
    (source / "ci.yml").write_text("timeout: 300\n", encoding="utf-8")
    for payload, expected in golden(client, source, files):
        before = len(archived(db)) if os.path.exists(db) else 0
        send(client, payload, db)
        made = archived(db)[before:] if os.path.exists(db) else []
        assert len(made) == (expected is not None), payload
        for entry, wanted in zip(made, [expected or {}], strict=False):
            said = {
                **entry._asdict(), "kind": entry.id.partition("-")[0], "wrote": wrote(db, entry.seq)
            }  # fmt: skip
            assert {name: said[name] for name in wanted} == wanted


@pytest.mark.parametrize("client", [*GOLDEN, "claude-code"])
def test_fields_that_nobody_knows_yet_are_kept_raw_and_change_nothing(
    client: str, db: str, source: Path
) -> None:
    events = (
        [
            r["payload"]
            for r in map(json.loads, (FIXTURES / FIRST_RUN).read_text("utf-8").splitlines())
        ]
        if client == "claude-code"
        else [payload for payload, _ in golden(client, source)]
    )
    new = {"new_field": {"depth": [1, "zwei"]}, "key": "AKIA2E7A8F3B2P4C9Q86"}
    other = str(Path(db).with_name("other.db"))
    for payload in events:
        injected = send(client, {**payload, **new}, db)
        assert bool(injected) == bool(send(client, payload, other))
    plain, told = archived(other), archived(db)
    assert [e.extra for e in plain] == [""] * len(plain)
    assert [(e.id, e.tool, e.own) for e in told] == [(e.id, e.tool, e.own) for e in plain]
    for entry in told:
        if entry.role != "machine" and not entry.own:
            assert json.loads(entry.extra)["new_field"] == new["new_field"]
            assert "AKIA2E7A8F3B2P4C9Q86" not in entry.extra


@pytest.mark.parametrize("client", GOLDEN)
def test_the_same_events_seen_twice_are_archived_once(client: str, db: str, source: Path) -> None:
    known = [p for p, entry in golden(client, source) if entry and entry["kind"] != "sys"]
    for payload in known:
        send(client, payload, db)
    once = len(archived(db))
    for payload in known:
        send(client, payload, db)
    assert len(archived(db)) == once == len(known)


@pytest.mark.parametrize("client", GOLDEN)
def test_a_new_session_is_given_its_window_as_the_client_wants_it(
    client: str, db: str, source: Path
) -> None:
    events = list(golden(client, source))
    for payload, _ in events:
        send(client, payload, db)
    name = "conversation_id" if client == "cursor" else "session_id"
    printed = send(client, {**events[0][0], name: "the next one"}, db)
    said = json.loads(printed)
    window = (
        said["additional_context"]
        if client == "cursor"
        else said["hookSpecificOutput"]["additionalContext"]
    )
    assert "Raised to 3." in window
    for payload, _ in events[1:]:
        assert send(client, {**payload, name: "the next one"}, db) == ""


@pytest.mark.parametrize("client", GOLDEN)
def test_it_is_not_taken_for_the_claude_code_that_started_it(
    client: str, db: str, source: Path
) -> None:
    for payload, _ in golden(client, source):
        send(client, payload, db, CLAUDE_CODE_SESSION_ID="outer", CLAUDE_PROJECT_DIR="/elsewhere")
    found = windows(open_database(db, "reader"), 1)
    assert {(w.client, w.work_tree) for w in found} == {(client, str(source))}
    assert "outer" not in {w.session for w in found}


@pytest.mark.parametrize("client", RECORDED)
def test_a_real_session_is_one_window(client: str, db: str, source: Path) -> None:
    for payload, _ in golden(client, source, RECORDED):
        send(client, payload, db)
    (window,) = windows(open_database(db, "reader"), 1)
    assert window.closed == "ended"


def test_codexs_transcript_tells_that_a_command_failed(db: str, source: Path) -> None:
    rollout = source.parent / "rollout.jsonl"
    failed = {"type": "CommandExecution", "id": "call_10", "status": "failed", "exit_code": 2}
    lines = ["{", "[]", '{"exit_code": "call_10"}', json.dumps({"payload": {"item": failed}})]
    rollout.write_text("\n".join(lines), encoding="utf-8")
    for payload, _ in golden("codex", source, RECORDED):
        send("codex", {**payload, "transcript_path": str(rollout)}, db)
    shell = [(json.loads(e.args)["command"], e.is_error) for e in archived(db) if e.tool == "Bash"]
    assert shell == [("cat ci.yml", False), ("ls no-such", True)]


@pytest.mark.parametrize("tool", ["ReadMcpResourceTool", "read_mcp_resource"])
def test_our_window_read_by_any_clients_resource_tool_is_ours(
    tool: str, db: str, source: Path
) -> None:
    call = {"hook_event_name": "PostToolUse", "session_id": "s", "cwd": str(source), "tool_name": tool,
            "tool_input": {"server": "keepthread", "uri": "memory://context"},
            "tool_response": "the window", "tool_use_id": "c1"}  # fmt: skip
    send("codex", call, db)
    (entry,) = archived(db)
    assert (entry.own, entry.output) == (True, "")


def test_cursor_runs_claude_codes_hooks_too_and_each_event_is_archived_once(
    db: str, source: Path
) -> None:
    events = list(golden("cursor", source, BY_ITS_CODE))
    injected = set()
    for payload, _ in events:
        send("cursor", payload, db)
        injected.add(send("claude-code", payload, db))
    assert injected == {""}
    assert len(archived(db)) == sum(entry is not None for _, entry in events)
    assert {w.client for w in windows(open_database(db, "reader"), 1)} == {"cursor"}


def test_cursors_calls_whose_ids_begin_anew_are_calls_of_their_own(db: str, source: Path) -> None:
    (shell,) = [
        p for p, _ in golden("cursor", source, BY_ITS_CODE) if p.get("tool_use_id") == "call_1"
    ]
    failed = {k: v for k, v in shell.items() if k != "tool_output"}
    failed |= {"hook_event_name": "postToolUseFailure", "tool_name": "Write", "error_message": "denied",
               "tool_input": {"file_path": "src/retry.py"}}  # fmt: skip
    for payload in (shell, {**shell, "generation_id": "gen-2"}, failed, failed):
        send("cursor", payload, db)
    assert [e.output for e in archived(db)] == ["RETRIES = 2\n", "RETRIES = 2\n", "denied"]
    assert wrote(db, archived(db)[-1].seq) == []


def test_cursors_user_is_not_stored(db: str, source: Path) -> None:
    for payload, _ in golden("cursor", source):
        send("cursor", payload, db)
    assert not any("someone@example.com" in f"{e.args}{e.output}" for e in archived(db))


@pytest.mark.parametrize("client", GOLDEN)
@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{}", b'{"hook_event_name": "AfterTool", "tool_response": 7}', b"\xff"]
)
def test_what_nobody_can_read_never_stops_the_client(client: str, raw: bytes, db: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "keepthread", "hook", client],
        input=raw, capture_output=True, check=False, cwd=Path(db).parent.parent,
        env={"KEEPTHREAD_DB": db, "PYTHONPATH": str(DEV), "HOME": str(Path(db).parent)},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b"")


def test_every_client_that_is_connected_with_hooks_has_an_adapter() -> None:
    assert {client.name for client in CLIENTS if client.hooks} == set(NAMES)
