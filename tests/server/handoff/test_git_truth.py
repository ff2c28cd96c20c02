"""What really changed in version control, in whatever state the repository is."""

import os
import time
from pathlib import Path

import pytest

from keepthread.server.handoff.git_truth import Change, GitFailed, GitTruth, head_commit
from tests.server.handoff.repository import Repository

LONG_AGO = 0.0


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "w")
    made.commit("first", a="one\n", b="two\n", lib__c="three\n" * 20)
    return made


def _changes(repository: Repository, commit: str, since: float = LONG_AGO) -> set[Change]:
    return set(GitTruth(str(repository)).changes_since(commit, since))


def test_every_way_in_which_a_file_changes_is_told_by_its_name(repository: Repository) -> None:
    start = head_commit(str(repository))
    repository.commit("second", a="changed\n")
    repository.write("b.py", "staged\n")
    repository.git("add", "b.py")
    repository.git("mv", "lib/c.py", "lib/moved.py")
    repository.write("a.py", "and not committed\n")
    repository.write("new file é.py")
    assert _changes(repository, start) == {
        Change("a.py", "committed"),
        Change("a.py", "unstaged"),
        Change("b.py", "staged"),
        Change("lib/c.py", "renamed"),
        Change("lib/moved.py", "renamed"),
        Change("new file é.py", "untracked"),
    }


def test_deleted_files_are_changes_committed_or_not(repository: Repository) -> None:
    start = head_commit(str(repository))
    repository.git("rm", "-q", "a.py")
    repository.git("commit", "-qm", "drop a")
    (repository.tree / "b.py").unlink()
    repository.git("rm", "-q", "lib/c.py")
    assert _changes(repository, start) == {
        Change("a.py", "deleted"), Change("b.py", "deleted"), Change("lib/c.py", "deleted"),
    }  # fmt: skip


def test_a_rename_that_was_committed_changes_both_paths(repository: Repository) -> None:
    start = head_commit(str(repository))
    repository.git("mv", "lib", "src")
    repository.git("commit", "-qm", "move")
    assert _changes(repository, start) == {
        Change("lib/c.py", "renamed"), Change("src/c.py", "renamed"),
    }  # fmt: skip


def test_what_was_dirty_before_the_work_began_is_not_its_change(repository: Repository) -> None:
    start = head_commit(str(repository))
    repository.write("a.py", "dirty before\n")
    repository.write("untracked.py")
    (repository.tree / "lib" / "c.py").unlink()
    began = time.time() + 1.1
    assert _changes(repository, start, began) == set()
    assert len(_changes(repository, start, began - 60)) == 3


def test_a_touched_file_with_the_same_content_is_no_change(repository: Repository) -> None:
    repository.write("a.py", "one\n", at=time.time() + 5)
    assert _changes(repository, head_commit(str(repository))) == set()


def test_a_file_moved_into_place_counts_from_the_move_not_from_its_old_time(
    repository: Repository, tmp_path: Path
) -> None:
    start, began = head_commit(str(repository)), time.time() - 2
    made = tmp_path / "made.py"
    made.write_text("x\n", encoding="utf-8")
    os.utime(made, (1_000_000_000, 1_000_000_000))
    made.rename(repository.tree / "made.py")
    assert _changes(repository, start, began) == {Change("made.py", "untracked")}


def test_work_that_began_before_the_first_commit_sees_all_that_was_committed(
    tmp_path: Path,
) -> None:
    repository = Repository(tmp_path / "w")
    repository.write("a.py")
    began = time.time() - 5
    assert head_commit(str(repository)) == ""
    assert _changes(repository, "", began) == {Change("a.py", "untracked")}
    repository.commit("the very first")
    assert _changes(repository, "", began) == {Change("a.py", "committed")}
    assert GitTruth(str(repository)).messages_since("", began) == ["the very first"]


