"""What a run came to holds until the same command is run again, through a real client."""

from pathlib import Path

import pytest

from .world import Session, World

RED = "FAILED tests/test_a.py::test_login\nFAILED tests/test_b.py::test_export\n2 failed, 17 passed in 3.10s\n"
GREEN = "19 passed in 3.02s\n"


def _texts(session: Session) -> str:
    return session.read("memory://facts")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("2 tests fail", "All 19 tests pass"),
        ("The test suite is broken: 2 failed", "The test suite is green"),
        ("Two tests are failing in the suite", "No test fails"),
    ],
)
@pytest.mark.parametrize("again", ["pytest -q", "cd . && pytest -q 2>&1 | tail -5"])
def test_the_newer_outcome_of_a_command_supersedes_the_older(
    tmp_path: Path, older: str, newer: str, again: str
) -> None:
    world = World(tmp_path)
    world.bash("pytest -q", RED, failed=True)
    with world.connect() as session:
        red = session.observe(older)
        world.bash(again, GREEN)
        green = session.observe(newer)
        assert green.data["superseded"] == [red.id]
        world.bash("pytest -q", RED, failed=True)
        back = session.observe(older)
        assert back.data["superseded"] == [green.id]


@pytest.mark.parametrize(
    "text", ["Run 7 of the suite failed: 2 failed", "2 tests failed on 2026-09-21"]
)
def test_a_numbered_run_and_a_dated_reading_stay(tmp_path: Path, text: str) -> None:
    world = World(tmp_path)
    world.bash("pytest -q", "run 7, 2026-09-21\n" + RED, failed=True)
    with world.connect() as session:
        red = session.observe(text)
        world.bash("pytest -q", GREEN)
        green = session.observe("All 19 tests pass")
        assert green.data["superseded"] == green.data["disputed_with"] == []
        assert red.id in _texts(session)


def test_another_command_and_another_matter_supersede_nothing(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.bash("pytest -q", RED, failed=True)
    with world.connect() as session:
        red = session.observe("2 tests fail")
        world.bash("npm test", "19 passed\n")
        other = session.observe("The npm test run has 19 passed tests")
        world.bash("pytest -q", RED.replace("3.10", "4.25"), failed=True)
        slower = session.observe("The tests took 4.25 s")
        assert other.data["superseded"] == slower.data["superseded"] == []
        assert red.id in _texts(session)


def test_an_outcome_is_judged_by_the_newest_run_and_not_by_the_newest_call(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.bash("pytest -q", GREEN)
    world.bash("pytest -q", RED, failed=True)
    world.bash("python --version", "Python 3.11.9\n")
    with world.connect() as session:
        refused = session.refused(
            "record_fact",
            "not_in_source",
            text="All 19 tests pass",
            kind="observation",
            source="tool:Bash",
        )
        assert "2 failed, 17 passed" in refused.text and "3.11.9" not in refused.text
        assert session.observe("2 tests fail").data["source"] == "tool:Bash#call-2"
        world.bash("pytest -q", GREEN)
        assert session.observe("All 19 tests pass").data["source"] == "tool:Bash#call-4"


def test_a_paraphrase_with_the_same_subject_and_the_same_values_is_merged(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.read_file("ci.yml", "steps:\n  - run: make build-ci\n")
    with world.connect() as session:
        first = session.observe(
            "The build command is `make build-ci`", "file:ci.yml", subject="build command"
        )
        world.bash("cat Makefile.notes", "Builds run with make build-ci\n")
        again = session.observe("Builds run with `make build-ci`", subject="build command | build")
        assert (again.data["action"], again.id) == ("merged", first.id)
        world.bash("cat notes", "The nightly build runs make build-ci\n")
        other = session.observe("The nightly build runs `make build-ci`", subject="build command")
        assert other.data["action"] == "added"
