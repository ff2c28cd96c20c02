"""What a failing check or the user's denial does to facts, and what takes the doubt away again."""

import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.handoff.project import Project, project_in
from tests.server.world import Clock, Session, World

SAYS = "import sys; print(open('state').read()); sys.exit('red' in open('state').read())"


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.hook("SessionStart", source="startup")
    world.say("Speed up the build")
    world.bash("cat ci.yml", "steps:\n  - run: make build-ci\ntimeout: 300\n")
    return world


@pytest.fixture
def session(world: World) -> Iterator[Session]:
    with world.connect(clock=Clock(time.time())) as session:
        yield session


def _line(window: str, record: str) -> str:
    return next(line for line in window.splitlines() if line.startswith(f"- {record} "))


def _block(window: str, record: str) -> str:
    """Return the block of the facts section in which a record stands."""
    before = window.partition(f"- {record} ")[0]
    return [line for line in before.splitlines() if line.endswith(":") and " " not in line][-1][:-1]


def _build(session: Session) -> str:
    return session.observe("The build command is `make build-ci`", subject="build command").id


def _rest(session: Session, *on: str) -> str:
    return session.done(
        "record_fact", text="CI compiles everything anew", kind="inference", supports=list(on)
    ).id


@pytest.mark.parametrize(
    "words",
    [
        "The build command is not `make build-ci`.",
        "No, the build command is `make all`",
        "Careful with the cache. That's wrong: the build command isn't `make build-ci`.",
        "Look at the cache next. fact-1 is wrong.",
    ],
)
def test_what_the_user_denies_goes_to_the_queue_with_what_rests_on_it(
    world: World, session: Session, words: str
) -> None:
    fact = _build(session)
    guess = _rest(session, fact)
    session.done(
        "record_decision", decision="Cache wheels in CI", reason="CI compiles", supports=[guess]
    )
    other = session.observe("The timeout is 300", subject="timeout").id
    world.say(words)
    window = session.window()
    assert _block(window, fact) == _block(window, guess) == "re-verify"
    assert "DENIED by the user, msg-2: look again and cite what you see now" in _line(window, fact)
    assert "WEAKENED" in _line(window, guess)
    assert "WEAKENED" in _line(window, "decision-1")
    assert _block(window, other) == "observations"
    assert session.window() == window
    assert "denied in msg-2" in session.read(f"memory://record/{fact}")


@pytest.mark.parametrize(
    "words",
    [
        "Use `make all` as the build command from now on.",
        "Isn't the build command `make all`?",
        "The build command should not be `make build-ci`.",
        "Please don't use `make build-ci` as the build command.",
        "If the build command is not `make build-ci`, tell me.",
        "The build command is `make build-ci`, right.",
        "The log says:\n```\nThe build command is not `make build-ci`\n```",
        "fact-1 is wrong?",
        "The deploy command is `make ship`.",
    ],
)
def test_a_wish_a_question_or_pasted_text_denies_nothing(
    world: World, session: Session, words: str
) -> None:
    fact = _build(session)
    world.say(words)
    assert _block(session.window(), fact) == "observations"


def test_what_tools_print_or_the_assistant_says_denies_nothing(
    world: World, session: Session
) -> None:
    fact = _build(session)
    world.bash("cat notes", "fact-1 is wrong. The build command is not `make build-ci`.\n")
    world.hook("Stop", last_assistant_message="fact-1 is wrong.")
    assert _block(session.window(), fact) == "observations"


def test_a_fresh_observation_ends_the_doubt_and_an_old_one_does_not(
    world: World, session: Session
) -> None:
    fact = _build(session)
    guess = _rest(session, fact)
    world.bash("make -n", "make build-ci\n")
    world.say("The build command is not `make build-ci`.")
    assert _block(session.window(), fact) == "re-verify"
    session.observe("The build command is `make build-ci`", "call-2", subject="build command")
    assert _block(session.window(), fact) == "re-verify"
    world.bash("cat ci.yml", "steps:\n  - run: make build-ci\n")
    assert (
        session.observe("The build command is `make build-ci`", subject="build command").id == fact
    )
    window = session.window()
    assert _block(window, fact) == "observations"
    assert _block(window, guess) == "inferences"
    assert "denied in msg-2" in session.read(f"memory://record/{fact}")


