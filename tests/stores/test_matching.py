"""Which words a query looks up: all in a small archive, a bounded number of matches in a large one."""

import apsw
import pytest

from keepthread.server.memory import Memory
from keepthread.stores import matching, search
from keepthread.stores.fulltext import match_any
from keepthread.stores.matching import PASSAGES, bounded_match
from keepthread.stores.query import fetch_value
from keepthread.stores.search import Filters
from tests.sample import append

FORTY = PASSAGES._replace(most=40)
WORDS = ("common", "usual", "frequent", "plain")


def _matches(connection: apsw.Connection, match: matching.Match) -> int:
    sql = "SELECT count(*) FROM passage_fts WHERE passage_fts MATCH ? AND rowid >= ?"
    return int(fetch_value(connection, sql, match))


@pytest.fixture
def large(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """200 entries, each with two or more of four common words, one with a rare word; ranked are 40."""
    for n in range(200):
        words = [w for i, w in enumerate(WORDS) if n >> i & 1] or list(WORDS)
        append(memory.capture, " ".join([*words, "needle"] if n == 17 else words), workspace="w")
    monkeypatch.setattr(search, "PASSAGES", FORTY)
    return memory


def test_in_a_small_archive_every_word_is_looked_up(memory: Memory) -> None:
    append(memory.capture, "some output of a build")
    found = bounded_match(memory.reader, "the build output and its warnings", PASSAGES)
    assert found == (match_any("the build output and its warnings"), 0)


def test_a_query_without_words_looks_up_nothing(memory: Memory) -> None:
    assert bounded_match(memory.reader, " -- ", PASSAGES) == ("", 0)


def test_common_words_are_left_out_beside_a_rare_one_or_taken_together(large: Memory) -> None:
    query = "common needle usual frequent plain"
    assert bounded_match(large.reader, query, FORTY).expression == '"needle"'
    found = bounded_match(large.reader, query, PASSAGES._replace(most=70))
    assert found.expression == '"needle" OR ("plain" AND "common")'
    assert 40 < _matches(large.reader, found) <= 70


@pytest.mark.parametrize("query", ["common", "common usual", "common usual frequent plain"])
def test_common_words_alone_are_looked_up_in_a_bounded_number_of_passages(
    large: Memory, query: str
) -> None:
    assert 0 < _matches(large.reader, bounded_match(large.reader, query, FORTY)) <= 40


def test_of_one_common_word_the_newest_passages_are_searched(large: Memory) -> None:
    found = bounded_match(large.reader, "common", FORTY)
    newest = append(large.capture, "common again", workspace="w").seq
    sql = "SELECT max(id) FROM passage WHERE entry = ?"
    assert bounded_match(large.reader, "common", FORTY).first > found.first
    assert fetch_value(large.reader, sql, (newest,)) >= found.first


def test_a_search_finds_the_rare_word_among_common_ones_in_a_large_archive(
    large: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "BEST_MATCHES", 30)
    append(large.capture, "needle of another workspace", workspace="elsewhere")
    workspace = fetch_value(large.reader, "SELECT id FROM workspace WHERE root = 'w'")

    def texts(filters: Filters) -> list[str]:
        query = "usual common needle"
        hits = search.search_passages(large.reader, workspace, query, None, filters, 5)
        return [h.text for h in hits]

    for filters in (Filters(), Filters(tool="Bash")):
        assert "needle" in texts(filters)[0]
        assert not any("elsewhere" in t for t in texts(filters))
    assert texts(Filters(tool="Read")) == []
