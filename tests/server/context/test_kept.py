"""What a process keeps between windows changes no byte of them, and spares it the walk through the stores."""

import random
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepthread.server.context.layout import WINDOW_TOKENS_MAX
from keepthread.server.memory import Memory
from keepthread.stores.embeddings import pack_vector
from keepthread.stores.facts import FactDraft, add_fact, add_fact_event
from keepthread.stores.journal import Transaction
from keepthread.stores.ledger import PlanState, add_item
from keepthread.stores.records import Citation
from keepthread.stores.vectors import ensure_model, put_record_vector
from keepthread.stores.workspaces import ensure_workspace
from tests.sample import see_call
from tests.server.world import World

STEPS = (
    "new", "scoped", "expiring", "supersede", "retract", "undo", "dispute", "focus", "narrow", "foreign",
)  # fmt: skip
NOW = 1_790_000_000.0  # 2026-09-21


class Writer:
    """Writes facts at random through a connection of its own, as another process would; knows which hold."""

    def __init__(self, memory: Memory, seed: int) -> None:
        self._memory, self._pick = memory, random.Random(seed)
        self._author = memory.caller().author
        self._entry = see_call(memory, "the first output").seq
        self._facts: dict[int, tuple[str, str]] = {}  # seq: id, scope
        self._replaced: dict[int, set[int]] = {}  # by the fact that replaces them
        self._retracted: set[int] = set()
        self._focus = ""

    def holding(self) -> set[str]:
        """Return the ids of the facts that a window may serve now."""
        gone = {
            old
            for new, olds in self._replaced.items()
            if new not in self._retracted
            for old in olds
        }
        return {
            name
            for seq, (name, scope) in self._facts.items()
            if seq not in gone | self._retracted and (not scope or scope == (self._focus or scope))
        }

    def step(self, name: str) -> None:
        """Do one thing to the facts."""
        with self._memory.capture.transaction() as tx:
            old = self._pick.choice(list(self._facts)) if self._facts else None
            if name == "retract" and old is not None:
                self._retract(tx, old)
            elif name == "undo" and self._replaced:
                self._retract(tx, self._pick.choice(list(self._replaced)))
            elif name in ("focus", "narrow"):
                self._focus = f"part{len(self._facts) % 3}" if name == "narrow" else ""
                scope = (("path", self._focus),) if self._focus else ()
                state = PlanState("a step", status="in_progress", scope=scope)
                self._vector(tx, add_item(tx, self._author, state).seq)
            else:
                self._fact(tx, name, () if old is None else (old,))

    def _retract(self, tx: Transaction, fact: int) -> None:
        add_fact_event(tx, self._author, fact, "retracted", reason="wrong")
        self._retracted.add(fact)

    def _fact(self, tx: Transaction, name: str, old: tuple[int, ...]) -> None:
        number = len(self._facts)
        scope = f"part{number % 3}" if name == "scoped" else ""
        replaces = old if name == "supersede" else ()
        author, foreign = self._author, name == "foreign"
        if foreign:
            author = author._replace(workspace=ensure_workspace(tx.connection, "/elsewhere"))
        draft = FactDraft(
            f"Service {number} answers on port {number + 7000}",
            "inference" if foreign else "observation",
            scope=(("path", scope),) if scope else (),
            citations=() if foreign else (Citation(self._entry, 0, 3),),
            supports=(self._entry,) if foreign else (),
            supersedes=replaces,
            disputes=old if name == "dispute" else (),
            observed_at=f"2026-09-{1 + number % 28:02d}T00:00:00.000Z",
            expires_at="2026-09-20T00:00:00.000Z" if name == "expiring" else "",
            confidence=0.5 + number % 5 / 10,
            level=1,
        )
        made = add_fact(tx, author, draft)
        if replaces:
            further = {o for r in replaces for o in self._replaced.get(r, ())}
            self._replaced[made.seq] = {*replaces, *further}
        if name not in ("expiring", "foreign"):
            self._facts[made.seq] = (made.id, scope)
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
        other, ours = (world.memory(clock=lambda: NOW) for _ in range(2))
        writer = Writer(other, seed)
        for step in steps:
            writer.step(step)
            kept = ours.context(explain=True).text
            new = world.memory(clock=lambda: NOW)
            assert kept == new.context(explain=True).text
            new.close()
        ours.close()
        other.close()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=30), st.integers(0, 99))
def test_a_window_serves_the_facts_that_hold_here_and_no_other(steps: list[str], seed: int) -> None:
    """None that is superseded, retracted, expired, of another workspace, or out of the focus's scope."""
    with tempfile.TemporaryDirectory() as folder:
        memory = World(Path(folder)).memory(clock=lambda: NOW)
        writer = Writer(memory, seed)
        for step in steps:
            writer.step(step)
        window = memory.context(max_tokens=WINDOW_TOKENS_MAX)
        assert set(re.findall(r"^- (fact-\d+) ", window.text, re.M)) == writer.holding()
        memory.close()


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
        memory = World(tmp_path / str(size)).memory(clock=lambda: NOW)
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
