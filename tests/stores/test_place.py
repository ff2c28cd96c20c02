"""Where the database lies: files of its owner alone, in a folder of its owner alone."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepthread.server.capture.faults import report
from keepthread.server.cli.main import main
from keepthread.server.memory import Memory
from keepthread.stores.database import open_database
from keepthread.stores.errors import StoreError
from tests.sample import fill

pytestmark = pytest.mark.skipif(os.name != "posix", reason="rights as POSIX has them")


@pytest.fixture(params=[0o000, 0o002, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def _modes(folder: str) -> dict[str, int]:
    return {f.name: stat.S_IMODE(f.stat().st_mode) for f in Path(folder).iterdir()}


@pytest.mark.usefixtures("umask")
def test_every_file_is_its_owners_alone_whatever_the_umask(memory: Memory, db: str) -> None:
    fill(memory)
    folder = os.path.dirname(db)
    names = {"", "-wal", "-shm", ".lock", ".anchor", ".key"}
    assert _modes(folder) == {f"memory.db{n}": 0o600 for n in names}
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    memory.capture.connection.execute("VACUUM")
    assert set(_modes(folder).values()) == {0o600}
    memory.close()
    open_database(db, "trusted").execute("BEGIN IMMEDIATE")
    assert set(_modes(folder).values()) == {0o600}


@pytest.mark.usefixtures("umask")
def test_the_hooks_log_is_its_owners_alone(db: str) -> None:
    os.makedirs(os.path.dirname(db), mode=0o700)
    report(db, "hook", ValueError("x"))
    assert _modes(os.path.dirname(db)) == {"hook-errors.log": 0o600}


@pytest.mark.parametrize("role", ["trusted", "model"])
def test_a_database_that_is_a_link_is_refused(db: str, tmp_path: Path, role: str) -> None:
    target = tmp_path / "elsewhere.db"
    target.write_bytes(b"")
    os.makedirs(os.path.dirname(db), mode=0o700)
    os.symlink(target, db)
    with pytest.raises(StoreError, match="symbolic link") as refused:
        open_database(db, "trusted" if role == "trusted" else "model")
    assert refused.value.code == "unsafe_place"
    assert target.read_bytes() == b""


@pytest.mark.parametrize(
    "mode, refused", [(0o700, False), (0o755, False), (0o777, True), (0o773, True), (0o1777, True)]
)
def test_a_folder_that_every_user_can_write_to_is_refused(
    db: str, tmp_path: Path, mode: int, refused: bool
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(mode)
    if refused:
        with pytest.raises(StoreError, match="chmod 700"):
            open_database(db, "trusted")
        assert list(folder.iterdir()) == []
    else:
        open_database(db, "trusted").close()


def test_the_command_line_says_what_is_wrong_with_the_place(
    db: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(0o777)
    (tmp_path / "calls.jsonl").write_text('{"type":"tool_call","tool":"sh","args":{},"output":"x"}\n')
    assert main(["import", "calls.jsonl"], {"KEEPTHREAD_DB": db}) == 1
    assert "chmod 700" in capsys.readouterr().err
    Path(tmp_path / "file").touch()
    inside_a_file = str(tmp_path / "file" / "memory.db")
    assert main(["import", "calls.jsonl"], {"KEEPTHREAD_DB": inside_a_file}) == 1
    assert "keepthread: " in capsys.readouterr().err
