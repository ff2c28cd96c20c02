"""``keepthread demo`` as a user runs it: one subprocess, its whole output."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from keepthread.stores.launch import command_line

README = Path(__file__).resolve().parents[2] / "README.md"
SECONDS_MAX = 60.0


@pytest.fixture(scope="module")
def demo() -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "keepthread", "demo"],
        capture_output=True,
        text=True,
        timeout=2 * SECONDS_MAX,
        check=False,
    )


def test_it_succeeds_within_a_minute(demo: "subprocess.CompletedProcess[str]") -> None:
    assert (demo.returncode, demo.stderr) == (0, "")
    seconds = re.search(r"^([\d.]+) s in all\.$", demo.stdout, re.MULTILINE)
    assert seconds is not None and float(seconds[1]) < SECONDS_MAX


def test_it_shows_the_four_refusals(demo: "subprocess.CompletedProcess[str]") -> None:
    assert re.findall(r"^  refused\[(\w+)\]", demo.stdout, re.MULTILINE) == [
        "uncited_observation",
        "not_in_source",
        "instruction_from_tool",
        "older_than_belief",
    ]


def test_it_goes_on_after_a_kill(demo: "subprocess.CompletedProcess[str]") -> None:
    after = demo.stdout.partition("killed. Started again:")[2]
    assert "every answered write is there" in after
    assert re.search(r"keepthread verify: \d+ records, 0 faults", after)


def test_the_window_of_the_new_agent_holds_what_the_first_one_left(
    demo: "subprocess.CompletedProcess[str]",
) -> None:
    shown = demo.stdout.partition("\n6. ")[2].partition("\n7. ")[0]
    window = shown.partition("End of memory.")[0]
    assert re.findall(r"^== ([A-Z]+) ·", window, re.MULTILINE) == [
        "PINNED", "PLAN", "DECISIONS", "FACTS", "TAIL",
    ]  # fmt: skip
    for kept in (
        "Totals must round half a cent up",
        "Keep commits small.",
        '"Round totals half up"',
        "ROUND_HALF_UP",
        "Must the tax round half up as well?",
        '"The CI timeout is 10 minutes"',
        "ended without a note",
    ):
        assert kept in window
    facts = window.partition("== FACTS")[2].partition("== TAIL")[0]
    assert "5 minutes" not in facts and "example.invalid" not in facts
    for section in ("pinned", "plan", "decisions", "facts", "tail"):
        used = re.search(rf"^  {section} +(\d+) of +(\d+)$", shown, re.MULTILINE)
        assert used is not None and 0 < int(used[1]) <= int(used[2])


def test_the_window_in_the_readme_is_of_a_real_run(
    demo: "subprocess.CompletedProcess[str]",
) -> None:
    def timeless(text: str) -> list[str]:
        text = re.sub(r"\d{4}-\d\d-\d\d(?:[T ][\d:]+)?", "TIME", text)
        return re.sub(r"· [0-9a-f]{6} ==", "· MARK ==", text).splitlines()

    picture = README.read_text(encoding="utf-8").partition("<!-- window:begin")[2]
    lines = timeless(picture.partition("```text\n")[2].partition("```")[0])
    assert len(lines) > 10
    assert [line for line in lines if line not in timeless(demo.stdout)] == []


def test_it_says_how_to_connect_every_client(demo: "subprocess.CompletedProcess[str]") -> None:
    assert f"  {command_line('init')}\n" in demo.stdout


def test_its_output_is_plain_where_there_is_no_terminal(
    demo: "subprocess.CompletedProcess[str]",
) -> None:
    assert "\x1b" not in demo.stdout


def test_it_needs_the_core_dependencies_only() -> None:
    code = (
        "import sys, keepthread.server.cli.demo; "
        "print({'torch', 'sentence_transformers', 'anthropic'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
