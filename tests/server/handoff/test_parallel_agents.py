"""Several agents in one workspace: each sees what the others did, and nobody's write is lost."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from keepthread.server.memory import Memory
from keepthread.stores.ledger import item_history
from keepthread.validators.verdict import Refused
from keepthread.validators.writes.decisions import record_decision
from keepthread.validators.writes.facts import record_fact
from keepthread.validators.writes.plan import update_plan_item
from keepthread.validators.writes.tasks import start_task
from tests.server.handoff.project import Project, project_in
from tests.server.handoff.repository import Repository
from tests.server.world import World

WRITER = """
import sys
from keepthread.server.memory import Client, Memory
from keepthread.server.places import Place
from keepthread.server.settings import Settings
from keepthread.validators.verdict import Refused
from keepthread.validators.writes.plan import update_plan_item

db, tree, name = sys.argv[1:]
settings = Settings(db=db, embedder="none", writes_per_window=0, writes_between_calls=0)
memory = Memory(settings, Place(tree, tree), client=Client("test", name))
sys.stdin.read()  # all begin at once
for n in range(8):
    update_plan_item(memory.gate, memory.caller(), title=f"{name} item {n}")
    for status in ("in_progress", "done"):
        for attempt in range(50):
            try:
                caller = memory.caller()
                item = memory.gate.view(caller).item("plan-1")
                update_plan_item(memory.gate, caller, item="plan-1", note=f"{name} {n} {status}",
                                 expected_version=item.version)
                break
            except Refused as refused:
                assert refused.refusal.code == "stale_version", refused
        else:
            sys.exit("never got through")
print("ok")
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with project_in(tmp_path) as made:
        yield made


@pytest.fixture
def other(project: Project) -> Iterator[Memory]:
    """The memory of a second agent, whose window was opened by a hook of its own."""
    opened = project.open("s2")
    project.world.hook("SessionStart", source="startup")
    yield opened
    opened.close()


def _refusal(memory: Memory, **change: object) -> Refused:
    with pytest.raises(Refused) as caught:
        update_plan_item(memory.gate, memory.caller(), **change)  # type: ignore[arg-type]
    return caught.value


def test_of_two_windows_that_update_one_item_the_second_learns_its_current_state(
    project: Project, other: Memory
) -> None:
    item = project.plan("Move billing")
    seen = project.item(item).version
    project.move(item, "in_progress", note="on it, from window 1")
    refused = _refusal(other, item=item, status="skipped", note="not needed", expected_version=seen)
    assert refused.refusal.code == "stale_version"
    told = str(refused)
    assert "version 2 (in_progress)" in told
    assert "on it, from window 1" in told
    assert "expected_version=2" in told
    assert project.item(item).status == "in_progress"


def test_a_window_that_was_shown_an_item_need_not_name_its_version_to_be_refused(
    project: Project, other: Memory
) -> None:
    item = project.plan("Move billing")
    other.context()
    project.move(item, "in_progress")
    assert _refusal(other, item=item, status="done").refusal.code == "stale_version"
    other.context()
    update_plan_item(other.gate, other.caller(), item=item, status="done")
    assert project.item(item).status == "done"


def test_threads_that_race_for_one_version_have_one_winner(tmp_path: Path) -> None:
    with project_in(tmp_path) as project:
        item = project.plan("Contested")
        memories = [project.open(f"t{n}") for n in range(6)]
        ready = Barrier(len(memories))

        def claim(memory: Memory) -> str:
            caller = memory.caller()
            ready.wait()
            try:
                update_plan_item(
                    memory.gate, caller, item=item, status="in_progress", expected_version=1,
                    note=memory.client.session,
                )  # fmt: skip
            except Refused as refused:
                return refused.refusal.code
            return memory.client.session

        with ThreadPoolExecutor(len(memories)) as pool:
            answers = list(pool.map(claim, memories))
        for memory in memories:
            memory.close()
        (winner,) = [a for a in answers if a != "stale_version"]
        now = project.item(item)
        assert (now.version, now.note) == (2, winner)


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    with project_in(tmp_path) as project:
        item = project.plan("Shared")
        tree, environ = str(project.repository), {**os.environ, "PYTHONPATH": _import_path()}
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(project.world.db), tree, f"agent{n}"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ,
            )
            for n in range(3)
        ]  # fmt: skip
        outputs = [writer.communicate("", timeout=60)[0].strip() for writer in writers]
        assert outputs == ["ok"] * 3
        plan = project.memory.gate.view(project.memory.caller()).items()
        titles = {i.title for i in plan}
        assert titles == {"Shared"} | {f"agent{n} item {k}" for n in range(3) for k in range(8)}
        shared = next(i for i in plan if i.id == item)
        notes = [h.note for h in item_history(project.memory.reader, shared.item)]
        assert len(notes) == len(set(notes)) == shared.version == 1 + 3 * 8 * 2


def _import_path() -> str:
    return os.pathsep.join(p for p in sys.path if p)


def test_dependencies_that_would_close_a_circle_are_refused_through_any_window(
    project: Project, other: Memory
) -> None:
    first = project.plan("First")
    second = project.plan("Second", depends_on=[first])
    third = project.plan("Third", depends_on=[second])
    refused = _refusal(other, item=first, depends_on=[third])
    assert refused.refusal.code == "unmet_dependency"
    assert "depend on itself" in str(refused)
    assert _refusal(other, item=first, depends_on=[first]).refusal.code == "unmet_dependency"


def test_each_window_shows_what_the_others_decided_and_finished(
    project: Project, other: Memory
) -> None:
    item = project.plan("Move billing", "in_progress", scope=["path:services/"])
    project.repository.commit("moved", services__billing="x\n")
    project.move(item, "done")
    project.reconcile()
    record_decision(
        project.memory.gate, project.memory.caller(),
        decision="Keep the old port", reason="the proxy points there",
    )  # fmt: skip
    shown = other.context().text
    assert f"- {item} [done, verified" in shown
    assert '"Keep the old port" · because "the proxy points there"' in shown


