"""The user's word outside the chat: `keepthread confirm` at a terminal, and the prompt `review`."""

import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from keepthread.server.cli.user import AGENT_MARKERS
from keepthread.stores.database import open_database
from keepthread.stores.launch import command_line
from tests.server.world import Clock, Session, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.git()
    return world


@pytest.fixture
def session(world: World) -> Iterator[Session]:
    with world.connect(clock=Clock(time.time())) as session:
        yield session


def _environ(world: World) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in AGENT_MARKERS}
    config = str(world.folder / "none.toml")
    return kept | {
        "KEEPTHREAD_DB": str(world.db), "KEEPTHREAD_CONFIG": config, "KEEPTHREAD_EMBEDDER": "none",
    }  # fmt: skip


def _at_a_terminal(world: World, *arguments: str, **more: str) -> str:
    """Run a command as a person does, at a terminal of its own; return what it shows."""
    main, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "keepthread", *arguments],
        stdin=side, stdout=side, stderr=side, cwd=world.tree, env=_environ(world) | more,
    )  # fmt: skip
    os.close(side)
    shown = b""
    while True:
        try:
            data = os.read(main, 4_096)
        except OSError:  # the other side is closed
            break
        if not data:
            break
        shown += data
    os.close(main)
    process.wait()
    return shown.decode().replace("\r\n", "\n")


def _line(window: str, record: str) -> str:
    return next(line for line in window.splitlines() if line.startswith(f"- {record} "))


def _facts(window: str, block: str) -> str:
    return window.partition(f"\n{block}:\n")[2].partition(":\n- ")[0]


def _observed(world: World, session: Session) -> str:
    world.hook("SessionStart", source="startup")
    world.bash("cat ci.yml", "steps:\n  - run: make build-ci\n")
    return session.observe("The build command is `make build-ci`", subject="build command").id


def _reported(session: Session) -> str:
    text = "Never touch the billing tables"
    made = session.done(
        "record_fact", text=text, kind="instruction-from-user", source="user:reported"
    )
    return made.id


def test_what_a_model_reported_becomes_the_users_instruction_once_confirmed(
    world: World, session: Session
) -> None:
    fact = _reported(session)
    assert "reported by the model" in _line(session.window(), fact)
    assert "superseded: fact-2" in _at_a_terminal(world, "confirm", fact)
    window = session.window()
    assert f"- {fact} " not in window
    pinned = window.partition("== PLAN")[0]
    assert '- instruction fact-2, msg-1: "Never touch the billing tables"' in pinned


def test_a_confirmed_report_keeps_its_words_and_where_it_holds(
    world: World, session: Session
) -> None:
    text = "Never touch the billing tables. Ask Ana first. Then wait a day."
    session.done(
        "record_fact", text=text, kind="instruction-from-user", source="user:reported",
        scope=["path:billing/"], expires_when="task_end",
    )  # fmt: skip
    _at_a_terminal(world, "confirm", "fact-1")
    pinned = session.window().partition("== PLAN")[0]
    assert f'- instruction fact-2, msg-1 · path:billing/: "{text}"' in pinned
    assert "task_end" in session.read("memory://record/fact-2")


def test_several_sentences_are_remembered_whole_but_nothing_pasted(
    world: World, session: Session
) -> None:
    _at_a_terminal(world, "remember", "Keep commits tiny. Run the tests first. Then push.")
    _at_a_terminal(world, "remember", "Follow this advice:\n```\nAlways push straight to main\n```")
    pinned = session.window().partition("== PLAN")[0]
    assert '"Keep commits tiny. Run the tests first. Then push."' in pinned
    assert "straight to main" not in pinned


def test_a_proposed_task_keeps_its_plan_when_it_is_confirmed(
    world: World, session: Session
) -> None:
    session.done("start_task", goal="Port the parser", constraints=["keep commits tiny"])
    session.done("update_plan_item", title="Port the lexer")
    assert "proposed task-1" in session.window()
    shown = _at_a_terminal(world, "confirm", "task-1")
    assert 'confirmed: task-1, goal "Port the parser", constraint "keep commits tiny"' in shown
    window = session.window()
    assert '- goal task-1: "Port the parser"' in window
    assert '- constraint: "keep commits tiny"' in window
    assert "plan-1 [pending" in window
    assert "only a proposed task" in _at_a_terminal(world, "confirm", "task-1")


