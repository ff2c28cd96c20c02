import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepthread.validators.evidence import Evidence
from keepthread.validators.grounding import ground
from tests.validators.grounding_operations import OPERATIONS
from tests.validators.grounding_pairs import FIFTEEN, PAIRS, edited, read, said, shell
from tests.validators.grounding_reports import REPORTS
from tests.validators.grounding_services import SERVICES
from tests.validators.grounding_wording import WORDING

ALL_PAIRS = PAIRS + OPERATIONS + SERVICES + REPORTS + WORDING

PORT = read("config.yml", "port: 8080\n")
VERBOSE = shell(
    "pytest -v",
    "tests/test_a.py::test_login PASSED\ntests/test_a.py::test_logout FAILED\n1 failed, 1 passed",
    failed=True,
)


@pytest.mark.parametrize(("claim", "_twin", "cited", "_other"), FIFTEEN)
def test_a_true_fact_is_grounded(
    claim: str, _twin: str, cited: tuple[Evidence, ...], _other: tuple[Evidence, ...]
) -> None:
    assert ground(claim, cited).grounded, ground(claim, cited).why


@pytest.mark.parametrize(("_claim", "twin", "_cited", "other"), FIFTEEN)
def test_its_mismatched_twin_is_refused(
    _claim: str, twin: str, _cited: tuple[Evidence, ...], other: tuple[Evidence, ...]
) -> None:
    assert not ground(twin, other).grounded


@pytest.mark.parametrize(("claim", "twin", "entry"), ALL_PAIRS)
def test_a_claim_about_tool_output_is_grounded_and_its_twin_refused(
    claim: str, twin: str, entry: Evidence
) -> None:
    assert ground(claim, [entry]).grounded, ground(claim, [entry]).why
    assert not ground(twin, [entry]).grounded


@pytest.mark.parametrize(
    ("claim", "entry"),
    [
        ("All tests pass", shell("echo 'all tests pass'", "all tests pass")),
        ("12 tests passed", shell("printf '%s passed\\n' 12", "12 passed")),
        ("The port is 8080", shell("echo 'port: 8080'", "port: 8080")),
        ("The port is 8080", shell("cat <<EOF\nport: 8080\nEOF", "port: 8080")),
        ("The port is 8080", shell("python -c \"print('port: 8080')\"", "port: 8080")),
        ("The port is 8080", shell("python3 - <<'E'\nprint('port: 8080')\nE", "port: 8080")),
        (
            "The deploy key is rotated every 90 days",
            shell(
                "node -e 'console.log(\"deploy key is rotated every 90 days\")'",
                "deploy key is rotated every 90 days",
            ),
        ),
        ("config.py sets retries to 7", shell("grep -n 'retries = 7' config.py", "")),
        (
            "requests 2.31.0 is installed",
            shell("pip install requests==2.31.0", "ERROR: No matching distribution", failed=True),
        ),
        (
            "The retry count in client.py is now 5",
            edited("client.py", "RETRIES = 3", "RETRIES = 5", "Error: String not found in file"),
        ),
    ],
)
def test_what_only_the_arguments_say_grounds_nothing(claim: str, entry: Evidence) -> None:
    assert not ground(claim, [entry]).grounded


@pytest.mark.parametrize(
    ("claim", "entry"),
    [
        (
            "fastapi is at version 0.111.0",
            shell("python -c 'import fastapi; print(fastapi.__version__)'", "0.111.0"),
        ),
        ("The port is 8080", shell("echo checking; cat config.yml", "checking\nport: 8080\n")),
        ("`pytest -x tests/unit` was run", shell("pytest -x tests/unit", "3 passed in 0.2s")),
        (
            "The retry count in client.py is now 5",
            edited("client.py", "RETRIES = 3", "RETRIES = 5", "client.py has been updated."),
        ),
    ],
)
def test_what_a_call_computed_or_ran_is_grounded(claim: str, entry: Evidence) -> None:
    assert ground(claim, [entry]).grounded


@pytest.mark.parametrize("role", ["assistant", "machine"])
def test_messages_of_assistant_and_client_ground_nothing(role: str) -> None:
    message = said("the port is 8080", role=role)
    assert not ground("The port is 8080", [message]).grounded
    assert ground("The port is 8080", [message, PORT]).grounded


@pytest.mark.parametrize(
    ("claim", "words", "expected"),
    [
        ("Is the port 8080?", "the port is 8080", False),
        ("The platform team owns billing", "does the platform team own billing?", False),
        ("The user wants Postgres 16", "should we move to Postgres 16?", False),
        ("The user wants tabs, not spaces", "can you please use tabs for indentation?", True),
        ("The user asked whether the port is 8080", "is the port 8080?", True),
    ],
)
def test_a_question_asserts_nothing(claim: str, words: str, expected: bool) -> None:
    assert ground(claim, [said(words)]).grounded is expected


