"""A repository may bring settings that run programs: none of them runs while it is looked at."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from keepthread.server.handoff.git_truth import GitTruth, head_commit
from tests.server.handoff.repository import Repository

HOOKS = (
    "post-index-change", "post-checkout", "pre-commit", "reference-transaction", "fsmonitor-watchman",
    "pre-auto-gc", "post-rewrite", "sendemail-validate", "pre-applypatch", "post-merge",
)  # fmt: skip


class Trap:
    """Programs that leave a marker file when anything runs them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "traps"
        self.markers = folder / "markers"
        self.folder.mkdir()
        self.markers.mkdir()

    def program(self, name: str) -> str:
        """Return the path of a program that leaves the marker ``name`` and passes its input on."""
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n: > '{self.markers}/{name}'\ncat\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def sprung(self) -> list[str]:
        return sorted(os.listdir(self.markers))


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path)


@pytest.fixture
def hostile(tmp_path: Path, trap: Trap) -> Repository:
    """Every setting by which a repository can have git run something, over files that changed."""
    made = Repository(tmp_path / "w")
    made.commit("first", a="one\n", b="two\n", c="three\n")
    inner = Repository(made.tree / "module")
    inner.commit("inner", x="1\n")
    made.git("add", "module")
    made.write(".gitattributes", "*.py filter=evil diff=evil merge=evil\n*.md filter=process\n")
    made.write("notes.md")
    made.commit("second")
    for repository, label in ((made, "outer"), (inner, "inner")):
        _arm(repository, trap, label)
    (inner.tree / ".gitattributes").write_text("* filter=evil diff=evil\n", encoding="utf-8")
    (inner.tree / "x.py").write_text("dirty\n", encoding="utf-8")
    return made


def _arm(repository: Repository, trap: Trap, label: str) -> None:
    settings = {
        "core.fsmonitor": "fsmonitor", "core.pager": "pager", "pager.log": "pager-log", "pager.diff": "pager-diff",
        "core.editor": "editor", "core.sshCommand": "ssh", "core.gitProxy": "proxy", "core.askPass": "askpass",
        "diff.external": "external-diff", "diff.evil.textconv": "textconv", "diff.evil.command": "diff-command",
        "filter.evil.clean": "clean", "filter.evil.smudge": "smudge", "filter.process.process": "process",
        "gpg.program": "gpg", "gpg.ssh.program": "gpg-ssh", "merge.evil.driver": "merge-driver",
        "credential.helper": "credential", "uploadpack.packObjectsHook": "pack-objects",
        "remote.origin.uploadpack": "upload-pack", "remote.origin.proxy": "remote-proxy",
        "interactive.diffFilter": "diff-filter", "sequence.editor": "sequence-editor",
    }  # fmt: skip
    for name, program in settings.items():
        repository.git("config", name, trap.program(f"{label}-{program}"))
    for command in ("log", "rev-parse", "diff-tree", "diff-index", "diff-files", "ls-files"):
        repository.git("config", f"alias.{command}", "!" + trap.program(f"{label}-alias-{command}"))
    plain = {
        "log.showSignature": "true", "filter.evil.required": "true", "core.untrackedCache": "true",
        "status.submoduleSummary": "true", "diff.submodule": "log", "diff.ignoreSubmodules": "none",
        "remote.origin.url": str(repository.tree.parent / "origin"), "remote.origin.promisor": "true",
        "extensions.partialClone": "origin", "core.repositoryFormatVersion": "1", "fetch.output": "full",
    }  # fmt: skip
    for name, value in plain.items():
        repository.git("config", name, value)
    for hook in HOOKS:
        program = trap.program(f"{label}-hook-{hook}")
        (repository.tree / ".git" / "hooks" / hook).symlink_to(program)


def _dirty(repository: Repository) -> None:
    for path in ("a.py", "notes.md"):
        repository.write(path, "changed\n")
    repository.write("moved.py", "one\n")
    repository.git("add", "moved.py", "a.py")
    repository.write(
        "b.py", "two\n", at=2_000_000_000
    )  # same content, another time: git would compare
    (repository.tree / "c.py").unlink()
    repository.write("untracked.py")


