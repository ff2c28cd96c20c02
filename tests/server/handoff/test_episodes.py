"""One episode for each closed window: when, how it ended, what came of it, in which entries."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepthread.server.cli.main import main
from tests.server.handoff.project import Project, agent_process, project_in, start_session
from tests.server.world import World


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with project_in(tmp_path) as made:
        yield made


def _episodes(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("- window-")]


def test_an_episode_tells_time_outcome_and_entries(project: Project) -> None:
    world = project.world
    world.say("Move billing to the new API")
    world.bash("make test", "2 failed\n", failed=True)
    world.bash("make test", "41 passed\n")
    done = project.plan("Move billing", "in_progress", scope=["path:services/"])
    project.repository.commit("moved", services__billing="x\n")
    project.move(done, "done")
    project.plan("Move docs", "in_progress")
    with world.connect(memory=project.memory) as session:
        session.observe("41 tests passed", "call-2")
        session.done("record_decision", decision="Keep the old port", reason="clients use it")
        session.refused(
            "record_fact", "uncited_observation", text="The port is 1", kind="observation"
        )
        session.done("hand_off", doing="moving", next="the docs", noticed="slow tests")
        text = session.read("memory://history")
        (episode,) = _episodes(text)
        assert episode.startswith("- window-1 [handed off, ")
        for told in (
            "calls (call-1 to call-", ", 1 failed", "done and verified: plan-1", "in progress: plan-2",
            "fact-1", "decision-1", "1 refused",
        ):  # fmt: skip
            assert told in episode, episode
        assert '- CLAIMED next: "the docs"' in text
        assert episode in session.read("memory://record/window-1")
        assert "window-2: open since" in session.done("read_record", id="window-2").text


def test_a_killed_windows_episode_ends_with_its_last_record(tmp_path: Path) -> None:
    world = World(tmp_path)
    with agent_process() as pid:
        start_session(world, "s1", pid)
        world.bash("make", "ok\n")
    with agent_process() as pid:
        start_session(world, "s2", pid)
        with world.connect() as session:
            (episode,) = _episodes(session.read("memory://history"))
    assert episode.startswith("- window-1 [killed without a note, ")
    assert "1 calls (call-1), 0 failed" in episode


def test_every_closed_window_has_its_episode(project: Project) -> None:
    for n in range(3):
        project.plan(f"Step {n}", "in_progress")
        project.close_window()
    with project.world.connect(memory=project.memory) as session:
        episodes = _episodes(session.read("memory://history"))
    assert [e.split()[1] for e in episodes] == ["window-3", "window-2", "window-1"]
    assert "in progress: plan-2" in episodes[1] and "plan-1" not in episodes[1]


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("plan", "plan-1 [in_progress"),
        ("handoff", 'CLAIMED next: "go on"'),
        ("log", "in progress: plan-1"),
    ],
)
def test_the_command_line_shows_plan_handoff_and_log(
    project: Project, command: str, shown: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    project.plan("Move docs", "in_progress")
    project.close_window()
    monkeypatch.chdir(project.repository.tree)
    environ = {"KEEPTHREAD_DB": str(project.world.db), "KEEPTHREAD_EMBEDDER": "none"}
    assert main([command], environ) == 0
    text = capsys.readouterr().out
    assert shown in text
    assert main([command, "--json"], environ) == 0
    assert json.loads(capsys.readouterr().out)["text"] == text
    assert len(_episodes(text)) <= 1  # looking on opens no window
