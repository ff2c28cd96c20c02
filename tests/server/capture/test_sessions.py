"""Past sessions of Claude Code become entries once, as the hook would have told them."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from keepthread.server.capture.imports import Imported, import_file
from keepthread.server.capture.sessions import find_sessions, import_sessions, new_sessions
from keepthread.server.cli.main import main
from keepthread.server.memory import Memory
from keepthread.stores.clock import Clock
from keepthread.stores.database import open_database
from keepthread.stores.journal import Journal, verify_chain
from keepthread.validators.verdict import Refused
from keepthread.validators.writes.facts import record_fact
from tests.server.capture.hooks import Client, archived, matches

RECORDED = Path(__file__).parents[2] / "fixtures" / "sessions"
SESSION = "e974080e-f40c-4120-8e3e-ae5e6dcb6205"
AGENT = "ad789bd5713b84d0f"
AT = "2026-11-01T10:00:00.000Z"


@pytest.fixture
def journal(db: str, clock: Clock) -> Iterator[Journal]:
    opened = Journal(db, open_database(db, "trusted"), clock)
    yield opened
    opened.connection.close()


class Home:
    """A home with the session folder of a client that worked in ``work``."""

    def __init__(self, folder: Path, work: Path) -> None:
        self.folder, self.work = folder, work
        self.environ = {"HOME": str(folder), "KEEPTHREAD_DB": str(folder / "m" / "memory.db")}
        self.project = folder / ".claude/projects" / str(work).replace("/", "-")
        (self.project / SESSION / "subagents").mkdir(parents=True)
        (self.project / SESSION / "tool-results").mkdir()
        self._copy("claude-code-2.1.332.jsonl", f"{SESSION}.jsonl")
        self._copy("claude-code-2.1.332-agent.jsonl", f"{SESSION}/subagents/agent-{AGENT}.jsonl")
        rest = "\n".join(map(str, range(1, 20_001)))
        (self.project / SESSION / "tool-results/bk7yi4je5.txt").write_text(rest, encoding="utf-8")

    def _copy(self, recorded: str, name: str) -> None:
        text = (RECORDED / recorded).read_text(encoding="utf-8")
        text = text.replace("/home/ada/.claude/projects/-w-app", str(self.project))
        (self.project / name).write_text(text.replace("/w/app", str(self.work)), encoding="utf-8")

    def session(self, name: str, *rows: Mapping[str, Any]) -> Path:
        """Write a session file of rows of our own."""
        file = self.project / f"{name}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return file

    def bring(self, journal: Journal) -> Imported:
        sessions = find_sessions(str(self.work), self.environ)
        return import_sessions(journal, str(self.work), sessions)


@pytest.fixture
def home(tmp_path: Path, work: Path) -> Home:
    return Home(tmp_path / "home", work)


def row(kind: str, content: Any, number: int = 1, **fields: Any) -> dict[str, Any]:
    """One row of a session as the client writes it."""
    return {
        "type": kind, "message": {"role": kind, "content": content}, "uuid": f"u{number}",
        "timestamp": AT, "sessionId": "s", "cwd": "/w/app", **fields,
    }  # fmt: skip


def use(name: str, number: int, **given: Any) -> dict[str, Any]:
    """The row of a tool call."""
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}
    return row("assistant", [block], number * 2)


def result(content: Any, number: int, **fields: Any) -> dict[str, Any]:
    """The row of its result."""
    block = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": content}
    return row("user", [block], number * 2 + 1, **fields)


def test_calls_and_words_become_entries_with_their_time_agent_and_origin(
    home: Home, journal: Journal, db: str
) -> None:
    done = home.bring(journal)
    assert (done.entries, done.known, done.faults) == (16, 0, ())
    found = archived(db)
    assert {(e.channel, e.level if not e.role else 1) for e in found} == {("import", 1)}
    calls = [(e.tool, e.is_error, e.own, e.path) for e in found if not e.role]
    ours = "mcp__plugin_keepthread_keepthread__record_fact"
    assert calls == [
        ("Read", False, False, "ci.yml"), ("Bash", False, False, "ci.yml"), ("Bash", True, False, ""),
        (ours, False, True, ""), ("Write", False, False, "notes.md"), ("Bash", False, False, ""),
        ("Agent", False, False, ""), ("Bash", False, False, ""), ("Bash", False, False, "ci.yml"),
        ("Bash", True, False, ""),
    ]  # fmt: skip
    assert [e.tool for e in found if e.agent == AGENT and not e.role] == ["Bash", "Bash"]
    assert [e.tool for e in found if e.model_written and not e.role] == ["Write", "Agent"]
    assert [e.output for e in found if e.role == "user"] == ["all of it, please."]
    machine = [e.output for e in found if e.role == "machine"]
    assert machine[0].startswith("<task-notification>") and machine[1] == "delegated work"
    said = [e.output for e in found if e.role == "assistant"]
    assert said == ["Looking at CI.", "All done: the timeout is 300.", "done"]
    assert found[0].seen_at == "2026-12-01T00:36:36.647Z"
    assert matches(db, "timeout") and not matches(db, "added")
    assert list(verify_chain(journal.connection)) == []


def test_the_rest_of_a_long_output_comes_from_the_clients_own_folder_only(
    home: Home, journal: Journal, db: str, tmp_path: Path
) -> None:
    home.bring(journal)
    long = next(e for e in archived(db) if "seq 1 20000" in e.args)
    assert long.output.endswith("\n20000") and not long.truncated
    secret = tmp_path / "tool-results" / "id_rsa"
    secret.parent.mkdir()
    secret.write_text("the private key", encoding="utf-8")
    answer = {"stdout": "head", "stderr": "", "persistedOutputPath": str(secret)}
    rows = use("Bash", 1, command="make"), result("head", 1, toolUseResult=answer)
    import_file(journal, str(home.work), str(home.session("hostile", *rows)))
    hostile = archived(db)[-1]
    assert (hostile.output, hostile.truncated) == ("head", True)


def test_importing_again_or_what_the_hook_captured_adds_nothing(
    home: Home, journal: Journal, db: str
) -> None:
    client = Client(db, home.work, session=SESSION)
    client.prompt("all of it, please.", prompt_id="db218a32-5292-4340-be47-7092972ed1a0")
    client.shell("cat ci.yml", "steps:\n  - run: make build-ci\ntimeout: 300", "toolu_00101")
    client.event(
        "Stop", last_assistant_message="All done: the timeout is 300.",
        prompt_id="db218a32-5292-4340-be47-7092972ed1a0",
    )  # fmt: skip
    first = home.bring(journal)
    assert (first.entries, first.known) == (13, 3)
    again = home.bring(journal)
    assert (again.entries, again.known) == (0, 16)


def test_a_fork_repeats_nothing_and_goes_on(home: Home, journal: Journal, db: str) -> None:
    home.bring(journal)
    lines = (home.project / f"{SESSION}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [{**json.loads(line), "sessionId": "fork", "promptId": "other"} for line in lines]
    home.session("fork", *rows, row("user", "go on", 99, promptSource="typed"))
    assert home.bring(journal).entries == 1
    assert archived(db)[-1].output == "go on"


def test_only_a_persons_words_are_the_users(home: Home, journal: Journal, db: str) -> None:
    rows = [
        row("user", "typed by a person", 1, promptSource="typed", rowSource="local"),
        row("user", [{"type": "text", "text": "with a picture"}, {"type": "image"}], 2, promptSource="typed"),
        row("user", "written by an older client", 3),
        row("user", "not marked as a person's", 4, rowSource="local"),
        row("user", "the client's own", 5, isMeta=True, promptSource="typed"),
        row("user", "asked of a sub-agent", 6, isSidechain=True, agentId="a1"),
        row("user", "<command-name>/compact</command-name>", 7),
        row("user", "[Request interrupted by user]", 8),
        row("user", "This session is being continued", 9, isCompactSummary=True),
    ]  # fmt: skip
    queued = {"type": "queued_command", "prompt": "typed meanwhile", "commandMode": "prompt"}
    blocks = {
        **queued,
        "prompt": [{"type": "text", "text": "typed in blocks"}],
        "origin": {"kind": "human"},
    }
    report = {**queued, "prompt": "a report", "origin": {"kind": "task-notification"}}
    rows += [
        row("attachment", "", 10, attachment=queued),
        row("attachment", "", 11, attachment=blocks),
        row("attachment", "", 12, attachment=report),
        row("user", "from another session", 13, origin={"kind": "peer"}, promptSource="typed"),
    ]
    import_file(journal, str(home.work), str(home.session("words", *rows)))
    by_role = {
        role: [e.output for e in archived(db) if e.role == role] for role in ("user", "assistant")
    }
    assert by_role == {
        "user": [
            "typed by a person", "with a picture\n[image]", "written by an older client",
            "typed meanwhile",
            "typed in blocks",
        ],
        "assistant": ["This session is being continued"],
    }  # fmt: skip
    assert len(archived(db)) == 13


def test_answers_to_the_clients_question_are_the_users(
    home: Home, journal: Journal, db: str
) -> None:
    answer = {"answers": {"Which port?": "9090"}}
    rows = use("AskUserQuestion", 1, questions=[]), result("answered", 1, toolUseResult=answer)
    import_file(journal, str(home.work), str(home.session("asked", *rows)))
    (said,) = archived(db)
    assert (said.role, said.output, said.tool) == ("user", "9090", "AskUserQuestion")
    assert json.loads(said.args) == {"questions": []}


def test_what_was_typed_meanwhile_is_not_taken_for_the_prompt_of_its_turn(
    home: Home, journal: Journal, db: str
) -> None:
    Client(db, home.work, session="s").prompt("Move the port", prompt_id="p1")
    queued = {"type": "queued_command", "prompt": "Keep commits small", "commandMode": "prompt"}
    rows = [
        row("user", "Move the port", 1, promptId="p1", promptSource="typed"),
        row("attachment", "", 2, attachment=queued),
    ]
    done = import_file(journal, str(home.work), str(home.session("typed", *rows)))
    assert (done.entries, done.known) == (1, 1)
    assert archived(db)[-1].output == "Keep commits small"


def test_broken_lines_are_named_and_the_rest_is_imported(
    home: Home, journal: Journal, db: str
) -> None:
    file = home.session("broken", use("Bash", 1, command="make"), result("ok", 1), result("?", 7))
    text = file.read_text(encoding="utf-8")
    half = json.dumps(row("user", "cut off while it was writ", 50))[:60]
    file.write_text("{broken\n" + text + half, encoding="utf-8")
    done = import_file(journal, str(home.work), str(file))
    assert [line for line, _ in done.faults] == [1, 4, 5]
    assert "'toolu_7'" in done.faults[1][1]
    assert [e.output for e in archived(db)] == ["ok"]


def test_secrets_are_redacted_and_odd_rows_tell_nothing(
    home: Home, journal: Journal, db: str
) -> None:
    token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    rows = [
        use("Bash", 1, command=f"curl -H 'Authorization: Bearer {token}'"),
        result(f"token {token}", 1, timestamp="yesterday", cwd=None),
        {"type": "assistant", "sessionId": "s", "message": {"content": 7}},
        {"type": "attachment", "sessionId": "s", "attachment": None},
        {"type": "of-tomorrow", "sessionId": "s"},
        row(
            "assistant", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": " "}], 8
        ),
    ]
    done = import_file(journal, str(home.work), str(home.session("odd", *rows)))
    assert (done.entries, done.faults) == (1, ())
    (call,) = archived(db)
    assert token not in call.args + call.output and call.seen_at == AT


def test_the_sessions_of_this_repository_are_found_wherever_they_ran_in_it(
    home: Home, journal: Journal, tmp_path: Path
) -> None:
    gone = str(home.work / "packages/gone")
    home.session("older", row("user", "hello", cwd=gone, timestamp="2026-01-01T00:00:00Z"))
    home.session("elsewhere", row("user", "hello", cwd=str(tmp_path)))
    home.session("beside", row("user", "hello", cwd=f"{home.work}-2"))
    home.session("empty")
    found = find_sessions(str(home.work), home.environ)
    assert [(s.client, s.id, len(s.files)) for s in found] == [
        ("claude-code", "older", 1), ("claude-code", SESSION, 2),
    ]  # fmt: skip
    assert found[1].size_bytes == sum(os.path.getsize(f) for f in found[1].files)
    named = {**home.environ, "HOME": "/nowhere", "CLAUDE_CONFIG_DIR": str(home.folder / ".claude")}
    assert find_sessions(str(home.work), named) == found
    assert find_sessions(str(home.work), {"HOME": "/nowhere"}) == []
    assert new_sessions(journal.connection, str(home.work), found) == found
    import_sessions(journal, str(home.work), found[1:])
    assert new_sessions(journal.connection, str(home.work), found) == found[:1]


def test_the_command_counts_first_and_then_imports(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(home.work)
    assert main(["import", "--sessions", "--dry-run"], home.environ) == 0
    assert "1 sessions: would import 10 calls and 6 messages" in capsys.readouterr().out
    assert not os.path.exists(home.environ["KEEPTHREAD_DB"])
    home.session("broken", row("user", "hello", cwd=str(home.work)))
    with (home.project / "broken.jsonl").open("a", encoding="utf-8") as file:
        file.write("{")
    assert main(["import", "--sessions"], home.environ) == 1
    shown = capsys.readouterr()
    assert "17 entries imported" in shown.out
    assert "line 2: " in shown.err and "broken.jsonl: no JSON" in shown.err
    assert main(["import", "--sessions", "--dry-run", "--json"], home.environ) == 0
    (broken, session) = json.loads(capsys.readouterr().out)
    assert (broken["known"], session["known"], session["calls"]) == (1, 16, 0)
    assert (
        main(["--workspace", "x=/nowhere", "import", "--sessions"], {**home.environ, "HOME": "/"})
        == 0
    )
    assert "no past session" in capsys.readouterr().out


def test_imported_words_back_no_instruction_and_imported_calls_a_fact(
    home: Home, memory: Memory
) -> None:
    home.session("words", row("user", "Keep commits small.", 1, promptSource="typed"))
    import_file(memory.capture, memory.place.workspace, str(home.project / "words.jsonl"))
    home.bring(memory.capture)
    caller = memory.caller()
    with pytest.raises(Refused):
        record_fact(
            memory.gate, caller, text="Keep commits small", kind="instruction-from-user", source="msg-1"
        )  # fmt: skip
    made = record_fact(
        memory.gate, caller, text="The CI timeout is 300", kind="observation", source="call-2"
    )
    assert made.action == "added" and made.fields["confidence"] == 0.7


def test_the_official_memory_becomes_documents_that_are_found_and_not_believed(
    memory: Memory, db: str
) -> None:
    file = RECORDED / "server-memory-2026.8.31.jsonl"
    done = import_file(memory.capture, memory.place.workspace, str(file))
    assert (done.entries, done.ids) == (2, {"billing": "call-1", "Ada": "call-2"})
    assert import_file(memory.capture, memory.place.workspace, str(file)).known == 2
    billing, ada = archived(db)
    assert billing.output.splitlines() == [
        "billing (service)", "- listens on port 9090", "- owned by the platform team",
        "- deploys on Fridays",
    ]  # fmt: skip
    assert ada.output.endswith("Ada maintains billing") and ada.model_written
    assert matches(db, "fridays") == ["call-1"]
    made = record_fact(
        memory.gate, memory.caller(), text="billing listens on port 9090", kind="observation",
        source="call-1",
    )  # fmt: skip
    assert made.fields["confidence"] == 0.4


def test_an_entity_or_relation_without_its_parts_is_named(journal: Journal, tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    lines = ['{"type":"entity","name":"a","observations":["x"]}', '{"type":"entity","name":"b"}',
             '{"type":"relation","from":"a"}', '{"type":"note"}']  # fmt: skip
    file.write_text("\n".join(lines), encoding="utf-8")
    done = import_file(journal, "/w", str(file))
    assert done.entries == 1 and [line for line, _ in done.faults] == [2, 3, 4]


def test_a_session_imported_during_the_work_happened_before_it(
    home: Home, memory: Memory, db: str
) -> None:
    client = Client(db, home.work)
    client.prompt("Move the port to 9090")
    client.shell("make check", "all good", "t1")
    client.tool(
        "Write", {"filePath": "x"}, "t2", file_path=str(home.work / "app.ini"), content="port"
    )
    home.bring(memory.capture)
    tail = memory.context().text.partition("== TAIL")[2]
    last = [line.split()[1] for line in tail.splitlines() if line.startswith("- call-")]
    assert last[-2:] == ["call-1", "call-2"]
    assert "last command, call-1 ran" in tail
    assert "last request:\n- msg-1 [user" in tail and "Move the port" in tail
    assert 'newest first: "app.ini" (call-2), "notes.md"' in tail
