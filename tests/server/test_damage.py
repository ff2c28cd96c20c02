"""Damage: what differs from what was written is served nowhere, and the rest still is."""

import apsw
import pytest

from keepthread.server.brief import brief_window
from keepthread.server.memory import Client, Memory
from keepthread.server.record_pages import read_record
from keepthread.server.search_answer import search_text
from keepthread.stores.errors import DatabaseDamaged
from keepthread.stores.search import Filters
from tests.sample import fill

FALSE = "FALSIFIED"


def _falsify(db: str, words: str) -> None:
    """Change every stored text that contains ``words``, behind our back."""
    owner = apsw.Connection(db)
    owner.execute("DROP TRIGGER body_fixed")
    owner.execute(
        "UPDATE body SET text = ? || ' ' || text WHERE text LIKE ?", (FALSE, f"%{words}%")
    )
    assert owner.changes()
    owner.close()


@pytest.mark.parametrize(
    "words, record",
    [
        ("The port is 9090", "fact-5"),
        ("Bind to 9090 only", "decision-1"),
        ("Change the port", "plan-1"),
        ("Keep commits small", "msg-1"),
        ("Who owns the proxy", "question-1"),
        ("port = 9090", "call-2"),
    ],
)
def test_a_falsified_record_is_served_nowhere(
    memory: Memory, db: str, words: str, record: str
) -> None:
    fill(memory)
    memory.close()
    _falsify(db, words)
    opened = Memory(memory.settings, memory.place, client=Client("test", "session-2"))
    for stage in ("plan", "execute", "review"):
        window = opened.context(stage=stage).text
        assert FALSE not in window
    brief = brief_window(opened.reader, opened.onlooker().author, 0.0, opened.capture.anchor.key)
    assert FALSE not in brief
    assert FALSE not in search_text(opened, "port commits", Filters(), 20, 4_000)
    with pytest.raises(DatabaseDamaged):
        read_record(opened, record, 0, 2_000)
    opened.close()


def test_the_rest_is_served_beside_a_damaged_record(memory: Memory, db: str) -> None:
    fill(memory)
    memory.close()
    _falsify(db, "The port is 9090")
    opened = Memory(memory.settings, memory.place, client=Client("test", "session-2"))
    window = opened.context().text
    assert "Move the billing service" in window and "Bind to 9090 only" in window
    assert "port = 8080" in search_text(opened, "port", Filters(), 20, 4_000)
    opened.close()
