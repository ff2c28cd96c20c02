"""What an entry says of one row, key, test or day is not said of another."""

import pytest

from keepthread.validators.dates import clock_pattern, day_pattern
from keepthread.validators.evidence import Evidence
from keepthread.validators.grounding import ground
from tests.validators.grounding_pairs import read, shell

PODS = shell(
    "podman ps -a",
    "NAME      IMAGE            RESTARTS  STATE\n"
    "ledger    acme/ledger:4.1  0         running\n"
    "mailer    acme/mailer:2.7  23        failed\n",
)
LIMITS = read(
    "values.yml",
    "requests:\n  memory: 128Mi\nlimits:\n  memory: 512Mi\nworkers:\n  count: 6\nweb:\n  count: 2\n",
)
LOG = shell("git log --oneline", "4be12a0 Pin the parser\n90c77de Revert the lazy import\n")
RUN = shell(
    "go test ./...",
    "ok  \tacme/queue\t0.4s\n--- FAIL: TestDial\nFAIL\tacme/dial\t1.2s\n",
    failed=True,
)
MIGRATED = shell("migrate up", "Applying 0004_slug... OK\nApplying 0005_tax...Traceback (most\n")
PLAN = shell("plan", "Plan: 3 to add, 0 to change, 1 to destroy.\n")
ROUNDS = shell("npm test", "rounds to cents\n  expected: <2.34> but was: <2.35>\n", failed=True)
QUEUES = read("worker.toml", 'queues = ["default", "mail", "exports"]\nrounding = "half_even"\n')


@pytest.mark.parametrize(
    ("true", "false", "entry"),
    [
        ("The mailer has 23 restarts", "The ledger has 23 restarts", PODS),
        ("ledger runs image 4.1", "ledger runs image 2.7", PODS),
        ("The memory limit is 512Mi", "The memory limit is 128Mi", LIMITS),
        ("There are 6 workers and 2 web pods", "There are 2 workers and 6 web pods", LIMITS),
        (
            "Commit 90c77de reverted the lazy import",
            "Commit 4be12a0 reverted the lazy import",
            LOG,
        ),
        ("The queue package's tests pass", "The dial package's tests pass", RUN),
        ("The dial package fails", "Only the queue package fails", RUN),
        ("Migration 0004_slug was applied", "Migration 0005_tax was applied", MIGRATED),
        ("The plan adds three resources", "The plan destroys three resources", PLAN),
        ("The test expected 2.34 and got 2.35", "The test expected 2.35 and got 2.34", ROUNDS),
        (
            "Workers take the default, mail and exports queues",
            "Workers take the default, mail and imports queues",
            QUEUES,
        ),
        ("Amounts are rounded half-even", "Amounts are rounded half-up", QUEUES),
    ],
)
def test_a_value_belongs_to_what_the_entry_gives_it_to(
    true: str, false: str, entry: Evidence
) -> None:
    assert ground(true, [entry]).grounded, ground(true, [entry]).why
    assert not ground(false, [entry]).grounded


@pytest.mark.parametrize(
    ("claimed", "shown", "same"),
    [
        ("2 October 2024", "2024-10-02", True),
        ("October 2nd, 2024", "wed oct 2 11:02:10 2024", True),
        ("2 October 2024", "02/oct/2024", True),
        ("June 2024", "2024-06-30 09:01", True),
        ("8 November", "2024-11-08", True),
        ("2 October 2024", "2024-10-12", False),
        ("2 October 2024", "2023-10-02", False),
        ("June 2024", "2024-07-30", False),
    ],
)
def test_a_day_is_the_same_however_it_is_written(claimed: str, shown: str, same: bool) -> None:
    pattern = day_pattern(claimed)
    assert pattern is not None
    assert bool(pattern.search(shown)) is same


@pytest.mark.parametrize(
    ("claimed", "shown", "same"),
    [("3:20", "03:20:11", True), ("14:09:03", "t14:09:03z", True), ("3:20", "13:20", False)],
)
def test_a_time_of_day_may_have_seconds(claimed: str, shown: str, same: bool) -> None:
    pattern = clock_pattern(claimed)
    assert pattern is not None
    assert bool(pattern.search(shown)) is same


def test_no_day_is_read_out_of_a_plain_word() -> None:
    assert day_pattern("may") is None
    assert clock_pattern("12") is None