def test_without_a_noted_start_only_commits_made_since_count(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "w")
    repository.commit("old", at=1_500_000_000, a="1\n")
    repository.commit("new", at=1_600_000_000, b="2\n")
    assert _changes(repository, "", 1_550_000_000) == {Change("b.py", "committed")}
    assert GitTruth(str(repository)).messages_since("", 1_550_000_000) == ["new"]
    assert _changes(repository, "", time.time() + 60) == set()


def test_an_amended_start_is_compared_as_it_was(repository: Repository) -> None:
    start = head_commit(str(repository))
    repository.write("b.py", "amended\n")
    repository.git("commit", "-qa", "--amend", "-m", "first, amended")
    assert _changes(repository, start) == {Change("b.py", "committed")}
    assert GitTruth(str(repository)).messages_since(start, LONG_AGO) == ["first, amended"]


def test_a_start_that_was_rewritten_and_collected_falls_back_on_the_time(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "w")
    repository.commit("old", at=1_500_000_000, a="1\n")
    start = repository.commit("start", at=1_550_000_000, b="1\n")
    repository.git("reset", "-q", "--hard", "HEAD^")
    repository.commit("again", at=1_600_000_000, c="1\n")
    repository.git("reflog", "expire", "--expire=now", "--all")
    repository.git("gc", "-q", "--prune=now")
    assert _changes(repository, start, 1_550_000_000) == {Change("c.py", "committed")}


def test_a_detached_head_is_read_like_a_branch(repository: Repository) -> None:
    start = head_commit(str(repository))
    repository.git("checkout", "-q", "--detach")
    repository.commit("apart", a="2\n")
    assert _changes(repository, start) == {Change("a.py", "committed")}


def test_each_work_tree_has_its_own_truth(repository: Repository, tmp_path: Path) -> None:
    start = head_commit(str(repository))
    other = repository.worktree(tmp_path / "other", "feature")
    other.commit("there", a="2\n")
    repository.write("b.py", "here\n")
    assert _changes(other, start) == {Change("a.py", "committed")}
    assert _changes(repository, start) == {Change("b.py", "unstaged")}


def test_paths_are_those_of_the_workspace_where_it_is_a_folder_of_the_repository(
    repository: Repository,
) -> None:
    start = head_commit(str(repository))
    repository.commit("both", a="2\n", lib__c="2\n")
    repository.write("lib/new.py")
    inner = Repository(repository.tree / "lib", init=False)
    assert _changes(inner, start) == {Change("c.py", "committed"), Change("new.py", "untracked")}


def test_ignored_paths_are_known_as_such(repository: Repository) -> None:
    repository.write(".gitignore", "build/\n")
    truth = GitTruth(str(repository))
    assert truth.ignores("build/out.js")
    assert not truth.ignores("a.py")
    assert not truth.ignores("--help")


def test_a_conflicted_merge_is_read(repository: Repository) -> None:
    start = head_commit(str(repository))
    repository.git("checkout", "-qb", "side")
    repository.commit("side", a="side\n")
    repository.git("checkout", "-q", "main")
    repository.commit("main", a="main\n")
    with pytest.raises(Exception, match="merge"):
        repository.git("merge", "-q", "side")
    assert Change("a.py", "unstaged") in _changes(repository, start)


@pytest.mark.parametrize("broken", ["no repository", "a damaged one", "no git"])
def test_where_git_cannot_tell_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    tree = tmp_path / "plain"
    tree.mkdir()
    if broken == "a damaged one":
        (tree / ".git").write_text("gitdir: /nowhere\n", encoding="utf-8")
    if broken == "no git":
        monkeypatch.setenv("PATH", str(tmp_path))
    assert head_commit(str(tree)) == ""
    with pytest.raises(GitFailed):
        GitTruth(str(tree))


def test_an_option_in_the_place_of_a_commit_is_no_commit(repository: Repository) -> None:
    made = repository.tree / "made"
    assert _changes(repository, f"--output={made}", time.time() + 60) == set()
    assert not made.exists()
