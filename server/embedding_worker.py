"""Fills in vectors behind everyone's back: one worker a database, never in a call's way.

What has no vector yet is to do; a lease in the database keeps a second process from doing it
twice. Embedding happens outside any transaction; the write takes milliseconds.
"""

import os
import threading
import time
from typing import NamedTuple

import apsw

from keepthread.stores.database import open_database
from keepthread.stores.embeddings import BackgroundEmbedder, Embedder, EmbeddingError
from keepthread.stores.errors import StoreError
from keepthread.stores.journal import Journal, head
from keepthread.stores.vector_index import VectorIndex
from keepthread.stores.vectors import (
    ToEmbed,
    drop_lease,
    ensure_model,
    newest_vector,
    passages_to_embed,
    put_passage_vectors,
    put_record_vector,
    put_sentence_vectors,
    records_to_embed,
    take_lease,
)

BATCH = 16
LEASE, LEASE_SECONDS = "embedding", 30.0
IDLE_SECONDS = 2.0


class EmbeddingWorker:
    """A daemon thread over its own connection. ``start`` once; ``stop`` ends it after its batch."""

    def __init__(
        self, path: str, embedder: BackgroundEmbedder, index: VectorIndex | None = None
    ) -> None:
        self._path, self._embedder = path, embedder
        self._index = index or VectorIndex()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="embedding", daemon=True)
        self.fault = ""
        self.started = False

    def start(self) -> None:
        """Begin; the embedder may still be loading."""
        self.started = True
        self._thread.start()

    def stop(self, timeout_seconds: float = 2.0) -> None:
        """Ask the worker to end and wait for its batch."""
        self._stop.set()
        self._thread.join(timeout_seconds)

    def _run(self) -> None:
        model = None
        while (
            model is None
            and not self._stop.is_set()
            and self._embedder.state in ("loading", "ready")
        ):
            model = self._embedder.wait(0.2)
        if model is None:
            return
        try:
            connection = open_database(self._path, "trusted", vectors=True)
        except StoreError as error:
            self.fault = str(error)
            return
        journal = Journal(self._path, connection, time.time)
        holder = f"{os.getpid()}-{time.time_ns()}"
        try:
            self._serve(journal, model, holder)
            drop_lease(connection, LEASE, holder)
        except (StoreError, EmbeddingError) as error:
            self.fault = str(error)  # windows and searches say so; full text goes on serving
        finally:
            connection.close()

    def _serve(self, journal: Journal, model: Embedder, holder: str) -> None:
        """Embed what is new and let the index take it in, until told to stop."""
        done = None  # how far the database was when every text had its vector
        while not self._stop.is_set():
            while self._index.refresh(journal.connection) and not self._stop.is_set():
                pass
            now = (head(journal.connection), newest_vector(journal.connection))
            texts = texts_to_embed(journal.connection) if now != done else None
            if texts is None:
                done = now
            if texts is None or not embed_texts(journal, model, holder, texts):
                self._stop.wait(IDLE_SECONDS)


class Texts(NamedTuple):
    """The next texts without a vector: records as (seq, text), and passages."""

    records: list[tuple[int, str]]
    passages: list[ToEmbed]


def texts_to_embed(connection: apsw.Connection) -> Texts | None:
    """Return the next BATCH of texts without a vector; None when every text has one."""
    records = records_to_embed(connection, BATCH)
    passages = passages_to_embed(connection, BATCH - len(records)) if len(records) < BATCH else []
    return Texts(records, passages) if records or passages else None


def embed_texts(journal: Journal, model: Embedder, holder: str, texts: Texts) -> int:
    """Embed texts; return how many. 0 while another process does it.

    Raises ModelMismatch when the stored vectors come from another model.
    """
    with journal.transaction() as tx:
        if not take_lease(tx.connection, LEASE, holder, tx.now, LEASE_SECONDS):
            return 0
        model_id = ensure_model(tx.connection, model.model_id, model.dimension)
    records, passages = texts
    sentences = [(p.passage, s) for p in passages for s in p.sentences]
    made = iter(
        model.embed(
            [text for _, text in records] + [p.text for p in passages] + [s for _, s in sentences]
        )
    )
    with journal.transaction() as tx:
        for seq, _ in records:
            put_record_vector(tx.connection, seq, model_id, next(made))
        put_passage_vectors(tx.connection, model_id, [(p.passage, next(made)) for p in passages])
        put_sentence_vectors(tx.connection, model_id, [(i, next(made)) for i, _ in sentences])
    return len(records) + len(passages)


def embed_batch(journal: Journal, model: Embedder, holder: str) -> int:
    """Embed some of what has no vector yet; return how many: 0 when nothing is left, or another
    process does it."""
    texts = texts_to_embed(journal.connection)
    return embed_texts(journal, model, holder, texts) if texts else 0
