"""Results and the README's table: what is cited is what was measured."""

from pathlib import Path

import pytest

from evals.results import Result, data_name, newest, save
from evals.table import BEGIN, END, README, table, with_table

OLD = Result("secrets", "secrets/samples.jsonl", "2026-01-01", "aaa", {"leaks": 0.5}, {})
NEW = OLD._replace(date="2026-01-02", commit="bbb", headline={"leaks": 0.25})


def test_the_readme_shows_the_newest_results() -> None:
    text = README.read_text(encoding="utf-8")
    if BEGIN not in text:
        pytest.skip(f"the README has no {BEGIN}")
    assert with_table(text, table(newest())) == text, "run: python -m evals table --write"


def test_the_newest_result_of_a_suite_and_its_data_stands_in_the_table(tmp_path: Path) -> None:
    for result in (NEW, OLD, OLD._replace(data="other.jsonl")):
        save(result, tmp_path)
    assert newest(tmp_path) == [OLD._replace(data="other.jsonl"), NEW]
    assert "| secrets | secrets/samples.jsonl | leaks 0.250 | 2026-01-02 | bbb |" in table([NEW])


def test_a_table_replaces_what_stands_between_the_markers_only() -> None:
    text = f"# Title\n{BEGIN}\nold\n{END}\nrest\n"
    assert with_table(text, "new") == f"# Title\n{BEGIN}\nnew\n{END}\nrest\n"
    assert with_table(with_table(text, "new"), "new") == with_table(text, "new")
    with pytest.raises(ValueError, match="evals:begin"):
        with_table("# Title\n", "new")


def test_a_data_set_is_named_without_the_place_where_it_lies(tmp_path: Path) -> None:
    folder = tmp_path / "talks"
    folder.mkdir()
    (folder / "a.json").touch()
    assert data_name(folder) == "talks"
    assert data_name(folder / "a.json") == "talks/a.json"