def test_what_another_agents_hook_saw_can_be_read_and_cited(
    project: Project, other: Memory
) -> None:
    project.world.session = "s1"
    project.world.bash("cat port", "port = 9090\n")
    shown = other.context().text
    assert '"cat port" → "port = 9090"' in shown
    made = record_fact(
        other.gate, other.caller(), text="The port is 9090", kind="observation", source="call-1"
    )
    assert made.action == "added"


def test_of_facts_the_latest_observation_wins_whoever_recorded_it(
    project: Project, other: Memory
) -> None:
    project.world.session = "s1"
    project.world.bash("cat port", "port = 8080\n")
    project.world.session = "s2"
    project.world.bash("cat port", "port = 9090\n")
    record_fact(
        other.gate, other.caller(), text="The port is 9090", kind="observation", source="call-2",
        subject="port",
    )  # fmt: skip
    with pytest.raises(Refused) as refused:
        record_fact(
            project.memory.gate, project.memory.caller(), text="The port is 8080",
            kind="observation", source="call-1", subject="port",
        )  # fmt: skip
    assert refused.value.refusal.code == "older_than_belief"
    project.world.session = "s1"
    project.world.bash("cat port", "port = 7070\n")
    record_fact(
        project.memory.gate, project.memory.caller(), text="The port is 7070", kind="observation",
        source="call-3", subject="port",
    )  # fmt: skip
    facts = other.context().text.split("== FACTS ")[1].split("== TAIL ")[0]
    assert '"The port is 7070"' in facts
    assert '"The port is 9090"' not in facts


def test_a_settled_decision_falls_to_explicit_supersession_only_whoever_made_it(
    project: Project, other: Memory
) -> None:
    by = project.memory
    record_decision(
        by.gate, by.caller(), decision="Pool connections with PgBouncer", reason="too many of them",
        alternatives=["a pool inside the app"],
    )  # fmt: skip
    change = {"decision": "Use a pool inside the app", "reason": "one service fewer to run"}
    with pytest.raises(Refused) as refused:
        record_decision(other.gate, other.caller(), **change)
    assert refused.value.refusal.code == "settled_decision"
    record_decision(other.gate, other.caller(), **change, supersedes="decision-1")
    shown = by.context().text.split("== DECISIONS ")[1].split("== FACTS ")[0]
    assert '"Use a pool inside the app"' in shown
    assert "- decision-1 " not in shown


def test_sessions_on_two_tasks_keep_two_plans(project: Project, other: Memory) -> None:
    project.plan("Common")
    project.world.session = "s2"
    project.world.say("Rewrite the docs in plain words")
    start_task(other.gate, other.caller(), goal="Rewrite the docs in plain words", source="user")
    update_plan_item(other.gate, other.caller(), title="Chapter one")
    assert '"Chapter one"' in other.context().text
    mine = project.memory.context().text
    assert '"Chapter one"' not in mine
    assert '"Common"' in mine


def test_a_claim_is_checked_in_the_work_tree_it_was_made_in(
    project: Project, tmp_path: Path
) -> None:
    elsewhere = project.repository.worktree(tmp_path / "elsewhere", "feature")
    theirs = World(tmp_path, session="s2")
    theirs.tree = elsewhere.tree
    theirs.hook("SessionStart", source="startup")
    feature = _memory_in(theirs, project)
    try:
        item = project.plan("Move billing", "in_progress", memory=feature, scope=["path:services/"])
        elsewhere.commit("moved", services__billing="x\n")
        project.move(item, "done", memory=feature)
        assert project.reconcile() == {item: "verified"}
    finally:
        feature.close()


def test_where_the_work_tree_of_a_claim_is_gone_it_is_not_refuted(
    project: Project, tmp_path: Path
) -> None:
    elsewhere = project.repository.worktree(tmp_path / "elsewhere", "feature")
    theirs = World(tmp_path, session="s2")
    theirs.tree = elsewhere.tree
    theirs.hook("SessionStart", source="startup")
    feature = _memory_in(theirs, project)
    try:
        moved = project.plan("Move", "in_progress", memory=feature, scope=["path:services/"])
        lost = project.plan("Lose", "in_progress", memory=feature, scope=["path:lost/"])
        elsewhere.commit("moved", services__billing="x\n")
        project.move(moved, "done", memory=feature)
        project.move(lost, "done", memory=feature)
    finally:
        feature.close()
    project.repository.git("worktree", "remove", "--force", str(elsewhere))
    assert project.reconcile() == {moved: "unconfirmed", lost: "unconfirmed"}
    project.repository.git("merge", "-q", "feature")
    assert project.reconcile() == {moved: "verified", lost: "unconfirmed"}


def _memory_in(world: World, project: Project) -> Memory:
    """Open a memory in a work tree of the project's repository: one workspace, another tree."""
    opened = world.memory(settings={"config": str(project.config)})
    opened.place = opened.place._replace(workspace=str(Repository(project.world.tree, init=False)))
    return opened


def test_two_agents_of_one_session_are_told_apart(project: Project) -> None:
    project.world.hook(
        "PostToolUse", tool_name="Bash", tool_input={"command": "make docs"}, agent_id="writer-1",
        tool_response={"stdout": "built", "stderr": "", "interrupted": False}, tool_use_id="x1",
    )  # fmt: skip
    project.world.bash("make test", "passed\n")
    shown = project.memory.context().text
    assert 'by "writer-1"]: "make docs"' in shown
    assert 'by "writer-1"]: "make test"' not in shown
