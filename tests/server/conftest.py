"""A project whose client has opened a session, and an MCP client of its server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.world import Session, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.hook("SessionStart", source="startup")
    return world


@pytest.fixture
def session(world: World) -> Iterator[Session]:
    with world.connect() as session:
        yield session
