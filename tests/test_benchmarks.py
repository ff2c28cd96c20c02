"""The benchmarks run, small; what they measure is for people to read, not for a test to judge."""

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.measure import compare, table

ROOT = Path(__file__).resolve().parent.parent


def test_a_figure_is_the_ratio_of_medians_taken_in_turns() -> None:
    order: list[str] = []
    ours, floor = (0.004, 0.002, 0.009), (0.001, 0.002, 0.003)

    def run_ours(i: int) -> tuple[float, float]:
        order.append("ours")
        return ours[i], ours[i] / 2

    def run_floor(i: int) -> tuple[float, float]:
        order.append("floor")
        return floor[i], floor[i] / 2

    figure = compare("made up", run_ours, run_floor, 3, warm_up=0, target="ratio at most 3")
    assert order == ["ours", "floor"] * 3
    assert (figure.ours_ms, figure.floor_ms, figure.row()["ratio"]) == (4.0, 2.0, 2.0)
    assert "| made up | 4.00 | 2.00 | 2.0 | 2.0 | 2.00 | ratio at most 3 |" in table([figure])


def test_figures_are_kept_as_json_lines_with_commit_and_ratios(tmp_path: Path) -> None:
    out = tmp_path / "figures.jsonl"
    sizes = ["--rounds", "1", "--facts", "20", "--entries", "20"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "reading", *sizes, "--out", str(out)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["name"].partition(",")[0] for row in rows] == [
        "search by words",
        "search by words and meaning",
        "window",
    ]
    assert all(row["ratio"] > 0 and row["commit"] and row["detail"]["facts"] == 20 for row in rows)
