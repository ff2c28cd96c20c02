"""A flood of true but worthless facts from one origin: what matters is still found."""

from pathlib import Path

import pytest

from .world import Session, World

SERVICES = (
    "billing search mailer catalog pricing ledger report export import session cart audit quota "
    "backup relay proxy"
).split()
LOST_AT_MOST = 0.02
PER_ORIGIN = 40  # two thirds of the 60 writes of a window


@pytest.mark.parametrize(
    ("attempts", "windows"), [(200, 2), pytest.param(5_000, 50, marks=pytest.mark.soak)]
)
def test_junk_from_one_origin_hides_nothing(tmp_path: Path, attempts: int, windows: int) -> None:
    world = World(tmp_path)
    world.hook("SessionStart", source="startup")
    budgets = {"writes_per_window": 60, "writes_between_calls": 6}
    with world.connect(settings=budgets) as session:
        items = _useful(world, session)
        session.done("hand_off", doing="tuning", next="go on")
        before = _recall(session, items)
        for number in range(windows):
            admitted = _flood(world, session, number, attempts // windows)
            assert admitted <= PER_ORIGIN
            session.done("hand_off", doing="tuning", next="go on")

        assert before == 1
        assert _recall(session, items) >= before - LOST_AT_MOST


def _useful(world: World, session: Session) -> list[str]:
    """Record a fact a service, and a plan item that needs it; return the items."""
    items = []
    for number, name in enumerate(SERVICES):
        world.bash(f"cat conf/{name}.ini", f"{name}: retries {number + 3}, port {7000 + number}")
        session.observe(_fact(number), f"call-{number + 1}")
        title = f"Tune the retries of the {name} service"
        items.append(session.done("update_plan_item", title=title).id)
    return items


def _fact(number: int) -> str:
    return f"The {SERVICES[number]} service retries {number + 3} times"


def _recall(session: Session, items: list[str]) -> float:
    """Return the share of the items whose window holds the fact that they need."""
    found = [_fact(number) in session.window(item=item) for number, item in enumerate(items)]
    return sum(found) / len(found)


def _flood(world: World, session: Session, window: int, attempts: int) -> int:
    """Record what one program prints, in words of the useful facts; return how many were admitted."""
    admitted = 0
    for at in range(0, attempts, 5):
        lines = [
            f"The {SERVICES[n % 16]} service retries note {window}{n:04} is nominal"
            for n in range(at, at + 5)
        ]
        world.bash("sensors --dump", "\n".join(lines))
        for line in lines:
            answer = session.call("record_fact", text=line, kind="observation", source="tool:Bash")
            assert answer.code in ("", "write_budget_spent"), answer
            admitted += not answer.failed
    return admitted
