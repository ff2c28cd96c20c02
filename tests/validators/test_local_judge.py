"""The local judge on pairs of statements as coding agents and people make them.

``judge_pairs.txt`` holds the large table; here each kind of difference has a small one.
"""

import time
from collections import Counter
from pathlib import Path

import pytest

from keepthread.validators.judges.local import Judgement, Statement, judge

TABLE = Path(__file__).with_name("judge_pairs.txt")


def _verdict(old: str, new: str, similarity: float | None = None) -> Judgement:
    return judge(Statement(old), Statement(new), similarity)


def _table() -> list[tuple[str, str, str]]:
    rows, label = [], ""
    for line in TABLE.read_text(encoding="utf8").splitlines():
        if line.startswith("# "):
            label = line[2:]
        elif line:
            old, new = line.split(" => ")
            rows.append((label, old, new))
    return rows


def test_table_has_all_labels_and_95_percent_are_right() -> None:
    rows = _table()
    counts = Counter(label for label, _, _ in rows)
    assert min(counts.values()) >= 50 and len(rows) >= 500
    wrong = [
        (label, old, new)
        for label, old, new in rows
        if _verdict(old, new).label not in _accepted(label)
    ]
    assert len(wrong) <= 0.05 * len(rows), wrong


def _accepted(label: str) -> set[str]:
    """Of two things of one kind it does not matter which of the two coexisting labels is given."""
    return {"unrelated", "refinement"} if label == "unrelated" else {label}


def test_no_true_fact_of_the_table_would_be_superseded() -> None:
    sure = [
        (old, new)
        for label, old, new in _table()
        if label != "contradiction" and _superseded(_verdict(old, new))
    ]
    assert sure == []


def _superseded(verdict: Judgement) -> bool:
    return verdict.label == "contradiction" and verdict.sure


def test_every_statement_of_the_table_repeats_itself() -> None:
    texts = {text for _, old, new in _table() for text in (old, new)}
    assert [text for text in texts if _verdict(text, text)[:3] != ("duplicate", 1.0, True)] == []


def test_most_conflicts_of_coding_agents_are_sure() -> None:
    verdicts = [_verdict(old, new) for label, old, new in _table() if label == "contradiction"]
    assert sum(_superseded(verdict) for verdict in verdicts) >= 0.6 * len(verdicts)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The request timeout is 60 seconds", "The request timeout is 600 seconds"),
        ("Cache entries expire after 300 seconds", "Cache entries expire after 10 minutes"),
        ("The upload limit is 10 MB", "The upload limit is 1 GB"),
        ("The project uses Python 3.10", "The project uses Python 3.12"),
        ("The library is pinned to v1", "The library is pinned to v2"),
        ("The retry count is three", "The retry count is five"),
        ("The API listens on port 8080", "The API listens on port 9090"),
        ("The sync job runs hourly", "The sync job runs every 15 minutes"),
        ("The queue holds 1,000 messages", "The queue holds 5,000 messages"),
    ],
)
def test_another_value_of_one_quantity_is_a_sure_contradiction(old: str, new: str) -> None:
    assert _superseded(_verdict(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Sessions expire after 120 minutes", "Sessions expire after 2 hours"),
        ("A build takes 4m11s", "A build takes about 4 minutes"),
        ("The job runs every night", "The job runs nightly"),
        ("Retries three times", "Retries 3 times"),
        ("The limit is 10 megabytes", "The limit is 10MB"),
        ("The queue holds 1,200 messages", "The queue holds 1200 messages"),
    ],
)
def test_one_value_in_two_units_is_a_duplicate(old: str, new: str) -> None:
    assert _verdict(old, new).label == "duplicate"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The cache is thread-safe", "The cache isn't thread-safe"),
        ("The worker uses Redis", "The worker no longer uses Redis"),
        ("There is a retry limit", "There is no retry limit"),
        ("The team uses Slack for alerts", "The team stopped using Slack for alerts"),
        ("Caching is enabled", "Caching is disabled"),
        ("The flag new_nav is on", "The flag new_nav is off"),
        ("test_checkout is flaky", "test_checkout is stable"),
        ("All tests pass", "2 tests fail"),
        ("Migrations run before the tests", "Migrations run after the tests"),
    ],
)
def test_denial_and_opposite_states_are_contradictions(old: str, new: str) -> None:
    assert _verdict(old, new).label == "contradiction"
    assert _verdict(new, old).label == "contradiction"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The flag is not enabled", "The flag is disabled"),
        ("No tests fail", "All tests pass"),
        ("The shop is not open on Sundays", "The shop is closed on Sundays"),
    ],
)
def test_denial_of_the_opposite_says_the_same(old: str, new: str) -> None:
    assert _verdict(old, new).label == "duplicate"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("CI runs on Travis", "CI moved from Travis to GitHub Actions"),
        ("The port is 8080", "The port used to be 8080, now it is 9090"),
        ("flake8 is the linter", "The linter was changed from flake8 to ruff"),
        ("We use trunk-based development", "We use feature branches instead of trunk-based work"),
        ("The build command is `make all`", "The build command is `make ci`, not `make all`"),
    ],
)
def test_what_the_new_statement_declares_over_is_contradicted(old: str, new: str) -> None:
    verdict = _verdict(old, new)
    assert verdict.label == "contradiction"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Unit tests take 3 minutes", "Integration tests take 9 minutes"),
        ("The staging database runs on port 5432", "The production database runs on port 6432"),
        ("The first attempt failed", "The second attempt succeeded"),
        ("The min pool size is 2", "The max pool size is 20"),
        ("The service has two replicas", "The service has three endpoints"),
        ("The parser handles comments", "The parser does not handle macros"),
        ("The API uses JWT for authentication", "The API uses Redis for caching"),
        ("Alice joined the team in 2021", "Bob joined the team in 2023"),
        ("In version 1 the default was 30", "In version 2 the default is 60"),
    ],
)
def test_different_things_in_the_same_words_do_not_conflict(old: str, new: str) -> None:
    assert _verdict(old, new).label in ("unrelated", "refinement")
    assert _verdict(new, old).label in ("unrelated", "refinement")


