"""What many tests share: a database path of their own, an opened memory, a clock that obeys."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from keepthread.server.memory import Client, Memory
from keepthread.server.places import Place
from keepthread.server.settings import Settings


class FakeClock:
    """Seconds since the epoch, moved by hand."""

    def __init__(self, now: float = 1_767_225_600.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def db(tmp_path: Path) -> str:
    """An absolute path for a database that does not exist yet."""
    return str(tmp_path / "data" / "memory.db")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """An empty work tree, a repository by its looks."""
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    return folder.resolve()


@pytest.fixture
def memory(db: str, work: Path, clock: FakeClock) -> Iterator[Memory]:
    """An opened memory of an empty workspace; full text only, no model is loaded."""
    place = Place(str(work), str(work))
    opened = Memory(Settings(db), place, client=Client("test", "session-1"), clock=clock)
    yield opened
    opened.close()
