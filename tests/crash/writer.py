"""A process that writes until it is told to stop or is killed, and says what was acknowledged.

``python -m tests.crash.writer DATABASE NAME KIND COUNT``: KIND is ``hook`` (archive entries) or
``gate`` (facts and plan items over the model's connection). Prints ``ready``, waits for a line,
then prints ``ID MILLISECONDS`` after each commit.
"""

import sys
import time

from keepthread.server.capture.append import append_call
from keepthread.server.capture.events import Call
from keepthread.stores.database import open_database
from keepthread.stores.facts import FactDraft, add_fact
from keepthread.stores.journal import Journal
from keepthread.stores.records import Author, Citation
from keepthread.stores.vectors import ensure_model, put_record_vector
from keepthread.validators.gate import Gate, GateSettings
from keepthread.validators.gate_view import Caller
from keepthread.validators.writes.plan import update_plan_item

WORKSPACE = 1
EVIDENCE = 2
"""The seq of the entry that every fact cites; the window is the record before it."""

VECTOR = bytes(4 * 384)


def append_run(journal: Journal, name: str) -> None:
    """Archive one call, as a hook does."""
    call = Call(tool="Bash", args=f'{{"command":"run {name}"}}', output=f"{name} finished\n" * 20)
    with journal.transaction() as tx:
        key = journal.anchor.key
        append_call(
            tx, Author(WORKSPACE, "hook", window=1), call, channel="hook", level=1, tree="",
            key=key, outer_ref=name,
        )  # fmt: skip


def add_observation(journal: Journal, name: str) -> None:
    """Write a fact with its citation, its full-text row and its vector, in one transaction."""
    fact = FactDraft(
        text=f"{name} finished", kind="observation", citations=(Citation(EVIDENCE, 0, 4),),
        observed_at="2026-01-01T00:00:00.000Z", confidence=0.8, level=1, scope=(("run", name),),
    )  # fmt: skip
    with journal.transaction() as tx:
        stamp = add_fact(tx, Author(WORKSPACE, "model", window=1), fact)
        model = ensure_model(tx.connection, "test-model", 384)
        put_record_vector(tx.connection, stamp.seq, model, VECTOR)


def plan(gate: Gate, name: str) -> None:
    """Add a plan item through the gate."""
    update_plan_item(gate, Caller(Author(WORKSPACE, "model", window=1)), title=f"Do {name}")


def main(path: str, name: str, kind: str, count: int) -> None:
    role = open_database(path, "trusted" if kind == "hook" else "model", vectors=kind == "gate")
    journal = Journal(path, role, time.time)
    gate = Gate(
        journal,
        embedder=lambda: None,
        settings=GateSettings(writes_per_window=0, writes_between_calls=0),
        pinned_overflow=lambda goal, constraints: 0,
    )
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(count):
        record = f"{name}-{n}"
        began = time.perf_counter()
        if kind == "hook":
            append_run(journal, record)
        elif n % 2:
            plan(gate, record)
        else:
            add_observation(journal, record)
        print(record, round(1000 * (time.perf_counter() - began), 1), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
