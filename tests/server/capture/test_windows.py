"""Which window an event or call belongs to, and how windows end."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepthread.server.capture.host import host_process, is_alive, started_at
from keepthread.server.memory import IDLE_SECONDS, Client, Memory, client_of_environment
from keepthread.server.places import Place, find_place
from keepthread.server.settings import Settings
from keepthread.stores.database import open_database
from keepthread.stores.records import Window
from keepthread.stores.windows import get_window, windows
from keepthread.stores.workspaces import find_workspace
from tests.conftest import FakeClock
from tests.sample import see_call
from tests.server.capture.hooks import COMPACTED_RUN, FIRST_RUN, archived, replay
from tests.server.capture.hooks import Client as HookClient


@pytest.fixture
def host() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that stands for a client's."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def _open(db: str, work: Path, client: Client, clock: FakeClock | None = None) -> Memory:
    place = Place(str(work), str(work))
    return Memory(Settings(db), place, client=client, clock=clock or FakeClock())


def _windows(db: str, work: Path) -> list[Window]:
    """All windows of the workspace, oldest first."""
    reader = open_database(db, "reader")
    return windows(reader, find_workspace(reader, str(work)) or -1)[::-1]


def _closed(db: str, work: Path) -> list[str]:
    return [w.closed for w in _windows(db, work)]


def test_a_server_joins_the_window_of_its_session(db: str, work: Path) -> None:
    HookClient(db, work, session="s1").start()
    HookClient(db, work, session="s2").start()
    for n, session in enumerate(("s1", "s2")):
        environ = {"CLAUDE_CODE_SESSION_ID": session}
        client = client_of_environment("mcp", environ, lambda: (0, ""))
        memory = _open(db, work, client)
        assert memory.caller().author.window == _windows(db, work)[n].seq
        memory.close()


def test_a_server_without_a_session_id_joins_the_window_of_its_host(
    db: str, work: Path, host: "subprocess.Popen[bytes]"
) -> None:
    HookClient(db, work, session="s1", pid=host.pid).start()
    HookClient(db, work, session="s2").start()
    memory = _open(db, work, Client("mcp", "mcp-1", (host.pid, started_at(host.pid))))
    assert memory.caller().author.window == _windows(db, work)[0].seq
    memory.close()


def test_a_server_of_another_host_has_a_window_of_its_own(
    db: str, work: Path, host: "subprocess.Popen[bytes]"
) -> None:
    HookClient(db, work, session="s1", pid=host.pid).start()
    memory = _open(db, work, Client("mcp", "mcp-1", (os.getpid(), started_at(os.getpid()))))
    first = memory.caller().author.window
    assert first == memory.caller().author.window != _windows(db, work)[0].seq
    memory.close()


def test_a_server_started_before_the_first_hook_joins_its_window_later(db: str, work: Path) -> None:
    memory = _open(db, work, Client("mcp", "s1"))
    HookClient(db, work, session="s1").start()
    assert memory.caller().author.window == _windows(db, work)[0].seq
    memory.close()


def test_a_recorded_session_is_resumed_compacted_and_ended(db: str, work: Path) -> None:
    replay(FIRST_RUN, db, work)
    assert _closed(db, work) == ["ended"]
    replay(COMPACTED_RUN, db, work)
    assert _closed(db, work) == ["ended", "compacted", "ended", "ended"]


def test_resuming_in_the_same_process_goes_on_in_the_same_window(db: str, work: Path) -> None:
    client = HookClient(db, work)
    client.start()
    client.prompt("first")
    client.start("resume")
    client.prompt("second", "p2")
    assert _closed(db, work) == [""]


@pytest.mark.parametrize("ended_first", [True, False])
def test_clearing_opens_a_new_window_in_the_same_host(
    db: str, work: Path, ended_first: bool
) -> None:
    client = HookClient(db, work, session="s1")
    client.start()
    client.prompt("first")
    if ended_first:
        client.event("SessionEnd", reason="clear")
    HookClient(db, work, session="s2").start("clear")
    assert _closed(db, work) == ["ended", ""]
    here = (os.getpid(), started_at(os.getpid()))
    memory = _open(db, work, Client("mcp", "s1", here))  # the server's environment is the old one
    assert memory.caller().author.window == _windows(db, work)[1].seq
    memory.close()


def test_the_window_of_a_killed_client_is_found_dead_by_the_next(
    db: str, work: Path, host: "subprocess.Popen[bytes]"
) -> None:
    client = HookClient(db, work, session="s1", pid=host.pid)
    client.start()
    client.prompt("first")
    host.kill()
    host.wait()
    HookClient(db, work, session="s2").start()
    assert _closed(db, work) == ["found_dead", ""]


def test_a_live_parallel_window_is_never_taken_for_dead(
    db: str, work: Path, host: "subprocess.Popen[bytes]"
) -> None:
    for n in range(4):
        pid = host.pid if n % 2 else os.getpid()
        HookClient(db, work, session=f"s{n}", pid=pid).start()
    assert _closed(db, work) == ["", "", "", ""]


def test_a_session_taken_up_after_a_kill_lives_in_a_window_of_its_new_process(
    db: str, work: Path, host: "subprocess.Popen[bytes]"
) -> None:
    killed = HookClient(db, work, session="s1", pid=host.pid)
    killed.start()
    killed.prompt("first")
    host.kill()
    host.wait()
    resumed = HookClient(db, work, session="s1")
    resumed.start("resume")
    resumed.prompt("second", "p2")
    HookClient(db, work, session="s2").start()  # looks for dead windows, and must not find this one
    assert _closed(db, work) == ["found_dead", "", ""]
    assert [e.window for e in archived(db)] == [w.seq for w in _windows(db, work)[:2]]


def test_half_an_hour_without_a_record_opens_the_next_window(
    db: str, work: Path, clock: FakeClock
) -> None:
    memory = _open(db, work, Client("mcp", "s1"), clock)
    see_call(memory, "port = 8080\n")
    clock.now += IDLE_SECONDS - 1
    memory.context()
    assert _closed(db, work) == [""]
    clock.now += IDLE_SECONDS + 1
    memory.context()
    assert _closed(db, work) == ["ended", ""]
    clock.now -= 86_400  # a clock set back makes no window idle
    memory.context()
    assert _closed(db, work) == ["ended", ""]
    memory.close()


def test_the_workspace_is_decided_when_the_window_opens(db: str, work: Path) -> None:
    nested = work / "vendor" / "lib"
    (nested / ".git").mkdir(parents=True)
    client = HookClient(db, work)
    client.start()
    client.environ.pop("CLAUDE_PROJECT_DIR")
    client.work = nested  # the agent's shell went there
    client.shell("cat a.py", "x = 1\n", "t1")
    entry = archived(db)[0]
    reader = open_database(db, "reader")
    assert entry.workspace == find_workspace(reader, str(work))
    assert find_workspace(reader, str(nested)) is None
    assert entry.window is not None and get_window(reader, entry.window).work_tree == str(work)


def test_worktrees_share_a_workspace_and_submodules_do_not(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "main"
    environ = {
        "PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
    }  # fmt: skip
    for command in (
        ["git", "init", "-q", str(root)],
        ["git", "-C", str(root), "commit", "-q", "--allow-empty", "-m", "first"],
        ["git", "-C", str(root), "worktree", "add", "-q", str(tmp_path / "tree")],
        ["git", "-C", str(root), "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(root), "lib"],
    ):  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, cwd=tmp_path, env=environ)
    (root / "src").mkdir()
    assert find_place(str(root / "src")) == Place(str(root), str(root))
    tree = str(tmp_path.resolve() / "tree")
    assert find_place(tree) == Place(str(root), tree)
    assert find_place(str(root / "lib")).workspace == str(root / "lib")
    assert find_place(str(tmp_path)) == Place(str(tmp_path.resolve()), str(tmp_path.resolve()))


def test_a_workspace_can_be_named(work: Path, tmp_path: Path) -> None:
    assert find_place(str(tmp_path), str(work)) == Place(str(work), str(work))
    assert find_place(str(work), "billing") == Place("billing", str(work))
    assert find_place(str(tmp_path), f"billing={work}") == Place("billing", str(work))


def test_a_process_is_known_by_its_start_not_its_number_alone() -> None:
    started = started_at(os.getpid())
    assert started and is_alive(os.getpid(), started)
    assert not is_alive(os.getpid(), f"{started}0")
    assert host_process({"CLAUDE_PID": str(os.getpid())}) == (os.getpid(), started)
    assert host_process({"CLAUDE_PID": "999999999"})[0] != 999999999
