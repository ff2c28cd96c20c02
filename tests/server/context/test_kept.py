"""What a process keeps between windows changes no byte of them, and spares it the walk through the stores."""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepthread.server.memory import Memory
from keepthread.stores.embeddings import pack_vector
from keepthread.stores.facts import FactDraft, add_fact, add_fact_event
from keepthread.stores.journal import Transaction
from keepthread.stores.ledger import PlanState, add_item
from keepthread.stores.records import Citation
from keepthread.stores.vectors import ensure_model, put_record_vector
from tests.sample import see_call
from tests.server.world import World

STEPS = ("new", "scoped", "expiring", "supersede", "retract", "undo", "dispute", "focus", "other")


class Writer:
    """Writes facts at random through a connection of its own, as another process would."""

    def __init__(self, memory: Memory, seed: int) -> None:
        self._memory, self._pick = memory, random.Random(seed)
        self._author = memory.caller().author
        self._entry = see_call(memory, "the first output").seq
        self._facts: list[int] = []
        self._replacing: list[int] = []

    def step(self, name: str) -> None:
        """Do one thing to the facts."""
        with self._memory.capture.transaction() as tx:
            old = (self._pick.choice(self._facts),) if self._facts else ()
            if name == "retract" and old:
                add_fact_event(tx, self._author, old[0], "retracted", reason="wrong")
            elif name == "undo" and self._replacing:
                add_fact_event(tx, self._author, self._replacing.pop(), "retracted", reason="no")
            elif name == "focus":
                made = add_item(tx, self._author, PlanState("a next step", status="in_progress"))
                self._vector(tx, made.seq)
            else:
                self._fact(tx, name, old)

    def _fact(self, tx: Transaction, name: str, old: tuple[int, ...]) -> None:
        number = len(self._facts)
        draft = FactDraft(
            f"Service {number} answers on port {number + 7000}",
            "observation",
            scope=(("path", f"part{number % 3}"),) if name == "scoped" else (),
            citations=(Citation(self._entry, 0, 3),),
            supersedes=old if name == "supersede" else (),
            disputes=old if name == "dispute" else (),
            observed_at=f"2026-09-{1 + number % 28:02d}T00:00:00.000Z",
            expires_at="2026-09-20T00:00:00.000Z" if name == "expiring" else "",
            confidence=0.5 + number % 5 / 10,
            subject="the next step | port" if number % 4 == 0 else "",
            level=1,
        )
        made = add_fact(tx, self._author, draft)
        self._facts.append(made.seq)
        if draft.supersedes:
            self._replacing.append(made.seq)
        if number % 4:
            self._vector(tx, made.seq)

    def _vector(self, tx: Transaction, seq: int) -> None:
        model = ensure_model(tx.connection, "all-MiniLM-L6-v2-int8", 384)
        vector = pack_vector([self._pick.gauss(0, 1) + 1 for _ in range(384)])
        put_record_vector(tx.connection, seq, model, vector)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=25), st.integers(0, 99))
def test_a_window_from_what_is_kept_is_the_window_of_a_new_process(
    steps: list[str], seed: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        other, ours = (world.memory(clock=lambda: 1_790_000_000.0) for _ in range(2))
        writer = Writer(other, seed)
        for step in steps:
            writer.step(step)
            kept = ours.context(explain=True).text
            new = world.memory(clock=lambda: 1_790_000_000.0)
            assert kept == new.context(explain=True).text
            new.close()
        ours.close()
        other.close()


def _work(memory: Memory, call: Callable[[], object]) -> int:
    """Count the steps of SQLite's virtual machine in hundreds: work that no busy machine changes."""
    done = 0

    def count() -> bool:
        nonlocal done
        done += 1
        return False

    for connection in (memory.reader, memory.capture.connection):
        connection.set_progress_handler(count, 100)
    call()
    for connection in (memory.reader, memory.capture.connection):
        connection.set_progress_handler(None)
    return done


@pytest.fixture
def sized(tmp_path: Path) -> Callable[[int], Memory]:
    def make(size: int) -> Memory:
        (tmp_path / str(size)).mkdir()
        memory = World(tmp_path / str(size)).memory(clock=lambda: 1_790_000_000.0)
        author = memory.caller().author
        writer = Writer(memory, 1)
        for n in range(size):
            see_call(memory, f"output {n}\n", command=f"make {n}")
        for _ in range(size):
            writer.step("new")
        for _ in range(8):
            see_call(memory, "the same output\n", command="make")
        assert author.window is not None
        memory.context()
        return memory

    return make


def test_a_further_window_costs_the_same_on_a_longer_history(
    sized: Callable[[int], Memory],
) -> None:
    short, long = sized(150), sized(600)
    assert _work(long, long.context) <= 1.5 * _work(short, short.context)
    long.close()
    short.close()