@pytest.mark.parametrize("dirty", [True, False])
def test_looking_at_a_hostile_repository_runs_nothing(
    hostile: Repository, trap: Trap, dirty: bool
) -> None:
    start = hostile.git("rev-parse", "HEAD~1")
    if dirty:
        _dirty(hostile)
    for marker in trap.markers.iterdir():
        marker.unlink()  # what the making of it has sprung
    truth = GitTruth(str(hostile))
    found = {c.path for c in truth.changes_since(start, 0)}
    changed = {"notes.md", ".gitattributes", *(("a.py", "c.py", "untracked.py") if dirty else ())}
    assert changed <= found
    assert truth.messages_since(start, 0) == ["second"]
    truth.ignores("untracked.py")
    assert head_commit(str(hostile))
    assert trap.sprung() == []


@pytest.mark.parametrize("inside", ["include.path", "includeIf.gitdir:/.path", "worktree"])
def test_settings_that_come_by_an_include_run_nothing_either(
    tmp_path: Path, trap: Trap, inside: str
) -> None:
    made = Repository(tmp_path / "w")
    made.write(".gitattributes", "*.py filter=evil diff=evil\n")
    made.commit("first", a="one\n", b="two\n", c="three\n")
    armed = tmp_path / "armed"
    for name in ("core.fsmonitor", "core.sshCommand", "diff.external", "filter.evil.clean", "core.pager"):
        program = trap.program(name.replace(".", "-"))
        made.git("config", "--file", str(armed), name, program)
    if inside == "worktree":
        made.git("config", "extensions.worktreeConfig", "true")
        armed.rename(made.tree / ".git" / "config.worktree")
    else:
        made.git("config", inside, str(armed))
    _dirty(made)
    subprocess.run(["git", "-C", str(made), "diff"], capture_output=True, check=False, timeout=20)
    assert trap.sprung()  # they do spring under git as people use it
    for marker in trap.markers.iterdir():
        marker.unlink()
    found = {c.path for c in GitTruth(str(made)).changes_since("", 0)}
    assert {"a.py", "c.py", "untracked.py"} <= found
    assert trap.sprung() == []


def test_settings_that_come_by_the_environment_run_nothing_and_lead_nowhere_else(
    tmp_path: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, other = Repository(tmp_path / "w"), Repository(tmp_path / "other")
    made.commit("first", a="one\n", b="two\n", c="three\n")
    other.commit("elsewhere", z="1\n")
    _dirty(made)
    programs = (
        "GIT_EXTERNAL_DIFF", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_PAGER", "GIT_EDITOR", "GIT_ASKPASS",
        "GIT_SEQUENCE_EDITOR", "GIT_PROXY_COMMAND",
    )  # fmt: skip
    for name in programs:
        monkeypatch.setenv(name, trap.program(name))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", trap.program("fsmonitor"))
    monkeypatch.setenv("GIT_DIR", str(other.tree / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.tree / ".git" / "index"))
    found = {c.path for c in GitTruth(str(made)).changes_since("", 0)}
    assert {"a.py", "c.py", "untracked.py"} <= found and "z.py" not in found
    assert trap.sprung() == []


def test_the_traps_do_spring_under_git_as_people_use_it(hostile: Repository, trap: Trap) -> None:
    _dirty(hostile)
    for marker in trap.markers.iterdir():
        marker.unlink()
    for arguments in (("status",), ("diff",), ("log", "-p")):
        subprocess.run(
            ["git", "-C", str(hostile), *arguments],
            capture_output=True, check=False, timeout=20,
        )  # fmt: skip
    sprung = trap.sprung()
    for expected in ("outer-fsmonitor", "outer-clean", "inner-fsmonitor"):
        assert expected in sprung


def test_a_missing_object_is_not_fetched_through_a_program_of_the_repository(
    hostile: Repository, trap: Trap
) -> None:
    start = hostile.git("rev-parse", "HEAD~1")
    blob = hostile.git("rev-parse", "HEAD:.gitattributes")
    (hostile.tree / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    for marker in trap.markers.iterdir():
        marker.unlink()
    truth = GitTruth(str(hostile))
    assert truth.changes_since(start, 0)
    assert trap.sprung() == []
