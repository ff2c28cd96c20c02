"""What a write costs does not grow with what is stored: no rule reads a table from end to end."""

from pathlib import Path
from typing import Any

import apsw

from .world import Session, World

FEW, MANY = 40, 240
STEPS_A_TICK = 10
NOISE = 200
"""Steps that come and go with what lies on a page; a scan of the facts is 5 steps each, or 1,000."""


def test_a_write_takes_as_many_steps_beside_six_times_the_facts(tmp_path: Path) -> None:
    few, many = (_steps_of_a_write(tmp_path / str(count), count) for count in (FEW, MANY))

    assert many <= few + NOISE, (few, many)


def _steps_of_a_write(folder: Path, count: int) -> int:
    """Return the steps of SQLite's machine for one more fact, which has a word in common with one.

    Those inside of the full-text index are left out: it merges its segments now and then.
    """
    folder.mkdir()
    world = World(folder)
    world.hook("SessionStart", source="startup")
    memory = world.memory()
    with world.connect(memory=memory) as session:
        _fill(world, session, count)
        world.bash("cat zulu.ini", "zulu: retries 7, port 9090")
        session.observe("zulu has port 9090")
        ticks, running = 0, [""]

        def watch(event: dict[str, Any]) -> None:
            sql = event["sql"] or ""
            if event["code"] == apsw.SQLITE_TRACE_STMT and not sql.startswith("--"):
                running.append(sql)
            elif event["code"] == apsw.SQLITE_TRACE_PROFILE and sql in running:
                running.remove(sql)

        def tick() -> bool:
            nonlocal ticks
            ticks += "_fts_" not in running[-1]
            return False  # go on

        for connection in (memory.capture.connection, memory._model.connection, memory.reader):
            connection.trace_v2(apsw.SQLITE_TRACE_STMT | apsw.SQLITE_TRACE_PROFILE, watch)
            connection.set_progress_handler(tick, STEPS_A_TICK)
        for _ in range(2):  # the second time it is the same call
            session.observe("zulu retries 7 times")
    memory.close()
    return ticks * STEPS_A_TICK


def _fill(world: World, session: Session, count: int) -> None:
    names = [f"svc{n:03}x" for n in range(count)]
    world.bash("status", "\n".join(f"{name} listens on {name}.sock" for name in names))
    for name in names:
        session.observe(f"{name} listens on {name}.sock")
