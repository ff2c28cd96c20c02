"""Whose commands run in checks, and how: no shell, a time limit, and nothing left behind."""

import os
import shlex
import sys
import time
from pathlib import Path

import pytest

from keepthread.server.capture.files import FileRefused
from keepthread.server.handoff.commands import (
    OUTPUT_BYTES_MAX,
    approve,
    approved,
    read_commands,
    run_command,
)

LINE = '[commands]\ntests = "pytest -q"\n'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / "w"
    made.mkdir()
    return made


def _python(code: str) -> str:
    return shlex.join([sys.executable, "-c", code])


def _read(tree: Path, user: str = "") -> tuple[dict[str, str], str]:
    own = tree.parent / "user.toml"
    own.write_text(user, encoding="utf-8")
    found = read_commands(str(tree), str(own), str(tree.parent / "trusted.json"))
    return found.by_name, found.refused


def _approve(tree: Path) -> str:
    return approve(str(tree.parent / "trusted.json"), str(tree))


def test_the_users_own_commands_need_no_approval(tree: Path) -> None:
    assert _read(tree, LINE) == ({"tests": "pytest -q"}, "")


def test_a_workspaces_commands_wait_for_approval_and_a_changed_file_asks_again(tree: Path) -> None:
    file = tree / "keepthread.toml"
    file.write_text(LINE, encoding="utf-8")
    commands, refused = _read(tree)
    assert commands == {} and "keepthread trust" in refused
    assert _approve(tree) == LINE
    assert _read(tree) == ({"tests": "pytest -q"}, "")
    file.write_text(LINE + "deploy = 'rm -rf /'\n", encoding="utf-8")
    commands, refused = _read(tree)
    assert commands == {} and refused
    file.write_text(LINE, encoding="utf-8")
    assert _read(tree)[0] == {"tests": "pytest -q"}


def test_the_users_command_wins_over_the_workspaces(tree: Path) -> None:
    (tree / "keepthread.toml").write_text("[commands]\ntests = 'make evil'\n", encoding="utf-8")
    _approve(tree)
    assert _read(tree, LINE)[0] == {"tests": "pytest -q"}


def test_an_approval_holds_for_one_work_tree_only(tree: Path) -> None:
    (tree / "keepthread.toml").write_text(LINE, encoding="utf-8")
    _approve(tree)
    other = tree.parent / "other"
    other.mkdir()
    (other / "keepthread.toml").write_text(LINE, encoding="utf-8")
    assert _read(other)[0] == {}


def test_approvals_are_kept_private_and_side_by_side(tree: Path) -> None:
    other = tree.parent / "other"
    other.mkdir()
    for folder in (tree, other):
        (folder / "keepthread.toml").write_text(LINE, encoding="utf-8")
        _approve(folder)
    trusted = tree.parent / "trusted.json"
    assert len(approved(str(trusted))) == 2
    assert trusted.stat().st_mode & 0o777 == 0o600


def test_a_link_in_the_place_of_the_file_is_neither_read_nor_approved(tree: Path) -> None:
    (tree.parent / "elsewhere.toml").write_text(LINE, encoding="utf-8")
    (tree / "keepthread.toml").symlink_to(tree.parent / "elsewhere.toml")
    assert _read(tree) == ({}, "")
    with pytest.raises(FileRefused):
        _approve(tree)


@pytest.mark.parametrize("damage", ["{", "[1]", "null"])
def test_a_damaged_record_of_approvals_approves_nothing(tree: Path, damage: str) -> None:
    (tree / "keepthread.toml").write_text(LINE, encoding="utf-8")
    (tree.parent / "trusted.json").write_text(damage, encoding="utf-8")
    assert _read(tree)[0] == {}
    _approve(tree)
    assert _read(tree)[0] == {"tests": "pytest -q"}


@pytest.mark.parametrize("text", ["not toml [", "commands = 3", "[commands]\ntests = ['a']\n"])
def test_a_file_without_commands_gives_none(tree: Path, text: str) -> None:
    (tree / "keepthread.toml").write_text(text, encoding="utf-8")
    assert _read(tree, text) == ({}, "")


def test_no_shell_reads_a_command(tree: Path) -> None:
    code = "import sys; print(sys.argv[1:])"
    ran = run_command(_python(code) + " 'a b' $HOME ; touch made && touch made > made", str(tree))
    assert ran.status == 0
    assert ran.output.strip() == str("a b,$HOME,;,touch,made,&&,touch,made,>,made".split(","))
    assert os.listdir(tree) == []


def test_a_command_runs_in_the_work_tree_and_has_no_input(tree: Path) -> None:
    ran = run_command(
        _python("import os, sys; print(os.getcwd(), repr(sys.stdin.read()))"), str(tree)
    )
    assert ran.output.strip() == f"{tree.resolve()} ''"


def test_both_streams_and_the_exit_status_are_kept(tree: Path) -> None:
    code = "import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)"
    ran = run_command(_python(code), str(tree))
    assert (ran.status, ran.output) == (3, "out\nerr\n")


@pytest.mark.parametrize("command", ["", "no-such-program-anywhere", "'unbalanced", "/"])
def test_a_command_that_cannot_start_has_no_status(tree: Path, command: str) -> None:
    ran = run_command(command, str(tree))
    assert ran.status is None
    assert ran.output.startswith("[could not start:")


def _ends(pid: int) -> bool:
    """True once the process is gone or a zombie; a kill takes a moment on a busy machine."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_a_command_over_its_time_is_killed_with_all_that_it_started(tree: Path) -> None:
    inner = "import os, time; open('child', 'w').write(str(os.getpid())); time.sleep(60)"
    code = (
        f"import subprocess, sys, time; print('begun', flush=True); "
        f"subprocess.Popen([sys.executable, '-c', {inner!r}]); time.sleep(60)"
    )
    start = time.monotonic()
    ran = run_command(_python(code), str(tree), 1.0)
    assert time.monotonic() - start < 4
    assert ran.status is None
    assert ran.output == "begun\n\n[stopped after 1 s]"
    child = int((tree / "child").read_text())
    assert _ends(child)


def test_what_a_command_leaves_running_is_not_waited_for(tree: Path) -> None:
    code = "import subprocess; subprocess.Popen(['sleep', '8']); print('done')"
    start = time.monotonic()
    ran = run_command(_python(code), str(tree))
    assert time.monotonic() - start < 5
    assert (ran.status, ran.output) == (0, "done\n")


def test_of_a_flood_the_end_is_kept(tree: Path) -> None:
    ran = run_command(_python("print('x' * 3_000_000); print('the end')"), str(tree))
    assert len(ran.output) == OUTPUT_BYTES_MAX
    assert ran.output.endswith("the end\n")
