"""The background worker: each text once, whoever runs; on after a restart; in nobody's way."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import apsw
import pytest

from keepthread.server import embedding_worker
from keepthread.server.embedding_worker import LEASE, EmbeddingWorker
from keepthread.server.memory import Memory
from keepthread.stores.database import open_database
from keepthread.stores.embeddings import BackgroundEmbedder, pack_vector
from keepthread.stores.query import fetch_all, fetch_value
from keepthread.stores.vector_index import VectorIndex
from keepthread.stores.vectors import count_unembedded, drop_vectors, ensure_model, take_lease
from tests.sample import append, say


class SlowEmbedder:
    """Counts the texts it is given; takes a moment for each, as a model does."""

    model_id, dimension = "slow", 64

    def __init__(self, seconds: float = 0.001) -> None:
        self.seen: Counter[str] = Counter()
        self._seconds = seconds

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.seen.update(texts)
        time.sleep(self._seconds * len(texts))
        return [pack_vector([1.0 + len(t) % 7, *[1.0] * 63]) for t in texts]


Start = Callable[..., EmbeddingWorker]


@pytest.fixture
def start(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts workers over the database of ``memory``, which are stopped at the end."""
    monkeypatch.setattr(embedding_worker, "IDLE_SECONDS", 0.02)
    monkeypatch.setattr(embedding_worker, "LEASE_SECONDS", 1.0)
    running: list[EmbeddingWorker] = []

    def begin(model: SlowEmbedder, index: VectorIndex | None = None) -> EmbeddingWorker:
        embedder = BackgroundEmbedder("", load=lambda _: model)
        embedder.start()
        worker = EmbeddingWorker(memory.settings.db, embedder, index)
        worker.start()
        running.append(worker)
        return worker

    yield begin
    for worker in running:
        worker.stop(10.0)


def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.01)


def write(memory: Memory, count: int, about: str = "text") -> None:
    for n in range(count):
        append(memory.capture, f"{about} {n}")


def vectors(memory: Memory) -> int:
    return int(fetch_value(memory.reader, "SELECT count(*) FROM passage_vector"))


def lease_holders(memory: Memory) -> list[str]:
    return [str(r[0]) for r in fetch_all(memory.reader, "SELECT holder FROM lease")]


def test_two_workers_over_one_database_embed_each_text_once(memory: Memory, start: Start) -> None:
    write(memory, 60)
    models = [SlowEmbedder(), SlowEmbedder()]
    for model in models:
        start(model)
    until(lambda: count_unembedded(memory.reader) == 0)
    write(memory, 30, "later")
    until(lambda: count_unembedded(memory.reader) == 0)
    times = models[0].seen + models[1].seen
    outputs = {text for text in times if text.startswith("Bash: ") and "make" not in text}
    assert len(outputs) == 90 and {times[text] for text in outputs} == {1}
    assert vectors(memory) == fetch_value(memory.reader, "SELECT count(*) FROM passage")


def test_a_worker_goes_on_where_the_last_one_stopped(memory: Memory, start: Start) -> None:
    write(memory, 200)
    first, second = SlowEmbedder(0.005), SlowEmbedder()
    worker = start(first)
    until(lambda: vectors(memory) > 0)
    worker.stop(10.0)
    assert 0 < vectors(memory) < 200
    assert lease_holders(memory) == []
    start(second)
    until(lambda: count_unembedded(memory.reader) == 0)
    assert not {t for t in first.seen.keys() & second.seen.keys() if "make" not in t}


def test_the_lease_of_a_killed_process_runs_out(memory: Memory, start: Start) -> None:
    write(memory, 3)
    with memory.capture.transaction() as tx:
        assert take_lease(tx.connection, LEASE, "a dead process", time.time(), 1.0)
    model = SlowEmbedder()
    start(model)
    time.sleep(0.2)
    assert vectors(memory) == 0 and not model.seen
    until(lambda: count_unembedded(memory.reader) == 0)
    (holder,) = lease_holders(memory)
    assert holder.startswith(f"{os.getpid()}-")


def test_nobody_waits_while_a_batch_is_embedded(memory: Memory, start: Start) -> None:
    write(memory, 20)
    model = SlowEmbedder(0.1)  # a batch takes 1.6 s
    start(model)
    until(lambda: bool(model.seen))
    began = time.monotonic()
    append(memory.capture, "written meanwhile")
    memory.context()
    assert time.monotonic() - began < 1.0
    assert vectors(memory) == 0


def test_vectors_that_are_dropped_are_made_anew_by_a_running_worker(
    memory: Memory, start: Start
) -> None:
    write(memory, 5)
    index = VectorIndex()
    start(SlowEmbedder(), index)
    until(lambda: len(index.nearest(pack_vector([1.0] * 64), 1, None, 50)) == vectors(memory) > 0)
    with memory.capture.transaction() as tx:
        drop_vectors(tx.connection)
    until(lambda: count_unembedded(memory.reader) == 0)
    assert vectors(memory) == fetch_value(memory.reader, "SELECT count(*) FROM passage")


def test_vectors_of_another_model_are_left_alone_and_the_fault_is_told(
    memory: Memory, start: Start
) -> None:
    write(memory, 1)
    with memory.capture.transaction() as tx:
        ensure_model(tx.connection, "another", 64)
    worker = start(SlowEmbedder())
    until(lambda: bool(worker.fault))
    assert "keepthread reindex" in worker.fault and vectors(memory) == 0


def test_an_idle_worker_does_not_walk_the_records(memory: Memory) -> None:
    write(memory, 300)
    steps = 0

    def count() -> bool:
        nonlocal steps
        steps += 1
        return False

    connection: apsw.Connection = open_database(memory.settings.db, "reader", vectors=True)
    connection.set_progress_handler(count, 100)
    assert embedding_worker.texts_to_embed(connection) is not None
    assert steps < 50
    connection.close()


def test_the_sentences_of_a_message_are_found_by_themselves_and_go_with_a_reindex(
    memory: Memory, start: Start
) -> None:
    said = say(
        memory, "The pool holds at most ten connections at once. Billing moves to port 9090 on Friday."
    )
    append(memory.capture, "The pool holds at most ten connections at once. Nothing else was printed here.")
    model = SlowEmbedder()
    start(model)
    until(lambda: count_unembedded(memory.reader) == 0)
    rows = fetch_all(
        memory.reader,
        "SELECT p.entry, count(*) FROM sentence_vector s JOIN passage p ON p.id = s.passage GROUP BY 1",
    )
    assert [tuple(row) for row in rows] == [(said.seq, 2)]
    assert model.seen["user: Billing moves to port 9090 on Friday."] == 1
    with memory.capture.transaction() as tx:
        drop_vectors(tx.connection)
    assert fetch_value(memory.reader, "SELECT count(*) FROM sentence_vector") == 0
