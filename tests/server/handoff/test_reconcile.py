"""The ledger against the world: evidence wins, in both directions, and no more than it shows."""

import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from keepthread.server.handoff.commands import approve
from keepthread.stores.archive import entries
from keepthread.stores.facts import load_facts
from keepthread.stores.query import fetch_all
from keepthread.stores.records import Entry, Fact
from keepthread.validators.writes.plan import update_plan_item
from tests.server.handoff.project import Project, project_in

PATH = ["path:services/"]
FILE_SAYS = "import sys; sys.exit('red' in open('state').read())"
"""A project-wide check that is red while the file ``state`` says so."""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with project_in(tmp_path) as made:
        yield made


def _facts(project: Project) -> list[Fact]:
    rows = fetch_all(project.memory.reader, "SELECT seq FROM fact_current ORDER BY seq")
    return list(load_facts(project.memory.reader, [seq for (seq,) in rows]).values())


def _cited(project: Project, fact: Fact) -> Entry:
    return entries(project.memory.reader, [fact.citations[0].entry])[fact.citations[0].entry]


def _suite(project: Project, state: str) -> None:
    project.repository.write("state", state)
    project.user_commands(project.command("tests", FILE_SAYS))


def test_a_claim_that_the_repository_confirms_is_verified_with_its_evidence(
    project: Project,
) -> None:
    item = project.plan("Move billing", "in_progress", scope=PATH)
    project.repository.commit("moved", services__billing="x\n")
    project.move(item, "done")
    assert project.reconcile() == {item: "verified"}
    now = project.item(item)
    assert now.verified and now.status == "done"
    evidence = entries(project.memory.reader, [now.evidence or 0])[now.evidence or 0]
    assert (evidence.channel, evidence.level) == ("check", 4)
    assert "services/billing.py committed" in evidence.output
    assert project.reconcile() == {}


def test_a_refuted_claim_goes_back_and_the_disagreement_is_a_fact_that_cites_the_check(
    project: Project,
) -> None:
    item = project.plan("Move billing", "in_progress", "done", scope=PATH)
    assert project.reconcile() == {item: "refuted"}
    now = project.item(item)
    assert now.status == "in_progress" and not now.verified
    assert "refuted by path_changed:services/" in now.note
    (fact,) = _facts(project)
    assert f"{item} was claimed done, but path_changed:services/ fails" in fact.text
    entry = _cited(project, fact)
    assert (entry.channel, entry.level, entry.is_error) == ("check", 4, True)
    assert fact.kind == "observation"


def test_a_disagreement_cites_the_line_of_the_command_that_says_so(project: Project) -> None:
    project.user_commands(
        project.command("tests", "import sys; print('collected 9'); sys.exit('2 failed')")
    )
    item = project.plan("Port", "in_progress", "done", checks=["command:tests"])
    assert project.reconcile() == {item: "refuted"}
    (fact,) = _facts(project)
    entry, cited = _cited(project, fact), fact.citations[0]
    assert "2 failed" in fact.text
    assert entry.output[cited.start : cited.stop] == "2 failed"


@pytest.mark.parametrize("claimed_again", [True, False])
def test_a_disagreement_is_taken_back_when_the_item_is_looked_at_again_and_holds(
    project: Project, claimed_again: bool
) -> None:
    item = project.plan("Move billing", "in_progress", "done", scope=PATH)
    project.reconcile()
    project.repository.commit("really moved", services__billing="x\n")
    if claimed_again:
        project.move(item, "done")
    assert project.reconcile() == {item: "verified" if claimed_again else "offered"}
    assert _facts(project) == []


def test_a_disagreement_that_still_holds_stays_the_only_one(project: Project) -> None:
    item = project.plan("Move billing", "in_progress", "done", scope=PATH)
    project.reconcile()
    project.move(item, "done")
    assert project.reconcile() == {item: "refuted"}
    assert len(_facts(project)) == 1


def test_what_no_check_can_tell_stays_claimed(project: Project) -> None:
    project.user_commands(project.command("other", "pass"))
    unrun = project.plan("Tests pass", "in_progress", "done", checks=["command:nobody_named_it"])
    said = project.plan("Tell the team", "in_progress", "done", checks=["commit_mentions:told"])
    plain = project.plan("Think", "in_progress", "done")
    assert project.reconcile() == {unrun: "unconfirmed", said: "unconfirmed"}
    assert [project.item(i).status for i in (unrun, said, plain)] == ["done"] * 3
    assert any(unrun in line and "not confirmed" in line for line in project.report().lines())


