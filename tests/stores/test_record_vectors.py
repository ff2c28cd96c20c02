"""The vectors kept in memory are those of the database, whoever wrote them and whenever they came."""

import random
from pathlib import Path

import pytest

from keepthread.server.memory import Memory
from keepthread.stores.embeddings import pack_vector
from keepthread.stores.query import fetch_all
from keepthread.stores.record_vectors import RecordVectors
from keepthread.stores.vectors import drop_vectors, ensure_model, put_record_vector
from tests.server.world import World

DIMENSION = 8


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    world = World(tmp_path)
    world.hook("SessionStart", source="startup")
    for n in range(30):
        world.bash(f"cat f{n}.ini", f"service {n} has port {4000 + n}")
    memory = world.memory()
    with world.connect(memory=memory) as session:
        for n in range(30):
            session.observe(f"service {n} has port {4000 + n}", f"call-{n + 1}")
    return memory


def _put(memory: Memory, seqs: list[int], seed: int = 1, model: str = "m") -> None:
    """Store vectors as another process does, over its own connection."""
    chance = random.Random(seed)
    with memory.capture.transaction() as tx:
        known = ensure_model(tx.connection, model, DIMENSION)
        for seq in seqs:
            vector = pack_vector([chance.gauss(0, 1) for _ in range(DIMENSION)])
            put_record_vector(tx.connection, seq, known, vector)


def _by_sql(memory: Memory, vector: bytes) -> dict[int, float]:
    sql = "SELECT seq, 1.0 - vec_distance_cosine(vec, ?) FROM record_vector ORDER BY 2 DESC"
    return dict(fetch_all(memory.reader, sql, (vector,)))


def test_the_nearest_are_those_that_the_database_would_find_however_late_their_vectors_came(
    memory: Memory,
) -> None:
    facts = [row[0] for row in fetch_all(memory.reader, "SELECT seq FROM fact ORDER BY seq")]
    index, vector = RecordVectors("fact"), pack_vector([1.0, 2.0, *[0.5] * (DIMENSION - 2)])
    assert index.compare(memory.reader, vector).nearest(None) == []
    for part in (facts[10:20], facts[:3], facts[20:], facts[3:10]):
        _put(memory, part, seed=part[0])
        found, wanted = index.compare(memory.reader, vector), _by_sql(memory, vector)
        assert found.nearest(None) == list(wanted)
        assert found.nearest(5) == list(wanted)[:5]
        for seq, cosine in wanted.items():
            assert found.cosine(seq) == pytest.approx(cosine, abs=1e-6)
    assert index.compare(memory.reader, vector).cosine(max(facts) + 1) is None


def test_vectors_of_another_model_replace_those_of_the_first(memory: Memory) -> None:
    facts = [row[0] for row in fetch_all(memory.reader, "SELECT seq FROM fact ORDER BY seq")]
    index, vector = RecordVectors("fact"), pack_vector([1.0] * DIMENSION)
    _put(memory, facts)
    before = index.compare(memory.reader, vector).nearest(None)
    with memory.capture.transaction() as tx:
        drop_vectors(tx.connection)
    assert index.compare(memory.reader, vector).nearest(None) == []
    _put(memory, facts, seed=2, model="another")
    after = index.compare(memory.reader, vector).nearest(None)
    assert after == list(_by_sql(memory, vector)) != before


def test_a_vector_of_another_length_is_near_to_nothing(memory: Memory) -> None:
    facts = [row[0] for row in fetch_all(memory.reader, "SELECT seq FROM fact ORDER BY seq")]
    _put(memory, facts)
    compared = RecordVectors("fact").compare(memory.reader, pack_vector([1.0] * 3))
    assert compared.nearest(5) == []
