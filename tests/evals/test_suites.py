"""Each suite on samples of our own: it runs through the product, goes on, and says what is missing."""

import json
from pathlib import Path
from typing import Any

import pytest

from evals.__main__ import main
from evals.product import Answer
from evals.suites.contradiction import label_of
from evals.suites.injection import facts_of
from evals.suites.traces import read_window
from keepthread.validators.limits import TEXT_CHARS_MAX

SAMPLES = Path(__file__).parent / "samples"
SUITES = [
    ("retrieval", "talks", 4, {("ALL", "recall@5"): 1.0}),
    ("retrieval", "pool.json", 2, {("ALL", "hit@1"): 1.0, ("served", "ALL", "hit@1"): 1.0}),
    ("retrieval", "traces/probes.json", 1, {("ALL", "hit@1"): 1.0, ("served", "ALL", "hit@1"): 1.0}),
    ("precision", "beliefs", 3, {("passed",): 3}),
    ("injection", "injection.jsonl", 4, {("core_balanced_accuracy",): 1.0}),
    ("contradiction", "contradiction.jsonl", 4, {("macro_f1",): 1.0}),
    ("secrets", "secrets.jsonl", 3, {("leak_rate", 0): 0.0, ("damage_rate_all", 0): 0.0}),
    ("traces", "traces", 2, {("edited_recall",): 1.0, ("next_seq",): 1.0, ("phantom_seqs",): 0}),
]


@pytest.mark.parametrize(("suite", "data", "count", "figures"), SUITES)
def test_a_suite_answers_plain_samples_right_and_goes_on_where_it_stopped(
    suite: str,
    data: str,
    count: int,
    figures: dict[tuple[str | int, ...], float],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out.jsonl"
    source = ["--data", str(SAMPLES / data)]
    command = ["run", suite, *source, "--out", str(out)]
    assert main(command) == 0
    first = out.read_text().splitlines()
    assert len(first) == count
    assert capsys.readouterr().out.startswith(f"{suite} on ")

    assert main(["score", suite, *source, "--pred", str(out), "--json"]) == 0
    scored = json.loads(capsys.readouterr().out)
    for path, value in figures.items():
        found: Any = scored
        for name in path:
            found = found[name]
        assert found == value, path

    marked = json.dumps({**json.loads(first[0]), "kept": True})
    out.write_text(marked + "\n" + first[-1][:7])  # what an interruption in a write leaves
    assert main(command) == 0
    again = out.read_text().splitlines()
    assert again[0] == marked
    assert sorted(again[1:]) == sorted(first[1:])


@pytest.mark.parametrize("suite", ["retrieval", "precision", "injection", "traces"])
def test_data_that_is_not_there_is_named_and_ends_with_2(
    suite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", suite, "--data", str(tmp_path / "nowhere"), "--out", str(tmp_path / "p")]
    assert main(command) == 2
    assert "nowhere" in capsys.readouterr().err
    assert not (tmp_path / "p").exists()


def test_a_row_without_a_needed_field_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "pairs.jsonl"
    data.write_text('{"id": "a", "old": "x"}\n')
    command = ["run", "contradiction", "--data", str(data), "--out", str(tmp_path / "p")]
    assert main(command) == 2
    assert "line 1 has no `new`" in capsys.readouterr().err


def test_predictions_of_other_data_are_not_mixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "p.jsonl"
    assert (
        main(["run", "secrets", "--data", str(SAMPLES / "secrets.jsonl"), "--out", str(out)]) == 0
    )
    other = tmp_path / "secrets.jsonl"
    other.write_text((SAMPLES / "secrets.jsonl").read_text())
    assert main(["run", "secrets", "--data", str(other), "--out", str(out)]) == 2
    assert "choose another --out" in capsys.readouterr().err


def test_a_long_text_becomes_facts_that_lose_no_word() -> None:
    text = " ".join(f"Sentence number {n} says little." for n in range(200)) + " " + "x" * 2500
    parts = facts_of(text)
    assert max(map(len, parts)) <= TEXT_CHARS_MAX
    assert "".join(parts).replace(" ", "") == text.replace(" ", "")


def answer(action: str, superseded: str = "", disputed: str = "", refused: str = "") -> Answer:
    fields = {"action": action, "superseded": superseded.split(), "disputed_with": disputed.split()}
    return Answer("", fields, refused)


@pytest.mark.parametrize(
    ("new", "judged", "label"),
    [
        (answer("superseded", superseded="fact-1"), "unrelated", "contradiction"),
        (answer("added", disputed="fact-1"), "unrelated", "contradiction"),
        (answer("merged"), "unrelated", "duplicate"),
        (answer("added"), "refinement", "refinement"),
        (answer("added"), "contradiction", "unrelated"),
        (answer("", refused="older_than_belief"), "unrelated", "contradiction"),
        (answer("", refused="instruction_from_tool"), "duplicate", "duplicate"),
    ],
)
def test_the_gates_outcome_is_the_label(new: Answer, judged: str, label: str) -> None:
    assert label_of(answer("added"), new, judged)[0] == label


def test_only_our_own_words_in_a_window_name_calls() -> None:
    window = (
        '- FOUND files written, newest first: "/a b.py" (call-2)\n'
        '- FOUND last command, call-3 ran: "echo \\"call-9\\"" → "out"\n'
    )
    seqs = {f"call-{n}": n - 1 for n in range(1, 10)}
    assert read_window(window, seqs) == {
        "edited_paths": ["/a b.py"],
        "last_command": 'echo "call-9"',
        "next_seq": 3,
        "claimed_seqs": [1, 2],
    }