def test_one_failing_check_of_several_refutes_and_one_unknown_only_withholds(
    project: Project,
) -> None:
    project.repository.commit("one", services__a="x\n")
    half = project.plan(
        "Half", "in_progress", "done", checks=["path_exists:a.py", "path_exists:nowhere"]
    )
    part = project.plan(
        "Part", "in_progress", "done", checks=["path_exists:a.py", "commit_mentions:part"]
    )
    assert project.reconcile() == {half: "refuted", part: "unconfirmed"}


def test_evidence_for_what_was_never_claimed_is_offered_not_assumed(project: Project) -> None:
    item = project.plan("Move billing", "in_progress", scope=PATH)
    waiting = project.plan("Later", scope=PATH)
    project.repository.commit("moved", services__billing="x\n")
    assert project.reconcile() == {item: "offered"}
    assert project.item(item).status == "in_progress"
    assert project.item(waiting).status == "pending"
    assert f"{item} looks done (path_changed only) but was not claimed" in project.report().lines()


def test_items_declared_to_need_no_change_stay_done(project: Project) -> None:
    item = project.plan("Move docs", "in_progress", scope=PATH)
    project.move(item, "done", note="No change needed: it never used the old API")
    assert project.reconcile() == {item: "unconfirmed"}
    assert project.item(item).status == "done"


def test_a_change_under_ignored_paths_cannot_be_told(project: Project) -> None:
    project.repository.write(".gitignore", "dist/\n")
    item = project.plan("Build", "in_progress", scope=["path:dist/"])
    project.repository.write("dist/out.js")
    project.move(item, "done")
    assert project.reconcile() == {item: "unconfirmed"}


def test_a_file_that_only_moved_away_counts_as_changed(project: Project) -> None:
    item = project.plan("Empty the old module", "in_progress", scope=["path:a.py"])
    project.repository.git("mv", "a.py", "z.py")
    project.move(item, "done")
    assert project.reconcile() == {item: "verified"}


def test_a_verified_item_whose_change_was_thrown_away_goes_back(project: Project) -> None:
    item = project.plan("Move billing", "in_progress", scope=PATH)
    project.repository.commit("moved", services__billing="x\n")
    project.move(item, "done")
    project.reconcile()
    project.repository.git("reset", "-q", "--hard", "HEAD^")
    assert project.reconcile() == {item: "refuted"}


@pytest.mark.parametrize(
    ("checks", "shown"),
    [
        ([], "path_changed only"),
        (["path_exists:services/billing.py", "path_changed:services"], "path_exists, path_changed only"),
        (["path_changed:services", "command:tests"], "path_changed, command"),
        (["file_contains:services/billing.py:x"], "file_contains"),
    ],
)
def test_the_plan_says_what_kind_of_check_verified_an_item(
    project: Project, checks: list[str], shown: str
) -> None:
    project.user_commands(project.command("tests", "pass"))
    item = project.plan("Move billing", "in_progress", scope=PATH, checks=checks)
    project.repository.commit("moved", services__billing="x\n")
    project.move(item, "done")
    assert not project.item(item).verified
    project.reconcile()
    with project.world.connect(memory=project.memory) as session:
        assert f"- {item} [done, verified by {shown}, v4" in session.window()
        assert f"verified by {shown}, call-" in session.read(f"memory://record/{item}")
        assert f"- FOUND {item} is done: verified by {shown}" in session.window()


def test_an_item_that_gets_other_checks_is_a_claim_again(project: Project) -> None:
    item = project.plan("Move billing", "in_progress", scope=PATH)
    project.repository.commit("moved", services__billing="x\n")
    project.move(item, "done")
    project.reconcile()
    update_plan_item(
        project.memory.gate, project.memory.caller(), item=item, checks=["command:tests"]
    )
    now = project.item(item)
    assert (now.status, now.verified, now.evidence) == ("done", False, None)


def test_a_command_that_failed_before_the_claim_refutes_nothing(project: Project) -> None:
    _suite(project, "red")
    first = project.plan("First", "in_progress", "done", checks=["command:tests"])
    project.reconcile()
    later = project.plan("Later", "in_progress", "done", checks=["command:tests"])
    verdicts = project.reconcile()
    assert verdicts.get(later) == "unconfirmed"
    assert project.item(later).status == "done"
    assert project.item(first).status == "in_progress"


