"""The grounding suite: both kinds of error are counted, and our own set is well formed."""

import json
from pathlib import Path

import pytest

from evals.__main__ import main
from evals.suites.grounding import SCENARIO, half_of, judge, read, read_claims, score

ROWS = [
    {"id": "e1", "tool": "Read", "args": {"file_path": "a.toml"}, "output": "port = 8080\n",
     "facts": [{"kind": "value", "true": "The port is 8080", "false": ["The port is 9090"],
                "also": ["e3"]}]},
    {"id": "e2", "tool": "Bash", "args": {"command": "ls"}, "output": "a.toml\nb.toml\n",
     "facts": [{"kind": "name", "true": "There is a zebra.toml", "false": ["There is an a.toml"]}]},
    {"id": "e3", "role": "user", "output": "the port is 8080", "facts": []},
]  # fmt: skip


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "set.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_figures_count_each_kind_of_error_by_kind_of_claim(sample: Path) -> None:
    judged = judge(read(sample))
    figures = score(judged)
    assert figures["value"] == {"true": [0, 1], "hard false": [0, 1], "mismatched": [0, 1]}
    assert figures["name"] == {"true": [1, 1], "hard false": [1, 1], "mismatched": [0, 2]}
    assert figures["ALL"]["true"] == [1, 2]


def test_the_command_prints_mistakes_and_figures(
    sample: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["grounding", "--data", str(sample)]) == 0
    out = capsys.readouterr().out
    assert "true refused, e2: There is a zebra.toml | " in out
    assert "hard false accepted, e2: There is an a.toml\n" in out
    assert "true refused 1/2, hard false taken 1/2, mismatched taken 0/3" in out


def test_claims_about_traces_are_read_from_a_file_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [
        {"seq": 0, "tool": "bash", "args": {"command": "cat a"}, "output": "retries: 3\n"},
        {"seq": 1, "tool": "bash", "args": {"command": "cat b"}, "output": "color: blue\n"},
    ]
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps))
    claims = tmp_path / "claims.jsonl"
    told = {"trace": "run", "seq": 0, "claim": "There are 3 retries", "also": [["run", 1]]}
    claims.write_text(json.dumps(told) + "\n")
    found = read_claims(tmp_path, claims)
    assert score(judge(found))["ALL"] == {"true": [0, 1]}
    halves = [half_of(found, half).facts for half in ("tuning", "held-out")]
    assert sorted(map(len, halves)) == [0, 1]
    claims.write_text("{}\n")
    assert main(["grounding", "--data", str(tmp_path), "--claims", str(claims)]) == 2
    assert "has no `trace`" in capsys.readouterr().err


def test_every_fact_of_our_set_has_a_kind_and_ids_are_unique() -> None:
    ids = [json.loads(line)["id"] for line in SCENARIO.read_text().splitlines()]
    assert len(set(ids)) == len(ids)
    found = read(SCENARIO)
    assert all(fact.kind != "claim" and fact.true not in fact.false for fact in found.facts)
    assert all(fact.also <= found.entries.keys() for fact in found.facts)
