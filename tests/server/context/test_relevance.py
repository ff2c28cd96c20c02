"""What makes a fact relevant to the item in hand, as ``get_context(explain=true)`` tells it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.world import Session, World

FACTS = (
    ("The deploy script reads AWS_PROFILE and pushes the image to staging", "deployment | deploys"),
    ("Tests of the parser use recorded fixtures in tests/data", "parser tests"),
    ("The service uses a pool of ten connections", "connection pool"),
    ("Snapshots of the ledger are pruned by cron every night", ""),
)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    world = World(tmp_path)
    world.hook("SessionStart", source="startup")
    world.bash("cat NOTES", "\n".join(text for text, _ in FACTS))
    with world.connect() as session:
        for text, subject in FACTS:
            session.observe(text, subject=subject)
        yield session


def _relevance(session: Session, title: str) -> list[float]:
    item = session.done("update_plan_item", title=title).id
    window = session.window(item=item, explain=True)
    found = dict(re.findall(r"^- (fact-\d+) .*?relevance (\d\.\d+)", window, re.M))
    return [float(found[f"fact-{n}"]) for n in range(1, len(FACTS) + 1)]


@pytest.mark.parametrize(
    ("title", "fact"),
    [
        ("Make deployment faster", 0),
        ("Fix the deplyment", 0),
        ("Speed up the PARSER TESTS", 1),
        ("Why is the connection pool exhausted?", 2),
    ],
)
def test_a_fact_whose_subject_is_named_is_relevant_and_the_others_are_not(
    session: Session, title: str, fact: int
) -> None:
    relevance = _relevance(session, title)
    assert relevance.pop(fact) >= 0.8
    assert max(relevance) == 0


def test_a_fact_without_a_subject_is_found_by_its_rare_words(session: Session) -> None:
    relevance = _relevance(session, "Prune ledger snapshots")
    assert relevance.pop() > 0.5
    assert max(relevance) == 0


@pytest.mark.parametrize(
    "title",
    ["Translate the manual into Finnish", "Which tools use what?", "The service is slow in spring"],
)
def test_nothing_is_relevant_only_because_nothing_is_more_so(session: Session, title: str) -> None:
    assert _relevance(session, title) == [0, 0, 0, 0]


def test_what_is_not_relevant_is_still_served_after_what_is(session: Session) -> None:
    session.done("update_plan_item", title="Clean the connection pool up", status="in_progress")
    facts = re.findall(r"^- (fact-\d+) ", session.window().partition("== FACTS")[2], re.M)
    assert facts[0] == "fact-3"
    assert sorted(facts) == ["fact-1", "fact-2", "fact-3", "fact-4"]
