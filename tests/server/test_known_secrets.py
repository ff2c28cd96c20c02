"""A secret that the archive redacted is refused or redacted in every later write, through a client."""

from pathlib import Path
from typing import Any

import pytest

from keepthread.stores.database import open_database
from keepthread.stores.query import fetch_all

from .world import Session, World

SECRET = "hunter2horse"
WRITES: list[tuple[str, dict[str, Any]]] = [
    ("record_decision", {"decision": f"Deploy with password {SECRET}", "reason": "the environment shows it"}),
    ("record_decision", {"decision": "Deploy by hand", "reason": f"the login {SECRET} works"}),
    ("record_fact", {"text": f"The login is {SECRET}", "kind": "observation", "source": "tool:Bash"}),
    ("record_fact", {"text": "The login works", "kind": "inference", "scope": [f"login:{SECRET}"]}),
    ("update_plan_item", {"titles": ["Log in", f"Log in with {SECRET}"]}),
    ("update_plan_item", {"title": "Log in", "checks": [f"file_contains:a.txt:{SECRET}"]}),
    ("add_open_question", {"question": f"Is {SECRET} still good?"}),
    ("start_task", {"goal": f"Log in with {SECRET}"}),
    ("hand_off", {"doing": "deploying", "next": f"log in as app:{SECRET}@db.internal"}),
]  # fmt: skip


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.hook("SessionStart", source="startup")
    world.bash("env", f"DB_PASSWORD={SECRET}\nHOME=/w\n")
    return world


def test_no_store_takes_what_the_archive_redacted(world: World) -> None:
    with world.connect() as session:
        for tool, arguments in WRITES:
            session.refused(tool, "contains_secret", **arguments)
    _assert_gone(world)


def test_later_entries_of_every_channel_are_redacted(world: World) -> None:
    world.say(f"use {SECRET} for the deploy")
    world.bash(f"psql postgres://app:{SECRET}@db/x", f"connected as {SECRET}\n")
    world.hook("Stop", last_assistant_message=f"I logged in with {SECRET}.")
    with world.connect() as session:
        assert "[redacted:password:" in _answer(session)
    _assert_gone(world)


def _answer(session: Session) -> str:
    return session.done("search_archive", query="connected as").text


def _assert_gone(world: World) -> None:
    connection = open_database(str(world.db), "reader")
    texts = [str(r[0]) for r in fetch_all(connection, "SELECT text FROM body")]
    connection.close()
    assert texts and not any(SECRET in text for text in texts)
    assert all(SECRET.encode() not in p.read_bytes() for p in Path(world.db).parent.glob("memory.db*"))
