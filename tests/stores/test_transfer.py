"""An export holds everything of a workspace, and restores it into an empty database under its ids."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keepthread.stores.database import open_database
from keepthread.stores.facts import FactDraft, add_fact, add_fact_event
from keepthread.stores.journal import TABLES, Journal, verify_chain
from keepthread.stores.launch import find_launch
from keepthread.stores.query import fetch_all
from keepthread.stores.records import Author, Citation
from keepthread.stores.transfer import (
    REFERENCES,
    BadExport,
    NotEmpty,
    export_lines,
    restore_lines,
)
from keepthread.stores.workspaces import find_workspace
from tests.server.capture.hooks import archived, matches
from tests.server.terminal import at_terminal, environment
from tests.server.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A workspace with a record of nearly every kind."""
    other = World(tmp_path.resolve(), "other", session="s0")
    for n in range(3):
        other.hook("Stop", last_assistant_message=f"{n}: of another workspace, before all the rest")
    made = World(tmp_path.resolve())
    made.git()
    made.hook("SessionStart", source="startup")
    made.say("Totals must round half up. Keep commits small.")
    made.bash("cat ci.yml", "timeout: 300\nretries: 3\n")
    made.bash("make check", "2 failed", failed=True)
    made.read_file("app.ini", "port = 8080\n")
    made.hook(
        "UserPromptSubmit", prompt="<task-notification>done</task-notification>", prompt_id="p9"
    )
    made.hook("Stop", last_assistant_message="Two tests fail.")
    made.tool("mcp__keepthread__record_fact", {"text": "x"}, "added: fact-1")
    with made.connect() as client:
        client.done("start_task", goal="Totals must round half up.", source="user")
        client.observe(
            "The timeout is 300", source="call-1", scope=["path:ci.yml"], subject="timeout"
        )
        client.done(
            "record_fact", text="Keep commits small.", kind="instruction-from-user", source="msg-1"
        )
        client.observe("The timeout of app.ini is on port 8080", source="call-3", supersedes="none")
        client.done(
            "record_fact", text="Runs end early", kind="inference", supports=["fact-1", "call-2"]
        )
        client.observe("make check has 2 failed", source="call-2", expires_when="task_end")
        client.done(
            "record_decision",
            decision="Use Decimal",
            reason="binary floats can round half cents down",
            supports=["fact-1"],
        )
        client.done(
            "record_decision",
            decision="Use Fraction",
            reason="an exact ratio needs no context precision",
            supersedes="decision-1",
        )
        client.done("update_plan_item", titles=["First", "Second"])
        client.done(
            "update_plan_item", item="plan-2", status="blocked", note="waits", depends_on=["plan-1"]
        )
        client.done("add_open_question", question="Who owns billing?", blocks="plan-2")
        client.call("record_fact", text="The timeout is 900", kind="observation", source="call-1")
        client.done("answer_question", question="question-1", answer="the platform team")
        client.done("retract_fact", fact="fact-3", reason="wrong file")
        client.done("hand_off", doing="Rounding.", next="The tax.")
    made.hook("SessionEnd", reason="exit")
    return made


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Journal]:
    """An empty database beside the world's."""
    path = str(tmp_path / "copy" / "memory.db")
    journal = Journal(path, open_database(path, "trusted"), lambda: 4_000_000_000.0)
    yield journal
    journal.connection.close()


def exported(db: str, root: Path) -> list[str]:
    reader = open_database(db, "reader")
    try:
        return list(export_lines(reader, find_workspace(reader, str(root)) or 0))
    finally:
        reader.close()


