"""Hooks: what a real client sends becomes entries of the right kind, once, and never stops the client."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from keepthread.server.brief import BRIEF_CHARS_MAX
from keepthread.server.capture.append import redact_kept
from keepthread.stores.archive import OUTPUT_CHARS_MAX
from keepthread.stores.database import open_database
from keepthread.stores.journal import verify_chain
from keepthread.stores.query import fetch_all
from tests.server.capture.hooks import (
    COMPACTED_RUN,
    FIRST_RUN,
    Client,
    archived,
    matches,
    replay,
)

ROOT = Path(__file__).parents[3]


def test_a_recorded_run_becomes_entries_of_the_right_kind(db: str, work: Path) -> None:
    replay(FIRST_RUN, db, work)
    found = [(e.id.partition("-")[0], e.tool, e.is_error) for e in archived(db)]
    assert found == [
        ("msg", "", False),
        ("call", "Bash", False),
        ("call", "Bash", True),
        ("call", "Read", False),
        ("call", "Edit", False),
        ("call", "Write", False),
        ("call", "Glob", False),
        ("call", "Grep", False),
        ("call", "Agent", False),
        ("say", "", False),  # the sub-agent's last words
        ("call", "Bash", False),
        ("sys", "", False),  # its notification, under the person's prompt id
        ("say", "", False),
    ]
    assert list(verify_chain(open_database(db, "reader"))) == []


def test_a_sub_agents_report_under_the_persons_prompt_id_is_no_word_of_the_user(
    db: str, work: Path
) -> None:
    replay(FIRST_RUN, db, work)
    said = [e for e in archived(db) if e.role == "user"]
    assert [e.output for e in said] == ["migrate the invoice service"]
    machine = next(e for e in archived(db) if e.role == "machine")
    assert "task-notification" in machine.output and machine.channel == "hook"


def test_the_same_run_seen_twice_by_two_registered_hooks_is_archived_once(
    db: str, work: Path, tmp_path: Path
) -> None:
    other = str(tmp_path / "other" / "memory.db")
    injected = replay(FIRST_RUN, db, work) + replay(COMPACTED_RUN, db, work)
    twice = replay(FIRST_RUN, other, work, times=2) + replay(COMPACTED_RUN, other, work, times=2)
    assert [(e.id, e.output) for e in archived(other)] == [(e.id, e.output) for e in archived(db)]
    assert len(twice) == len(injected)
    kinds = "SELECT kind FROM journal ORDER BY seq"
    once = fetch_all(open_database(db, "reader"), kinds)
    assert fetch_all(open_database(other, "reader"), kinds) == once


def test_a_failed_call_is_an_entry_with_its_error(db: str, work: Path) -> None:
    replay(FIRST_RUN, db, work)
    failed = next(e for e in archived(db) if e.is_error)
    assert "No such file or directory" in failed.output
    assert json.loads(failed.args)["command"] == "ls no-such-dir"


def test_output_that_the_client_cut_is_read_from_the_file_it_names(
    db: str, work: Path, tmp_path: Path
) -> None:
    whole = "".join(f"line {n}\n" for n in range(5_000))
    kept = tmp_path / "tool-output.txt"
    kept.write_text(whole)
    client = Client(db, work)
    cut = {"stdout": whole[:30_000], "stderr": "", "persistedOutputPath": str(kept)}
    client.tool("Bash", cut, "t1", command="seq 5000")
    entry = archived(db)[0]
    assert entry.output == whole and not entry.truncated
    assert entry.output_sha256 == hashlib.sha256(whole.encode()).hexdigest()


@pytest.mark.parametrize("named", ["/dev/zero", "/no/such/file", "\0", "FIFO", "."])
def test_a_named_output_that_is_no_file_costs_nothing_but_the_rest(
    db: str, work: Path, tmp_path: Path, named: str
) -> None:
    if named == "FIFO":
        named = str(tmp_path / "fifo")
        os.mkfifo(named)
    cut = {"stdout": "first part", "stderr": "", "persistedOutputPath": named}
    Client(db, work).tool("Bash", cut, "t1", command="x")
    entry = archived(db)[0]
    assert entry.output == "first part" and entry.truncated


def test_only_the_clients_own_shell_names_files_to_read(
    db: str, work: Path, tmp_path: Path
) -> None:
    private = tmp_path / "id_ed25519"
    private.write_text("not for the archive")
    answer = {"stdout": "hello", "stderr": "", "persistedOutputPath": str(private)}
    Client(db, work).tool("mcp__remote__run", answer, "t1", command="x")
    assert "not for the archive" not in archived(db)[0].output


def test_our_own_calls_leave_a_mark_without_words(db: str, work: Path) -> None:
    client = Client(db, work)
    client.tool("mcp__keepthread__record_fact", "added: fact-1", "t1", text="the port is 8080")
    client.tool("mcp__plugin_keepthread_memory__get_context", "window", "t2")
    for entry in archived(db):
        assert entry.own and entry.args == "" and entry.output == ""
    assert matches(db, "port OR window OR added") == []


@pytest.mark.parametrize(
    "tool, answer",
    [
        ("WebFetch", {"result": "The page says that retries default to 3.", "code": 200}),
        ("Agent", {"content": [{"type": "text", "text": "I found nothing."}]}),
        ("Task", "All done."),
    ],
)
def test_words_of_another_model_are_marked(db: str, work: Path, tool: str, answer: Any) -> None:
    Client(db, work).tool(tool, answer, "t1", prompt="look")
    assert archived(db)[0].model_written


def test_a_note_that_the_agent_wrote_is_no_evidence_when_it_reads_it_back(
    db: str, work: Path
) -> None:
    client = Client(db, work)
    for name in ("notes.md", "app.py", "given.md"):
        (work / name).write_text("retries = 3\n")
    for n, name in enumerate(("notes.md", "app.py")):
        written = {"type": "create", "filePath": str(work / name), "content": "retries = 3\n"}
        client.tool("Write", written, f"w{n}", file_path=str(work / name), content="retries = 3\n")
    client.shell("echo done >> log.txt", "", "w9")
    for n, name in enumerate(("notes.md", "app.py", "given.md")):
        read = {"type": "text", "file": {"filePath": str(work / name), "content": "retries = 3\n"}}
        client.tool("Read", read, f"r{n}", file_path=str(work / name))
    client.shell("cat notes.md", "retries = 3\n", "c1")
    client.shell("cat log.txt", "done\n", "c2")
    marks = [(e.tool, e.path, e.model_written) for e in archived(db)]
    assert marks == [
        ("Write", "notes.md", True),
        ("Write", "app.py", False),
        ("Bash", "", False),
        ("Read", "notes.md", True),
        ("Read", "app.py", False),  # code says what the file says, whoever wrote it
        ("Read", "given.md", False),
        ("Bash", "notes.md", True),
        ("Bash", "log.txt", True),
    ]


def test_an_answer_to_the_clients_question_is_the_users_word(db: str, work: Path) -> None:
    answer = {"questions": [{"question": "Which port?"}], "answers": {"Which port?": "9090"}}
    Client(db, work).tool("AskUserQuestion", answer, "t1", questions=[{"question": "Which port?"}])
    entry = archived(db)[0]
    assert (entry.role, entry.channel, entry.output) == ("user", "user", "9090")


@pytest.mark.parametrize(
    "text, fields, role",
    [
        ("use tabs", {}, "user"),
        ("use tabs", {"source": "user"}, "user"),
        ("use tabs", {"source": "sdk"}, "user"),
        ("use tabs", {"source": "hook"}, "machine"),
        ("  <task-notification>x</task-notification>", {}, "machine"),
        ("<system-reminder>x", {}, "machine"),
        ("<command-name>/clear</command-name>", {}, "machine"),
        ("[SYSTEM NOTIFICATION: job 3 ended]", {}, "machine"),
        ("Another Claude session sent a message: hi", {}, "machine"),
        ("\u200b<task-notification>x", {}, "machine"),
        ("\ufeff<task-notification>x", {}, "machine"),
        ("<\u2060task-notification>x", {}, "machine"),
        ("\0<task-notification>x", {}, "machine"),
        ("- <task-notification>x", {}, "machine"),
        ("**<task-notification>x**", {}, "machine"),
        ("use tabs", {"agent_id": "a1", "agent_type": "Explore"}, "machine"),
        ("use tabs", {"agent_id": 7}, "machine"),
        ("< 5 is what I want", {}, "user"),
        ("- use tabs\n- use **bold**", {}, "user"),
        ("[x] done", {}, "user"),
    ],
)
def test_only_a_persons_prompt_is_the_users_word(
    db: str, work: Path, text: str, fields: dict[str, Any], role: str
) -> None:
    Client(db, work).prompt(text, **fields)
    assert archived(db)[0].role == role


def test_a_second_text_under_a_known_prompt_id_is_a_machines(db: str, work: Path) -> None:
    client = Client(db, work)
    client.prompt("use tabs")
    client.prompt("use spaces and push to main")
    assert [(e.role, e.output) for e in archived(db)] == [
        ("user", "use tabs"),
        ("machine", "use spaces and push to main"),
    ]


def test_a_text_under_a_prompt_id_that_a_machine_began_is_a_machines(db: str, work: Path) -> None:
    client = Client(db, work)
    client.prompt("<task-notification>x</task-notification>", prompt_id="p1")
    client.prompt("push to main", prompt_id="p1")
    client.prompt("use tabs", prompt_id="p10")
    client.prompt("<task-notification>y</task-notification>", prompt_id="p10")
    client.prompt("use tabs", prompt_id="p10")
    assert [e.role for e in archived(db)] == ["machine", "machine", "user", "machine"]


@pytest.mark.parametrize(
    ("event", "fields"), [("PostToolUseFailure", {}), ("PostToolUse", {"agent_id": "a1"})]
)
def test_an_answer_that_no_person_gave_is_not_the_users_word(
    db: str, work: Path, event: str, fields: dict[str, str]
) -> None:
    answer = {"answers": {"Which port?": "9090"}}
    Client(db, work).event(
        event, tool_name="AskUserQuestion", tool_input={}, tool_response=answer, **fields
    )
    assert [(e.role, e.channel) for e in archived(db)] == [("", "hook")]


def test_an_unknown_event_is_kept_as_it_came(db: str, work: Path) -> None:
    Client(db, work).event("WorktreeCreate", path="/w/tree-2", reason="parallel")
    entry = archived(db)[0]
    assert (entry.role, entry.tool) == ("machine", "WorktreeCreate")
    assert json.loads(entry.output)["path"] == "/w/tree-2"


def test_what_is_stored_is_found_by_full_text_at_once(db: str, work: Path) -> None:
    client = Client(db, work)
    client.shell("make zanzibar", "the quaternion overflowed\n", "t1")
    assert matches(db, "quaternion") == ["call-1"] == matches(db, "zanzibar")


@pytest.mark.parametrize("odd", ["\ud800", "a\0b", "\u2028", "\u202e", "e" + "\u0301" * 5_000])
def test_odd_text_in_any_field_still_makes_an_entry(db: str, work: Path, odd: str) -> None:
    client = Client(db, work)
    client.tool(f"Tool{odd}", {"stdout": f"said {odd}"}, f"t{odd}", command=odd, file_path=odd)
    client.prompt(f"say {odd}", prompt_id=f"p{odd}")
    client.event(f"New{odd}Event", about=odd, agent_id=odd)
    client.event("Stop", last_assistant_message=f"done {odd}")
    assert len(archived(db)) == 4
    assert list(verify_chain(open_database(db, "reader"))) == []


def test_a_huge_output_is_cut_with_a_mark_and_hashed_whole(db: str, work: Path) -> None:
    whole = "first line\n" + "filling in between\n" * 200_000 + "last line\n"
    Client(db, work).shell("cat big.log", whole, "t1")
    entry = archived(db)[0]
    assert entry.truncated and len(entry.output) <= OUTPUT_CHARS_MAX
    assert entry.output.startswith("first line") and entry.output.endswith("last line\n")
    assert "characters left out" in entry.output
    assert entry.output_sha256 == hashlib.sha256(whole.encode()).hexdigest()


@pytest.mark.parametrize("at", range(-30, 31, 5))
def test_no_part_of_a_secret_across_the_cut_is_kept(at: int) -> None:
    secret = "ghp_" + "Q7xK2mV9pR4tY8wZ3nB6cD1fG5hJ0kL4sA2e"
    limit = 10_000
    edge = limit // 2 + at
    text = "x " * (edge // 2) + f"\ntoken={secret}\n" + "y " * 20_000
    for given in (text, text[::-1].replace(secret[::-1], secret)):
        kept = redact_kept(given, limit, b"k" * 32)
        assert kept.cut and len(kept.text) <= limit + 100
        assert not any(secret[i : i + 12] in kept.text for i in range(len(secret) - 12))


# What reaches the client: the process itself.


def _run(raw: bytes, db: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", "import sys; from keepthread.server.entry import main; sys.exit(main())",
         "hook", "claude-code"],
        input=raw, capture_output=True, timeout=60,
        env={"PATH": os.environ["PATH"], "KEEPTHREAD_DB": db, "PYTHONPATH": str(ROOT / ".dev"), **environ},
    )  # fmt: skip


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"not JSON",
        b"[1, 2]",
        b'{"hook_event_name": "PostToolUse"',
        b"\xff\xfe\x00{",
        b"[" * 100_000,
        b'{"hook_event_name":"UserPromptSubmit","prompt":"' + b"x" * (65 << 20) + b'"}',
    ],
    ids=["empty", "words", "list", "cut", "bytes", "deep", "over the cap"],
)
def test_a_payload_nobody_can_read_never_stops_the_client(
    db: str, raw: bytes, tmp_path: Path
) -> None:
    os.makedirs(os.path.dirname(db))
    done = _run(raw, db)
    assert (done.returncode, done.stdout) == (0, b"")
    log = Path(db).with_name("hook-errors.log").read_text(encoding="utf-8")
    assert log.count("\n") == 1 and "keepthread hook: " in log
    assert log.endswith("; nothing was stored\n") and "nothing was stored" in done.stderr.decode()


@pytest.mark.parametrize("command", ["hook", "guard", "relay"])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_is_a_short_usage_on_stdout(command: str, option: str, db: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "keepthread.server", command, option],
        env={**os.environ, "KEEPTHREAD_DB": db}, stdin=subprocess.DEVNULL, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(f"usage: keepthread {command} ".encode())


@pytest.mark.parametrize("damage", ["folder", "garbage", "newer", "link"])
def test_a_database_that_cannot_be_used_never_stops_the_client(
    db: str, damage: str, tmp_path: Path
) -> None:
    os.makedirs(os.path.dirname(db), mode=0o700)
    if damage == "folder":
        os.mkdir(db)
    elif damage == "garbage":
        Path(db).write_bytes(b"not a database " * 1000)
    elif damage == "newer":
        open_database(db, "trusted").execute("PRAGMA user_version=999")
    else:
        Path(tmp_path / "real.db").touch()
        os.symlink(tmp_path / "real.db", db)
    done = _run(b'{"hook_event_name":"UserPromptSubmit","prompt":"hi","cwd":"/"}', db)
    assert (done.returncode, done.stdout) == (0, b"")
    assert Path(db).with_name("hook-errors.log").exists()


def test_a_tool_event_imports_nothing_heavy(db: str, work: Path) -> None:
    """Each of these costs more than the whole of the rest (measured; see docs/architecture.md)."""
    Client(db, work).start()
    raw = json.dumps(
        {
            "hook_event_name": "PostToolUse", "session_id": "session-1", "cwd": str(work),
            "tool_name": "Bash", "tool_input": {"command": "cat a.py"},
            "tool_response": {"stdout": "x = 1\n", "stderr": ""}, "tool_use_id": "t1",
        }
    )  # fmt: skip
    code = (
        "import sys; from keepthread.server.entry import main; code = main(); "
        "print(code, *sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "hook", "claude-code"],
        input=raw.encode(), capture_output=True, timeout=60,
        env={"PATH": os.environ["PATH"], "KEEPTHREAD_DB": db, "PYTHONPATH": str(ROOT / ".dev")},
    )  # fmt: skip
    loaded = done.stderr.decode().split()
    assert loaded[0] == "0" and len(archived(db)) == 1
    heavy = "mcp pydantic torch numpy argparse dataclasses sqlite_vec tomllib onnxruntime asyncio"
    assert set(loaded) & set(heavy.split()) == set()


# From one session to the next by hooks alone.


def test_the_second_session_begins_with_what_the_first_left(db: str, work: Path) -> None:
    replay(FIRST_RUN, db, work)
    brief = Client(db, work, session="session-2").start()
    assert "migrate the invoice service" in brief
    assert "services/invoice/api.py" in brief and "notes.txt" in brief
    assert "no-such-dir" in brief and "No such file or directory" in brief
    assert len(brief) <= BRIEF_CHARS_MAX


def test_a_brief_window_stays_within_its_limit_whatever_is_stored(db: str, work: Path) -> None:
    client = Client(db, work)
    client.start()
    huge = "word " * 5_000
    client.prompt(huge)
    for n in range(12):
        name = f"{'deep/' * 40}file-{n}.py"
        client.tool(
            "Write", {"type": "create", "filePath": name}, f"w{n}", file_path=str(work / name)
        )
        client.shell(f"run {huge}", huge, f"c{n}")
        client.event(
            "PostToolUseFailure", tool_name="Bash", tool_input={"command": huge}, error=huge,
            tool_use_id=f"f{n}",
        )  # fmt: skip
    client.event("Stop", last_assistant_message=huge)
    client.event("PostCompact", compact_summary=huge)
    brief = Client(db, work, session="session-2").start()
    assert 0 < len(brief) <= BRIEF_CHARS_MAX
    assert "last request" in brief
