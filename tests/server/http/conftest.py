"""One server for all tests of a module: users of their own keep them apart."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.http.service import Service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A running server; stopped at the end, which must go well."""
    folder: Path = tmp_path_factory.mktemp("http")
    tree = folder / "files"
    tree.mkdir()
    folder.chmod(0o700)
    running = Service(folder, "--folder", f"fay/files={tree}", "--name", "memory.example.org")
    yield running
    if running.process.poll() is None:
        assert running.stop() == 0