def test_the_user_denies_a_fact_and_confirms_it_again(world: World, session: Session) -> None:
    fact = _observed(world, session)
    shown = _at_a_terminal(world, "confirm", fact, "--deny", "--why", "ci.yml is not used")
    assert f"denied: {fact} is to be verified again" in shown
    assert f"- {fact} " in _facts(session.window(), "re-verify")
    assert "denied in msg-1" in session.read(f"memory://record/{fact}")
    assert "ci.yml is not used" in session.read(f"memory://record/{fact}")
    assert f"confirmed: {fact}" in _at_a_terminal(world, "confirm", fact)
    assert f"- {fact} " in _facts(session.window(), "observations")
    assert "confirmed in msg-2" in session.read(f"memory://record/{fact}")


def test_a_fact_that_the_user_confirms_does_not_become_the_users_instruction(
    world: World, session: Session
) -> None:
    world.hook("SessionStart", source="startup")
    world.bash("cat notes", "the docs ask to push straight to main\n")
    fact = session.observe("The docs ask to push straight to main").id
    assert "push straight to main" in _at_a_terminal(world, "confirm", fact)
    session.refused(
        "record_fact", "not_the_users_words", text="Push straight to main",
        kind="instruction-from-user", source="user",
    )  # fmt: skip


def test_what_only_the_users_word_stood_behind_is_taken_back(
    world: World, session: Session
) -> None:
    fact = _reported(session)
    assert f"retracted: {fact}" in _at_a_terminal(world, "confirm", fact, "--deny")
    assert f"- {fact} " not in session.window()


@pytest.mark.parametrize("given", ["fact-9", "plan-1", "nonsense"])
def test_what_is_no_fact_and_no_task_is_said_to_be_none(
    world: World, session: Session, given: str
) -> None:
    _observed(world, session)
    assert "is no current fact, active decision, plan item or task" in _at_a_terminal(
        world, "confirm", given
    )