@pytest.mark.parametrize(
    ("claim", "words", "expected"),
    [
        ("The user wants type hints everywhere", "please add type hints in all new code", True),
        ("Deployments happen on Fridays", "btw we deploy every friday", True),
        ("Deployments happen on Mondays", "btw we deploy every friday", False),
        ("The user does not want new dependencies", "don't add new dependencies please", True),
        ("The user wants new dependencies", "don't add new dependencies please", False),
        ("The user prefers squash merges", "always squash when you merge", True),
        ("Anna is the release manager", "Anna is our release manager, ask her for tags", True),
        ("Bob is the release manager", "Anna is our release manager, ask her for tags", False),
        ("The budget is 300 euros a month", "we have 300 euros per month as the budget", True),
        ("The budget is 400 euros a month", "we have 300 euros per month as the budget", False),
    ],
)
def test_the_users_words_ground_their_paraphrase(claim: str, words: str, expected: bool) -> None:
    assert ground(claim, [said(words)]).grounded is expected


@pytest.mark.parametrize(
    ("claim", "text", "expected"),
    [
        ("The timeout is 60", "timeout = 600", False),
        ("The timeout is 60", "timeout = 300\nretries = 60", False),
        ("Python 3.1 is used", "python 3.11", False),
        ("Python 3.11 is used", "python 3.11.4", True),
        ("The limit is 120", "limit = 1200", False),
        ("The limit is 200", "limit = 1,200", False),
        ("The limit is 1200", "limit = 1_200", True),
        ("The id is 42", "id = abc42", False),
        ("The wait is 300 s", "wait = '300ms'", False),
        ("The wait is 300 ms", "wait = '300s'", False),
        ("The wait is 300 ms", "wait_ms = 300", True),
        ("The wait is 300 s", "wait_ms = 300", False),
        ("The wait is half a second (500 ms)", "wait = '0.5s'", True),
        ("DEBUG is set to False", "DEBUG = False", True),
        ("DEBUG is set to True", "DEBUG = False", False),
        ("The export feature is enabled", "export_feature: true", True),
        ("The export feature is disabled", "export_feature: true", False),
        ("Backups are encrypted", "Backups are not encrypted yet.", False),
        ("Backups are not encrypted", "Backups are not encrypted yet.", True),
        ("The API requires authentication", "All API endpoints require authentication.", True),
        ("The API does not require authentication", "All API endpoints require authentication.",
         False),
        ("The cache is cleared after a deploy", "# clear the cache before each deploy", False),
        ("It needs Node 20 or newer", "node >= 20", True),
        ("It needs Node 20 or older", "node >= 20", False),
        ("`ruff check .` is the lint command", "lint:\n\truff check .", True),
        ("`ruff check --fix .` is the lint command", "lint:\n\truff check .", False),
        ("`make build` builds the image", "run: make build-ci  # builds the image", False),
        ("The moon is made of cheese", "Backups are not encrypted yet.", False),
    ],
)  # fmt: skip
def test_values_and_contraries_are_compared_exactly(claim: str, text: str, expected: bool) -> None:
    assert ground(claim, [read("notes/settings.txt", text + "\n")]).grounded is expected


@pytest.mark.parametrize(
    ("claim", "entry", "expected"),
    [
        ("test_login passes", VERBOSE, True),
        ("test_logout passes", VERBOSE, False),
        ("test_logout fails", VERBOSE, True),
        ("The frontend build succeeds", shell("pytest -q", "40 passed in 2s"), False),
        (
            "The frontend build succeeds",
            shell("cd frontend && npm run build", "vite v5\n✓ built in 3.1s"),
            True,
        ),
        (
            "The middleware check passes the token to the handler",
            read("mw.py", "def check(token):  # middleware: pass the token to the handler\n"),
            True,
        ),
        ("The deploy exits with status 3", shell("./deploy.sh", "exit status 3"), True),
    ],
)
def test_outcomes_are_those_of_the_run_that_is_named(
    claim: str, entry: Evidence, expected: bool
) -> None:
    assert ground(claim, [entry]).grounded is expected


def test_claims_are_refused_against_entries_of_other_calls() -> None:
    pairs = ALL_PAIRS
    outputs = list(dict.fromkeys(entry for _, _, entry in pairs))
    wrong = [
        (claim, other.args)
        for claim, _, entry in pairs
        for other in outputs
        if other.output != entry.output and ground(claim, [other]).grounded
    ]
    tried = len(pairs) * (len(outputs) - 1)
    assert len(wrong) <= 0.01 * tried, wrong


def test_a_passage_points_at_the_supporting_output() -> None:
    entry = read("app.toml", "name = 'portal'\n" * 60 + "idle_timeout = 45\n" + "x = 1\n" * 60)
    passage = ground("idle_timeout is 45", [entry]).passages[0]
    assert "idle_timeout = 45" in entry.output[passage.start : passage.stop]
    assert passage.entry == entry.entry
    assert passage.stop - passage.start < 500


def test_a_refusal_says_what_is_missing_and_quotes_what_is_near() -> None:
    refused = ground("idle_timeout is 54", [read("app.toml", "idle_timeout = 45\n")])
    assert refused.missing == ("54",)
    assert "54" in refused.why
    assert 1 <= len(refused.nearest) <= 3
    assert refused.passages == ()


