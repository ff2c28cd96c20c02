"""What was settled is not decided otherwise, in whatever words; and other decisions pass.

``decision_pairs.txt`` holds the pairs. Here no embeddings help; with them the rule is no worse.
"""

from pathlib import Path

from keepthread.stores.records import Decision
from keepthread.validators.judges.local import judge
from keepthread.validators.relitigation import resolve_settled
from keepthread.validators.verdict import Refusal, Write

from .fake_view import FakeView

TABLE = Path(__file__).with_name("decision_pairs.txt")


def _table(heading: str) -> list[tuple[Decision, str]]:
    rows, here = [], ""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            here = line[2:]
        elif line and here == heading:
            settled, text = line.split(" => ")
            rows.append((_decision(*settled.split(" / ")), text))
    return rows


def _decision(text: str, *alternatives: str) -> Decision:
    return Decision(
        seq=1, id="decision-1", workspace=1, window=1, agent="", at="", decision=text,
        reason="it deadlocked under load", alternatives=alternatives,
        scope=(("path", "services/billing/"),), supports=(), supersedes=None, active=True,
    )  # fmt: skip


def _decide(settled: Decision, text: str, **more: object) -> Refusal | Write:
    write = Write("record_decision", "decision", text=text)._replace(**more)  # type: ignore[arg-type]
    result = resolve_settled(judge)(write, FakeView(known_decisions={"decision-1": settled}))
    assert result is not None
    return result


def test_relitigation_is_refused_with_the_decision_and_its_reason() -> None:
    rows = _table("settled otherwise")
    passed = []
    for settled, text in rows:
        answer = _decide(settled, text)
        if isinstance(answer, Refusal):
            assert answer.code == "settled_decision"
            quoted = [words for _, words in answer.material]
            assert quoted == [settled.decision, settled.reason]
        else:
            passed.append((settled.decision, text))
    assert len(rows) >= 40 and len(passed) <= 0.1 * len(rows), passed


def test_a_decision_on_another_matter_passes() -> None:
    rows = _table("another matter")
    refused = [(old.decision, new) for old, new in rows if isinstance(_decide(old, new), Refusal)]
    assert len(rows) >= 50 and len(refused) <= 0.05 * len(rows), refused


def test_the_same_decision_is_found_again() -> None:
    for settled, text in _table("the same"):
        answer = _decide(settled, text)
        assert isinstance(answer, Write) and answer.duplicate_of == 1, text


def test_only_decisions_of_an_overlapping_scope_settle_anything() -> None:
    settled = _decision("Use the connection pool")
    text = "Remove the connection pool"

    assert isinstance(_decide(settled, text, scope=(("path", "services/billing/api.py"),)), Refusal)
    assert isinstance(_decide(settled, text, scope=(("path", "services/search/"),)), Write)
