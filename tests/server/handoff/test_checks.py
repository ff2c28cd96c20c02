"""Declarative checks: each passes, fails, or says that it cannot tell."""

from pathlib import Path

import pytest

from keepthread.server.handoff.checks import FAIL, PASS, UNKNOWN, World, run_check
from keepthread.server.handoff.commands import Ran
from keepthread.server.handoff.git_truth import Change

CHANGES = (
    Change("services/billing.py", "committed"),
    Change("docs/a b.md", "untracked"),
)
RAN = {
    "green": Ran(0, "\n41 passed\n\n", 1.0),
    "red": Ran(1, "E\n2 failed\n", 1.0),
    "slow": Ran(None, "[stopped after 300 s]", 300.0),
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / "w"
    (made / "src").mkdir(parents=True)
    (made / "src" / "app.py").write_text("import fastapi: yes\n", encoding="utf-8")
    (made / "gone").symlink_to("nowhere")
    (tmp_path / "secret").write_text("fastapi\n", encoding="utf-8")
    return made


@pytest.mark.parametrize(
    ("check", "verdict", "seen"),
    [
        ("path_exists:src/app.py", PASS, "src/app.py exists"),
        ("path_exists:src/", PASS, "src exists"),
        ("path_exists:gone", PASS, "gone exists"),
        ("path_exists:src/none.py", FAIL, "src/none.py does not exist"),
        ("path_exists:../secret", UNKNOWN, "outside the workspace"),
        ("path_changed:services/billing.py", PASS, "services/billing.py committed"),
        ("path_changed:services/", PASS, "services/billing.py committed"),
        ("path_changed:./services", PASS, "services/billing.py committed"),
        ("path_changed:docs/a b.md", PASS, "untracked"),
        ("path_changed:service", FAIL, "nothing under service changed"),
        ("path_changed:services/billing", FAIL, "nothing under services/billing changed"),
        ("path_changed:out/", UNKNOWN, "kept out of version control"),
        ("file_contains:src/app.py:fastapi", PASS, "contains it"),
        ("file_contains:src/app.py:fastapi: yes", PASS, "contains it"),
        ("file_contains:src/app.py:flask", FAIL, "does not contain 'flask'"),
        ("file_contains:src/none.py:x", FAIL, "cannot be read"),
        ("file_contains:../secret:fastapi", UNKNOWN, "outside the workspace"),
        ("file_contains:gone:fastapi", UNKNOWN, "cannot be read"),
        ("file_contains:src:fastapi", UNKNOWN, "no regular file"),
        ("commit_mentions:Billing", PASS, "commit: move billing"),
        ("commit_mentions:invoice", UNKNOWN, "no commit since the item started"),
        ("command:green", PASS, "command green exited 0: 41 passed"),
        ("command:red", FAIL, "command red exited 1: 2 failed"),
        ("command:slow", UNKNOWN, "did not end: [stopped after 300 s]"),
        ("command:rm -rf /", UNKNOWN, "was not run"),
        ("shell:true", UNKNOWN, "not known"),
    ],
)
def test_a_check_tells_what_it_saw(tree: Path, check: str, verdict: str, seen: str) -> None:
    world = World(str(tree), CHANGES, ("move billing\n\nbody",), RAN.get, lambda p: p == "out")
    checked = run_check(check, world)
    assert checked.verdict == verdict
    assert seen in checked.seen


@pytest.mark.parametrize("check", ["path_changed:services/", "commit_mentions:billing"])
def test_where_git_cannot_tell_a_check_cannot_either(tree: Path, check: str) -> None:
    world = World(str(tree), None, None, RAN.get)
    assert run_check(check, world).verdict == UNKNOWN