@pytest.mark.parametrize(
    ("claim", "entries", "hint"),
    [
        ("All tests pass", [shell("pytest -q | tail -1", "")], "hides"),
        ("All tests pass", [shell("pytest", "2 failed, 9 passed", failed=True)], "2 failed"),
        ("3 tests failed", [shell("pytest", "2 failed, 9 passed", failed=True)], "2 failed, not 3"),
        ("The port is 8080", [shell("echo port 8080", "port 8080")], "arguments"),
        ("Is it 3?", [PORT], "question"),
        ("The port is 8080", [said("the port is 8080", role="assistant")], "no evidence"),
    ],
)
def test_the_reason_tells_a_model_what_is_wrong(
    claim: str, entries: list[Evidence], hint: str
) -> None:
    assert hint in ground(claim, entries).why


def test_only_text_that_the_model_wrote_is_marked() -> None:
    note = PORT._replace(model_written=True)
    assert ground("The port is 8080", [note]).model_written
    assert not ground("The port is 8080", [PORT]).model_written
    arguments_only = edited("client.py", "RETRIES = 3", "RETRIES = 5", "Done.")
    assert ground("RETRIES in client.py is 5", [arguments_only]).model_written


def test_values_may_be_spread_over_the_cited_entries() -> None:
    host, path = FIFTEEN[10][2]
    claim = FIFTEEN[10][0]
    assert ground(claim, [host, path]).grounded
    assert not ground(claim, [host]).grounded
    assert not ground(claim, [path]).grounded


def test_embeddings_see_few_passages_and_decide_only_what_words_leave_open() -> None:
    entry = read("guide.md", "Invoices are archived nightly by the janitor service.\n" * 400)
    seen: list[int] = []

    def similarity(claim: str, passages: Sequence[str]) -> Sequence[float]:
        seen.append(len(passages))
        return [0.9] * len(passages)

    assert (
        ground("Bills get moved to cold storage every night: invoices", [entry]).grounded is False
    )
    assert ground("Old invoices move to cold storage nightly", [entry], similarity).grounded
    assert seen
    assert max(seen) <= 16
    seen.clear()
    assert not ground("The archive holds 90 days of invoices", [entry], similarity).grounded
    assert seen == []  # a missing value is not a matter of meaning


@pytest.mark.parametrize(
    "claim",
    ["a-1" * 330, "1h 1m " * 160, "a/" * 450 + "x", "x=1 " * 240, "`a " * 330, "2 of 5 " * 140,
     "1,000" * 190, "a.b1" * 240, "no " * 330],
)  # fmt: skip
@pytest.mark.parametrize(
    "output", ["1" * 20_000, "a-1 " * 5_000, "1h1m " * 4_000, 'x = "y" ' * 2_500, "a:\n" * 6_000]
)
def test_hostile_text_costs_linear_time(claim: str, output: str) -> None:
    entry = shell("cat x", output)
    started = time.process_time()
    ground(claim, [entry])
    assert time.process_time() - started < 0.5


@given(st.text(max_size=80), st.text(max_size=300), st.text(max_size=60))
def test_any_text_gets_a_verdict_with_passages_inside_the_output(
    claim: str, output: str, args: str
) -> None:
    entry = Evidence("call-1", tool="Bash", args=args, output=output)
    verdict = ground(claim, [entry])
    for passage in verdict.passages + verdict.nearest:
        assert 0 <= passage.start <= passage.stop <= len(output)


@pytest.mark.parametrize(
    ("claim", "command", "output"),
    [
        (
            "The editable install of billing went through",
            "grep -rn timeout src",
            "src/a.py:3: timeout",
        ),
        ("The migration went through", "ls -la build", "total 0"),
        ("The upgrade of the gateway succeeded", "cat VERSION", "2.4.1"),
    ],
)
def test_that_a_call_went_well_says_nothing_of_another_run(
    claim: str, command: str, output: str
) -> None:
    assert not ground(claim, [shell(command, output)]).grounded
    runs = {
        "install": "pip install -e billing",
        "migration": "./manage migrate",
        "upgrade": "helm upgrade gateway",
    }
    (done,) = (run for word, run in runs.items() if word in claim)
    assert ground(claim, [shell(done, "ok")]).grounded


@pytest.mark.parametrize(
    ("claim", "command", "holds"),
    [
        ("The build succeeded", "make build", True),
        ("The deploy succeeded", "make deploy ENV=staging", True),
        ("Billing was deployed to staging", "make deploy ENV=staging", True),
        ("The image was pushed", "docker push registry/app:3", True),
        ("The deploy succeeded", "make build", False),
        ("The build succeeded", "make build | tail -1", False),
        ("The deploy succeeded", "grep -n deploy Makefile", False),
    ],
)
def test_a_run_that_names_it_and_ends_well_shows_that_it_was_done(
    claim: str, command: str, holds: bool
) -> None:
    assert ground(claim, [shell(command, "done")]).grounded is holds
    assert not ground(claim, [shell(command, "error: no route", failed=True)]).grounded