def test_as_of_dates_the_belief_and_not_the_thing() -> None:
    assert _superseded(
        _verdict("As of 2026-03-01 the port is 8080", "As of 2026-06-01, the port is 9090")
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The build took 4 minutes on Monday", "The build took 9 minutes on Friday"),
        ("The port was 8080 in version 1", "The port is 9090"),
        ("The importer reads from SQS", "The worker reads from Kafka instead of SQS"),
        ("The request timeout is 60 seconds", "The timeout is 30 seconds"),
        ("The cluster has 5 nodes", "The production cluster has 12 nodes"),
        ("The queue holds up to 1,000 messages", "The queue has 4,200 messages"),
        ("The upload limit is 25 MB", "The upload limit is 10 MB for free accounts"),
    ],
)
def test_past_other_or_narrower_cases_never_supersede(old: str, new: str) -> None:
    assert not _superseded(_verdict(old, new))
    assert not _superseded(_verdict(new, old))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The project uses Python 3", "The project uses Python 3.11"),
        ("The importer reads CSV", "The importer reads CSV and Parquet"),
        ("test_retry is flaky", "test_retry is flaky because it depends on the clock"),
        ("Deploys happen on Tuesdays", "Deploys happen on Tuesdays at 10:00, after the stand-up"),
    ],
)
def test_added_detail_is_a_refinement(old: str, new: str) -> None:
    assert _verdict(old, new).label == "refinement"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The platform team owns billing", "Billing is owned by the platform team"),
        ("Kim is responsible for deployments", "Kim owns deployments"),
        ("The user said that commits should be small", "Commits should be small"),
        ("The API listens on port 8080", "Port 8080 is where the API listens"),
        ("The configuration lives in app.toml", "The config is stored in app.toml"),
    ],
)
def test_same_statement_in_another_order_or_voice_is_a_duplicate(old: str, new: str) -> None:
    assert _verdict(old, new).label == "duplicate"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Only admins can delete projects", "Any user can delete projects"),
        ("Only Linux is supported", "Linux and Windows are supported"),
        ("Alice reports to Bob", "Bob reports to Alice"),
        ("Prefer composition over inheritance", "Prefer inheritance over composition"),
    ],
)
def test_other_scope_or_exchanged_roles_are_disputed_not_superseded(old: str, new: str) -> None:
    verdict = _verdict(old, new)
    assert verdict.label == "contradiction" and not verdict.sure


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I've read 3 books this year", "I just finished my fifth book this year"),
        (
            "I need a travel bag. By the way, I've visited 12 countries so far.",
            "Which visa do I need? I've now visited 15 countries, and Peru is next.",
        ),
        ("I work as a data analyst", "I now work as a product manager"),
        ("I live in Berlin", "I moved from Berlin to Hamburg"),
    ],
)
def test_what_people_say_of_themselves_is_updated(old: str, new: str) -> None:
    assert _verdict(old, new).label == "contradiction"


def test_one_attribute_of_a_subject_has_one_value() -> None:
    old = Statement("make test", "test command")
    new = Statement("uv run pytest", "how to test | test command")
    assert _superseded(judge(old, new))


def test_shared_subject_alone_is_no_verdict() -> None:
    old = Statement("The service listens on 8080", "billing service")
    assert judge(old, Statement("It retries 3 times", "billing service")).label != "contradiction"
    uses = judge(
        Statement("Uses Redis", "billing service"), Statement("Uses Kafka", "billing service")
    )
    assert not _superseded(uses)


def test_different_subject_keys_keep_equal_sentences_apart() -> None:
    old = Statement("The timeout is 30 seconds", "api timeout")
    new = Statement("The timeout is 60 seconds", "worker timeout")
    assert judge(old, new).label == "unrelated"
    assert _superseded(judge(old, new._replace(subject="api timeout")))


def test_similarity_tells_a_paraphrase_from_another_statement() -> None:
    old, new = "The kid is playing a guitar", "The kid is strumming a guitar"
    assert _verdict(old, new, 0.95).label == "duplicate"
    assert _verdict(old, new, 0.5).label != "duplicate"
    assert not _verdict(old, new, 0.95).sure


def test_similarity_never_turns_a_correction_into_a_duplicate() -> None:
    assert _verdict("The TTL is 300 s", "The TTL is 60 s", 0.99).label == "contradiction"
    assert _verdict("It is thread-safe", "It is not thread-safe", 0.99).label == "contradiction"


def test_reason_names_the_values_that_differ() -> None:
    assert "60 seconds became 600" in _verdict("TTL is 60 seconds", "TTL is 600 seconds").why
    assert _verdict("The cache is warm", "The cache is not warm").why == "negation differs"


@pytest.mark.parametrize("text", ["", " ", "?!", "...", "`", "=" * 50, "🙂", "not", "0", "\n\n"])
def test_text_without_content_is_judged_without_error(text: str) -> None:
    assert _verdict(text, "The port is 8080").label in ("unrelated", "refinement")
    assert _verdict("The port is 8080", text).label in ("unrelated", "refinement", "duplicate")


def test_long_hostile_text_is_judged_in_bounded_time() -> None:
    texts = ["a-" * 40_000, "1:" * 40_000, "said " * 20_000, "x, " * 30_000, "not from to " * 9_000]
    start = time.perf_counter()
    for text in texts:
        _verdict(text, text[::-1])
    assert time.perf_counter() - start < 2.0
