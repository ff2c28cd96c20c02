"""Window and search at 10,000 facts, 100,000 entries, a million passages, in a folder that is kept.

``python -m benchmarks scale --folder DIR --facts 10000 --entries 100000``: the first run fills DIR
(minutes at a million passages), later ones measure what is there. By hand only.
"""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measure import Figure, compare, timed
from benchmarks.memory import resident
from benchmarks.places import Bench
from benchmarks.world import Words, World
from keepthread.server.memory import Client, Memory
from keepthread.server.places import find_place
from keepthread.server.settings import read_settings
from keepthread.stores.fulltext import match_any
from keepthread.stores.query import fetch_all, fetch_value
from keepthread.stores.search import Filters

_SEARCH_FLOOR = "SELECT rowid FROM passage_fts WHERE passage_fts MATCH ? ORDER BY rank LIMIT 10"
_WINDOW_FLOOR = (
    "SELECT v.seq FROM fact_current f JOIN record_vector v USING(seq) WHERE f.workspace = 1 "
    "ORDER BY vec_distance_cosine(v.vec, ?) LIMIT 100"
)
_SETTLE_SECONDS = 30.0
_MIXED = ((5, 60), (60, 300), (300, 2_000), (2_000, 8_000), (8_000, 30_000), (8_000, 30_000))
_COMMON = ((0, 20),) * 2 + ((20, 80),) * 4


def run(rounds: int, folder: Path, facts: int, entries: int) -> Iterator[Figure]:
    """Fill ``folder`` unless it was filled before, then measure."""
    with Bench(folder) as bench:
        place = find_place(str(bench.tree))
        memory = Memory(read_settings(bench.environ), place, client=Client("bench", "bench"))
        try:
            if fetch_value(memory.reader, "SELECT count(*) FROM model") == 0:
                started = time.perf_counter()
                World(memory).fill(entries, facts, lambda text: print(text, file=sys.stderr))
                fetch_all(memory.capture.connection, "PRAGMA wal_checkpoint(TRUNCATE)")
                print(f"filled in {time.perf_counter() - started:.0f} s", file=sys.stderr)
            yield from _measure(memory, rounds)
        finally:
            memory.close()
        yield resident(bench, f"resident memory, {folder.name}", _SETTLE_SECONDS)


def _measure(memory: Memory, rounds: int) -> Iterator[Figure]:
    reader, words = memory.reader, Words(seed=11)
    counts = {
        name: int(fetch_value(reader, f"SELECT count(*) FROM {name}"))
        for name in ("passage", "entry", "fact")
    }
    size = Path(memory.settings.db).stat().st_size
    detail: dict[str, object] = {**counts, "database_mb": round(size / 1e6, 1)}
    about = f"{counts['passage']:,} passages, {counts['fact']:,} facts"

    def floor(sql: str, *values: object) -> Callable[[], object]:
        return lambda: list(reader.execute(sql, values))

    memory.counter.load()
    memory.embedder.start()
    memory.embedder.wait(60)
    started = time.perf_counter()
    while memory.vectors.refresh(reader):
        pass
    detail["index_seconds"] = round(time.perf_counter() - started, 2)
    if counts["fact"]:
        yield compare(
            f"window, {about}",
            lambda _: timed(memory.context),
            lambda _: timed(floor(_WINDOW_FLOOR, words.vectors(1)[0])),
            rounds,
            detail={**detail, "tokens": memory.context().tokens},
        )
    for name, ranks in (("mixed", _MIXED), ("common", _COMMON)):
        asked = [words.question(*ranks) for _ in range(rounds + 1)]
        yield compare(
            f"search, {name} words, {about}",
            lambda i, asked=asked: timed(lambda: memory.search(asked[i], Filters(), 10)),
            lambda i, asked=asked: timed(floor(_SEARCH_FLOOR, match_any(asked[i]))),
            rounds,
            detail=detail,
        )
