"""Files behind facts at read time: a cheap look first, the hash when it moved, and what rests on them."""

import os
import time
from pathlib import Path

import pytest

from keepthread.server.capture.files import FileRead
from keepthread.server.capture.files import read_file as read_for_real
from keepthread.server.context import staleness
from keepthread.server.context.staleness import FileWatch, check_soundness
from keepthread.stores.query import fetch_all
from tests.server.world import Session, World

TEXT = "port = 8080\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = World(tmp_path)
    found.read_file("app.ini", TEXT)
    return found


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that looking for changes reads whole."""
    found: list[str] = []

    def read(tree: str, path: str) -> FileRead:
        found.append(path)
        return read_for_real(tree, path)

    monkeypatch.setattr(staleness, "read_file", read)
    return found


def observe(session: Session) -> None:
    session.done("record_fact", text="The port is 8080", kind="observation", source="file:app.ini")


def window(session: Session) -> str:
    return session.done("get_context").text


def test_a_file_is_read_only_when_its_signature_moved_and_each_state_once(
    world: World, reads: list[str]
) -> None:
    with world.connect() as session:
        observe(session)
        assert "STALE" not in window(session) and reads == []
        os.utime(world.tree / "app.ini", (1, 1))
        for _ in range(2):
            assert "STALE" not in window(session)
        assert reads == ["app.ini"]
        world.write("app.ini", "port = 9090\n")
        for _ in range(2):
            assert 'STALE: "app.ini" changed since; capture_file it' in window(session)
        assert reads == ["app.ini"] * 2


def test_a_removed_file_makes_its_facts_stale_and_a_restored_one_ends_it(world: World) -> None:
    with world.connect() as session:
        observe(session)
        (world.tree / "app.ini").unlink()
        assert 'STALE: "app.ini" was removed' in window(session)
        world.write("app.ini", TEXT)
        assert "STALE" not in window(session)


def test_what_rests_on_a_changed_file_is_weakened_at_any_depth_and_named_as_such(
    world: World,
) -> None:
    with world.connect() as session:
        observe(session)
        for text, support in (("The proxy can reach it", "fact-1"), ("Traffic flows", "fact-2")):
            session.done("record_fact", text=text, kind="inference", supports=[support])
        session.done(
            "record_decision", decision="Open 8080 in the firewall", reason="it is the port",
            supports=["fact-3"],
        )  # fmt: skip
        assert "WEAKENED" not in window(session)
        world.write("app.ini", "port = 9090\n")
        lines = window(session).splitlines()
        assert [li.split(" ")[1] for li in lines if "WEAKENED" in li] == [
            "decision-1", "fact-2", "fact-3",
        ]  # fmt: skip
        queue = lines[lines.index("re-verify:") :]
        assert any(li.startswith("- fact-1 ") and "STALE" in li for li in queue)
        for record in ("fact-2", "decision-1"):
            assert "WEAKENED" in session.done("read_record", id=record).text


def test_capturing_the_unchanged_passage_verifies_the_fact(world: World) -> None:
    with world.connect() as session:
        observe(session)
        world.write("app.ini", f"{TEXT}workers = 4\n")
        assert "STALE" in window(session)
        session.done("capture_file", path="app.ini")
        assert "STALE" not in window(session)
        world.write("app.ini", "port = 9090\nworkers = 4\n")
        session.done("capture_file", path="app.ini")
        assert "STALE" in window(session)


def test_a_look_costs_a_millisecond_a_source_at_most(world: World) -> None:
    for n in range(60):
        world.read_file(f"deep/in/folders/app{n}.ini", f"port = {9000 + n}\n")
    with world.connect() as session:
        for n in range(60):
            session.done(
                "record_fact", text=f"The port of app{n} is {9000 + n}", kind="observation",
                source=f"file:deep/in/folders/app{n}.ini",
            )  # fmt: skip
    memory = world.memory()
    facts = [r[0] for r in fetch_all(memory.reader, "SELECT seq FROM fact")]
    watch = FileWatch(memory.place.tree)
    took = []
    for _ in range(5):
        began = time.thread_time()
        assert not check_soundness(memory.reader, facts, watch).stale
        took.append(time.thread_time() - began)
    assert min(took) < 0.001 * len(facts)
    memory.close()
