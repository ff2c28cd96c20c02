"""The workspace of a folder: git's common directory, but only where git itself names the worktree."""

import os
import subprocess
from pathlib import Path

import platformdirs
import pytest

from keepthread.server.places import database_path, find_place


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    root = tmp_path / "victim"
    root.mkdir()
    for command in ("init -q", "commit -q --allow-empty -m one"):
        identity = ("-c", "user.name=n", "-c", "user.email=e@example.org")
        subprocess.run(["git", *identity, *command.split()], cwd=root, check=True)
    return root


def test_a_worktree_shares_the_workspace_of_its_repository(victim: Path, tmp_path: Path) -> None:
    tree = tmp_path / "a worktree"
    subprocess.run(
        ["git", "worktree", "add", "-q", "-b", "side", str(tree)], cwd=victim, check=True
    )
    assert find_place(str(tree)) == (str(victim), str(tree))


def test_a_folder_that_only_names_another_repository_is_a_workspace_of_its_own(
    victim: Path, tmp_path: Path
) -> None:
    evil = tmp_path / "evil"
    (evil / "g").mkdir(parents=True)
    (evil / ".git").write_text("gitdir: g\n")
    (evil / "g" / "commondir").write_text(f"{victim}/.git\n")
    (evil / "g" / "gitdir").write_text(f"{evil}/.git\n")
    assert find_place(str(evil)).workspace == str(evil)


def test_the_record_of_a_worktree_counts_for_that_worktree_only(
    victim: Path, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    subprocess.run(
        ["git", "worktree", "add", "-q", "-b", "side", str(tree)], cwd=victim, check=True
    )
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / ".git").write_text((tree / ".git").read_text())
    assert find_place(str(copy)).workspace == str(copy)


@pytest.mark.parametrize("kind", ["fifo", "folder", "nul", "missing", "binary"])
def test_an_odd_git_file_is_neither_waited_for_nor_fatal(tmp_path: Path, kind: str) -> None:
    tree = tmp_path / "odd"
    (tree / "g").mkdir(parents=True)
    (tree / ".git").write_bytes(b"gitdir: g\n" if kind != "nul" else b"gitdir: g\0x\n")
    common = tree / "g" / "commondir"
    if kind == "fifo":
        os.mkfifo(common)
    elif kind == "folder":
        common.mkdir()
    elif kind == "binary":
        common.write_bytes(bytes(range(256)))
    assert find_place(str(tree)).workspace == str(tree)


def test_the_database_lies_where_platformdirs_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    folder = platformdirs.user_data_dir("keepthread", appauthor=False)
    assert database_path({}) == os.path.join(folder, "memory.db")
