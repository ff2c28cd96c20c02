"""What a section keeps when not all of it fits, and in which order it is shown."""

import re
from pathlib import Path

from tests.server.world import World


def test_decisions_are_shown_oldest_first_and_the_newest_are_kept(tmp_path: Path) -> None:
    world = World(tmp_path)
    with world.connect() as session:
        for n in range(10, 50):
            session.done(
                "record_decision",
                decision=f"Module {n} gets a router of its own named router_{n}",
                reason=f"it has {n} routes and its own tests, which would break otherwise",
            )
        whole = session.window()
    brief = World(tmp_path, session="s2").hook("SessionStart", source="startup")
    for window in (whole, brief):
        shown = [int(n) for n in re.findall(r"router_(\d+)", window)]
        assert shown == sorted(shown)
        assert 1 < len(shown) < 40
        assert set(range(52 - len(shown), 50)) <= set(shown)  # one more short one may fill a gap