@pytest.mark.parametrize("was_green", [True, False])
def test_one_red_suite_reopens_one_item_of_twelve_however_often_it_is_looked_at(
    project: Project, was_green: bool
) -> None:
    _suite(project, "green")
    items = [
        project.plan(f"Module {n}", "in_progress", "done", checks=["command:tests"])
        for n in range(12)
    ]
    if was_green:
        assert set(project.reconcile().values()) == {"verified"}
    project.repository.write("state", "red")
    for _ in range(3):
        project.reconcile()
    reopened = [i for i in items if project.item(i).status == "in_progress"]
    assert reopened == [items[-1]]
    assert "command tests fails now; done items that name it: 11" in project.report().lines()


def test_an_item_that_a_red_command_sent_back_is_not_done_by_claiming_it_again(
    project: Project,
) -> None:
    _suite(project, "red")
    item = project.plan("Port the parser", "in_progress", "done", checks=["command:tests"])
    assert project.reconcile() == {item: "refuted"}
    project.move(item, "done")
    assert project.reconcile() == {item: "refuted"}
    project.repository.write("state", "green")
    project.move(item, "done")
    assert project.reconcile() == {item: "verified"}


def test_each_command_runs_once_however_many_items_name_it(project: Project) -> None:
    count = "open('runs', 'a').write('x')"
    project.user_commands(project.command("tests", count))
    for n in range(5):
        project.plan(f"Module {n}", "in_progress", "done", checks=["command:tests"])
    project.reconcile()
    assert (project.repository.tree / "runs").read_text() == "x"


def test_the_output_of_a_command_is_archived_as_a_check(project: Project) -> None:
    project.user_commands(project.command("tests", "print('41 passed')"))
    item = project.plan("Port", "in_progress", "done", checks=["command:tests"])
    project.reconcile()
    evidence = project.item(item).evidence or 0
    entry = entries(project.memory.reader, [evidence])[evidence]
    assert (entry.tool, entry.level, entry.output) == ("command:tests", 4, "41 passed\n")


def test_a_command_of_the_workspace_runs_only_once_approved(project: Project) -> None:
    marker = project.repository.tree / "ran"
    line = project.command("tests", "open('ran', 'a').write('x')")
    project.repository.write("keepthread.toml", "[commands]\n" + line)
    item = project.plan("Port", "in_progress", "done", checks=["command:tests"])
    report = project.report()
    assert not marker.exists()
    assert any("keepthread trust" in remark for remark in report.remarks)
    approve(project.memory.settings.trust_file, str(project.repository))
    assert project.reconcile() == {item: "verified"}
    project.repository.write("keepthread.toml", "[commands]\n" + line + "# changed\n")
    report = project.report()
    assert marker.read_text() == "x"
    assert any("not approved" in remark for remark in report.remarks)


def test_without_git_path_checks_hold_and_changes_stay_unconfirmed(tmp_path: Path) -> None:
    with project_in(tmp_path, git=False) as project:
        project.repository.write("made.py")
        made = project.plan("Make", "in_progress", "done", checks=["path_exists:made.py"])
        not_made = project.plan("Make more", "in_progress", "done", checks=["path_exists:more.py"])
        moved = project.plan("Move", "in_progress", "done", scope=PATH)
        assert project.reconcile() == {
            made: "verified", not_made: "refuted", moved: "unconfirmed",
        }  # fmt: skip
        assert any("version control was not read" in r for r in project.report().remarks)


def test_what_another_session_moves_on_meanwhile_is_left_alone(project: Project) -> None:
    code = "import time; open('started', 'w').close(); time.sleep(0.3)"
    project.user_commands(project.command("tests", code))
    item = project.plan("Port", "in_progress", "done", checks=["command:tests"])
    other = project.open("s2")
    project.world.session = "s1"
    try:
        seen: dict[str, str] = {}
        looking = Thread(target=lambda: seen.update(project.reconcile()))
        looking.start()
        _wait_for(project.repository.tree / "started")
        project.move(item, "in_progress", memory=other)
        looking.join()
        assert seen == {item: "verified"}
        assert project.item(item).status == "in_progress"
        assert not project.item(item).verified
    finally:
        other.close()


def _wait_for(path: Path) -> None:
    limit = time.monotonic() + 10
    while not path.exists():
        assert time.monotonic() < limit
        time.sleep(0.01)
