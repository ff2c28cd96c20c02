"""The index of vectors: near passages are candidates, filters come first, it follows the database."""

import random

import pytest

from keepthread.server.memory import Memory
from keepthread.stores import search, vector_index
from keepthread.stores.embeddings import pack_vector
from keepthread.stores.query import fetch_all, fetch_value
from keepthread.stores.search import Filters, search_passages
from keepthread.stores.vector_index import VectorIndex
from keepthread.stores.vectors import drop_vectors, ensure_model, put_passage_vectors
from tests.sample import append

DIMENSION = 384
COUNT = 300


@pytest.fixture
def filled(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """Entries of two workspaces by turns, each output with a random vector; scanning is for the small."""
    monkeypatch.setattr(search, "SCANNED_PASSAGES_MAX", 10)
    monkeypatch.setattr(vector_index, "STEP", 64)
    monkeypatch.setattr(vector_index, "BLOCK", 100)
    for n in range(COUNT):
        append(memory.capture, f"output {n}", workspace=("here", "there")[n % 2])
    embed(memory)
    return memory


def embed(memory: Memory, name: str = "model-a", dimension: int = DIMENSION) -> None:
    """Give each passage without one a vector that depends on its id only."""
    with memory.capture.transaction() as tx:
        model = ensure_model(tx.connection, name, dimension)
        ids = fetch_all(
            tx.connection, "SELECT id FROM passage WHERE id NOT IN (SELECT id FROM passage_vector)"
        )
        put_passage_vectors(tx.connection, model, [(i, vector(i, dimension)) for (i,) in ids])


def vector(seed: int, dimension: int = DIMENSION) -> bytes:
    pick = random.Random(seed)
    return pack_vector([pick.gauss(0, 1) for _ in range(dimension)])


def read_all(index: VectorIndex, memory: Memory) -> VectorIndex:
    while index.refresh(memory.reader):
        pass
    return index


def passage_of(memory: Memory, output: str) -> int:
    sql = (
        "SELECT p.id FROM passage p JOIN body b ON b.seq = p.entry AND b.field = p.field "
        "WHERE p.field = 'output' AND b.text = ?"
    )
    return int(fetch_value(memory.reader, sql, (output,)))


def workspace_of(memory: Memory, root: str) -> int:
    return int(fetch_value(memory.reader, "SELECT id FROM workspace WHERE root = ?", (root,)))


def found(memory: Memory, index: VectorIndex, like: str, filters: Filters = Filters()) -> list[str]:  # noqa: B008
    asked = vector(passage_of(memory, like))
    workspace = workspace_of(memory, "here")
    hits = search_passages(memory.reader, workspace, "unrelated", asked, filters, 5, index)
    return [h.text for h in hits]


@pytest.mark.parametrize("number", [0, 2, 150, 298])
def test_the_nearest_passage_is_found_wherever_it_lies(filled: Memory, number: int) -> None:
    index = read_all(VectorIndex(), filled)
    assert found(filled, index, f"output {number}")[0] == f"output {number}"


def test_passages_of_another_workspace_and_those_filtered_out_are_no_candidates(
    filled: Memory,
) -> None:
    index = read_all(VectorIndex(), filled)
    assert f"output {151}" not in found(filled, index, "output 151")
    assert found(filled, index, "output 150", Filters(tool="Bash"))[0] == "output 150"
    assert found(filled, index, "output 150", Filters(tool="Read")) == []
    near = index.nearest(vector(1), workspace_of(filled, "there"), None, 7)
    entry = "SELECT e.workspace FROM passage p JOIN entry e ON e.seq = p.entry WHERE p.id = ?"
    there = workspace_of(filled, "there")
    assert [fetch_value(filled.reader, entry, (i,)) for i in near] == [there] * 7


def test_without_an_index_meaning_is_compared_where_words_agree(filled: Memory) -> None:
    asked = vector(passage_of(filled, "output 150"))
    workspace = workspace_of(filled, "here")
    hits = search_passages(filled.reader, workspace, "output 150", asked, Filters(), 5)
    assert hits[0].text == "output 150" and hits[0].cosine == pytest.approx(1.0, abs=1e-6)


def test_the_index_follows_new_vectors_and_a_reindex(filled: Memory) -> None:
    index = read_all(VectorIndex(), filled)
    append(filled.capture, "output new", workspace="here")
    embed(filled)
    assert index.refresh(filled.reader) is False
    assert found(filled, index, "output new")[0] == "output new"
    with filled.capture.transaction() as tx:
        drop_vectors(tx.connection)
    embed(filled, "model-b", 100)  # no multiple of 64
    read_all(index, filled)
    asked = passage_of(filled, "output 4")
    near = index.nearest(vector(asked, 100), workspace_of(filled, "here"), None, 1)
    assert near == [asked]


def test_an_empty_index_has_no_candidates() -> None:
    assert VectorIndex().nearest(vector(1), 1, None, 5) == []
