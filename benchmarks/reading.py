"""Search and window assembly on databases of a given size, beside the least query that could serve them.

Vectors are random directions: their number costs, not their meaning. Sizes of 100,000 and more
take minutes to fill; they are for running by hand.
"""

import time
from collections.abc import Callable, Iterator

from benchmarks.measure import Figure, compare, timed
from benchmarks.places import Bench
from benchmarks.texts import Texts
from keepthread.server.memory import Client, Memory
from keepthread.server.places import find_place
from keepthread.server.settings import read_settings
from keepthread.stores.archive import Capture, append_entry
from keepthread.stores.clock import stamp
from keepthread.stores.embeddings import pack_vector
from keepthread.stores.facts import FactDraft, add_fact
from keepthread.stores.fulltext import match_any
from keepthread.stores.journal import Transaction
from keepthread.stores.query import fetch_all, fetch_value
from keepthread.stores.records import Author, Citation
from keepthread.stores.search import Filters
from keepthread.stores.vectors import ensure_model, put_record_vector

BATCH = 500
OUTPUT_CHARACTERS = 600
MODEL = ("all-MiniLM-L6-v2-int8", 384)
_SEARCH_FLOOR = "SELECT rowid FROM passage_fts WHERE passage_fts MATCH ? ORDER BY rank LIMIT 10"
_NEAR_FLOOR = (
    "SELECT id FROM passage_vector WHERE id IN "
    "(SELECT rowid FROM passage_fts WHERE passage_fts MATCH ? ORDER BY rank LIMIT 200) "
    "ORDER BY vec_distance_cosine(vec, ?) LIMIT 10"
)
_WINDOW_FLOOR = (
    "SELECT v.seq FROM fact_current f JOIN record_vector v USING(seq) "
    "ORDER BY vec_distance_cosine(v.vec, ?) LIMIT 100"
)


def run(rounds: int, facts: int = 1_000, entries: int = 1_000) -> Iterator[Figure]:
    """Fill a database, then measure; sizes on disk are in the details."""
    with Bench() as bench:
        settings = read_settings(bench.environ)
        memory = Memory(settings, find_place(str(bench.tree)), client=Client("bench", "bench"))
        try:
            started = time.perf_counter()
            words = Fill(memory, Texts()).all(entries, facts)
            fetch_all(memory.capture.connection, "PRAGMA wal_checkpoint(TRUNCATE)")
            detail: dict[str, object] = {
                "facts": facts,
                "entries": entries,
                "fill_seconds": round(time.perf_counter() - started, 1),
                "database_mb": round(bench.database.stat().st_size / 1e6, 2),
                "text_mb": round(words / 1e6, 2),
            }
            yield from _measure(memory, rounds, detail)
        finally:
            memory.close()


class Fill:
    """Fills a database with entries and facts, the way the trusted channels and the gate write them."""

    def __init__(self, memory: Memory, texts: Texts) -> None:
        self._memory, self._texts = memory, texts
        self._author: Author = memory.caller().author

    def all(self, entries: int, facts: int) -> int:
        """Write everything in batches; return the characters of text."""
        self._in_batches(entries, self._entry)
        self._in_batches(facts, self._fact)
        reader = self._memory.reader
        with self._memory.capture.transaction() as tx:
            model = ensure_model(tx.connection, *MODEL)
            for (passage,) in fetch_all(reader, "SELECT id FROM passage WHERE field = 'output'"):
                blob = pack_vector(self._texts.vector())
                tx.connection.execute(
                    "INSERT INTO passage_vector VALUES(?,?,?)", (passage, model, blob)
                )
        return int(fetch_value(reader, "SELECT sum(length(text)) FROM body") or 0)

    def _in_batches(self, count: int, write: Callable[[Transaction, int], None]) -> None:
        for at in range(0, count, BATCH):
            with self._memory.capture.transaction() as tx:
                for number in range(at, min(count, at + BATCH)):
                    write(tx, number)

    def _entry(self, tx: Transaction, number: int) -> None:
        seen = Capture(
            kind="call",
            channel="hook",
            level=1,
            tool="Bash",
            args=f'{{"command":"make step-{number}"}}',
            output=self._texts.output(OUTPUT_CHARACTERS),
            seen_at=stamp(tx.now),
        )
        append_entry(tx, self._author._replace(origin="hook"), seen)

    def _fact(self, tx: Transaction, number: int) -> None:
        first = int(fetch_value(tx.connection, "SELECT min(seq) FROM entry"))
        draft = FactDraft(
            text=self._texts.fact(number),
            kind="observation",
            citations=(Citation(first, 0, 20),),
            observed_at=stamp(tx.now),
            confidence=0.8,
            level=1,
        )
        made = add_fact(tx, self._author._replace(origin="model"), draft)
        model = ensure_model(tx.connection, *MODEL)
        put_record_vector(tx.connection, made.seq, model, pack_vector(self._texts.vector()))


def _measure(memory: Memory, rounds: int, detail: dict[str, object]) -> Iterator[Figure]:
    ask = Texts(seed=11)
    questions = [" ".join(ask.words(6)) for _ in range(rounds + 1)]
    vector = pack_vector(ask.vector())
    reader = memory.reader
    about = f"{detail['facts']:,} facts, {detail['entries']:,} entries"

    def query(sql: str, *values: object) -> Callable[[], object]:
        return lambda: list(reader.execute(sql, values))

    yield compare(
        f"search by words, {about}",
        lambda i: timed(lambda: memory.search(questions[i], Filters(), 10)),
        lambda i: timed(query(_SEARCH_FLOOR, match_any(questions[i]))),
        rounds,
        detail=detail,
    )
    memory.embedder.start()
    memory.embedder.wait(60)
    model = memory.embedder.get()
    assert model is not None, memory.embedder.state
    yield compare(
        f"search by words and meaning, {about}",
        lambda i: timed(lambda: memory.search(questions[i], Filters(), 10)),
        lambda i: timed(query(_NEAR_FLOOR, match_any(questions[i]), vector)),
        rounds,
        detail={
            **detail,
            "embed_ms": round(1000 * timed(lambda: model.embed(questions[:1]))[0], 2),
        },
    )
    memory.counter.load()
    yield compare(
        f"window, {about}",
        lambda _: timed(lambda: memory.context()),
        lambda _: timed(query(_WINDOW_FLOOR, vector)),
        rounds,
        detail={**detail, "tokens": memory.context().tokens},
    )
