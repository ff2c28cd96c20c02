"""Imports: recorded calls and messages become entries that back facts, never instructions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keepthread.server.capture.imports import BATCH, ImportFault, import_lines
from keepthread.server.cli.main import main
from keepthread.server.memory import Memory
from keepthread.stores.archive import count_entries
from keepthread.stores.clock import Clock
from keepthread.stores.database import open_database
from keepthread.stores.journal import Journal, verify_chain
from keepthread.stores.records import Entry
from keepthread.stores.transfer import export_lines
from keepthread.stores.workspaces import find_workspace
from keepthread.validators.verdict import Refused
from keepthread.validators.writes.facts import record_fact
from tests.server.capture.hooks import Client, archived, matches

CALL: dict[str, Any] = {
    "type": "tool_call", "tool": "run_shell", "args": {"command": "cat ci.yml"},
    "output": "timeout: 300\n", "is_error": False, "ts": "2025-01-01T00:00:00Z", "ref": "c1",
}  # fmt: skip
MESSAGE: dict[str, Any] = {
    "type": "message", "role": "user", "speaker": "Ada", "text": "Keep commits small.",
    "ts": "2025-01-02T03:04:05+02:00", "ref": "m1",
}  # fmt: skip


@pytest.fixture
def journal(db: str, clock: Clock) -> Iterator[Journal]:
    opened = Journal(db, open_database(db, "trusted"), clock)
    yield opened
    opened.connection.close()


def _lines(*rows: dict[str, Any]) -> list[str]:
    return [json.dumps(row) + "\n" for row in rows]


def test_calls_and_messages_become_entries_with_their_time_and_an_id_for_each_ref(
    journal: Journal, db: str
) -> None:
    answer = {"type": "message", "role": "assistant", "text": "Done.", "ref": 7}
    done = import_lines(journal, "/w", _lines(CALL, MESSAGE, answer))
    assert (done.entries, done.known) == (3, 0)
    assert done.ids == {"c1": "call-1", "m1": "msg-1", "7": "say-1"}
    call, said, answered = archived(db)
    assert (call.tool, call.output, call.is_error) == ("run_shell", "timeout: 300\n", False)
    assert json.loads(call.args) == {"command": "cat ci.yml"} and call.path == "ci.yml"
    assert (call.channel, call.level, call.seen_at) == ("import", 1, "2025-01-01T00:00:00.000Z")
    assert (said.role, said.speaker, said.seen_at) == ("user", "Ada", "2025-01-02T01:04:05.000Z")
    assert (answered.role, answered.seen_at) == ("assistant", "2026-01-01T00:00:00.000Z")
    assert matches(db, "timeout") == ["call-1"]


def test_importing_again_adds_nothing_and_maps_to_the_same_ids(journal: Journal, db: str) -> None:
    timed = {k: v for k, v in CALL.items() if k != "ref"}
    lines = _lines(CALL, MESSAGE, timed, timed)
    first = import_lines(journal, "/w", lines)
    again = import_lines(journal, "/w", lines)
    assert (first.entries, again.entries, again.known) == (4, 0, 4)
    assert again.ids == first.ids
    more = import_lines(journal, "/w", [*lines, *_lines({**CALL, "output": "timeout: 600\n"})])
    assert (more.entries, more.known) == (1, 4)
    assert len(archived(db)) == 5


@pytest.mark.parametrize(
    "line, why",
    [
        ("{", "no JSON"),
        ("[1]", "no JSON object"),
        ("[" * 100_000, "no JSON"),
        ('{"type":"note"}', "type must be"),
        ('{"type":"message","role":"system","text":"x"}', "type must be"),
        ('{"type":"tool_call","args":{}}', "needs a tool name"),
        ('{"type":"tool_call","tool":"","args":{}}', "needs a tool name"),
        ('{"type":"message","role":"user","text":"x","ts":"yesterday"}', "no ISO 8601 time"),
        ('{"type":"message","role":"user","text":"x","ts":"2025-01-01T00:00:00"}', "zone"),
        ('{"type":"message","role":"user","text":"x","ts":1735689600}', "no ISO 8601 time"),
    ],
)
def test_a_bad_line_is_named_and_the_rest_is_imported(
    journal: Journal, db: str, line: str, why: str
) -> None:
    good = _lines(*({**CALL, "ref": f"c{n}"} for n in range(BATCH + 5)))
    done = import_lines(journal, "/w", [*good[:3], "\n", line, *good[3:]])
    ((number, said),) = done.faults
    assert number == 5 and why in said
    assert done.entries == len(archived(db)) == BATCH + 5


def test_a_file_of_no_known_format_is_refused_and_one_that_goes_on_in_another_is_given_up(
    journal: Journal, db: str
) -> None:
    for lines in (["{", "[1]"], ['{"event":"x"}'] * 90, ["name,age"]):
        with pytest.raises(ImportFault, match="no known format .*line"):
            import_lines(journal, "/w", lines)
    with pytest.raises(ImportFault, match="more than 1000 lines are bad"):
        import_lines(journal, "/w", [*_lines(CALL), *["noise"] * 2_000])
    assert import_lines(journal, "/w", ["\n"]).entries == 0


def test_odd_text_is_taken_and_the_chain_holds(journal: Journal, db: str, tmp_path: Path) -> None:
    odd = "\ud800 a\0b \u2028 e\u0301"
    rows = [
        {**CALL, "tool": f"t{odd}", "args": {odd: odd}, "output": odd, "ref": odd},
        {**CALL, "args": [1, 2], "output": {"rows": 3}, "ref": "list"},
        {**CALL, "args": None, "output": None, "ref": "none"},
        {**MESSAGE, "text": odd, "speaker": odd, "ref": f"m{odd}"},
    ]
    assert import_lines(journal, "/w", _lines(*rows)).entries == 4
    assert json.loads(archived(db)[1].args) == {"input": [1, 2]}
    assert list(verify_chain(journal.connection)) == []


def test_the_command_line_takes_bytes_that_are_no_utf_8_and_names_a_missing_file(
    db: str, work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(work)
    (work / "log.jsonl").write_bytes(b'{"type":"tool_call","tool":"sh","output":"caf\xe9"}\n')
    assert main(["import", "log.jsonl", "--json"], {"KEEPTHREAD_DB": db}) == 0
    assert json.loads(capsys.readouterr().out)["imported"] == 1
    assert main(["import", "gone.jsonl"], {"KEEPTHREAD_DB": db}) == 2
    (work / "bad.jsonl").write_text(json.dumps(CALL) + "\n{}\n")
    assert main(["import", "bad.jsonl"], {"KEEPTHREAD_DB": db}) == 1
    shown = capsys.readouterr()
    assert "1 entries imported" in shown.out and "line 2: type must be" in shown.err
    assert main(["import"], {"KEEPTHREAD_DB": db}) == 2
    assert main(["import", "log.jsonl", "--sessions"], {"KEEPTHREAD_DB": db}) == 2
    assert main(["import", "log.jsonl", "--dry-run"], {"KEEPTHREAD_DB": db}) == 2


def test_an_imported_message_backs_no_instruction_and_an_imported_call_a_fact(
    memory: Memory,
) -> None:
    import_lines(memory.capture, memory.place.workspace, _lines(CALL, MESSAGE))
    caller = memory.caller()
    with pytest.raises(Refused):
        record_fact(
            memory.gate, caller, text="Keep commits small", kind="instruction-from-user",
            source="msg-1",
        )  # fmt: skip
    made = record_fact(
        memory.gate, caller, text="The timeout is 300", kind="observation", source="call-1"
    )
    assert made.action == "added"


def test_what_is_exported_is_imported_again_with_the_same_words(
    db: str, work: Path, tmp_path: Path, clock: Clock
) -> None:
    client = Client(db, work)
    client.prompt("Move the port to 9090")
    client.shell("cat app.ini", "port = 8080\n", "t1")
    client.event(
        "PostToolUseFailure", tool_name="Bash", tool_input={"command": "make"}, error="Exit code 2",
        tool_use_id="t2",
    )  # fmt: skip
    client.event("Stop", last_assistant_message="Moved.")
    reader = open_database(db, "reader")
    exported = list(export_lines(reader, find_workspace(reader, str(work)) or 0))
    entries = [line for line in exported if json.loads(line)["type"] in ("tool_call", "message")]
    other = str(tmp_path / "other" / "memory.db")
    copy = Journal(other, open_database(other, "trusted"), clock)
    assert import_lines(copy, "/w", entries).entries == 4
    assert [_told(e) for e in archived(other)] == [_told(e) for e in archived(db)]
    assert count_entries(copy.connection, 1) == 4


def _told(entry: Entry) -> tuple[object, ...]:
    return (
        entry.id, entry.role, entry.tool, entry.args and json.loads(entry.args), entry.output,
        entry.is_error, entry.seen_at, entry.path,
    )  # fmt: skip
