"""True facts, worded and cited as agents do, pass the whole gate; their mismatched twins do not.

Refusing a true fact is as much a fault as storing a false one.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from .world import ERAS, World

CI = """\
jobs:
  test:
    timeout: 300
    steps:
      - run: make install
      - run: make migrate
      - run: make build-ci
      - run: make test
"""
PYPROJECT = '[project]\nname = "billing"\nrequires-python = ">=3.11"\ndependencies = ["fastapi"]\n'
MODULES = "".join(f"module_{n:02}.py\n" for n in range(38))
SERVICE = """\
class InvoiceService:
    def create(self, order):
        for attempt in range(3):  # retries
            if self._send(order):
                return True
        raise InvoiceNotSent(order)
"""
CONTRIBUTING = "# Contributing\n\nPlease never format gen/: it is made by a script.\n"


class Example(NamedTuple):
    """What happened, the fact with its citation, and the twin that must not pass."""

    name: str
    given: Callable[[World], None]
    text: str
    source: str
    twin: str
    kind: str = "observation"
    twin_code: str = "not_in_source"


def _runs(*outputs: str, command: str = "pytest -q tests/test_sync.py") -> Callable[[World], None]:
    def given(world: World) -> None:
        for output in outputs:
            world.bash(command, output, failed="failed" in output)

    return given


def _psycopg(world: World) -> None:
    world.bash("pip show psycopg", "Name: psycopg\nVersion: 3.1.8\n")
    world.bash(
        "pytest -q tests/test_db.py",
        "psycopg.OperationalError: SSL SYSCALL error: EOF detected\n1 failed\n",
        failed=True,
    )
    world.bash("PGSSLMODE=disable pytest -q tests/test_db.py", "12 passed in 2.10s\n")


def _staging(world: World) -> None:
    world.read_file("deploy/hosts.yml", "staging:\n  host: staging.example.net\n")
    world.read_file("services/api/settings.py", 'BASE_PATH = "/billing/v2"\n')


EXAMPLES = [
    Example(
        "build command",
        lambda w: w.read_file("ci.yml", CI),
        "The build command is `make build-ci`",
        "file:ci.yml",
        "The build command is `make build-all`",
    ),
    Example(
        "python version",
        lambda w: w.read_file("pyproject.toml", PYPROJECT),
        "The project needs Python 3.11 or newer",
        "file:pyproject.toml",
        "The project needs Python 3.12 or newer",
    ),
    Example(
        "counted modules",
        lambda w: w.bash("ls src/", MODULES),
        "There are 38 modules in src/",
        "tool:Bash",
        "There are 37 modules in src/",
    ),
    Example(
        "flaky test",
        _runs("1 passed", "1 failed", "1 passed", "1 failed", "1 passed"),
        "tests/test_sync.py is flaky: 2 of 5 runs failed",
        "call-1, call-2, call-3, call-4, call-5",
        "tests/test_sync.py is flaky: 4 of 5 runs failed",
    ),
    Example(
        "time limit in other units",
        lambda w: w.read_file("ci.yml", CI),
        "The CI time limit is five minutes",
        "file:ci.yml",
        "The CI time limit is ten minutes",
    ),
    Example(
        "empty search",
        lambda w: w.tool("Grep", {"pattern": "import flask", "path": "src"}, {"filenames": []}),
        "No module imports flask",
        "tool:Grep",
        "No module imports django",
    ),
    Example(
        "rounded duration",
        lambda w: w.bash("time make build-ci", "built\nreal 4m11s\n"),
        "A build takes about 4 minutes",
        "tool:Bash",
        "A build takes about 9 minutes",
    ),
    Example(
        "order of steps",
        lambda w: w.read_file("ci.yml", CI),
        "In CI, migrations run before the tests",
        "file:ci.yml",
        "In CI, migrations run before the linter",
    ),
    Example(
        "what a document asks",
        lambda w: w.read_file("CONTRIBUTING.md", CONTRIBUTING),
        "CONTRIBUTING asks never to format gen/",
        "file:CONTRIBUTING.md",
        "CONTRIBUTING asks never to format vendor/",
    ),
    Example(
        "bug and workaround",
        _psycopg,
        "psycopg 3.1.8 fails with `SSL SYSCALL error`; PGSSLMODE=disable works around it",
        "call-1, call-2, call-3",
        "psycopg 3.2.1 fails with `SSL SYSCALL error`; PGSSLMODE=disable works around it",
    ),
    Example(
        "address in two files",
        _staging,
        "The staging URL is staging.example.net/billing/v2",
        "file:deploy/hosts.yml, file:services/api/settings.py",
        "The staging URL is staging.example.net/billing/v3",
    ),
    Example(
        "retries in code",
        lambda w: w.read_file("services/invoice.py", SERVICE),
        "`InvoiceService.create` retries 3 times",
        "file:services/invoice.py",
        "`InvoiceService.create` retries 5 times",
    ),
    Example(
        "stated by the user",
        lambda w: w.say("By the way, the platform team owns billing."),
        "The platform team owns billing",
        "user",
        "The payments team owns billing",
    ),
    Example(
        "the user's wish",
        lambda w: w.say("Go on. And keep commits tiny."),
        "The user prefers small commits: keep commits tiny",
        "user",
        "The user prefers large commits: one per feature",
        kind="instruction-from-user",
        twin_code="not_the_users_words",
    ),
    Example(
        "commit that reverted",
        lambda w: w.bash(
            "git log --oneline -3",
            '3f2c1ab Revert "Pool connections"\n77aa010 Pool connections\n1b2c3d4 Start\n',
        ),
        "Commit 3f2c1ab reverted the connection pool",
        "tool:Bash",
        "Commit 9c0ffee reverted the connection pool",
    ),
]


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name.replace(" ", "-"))
def test_a_true_fact_passes_and_its_twin_is_refused(
    example: Example, mode: str, tmp_path: Path
) -> None:
    world = World(tmp_path)
    world.hook("SessionStart", source="startup")
    example.given(world)
    with world.connect(mode) as session:
        fact = {"kind": example.kind, "source": example.source}
        twin = session.refused("record_fact", example.twin_code, text=example.twin, **fact)
        assert "\n- " in twin.text, "the refusal quotes what was really said"
        answer = session.done("record_fact", text=example.text, **fact)
        assert answer.data["action"] == "added"
        assert answer.data["source"].split("#")[-1].split(":")[-1] in session.window()
        assert answer.data["passage"] in session.read(f"memory://record/{answer.id}")