def test_an_agent_cannot_confirm_in_the_users_name(world: World, session: Session) -> None:
    fact = _observed(world, session)
    assert "CLAUDECODE says that an agent runs it" in _at_a_terminal(
        world, "confirm", fact, CLAUDECODE="1"
    )
    done = subprocess.run(
        [sys.executable, "-m", "keepthread", "confirm", fact, "--deny"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=world.tree,
        env=_environ(world), check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "needs an interactive terminal" in done.stderr
    assert f"- {fact} " in _facts(session.window(), "observations")


def test_the_review_prompt_confirms_and_denies_what_the_user_names(
    world: World, session: Session
) -> None:
    fact = _observed(world, session)
    report = _reported(session)
    shown = session.prompt("review", {"right": report, "wrong": f"{fact}, fact-77"})
    assert f"denied: {fact} is to be verified again" in shown
    assert "Not stored: 'fact-77' is no current fact" in shown
    assert '"Never touch the billing tables"' in shown.partition("== PLAN")[0]
    assert f"- {fact} " in _facts(shown, "re-verify")


def test_a_workspaces_commands_are_asked_about_again_whenever_their_file_changes(
    world: World, session: Session
) -> None:
    """Through the doors that people use: the terminal for trust, a tool for the checks."""
    line = f"tests = \"{sys.executable} -c \\\"open('ran', 'a').write('x')\\\"\"\n"
    world.write("keepthread.toml", "[commands]\n" + line)
    session.done("update_plan_item", title="Port", status="in_progress", checks=["command:tests"])
    session.done("update_plan_item", item="plan-1", status="done")
    ran = world.tree / "ran"

    def hand_off() -> str:
        return session.done("hand_off", doing="porting", next="go on").text

    assert f"to run its commands: {command_line('trust')}" in hand_off() and not ran.exists()
    assert "[commands]" in _at_a_terminal(world, "trust")
    assert "plan-1 is done: verified by command" in hand_off()
    assert ran.read_text() == "x"
    world.write("keepthread.toml", "[commands]\n" + line + "more = 'true'\n")
    assert f"to run its commands: {command_line('trust')}" in hand_off()
    assert ran.read_text() == "x"
    assert "more = " in _at_a_terminal(world, "trust")
    hand_off()
    assert ran.read_text() == "xx"
    shown = session.read("memory://record/plan-1")
    assert "verified by command, call-" in shown


def _settled(session: Session) -> None:
    session.done(
        "record_decision", decision="Keep PostgreSQL for the archive", reason="it is backed up"
    )
    session.done(
        "record_decision",
        decision="Write the reports from the archive's views",
        reason="they are close to the data",
        supports=["decision-1"],
    )


def test_the_user_drops_a_decision_and_it_binds_nobody_any_more(
    world: World, session: Session
) -> None:
    _settled(session)
    told = _at_a_terminal(world, "confirm", "--deny", "decision-1", "--why", "we leave PostgreSQL")
    assert "dropped: decision-1" in told and "weakened" in told

    window = session.window()
    assert "Keep PostgreSQL" not in window
    assert "WEAKENED" in _line(window, "decision-2")
    assert "Keep PostgreSQL" not in session.read("memory://decisions")
    page = session.done("read_record", id="decision-1").text
    assert "Keep PostgreSQL" in page and 'dropped by the user, msg-1: "we leave PostgreSQL"' in page
    assert "dropped by the user" in _at_a_terminal(world, "show", "decision-1")

    session.done(
        "record_decision",
        decision="Drop PostgreSQL for the archive",
        reason="one file is easier to move",
    )
    session.refused(
        "record_decision",
        "unknown_support",
        decision="Archive into files",
        reason="one file is easier to move",
        supports=["decision-1"],
    )
    assert "no current fact" in _at_a_terminal(world, "confirm", "--deny", "decision-1")
    assert ", 0 faults" in _at_a_terminal(world, "verify")


def test_the_user_drops_a_plan_item_and_no_agent_takes_it_up_again(
    world: World, session: Session
) -> None:
    session.done("update_plan_item", titles=["Port routes", "Rewrite it in Rust", "Release"])
    session.done("update_plan_item", item="plan-3", depends_on=["plan-2"])
    assert "dropped: plan-2" in _at_a_terminal(world, "confirm", "--deny", "plan-2")

    assert "Rust" not in session.window() and "Rust" not in session.read("memory://plan")
    session.refused("update_plan_item", "declined_by_user", item="plan-2", status="in_progress")
    again = session.done("update_plan_item", title="Rewrite it in Rust")
    assert "plan-2 was dropped by the user" in again.text
    session.done("update_plan_item", item="plan-3", status="in_progress")
    page = session.done("read_record", id="plan-2").text
    assert "plan-2: skipped by the user" in page and "dropped by the user" in page
    assert "no current fact" in _at_a_terminal(world, "confirm", "--deny", "plan-2")


def test_the_review_prompt_drops_what_it_names_as_wrong(world: World, session: Session) -> None:
    _settled(session)
    session.done("update_plan_item", title="Rewrite it in Rust")
    text = session.prompt("review", {"wrong": "decision-1 plan-1"})
    assert "dropped: decision-1" in text and "dropped: plan-1" in text
    assert "Rust" not in session.window() and "Keep PostgreSQL" not in session.window()
    assert "needs no confirmation" in session.prompt("review", {"right": "decision-2"})


def test_no_model_drops_a_decision(world: World, session: Session) -> None:
    _settled(session)
    connection = open_database(str(world.db), "model")
    with pytest.raises(apsw.AuthError):
        connection.execute("INSERT INTO decision_event VALUES(99, 1, 1, 'dropped')")
    connection.close()


def test_a_command_closes_its_window_and_hands_nothing_off(world: World) -> None:
    world.bash("cat ci.yml", "timeout: 300")
    world.hook("Stop", last_assistant_message="The tax is still to do.", prompt_id="p")
    world.hook("SessionEnd", reason="other")
    _at_a_terminal(world, "remember", "Keep commits small")
    assert "open windows: -\n" in _at_a_terminal(world, "status")
    log = _at_a_terminal(world, "log")
    assert "- window-1 [" in log and "window-2" not in log
    world.session = "the-next"
    brief = world.hook("SessionStart", source="startup")
    assert "The tax is still to do." in brief and "Keep commits small" in brief


def test_a_second_task_at_a_terminal_says_which_one_steps_aside(world: World) -> None:
    _at_a_terminal(world, "task", "Port the export")
    told = _at_a_terminal(world, "task", "Rename the settings")
    assert "added: task-2" in told
    assert 'task-1 steps aside, unfinished (the user\'s): "Port the export"' in told
    back = _at_a_terminal(world, "task", "Port the export")
    assert "merged: task-1" in back and "task-2 steps aside" in back
    with world.connect() as session:
        assert 'goal task-1: "Port the export"' in session.window()
