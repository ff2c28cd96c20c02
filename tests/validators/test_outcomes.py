import pytest

from keepthread.validators.absence import judge_absence
from keepthread.validators.evidence import Evidence
from keepthread.validators.outcomes import judge_outcome
from keepthread.validators.runs import tally
from keepthread.validators.sources import Source
from keepthread.validators.values import parse_claim
from tests.validators.grounding_pairs import read, shell


@pytest.mark.parametrize(
    ("output", "counts"),
    [
        ("=== 1 failed, 46 passed, 2 skipped in 3s ===", {"failed": 1, "passed": 46, "skipped": 2}),
        ("FAILED (failures=2, errors=1)", {"failed": 2, "errors": 1}),
        ("test result: ok. 17 passed; 0 failed; 2 ignored", {"passed": 17, "failed": 0}),
        ("Tests:  1 failed, 23 passed, 24 total", {"failed": 1, "passed": 23}),
        ("Failed:     0, Passed:    12, Skipped:     0", {"failed": 0, "passed": 12, "skipped": 0}),
        ("✖ 3 problems (0 errors, 3 warnings)", {"problems": 3, "errors": 0, "warnings": 3}),
        ("12 examples, 0 failures", {"failed": 0}),
        ("nothing to see", {}),
    ],
)
def test_counts_of_common_runners_are_read(output: str, counts: dict[str, int]) -> None:
    assert tally(output.lower()) == counts


OK, FAILED = "40 passed in 3s", "2 failed, 40 passed in 3s"


@pytest.mark.parametrize(
    ("claim", "entry", "verdict"),
    [
        ("All tests pass", shell("pytest", OK), "agrees"),
        ("All tests pass", shell("pytest", FAILED, failed=True), "contradicts"),
        ("All tests pass", shell("pytest -k none", "no tests ran in 0.01s"), "contradicts"),
        ("All tests pass", shell("pytest -q | tail -1", ""), "unproven"),
        ("All tests pass", shell("pytest -q || true", ""), "unproven"),
        ("All tests pass", shell("pytest -q | tail -1", OK), "agrees"),
        ("All tests pass", read("README.md", "Run the tests with `make test`."), "unproven"),
        ("All tests pass", shell("go test ./...", "ok  \ta/b\t0.1s\nok  \ta/c\t0.2s\n"), "agrees"),
        ("All tests pass", shell("go test ./...", "ok  \ta/b\t0.1s\nFAIL\ta/c\t0.2s\n"),
         "contradicts"),
        ("The tests fail", shell("pytest", OK), "contradicts"),
        ("The tests fail", shell("pytest", FAILED, failed=True), "agrees"),
        ("3 tests failed", shell("pytest", FAILED, failed=True), "contradicts"),
        ("The type check passes", shell("npx tsc --noEmit", ""), "agrees"),
        ("The type check passes", shell("pytest", OK), "silent"),
        ("mypy finds no errors", shell("mypy .", "Found 1 error in 1 file"), "contradicts"),
        ("ruff reports no warnings", shell("ruff check .", "All checks passed!"), "agrees"),
        ("The build has no warnings", shell("cargo build", "warning: unused variable"),
         "contradicts"),
        ("The build fails if tests fail", shell("make", "cc -o a a.c"), "silent"),
        ("2 of 3 tests passed", shell("pytest", "1 failed, 2 passed", failed=True), "agrees"),
        ("3 of 3 tests passed", shell("pytest", "1 failed, 2 passed", failed=True), "contradicts"),
    ],
)  # fmt: skip
def test_claims_about_runs_agree_with_counts_and_status(
    claim: str, entry: Evidence, verdict: str
) -> None:
    assert judge_outcome(parse_claim(claim), [Source(entry)]).verdict == verdict


GREP = "grep -rn legacy_client src"


@pytest.mark.parametrize(
    ("claim", "entry", "verdict"),
    [
        ("There are no usages of legacy_client", shell(GREP, ""), "agrees"),
        ("There are no usages of legacy_client", shell(GREP, "src/a.py:3: legacy_client()"),
         "contradicts"),
        ("There are no usages of other_client", shell(GREP, ""), "unproven"),
        ("setup.cfg has no flake8 section", read("setup.cfg", "[metadata]\nname = a\n"), "agrees"),
        ("setup.cfg has no flake8 section", read("setup.cfg", "[flake8]\nmax = 9\n"), "silent"),
        ("src/b.py does not use legacy_client", shell(GREP, "src/a.py:3: legacy_client()"),
         "agrees"),
        (
            "Nothing references OldParser",
            Evidence("c", tool="Grep", args='{"pattern":"OldParser"}', output="No files found"),
            "agrees",
        ),
    ],
)  # fmt: skip
def test_absence_needs_a_search_for_it_that_found_nothing(
    claim: str, entry: Evidence, verdict: str
) -> None:
    assert judge_absence(parse_claim(claim), [Source(entry)]).verdict == verdict
