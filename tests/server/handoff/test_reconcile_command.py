"""``keepthread reconcile`` from a terminal: what it prints and how it ends."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepthread.server.cli.main import main
from tests.server.handoff.project import Project, project_in


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    with project_in(tmp_path) as made:
        monkeypatch.chdir(made.repository.tree)
        yield made


def _run(project: Project, *arguments: str) -> int:
    environ = {
        "KEEPTHREAD_DB": str(project.world.db),
        "KEEPTHREAD_CONFIG": str(project.config),
        "KEEPTHREAD_EMBEDDER": "none",
    }
    return main(["reconcile", *arguments], environ)


def test_a_refuted_claim_is_a_finding(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    item = project.plan("Move billing", "in_progress", "done", scope=["path:services/"])
    assert _run(project) == 1
    assert f"{item} was claimed done and is not" in capsys.readouterr().out
    assert project.item(item).status == "in_progress"
    assert _run(project) == 0


def test_commands_run_unless_they_are_left_out(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.user_commands(project.command("tests", "pass"))
    item = project.plan("Port", "in_progress", "done", checks=["command:tests"])
    assert _run(project, "--no-commands") == 0
    assert "not confirmed" in capsys.readouterr().out
    assert _run(project, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["lines"] == [f"{item} is done: verified by command"]
    assert found["refuted"] == []


def test_without_a_plan_there_is_nothing_to_check(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(project) == 0
    assert capsys.readouterr().out == "nothing to check\n"