def test_a_message_is_held_against_a_fact_once(world: World, session: Session) -> None:
    fact = _build(session)
    world.say("The build command is not `make build-ci`.")
    session.window()
    world.bash("cat ci.yml", "steps:\n  - run: make build-ci\n")
    session.observe("The build command is `make build-ci`", subject="build command")
    with world.connect(clock=Clock(time.time())) as anew:
        assert _block(anew.window(), fact) == "observations"


def test_a_fact_taken_back_in_the_users_name_sends_what_rests_on_it_to_the_queue(
    world: World, session: Session
) -> None:
    fact = _build(session)
    guess = _rest(session, fact)
    world.say("The build command is not `make build-ci`.")
    session.done("retract_fact", fact=fact, reason="the user says so", source="user")
    window = session.window()
    assert f"- {fact} " not in window
    assert _block(window, guess) == "re-verify"


def test_a_weakened_inference_recorded_anew_on_what_holds_replaces_itself(
    world: World, session: Session
) -> None:
    fact = _build(session)
    guess = _rest(session, fact)
    session.done("retract_fact", fact=fact, reason="wrong folder")
    world.bash("make -n", "compiling everything anew\n")
    anew = _rest(session, "call-2")
    assert anew != guess
    window = session.window()
    assert f"- {guess} " not in window
    assert _block(window, anew) == "inferences"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with project_in(tmp_path) as made:
        made.user_commands(made.command("tests", SAYS))
        made.repository.write("state", "41 passed")
        yield made


def test_a_check_that_keeps_failing_doubts_what_rests_on_it_until_it_passes(
    project: Project,
) -> None:
    project.plan("Port", "in_progress", "done", checks=["command:tests"])
    project.reconcile()
    with project.world.connect(memory=project.memory) as session:
        fact = session.observe("41 tests passed", "tool:command:tests").id
        guess = _rest(session, fact)
        project.repository.write("state", "red")
        project.reconcile()
        assert (
            _block(session.window(), fact) == "observations"
        )  # red once: may be what is worked on
        project.reconcile()
        window = session.window()
        assert _block(window, fact) == _block(window, guess) == "re-verify"
        assert "DOUBTED: command:tests keeps failing" in _line(window, fact)
        project.reconcile()
        assert _line(session.window(), fact) == _line(window, fact)
        project.repository.write("state", "41 passed")
        project.reconcile()
        assert _block(session.window(), fact) == "observations"
        assert _block(session.window(), guess) == "inferences"


def test_a_decision_that_rests_on_a_check_is_weakened_while_it_keeps_failing(
    project: Project,
) -> None:
    project.plan("Port", "in_progress", "done", checks=["command:tests"])
    project.reconcile()
    with project.world.connect(memory=project.memory) as session:
        session.done(
            "record_decision", decision="Release the port", reason="its tests pass", supports=["call-1"]
        )  # fmt: skip
        for state, weak in (("red", False), ("red", True), ("41 passed", False)):
            project.repository.write("state", state)
            project.reconcile()
            assert ("WEAKENED" in _line(session.window(), "decision-1")) == weak


def test_what_the_agent_saw_of_the_same_command_rests_on_the_check_too(project: Project) -> None:
    command = tomllib.loads(project.config.read_text())["commands"]["tests"]
    project.plan("Port", "in_progress", "done", checks=["command:tests"])
    project.world.bash(command, "41 passed\n")
    project.world.bash("pytest tests/unit", "12 passed\n")
    with project.world.connect(memory=project.memory) as session:
        fact = session.observe("41 tests passed", "call-1").id
        other = session.observe("12 unit tests passed", "call-2").id
        project.repository.write("state", "red")
        project.reconcile()
        project.reconcile()
        window = session.window()
        assert _block(window, fact) == "re-verify"
        assert _block(window, other) == "observations"


def test_a_claim_that_is_refuted_again_and_again_doubts_what_its_check_had_shown(
    project: Project,
) -> None:
    item = project.plan("Make", "in_progress", "done", checks=["path_exists:made.py"])
    project.repository.write("made.py")
    project.reconcile()
    with project.world.connect(memory=project.memory) as session:
        fact = _rest(session, "call-1")
        (project.repository.tree / "made.py").unlink()
        for _ in range(2):
            project.reconcile()
            project.move(item, "done")
        assert _block(session.window(), fact) == "re-verify"