def placed(lines: list[str]) -> list[dict[str, Any]]:
    """Return the records with each reference as the place of what it names."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    place = {row["seq"]: n for n, row in enumerate(rows)}
    for row in rows:
        table, children = TABLES[row["kind"]]
        whole = (row, ("seq", "window", "task", "item"))
        parts = [whole, (row["row"], ("seq", *REFERENCES.get(table, ())))]
        for child, key in children:
            parts += [(link, (key, *REFERENCES[child])) for link in row.get(child, ())]
        for part, columns in parts:
            part.update({c: place[part[c]] for c in columns if part.get(c) is not None})
        row["row"].pop("workspace", None)
    return rows


def test_a_decision_that_the_user_dropped_comes_back_dropped(world: World, copy: Journal) -> None:
    with world.connect() as client:
        client.prompt("review", {"wrong": "decision-2"})
    lines = exported(str(world.db), world.tree)
    restore_lines(copy, str(world.tree), lines)
    assert placed(exported(copy.path, world.tree)) == placed(lines)
    assert "decision_event" in {json.loads(line)["kind"] for line in lines}
    assert fetch_all(copy.connection, "SELECT seq FROM decision_active") == []
    assert list(verify_chain(copy.connection)) == []


def test_everything_comes_back_under_its_ids_and_the_chain_holds(
    world: World, copy: Journal
) -> None:
    lines = exported(str(world.db), world.tree)
    assert restore_lines(copy, str(world.tree), lines) == len(lines) > 20
    assert placed(exported(copy.path, world.tree)) == placed(lines)
    assert list(verify_chain(copy.connection)) == []
    kinds = {json.loads(line)["kind"] for line in lines}
    assert kinds >= set(TABLES) - {"erasure", "task_event", "decision_event"}
    for words in ("timeout", "failed", "half"):
        assert matches(copy.path, words) == matches(str(world.db), words) != []
    before = world.memory()
    world.db = Path(copy.path)
    after = world.memory()
    told = [m.context(caller=m.onlooker()).text.splitlines() for m in (before, after)]
    assert [line for line in told[0] if line[:2] != "=="] == [
        line for line in told[1] if line[:2] != "=="
    ]
    before.close()
    after.close()


def test_new_records_follow_the_restored_ones(world: World, copy: Journal) -> None:
    restore_lines(copy, str(world.tree), exported(str(world.db), world.tree))
    world.db = Path(copy.path)
    with world.connect() as client:
        assert client.observe("The retries are 3", source="call-1").id == "fact-6"
        world.bash("cat limits.yml", "limit: 9")
        assert client.observe("The limit is 9").data["source"] == "tool:Bash#call-5"
        assert "Totals must round half up." in client.window().partition("== PLAN")[0]


def test_what_the_users_scope_cites_elsewhere_comes_along(
    world: World, copy: Journal, tmp_path: Path
) -> None:
    memory = world.memory()
    with memory.capture.transaction() as tx:
        message = fetch_all(tx.connection, "SELECT seq FROM entry WHERE role = 'user'")[0][0]
        rule = FactDraft(
            "Keep commits small.", "instruction-from-user", citations=(Citation(message, 0, 10),),
            observed_at=tx.at, confidence=1.0, level=5,
        )  # fmt: skip
        author = Author(0, "user", window=1)
        made = add_fact(tx, author, rule)
        add_fact_event(tx, author, made.seq, "verified", source=message)
    memory.close()
    lines = exported(str(world.db), tmp_path / "elsewhere")
    assert [json.loads(line)["kind"] for line in lines] == ["msg", "fact", "fact_event"]
    assert restore_lines(copy, "/elsewhere", lines) == 3
    assert list(verify_chain(copy.connection)) == []
    reader = open_database(copy.path, "reader")
    assert {json.loads(line)["everywhere"] for line in export_lines(reader, 1)} == {True}
    reader.close()


def test_a_database_that_holds_records_is_left_alone(world: World) -> None:
    lines = exported(str(world.db), world.tree)
    memory = world.memory()
    with pytest.raises(NotEmpty, match="empty database"):
        restore_lines(memory.capture, str(world.tree), lines)
    memory.close()
    assert exported(str(world.db), world.tree) == lines


@pytest.mark.parametrize("broken", ["cut", "missing", "foreign", "no JSON", "a lie"])
def test_a_line_that_does_not_fit_is_named_and_nothing_is_restored(
    world: World, copy: Journal, broken: str
) -> None:
    lines = exported(str(world.db), world.tree)
    kinds = [json.loads(line)["kind"] for line in lines]
    at = kinds.index("fact")
    if broken == "cut":
        lines[at] = lines[at][:50]
    elif broken == "missing":
        del lines[kinds.index("call")]
        at -= 1
    elif broken == "foreign":
        lines[at] = '{"type":"message","role":"user","text":"x"}'
    elif broken == "no JSON":
        lines[at] = "[" * 100_000
    else:
        lie = json.loads(lines[at])
        lie["citation"] = []
        lines[at] = json.dumps(lie)
    with pytest.raises(BadExport, match=f"line {at + 1}[ :]"):
        restore_lines(copy, str(world.tree), lines)
    assert fetch_all(copy.connection, "SELECT count(*) FROM journal") == [(0,)]


def test_a_person_at_a_terminal_restores_and_anyone_else_brings_entries_only(
    world: World, tmp_path: Path
) -> None:
    lines = exported(str(world.db), world.tree)
    (world.tree / "all.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    environ = environment(tmp_path)
    by_person = {**environ, "KEEPTHREAD_DB": str(tmp_path / "person.db")}
    status, shown = at_terminal(["import", "all.jsonl"], "", world.tree, by_person)
    assert (status, shown.strip()) == (
        0,
        f"{len(lines)} records restored into {world.tree}, under their own ids",
    )
    status, shown = at_terminal(["import", "all.jsonl"], "", world.tree, by_person)
    assert status == 1 and "0 entries imported" in shown, "entries that are there are known"
    damaged = "\n".join(lines).encode().replace(b"Two tests fail", b"Two \xe9ests fail")
    (world.tree / "damaged.jsonl").write_bytes(damaged)
    anew = {**environ, "KEEPTHREAD_DB": str(tmp_path / "anew.db")}
    status, shown = at_terminal(["import", "damaged.jsonl"], "", world.tree, anew)
    assert status == 1 and "is not as it was exported" in shown
    by_agent = {**environ, "KEEPTHREAD_DB": str(tmp_path / "agent.db"), "CLAUDECODE": "1"}
    status, shown = at_terminal(["import", "all.jsonl"], "", world.tree, by_agent)
    assert (
        status == 1 and "7 entries imported" in shown and "19 records that are no entries" in shown
    )
    assert f"KEEPTHREAD_DB=NEW.db {find_launch({}).line('import', 'all.jsonl')}" in shown
    found = archived(by_agent["KEEPTHREAD_DB"])
    assert {e.channel for e in found} == {"import"}
    assert [e.role for e in found] == ["user", "", "", "", "machine", "assistant", ""]
    assert [e.own for e in found if not e.role] == [False, False, False, True]
