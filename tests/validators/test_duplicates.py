"""A near duplicate adds nothing; a correction is never one, however similar it reads."""

from pathlib import Path

import pytest

from keepthread.validators.duplicates import is_duplicate

TABLE = Path(__file__).with_name("judge_pairs.txt")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The timeout defaults to 60", "The timeout defaults to 600"),
        ("The cache is thread-safe", "The cache is not thread-safe"),
        ("Postgres 15 is used", "Postgres 16 is used"),
        ("The limit is 10 MB", "The limit is 10 GB"),
        ("The parser is in src/parse.py", "The parser is in src/parser.py"),
        ("The worker is called jobs-a", "The worker is called jobs-b"),
        ("Indent with tabs", "Indent with spaces"),
        ("Migrations run before tests", "Migrations run after tests"),
        ("Prefer composition over inheritance", "Prefer inheritance over composition"),
        ("The linter allows unused imports", "The linter forbids unused imports"),
        ("The job is synchronous", "The job is asynchronous"),
        ("Alice reviews the code", "Bob reviews the code"),
        ("Use `--exit-code`", "Use `--leaks-exit-code`"),
        ("The list is sorted", "The list is unsorted"),
    ],
)
@pytest.mark.parametrize("similarity", [None, 0.9, 0.999])
def test_correction_is_never_a_duplicate(old: str, new: str, similarity: float | None) -> None:
    assert not is_duplicate(old, new, similarity)
    assert not is_duplicate(new, old, similarity)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The build command is `make ci`", "The build command is make ci."),
        ("The timeout is 60 seconds", "The timeout is 1 minute"),
        ("The docs are in docs/", "The documentation is in docs/"),
        ("Every PR needs two approvals", "Each PR requires 2 approvals"),
        ("The platform team owns billing", "Billing is owned by the platform team"),
    ],
)
def test_same_statement_is_a_duplicate(old: str, new: str) -> None:
    assert is_duplicate(old, new, 0.95)
    assert is_duplicate(old, new, None)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The importer reads CSV", "The importer reads CSV and Parquet"),
        ("The importer reads CSV and Parquet", "The importer reads CSV"),
        ("The build fails", "The build fails on Windows"),
        ("Python 3 is used", "Python 3.11 is used"),
    ],
)
def test_more_or_less_detail_is_not_a_duplicate(old: str, new: str) -> None:
    """The source of one does not support all of the other, so it must not corroborate it."""
    assert not is_duplicate(old, new, 0.95)


def test_distant_embeddings_are_no_duplicate() -> None:
    assert not is_duplicate("The cache is warm", "The cache is warm today", 0.3)


@pytest.mark.parametrize("similarity", [None, 0.97])
def test_no_pair_of_the_table_but_duplicates_is_merged(similarity: float | None) -> None:
    label, merged = "", []
    for line in TABLE.read_text(encoding="utf8").splitlines():
        label = line[2:] if line.startswith("# ") else label
        old, arrow, new = line.partition(" => ")
        if arrow and label != "duplicate" and is_duplicate(old, new, similarity):
            merged.append(line)
    assert merged == []


@pytest.mark.parametrize(
    ("subject", "old", "new"),
    [
        ("build command", "The build command is `make ci`", "Builds run with `make ci`"),
        ("port | billing port", "The billing port is 8080", "8080 is the billing port"),
        ("staging host", "The staging host is stage.acme.io", "Staging host: stage.acme.io"),
    ],
)
def test_the_same_value_of_one_subject_is_a_duplicate_in_other_words(
    subject: str, old: str, new: str
) -> None:
    assert is_duplicate(old, new, 0.7, subject)
    assert is_duplicate(new, old, None, subject)


@pytest.mark.parametrize(
    ("subject", "old", "new"),
    [
        ("build command", "The build command is `make ci`", "The nightly build runs `make ci`"),
        ("build command", "The build command is `make ci`", "The build command is not `make ci`"),
        ("build command", "The build command is `make ci`", "Builds run with `make build`"),
        ("version", "The version went from 3.11 to 3.12", "The version went from 3.12 to 3.11"),
        ("limit", "The limit is 10 MB", "The limit is at least 10 MB"),
        ("limit", "Uploads have a limit of 10 MB", "Only admin uploads have a limit of 10 MB"),
        ("billing", "The platform team owns billing", "The search team owns billing"),
        ("cache", "The cache is fast", "The cache is slow"),
    ],
)
def test_another_value_or_case_of_one_subject_is_no_duplicate(
    subject: str, old: str, new: str
) -> None:
    assert not is_duplicate(old, new, 0.7, subject)
    assert not is_duplicate(new, old, None, subject)
