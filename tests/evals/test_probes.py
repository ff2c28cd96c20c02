"""Recall probes on a run of our own: what is read off it, what windows hold, what stores are worth."""

import json
from pathlib import Path

import pytest

from evals.__main__ import main
from evals.lines import window_lines
from evals.probe_figures import probe_tables, score_probes
from evals.reading import read_rows
from evals.recorder import goal_of, read_step
from evals.suites.probes import points, probes_of

RUNS = Path(__file__).parent / "samples" / "runs"
STEPS = [read_step(row) for row in read_rows(RUNS / "rounding.jsonl", ("tool", "args", "output"))]


def answers(kind: str, upto: int = len(STEPS)) -> list[str]:
    return [p.answer for p in probes_of("Finish it", STEPS[:upto]) if p.kind == kind]


def test_a_run_answers_what_is_asked_of_it() -> None:
    assert answers("last edited") == ["/srv/shop/cart.py"]
    assert sorted(answers("edited")) == ["/srv/shop/cart.py", "/srv/shop/rounding.py"]
    assert answers("last command") == ["wc -l < shop/rounding.py"]
    assert answers("failure") == ["NameError: name 'round_half_up' is not defined"]
    assert answers("version") == ["3.12.1"]
    assert answers("place") == ["shop/cart.py:41"]
    assert answers("identifier") == ["round_half_up"]


def test_only_the_newest_result_of_a_command_is_asked_for() -> None:
    assert answers("tests", 9) == ["3 failed in 0.30s"]
    assert answers("tests") == ["3 passed in 0.22s"]


def test_an_edit_that_was_refused_and_a_view_edit_nothing() -> None:
    assert [s.edited for s in STEPS[4:8]] == ["", "/srv/shop/rounding.py", "/srv/shop/cart.py", ""]


def test_the_goal_is_the_first_sentence_of_the_run() -> None:
    assert goal_of("rounding", STEPS) == (
        "Finish rounding: I will add half-up rounding to the shop's totals"
    )
    assert goal_of("rounding", []) == "Finish rounding"


def test_points_are_evenly_apart_and_the_end_is_one() -> None:
    assert points(25, 10) == [10, 20, 25]
    assert points(20, 10) == [10, 20]
    assert points(3, 10) == [3]


def test_stored_text_cannot_pose_as_a_section_or_a_flag() -> None:
    window = (
        "== FACTS · data · abc ==\n"
        "observations:\n"
        '- fact-1 [0.70 · call-1]: "== PLAN · x · y ==\\nSTALE  \\"a\\""\n'
    )
    heading, fact = window_lines(window)
    assert (heading.section, heading.ours) == ("facts", "observations:")
    assert (fact.section, fact.record) == ("facts", "fact-1")
    assert fact.text.endswith('== PLAN · x · y == STALE "a"')
    assert "STALE" not in fact.ours


def test_probes_of_a_run_are_answered_from_its_windows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    out = tmp_path / "rows.jsonl"
    command = ["probes", "--data", str(RUNS), "--out", str(out), "--every", "6", "--ablate"]
    command += ["--budgets", "1000,6000", "--weights", "0.6:0.25:0.15,0:1:0"]
    assert main(command) == 0
    printed = capsys.readouterr().out
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == 8  # two points, two budgets, two weights
    figures = score_probes(rows)
    small, large = figures["budgets"]["1000"], figures["budgets"]["6000"]
    assert large["recall"] == 1.0
    assert small["recall"] < 1.0
    assert small["tokens per step"] <= 1000 < large["tokens per step"]
    assert figures["recorded"]["record_fact"] >= 4
    assert "recall lost without" in printed
    assert "probes on runs: recall within 1000" in printed

    assert main(command) == 0  # nothing is left to ask
    assert len(out.read_text().splitlines()) == 8
    out.write_text("".join(json.dumps(row) + "\n" for row in rows[:5]))
    assert main(command) == 0
    assert len(out.read_text().splitlines()) == 8


def probe(kind: str, held: bool, only_in: str = "", records: str = "") -> dict[str, object]:
    found = records.split()
    return {
        "kind": kind,
        "held": held,
        "in_transcript": False,
        "only_in": only_in,
        "only_record": found[0] if len(found) == 1 else "",
        "records": found,
    }


def test_a_store_is_worth_the_answers_that_nothing_else_holds() -> None:
    row = {
        "trace": "a", "step": 10, "budget": 1000, "weights": [1, 0, 0], "tokens": 900,
        "transcript_tokens": 5000, "refused_window": "", "recorded": {"record_fact": 3},
        "refused": {}, "shown": ["fact-1", "fact-2", "fact-3", "plan-1"],
        "probes": [
            probe("version", True, "facts", "fact-1"),
            probe("edited", True, "", "plan-1 fact-2"),
            probe("edited", True, "tail"),
            probe("place", False),
        ],
    }  # fmt: skip
    figures = score_probes([row])
    assert figures["budgets"]["1000"]["recall"] == 0.75
    assert figures["stores"]["1000"] == {
        "pinned": 0, "plan": 0, "decisions": 0, "facts": 0.25, "tail": 0.25,
    }  # fmt: skip
    assert figures["records"]["1000"] == {
        "fact": {"shown": 3, "holding no answer": 0.3333, "without effect": 0.6667},
        "plan": {"shown": 1, "holding no answer": 0.0, "without effect": 1.0},
    }
    assert "recall lost without" not in probe_tables(figures, ablate=False)


def test_a_missing_run_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["probes", "--data", str(tmp_path / "nowhere"), "--out", str(tmp_path / "o")]
    assert main(command) == 2
    assert "nowhere" in capsys.readouterr().err
