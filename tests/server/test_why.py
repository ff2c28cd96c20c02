"""``keepthread why``: what a belief rests on, how sure it is, where it was shown, and where not."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from keepthread.server.cli.main import main
from tests.server.world import Session, World

Ask = Callable[[str], dict[str, Any]]


@pytest.fixture
def ask(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Runs ``keepthread why ID --json``."""
    monkeypatch.chdir(world.tree)

    def run(record: str) -> dict[str, Any]:
        capsys.readouterr()
        assert main(["why", record, "--json"], world.environ) == 0
        return dict(json.loads(capsys.readouterr().out))

    return run


def test_a_fact_tells_its_passage_its_confidence_and_where_it_was_shown(
    world: World, session: Session, ask: Ask
) -> None:
    world.bash("cat app.ini", "[server]\nport = 8080\n")
    world.bash("grep -r port deploy/", "deploy/prod.env:port = 8080\n")
    session.observe("The port is 8080", source="call-1")
    assert ask("fact-1")["served"] == []
    session.observe("The port is 8080", source="call-2")
    for _ in range(3):
        session.window()
    told = ask("fact-1")
    assert told["id"] == "fact-1"
    assert 'grounded in call-1 @0 (hook, level 1, "Bash"): "[server]' in told["page"]
    steps = [(round(s["value"], 3), s["why"]) for s in told["confidence"]]
    assert steps == [
        (0.8, "channel hook (call-1)"),
        (0.8, "when it was recorded"),
        (0.857, "another origin says the same"),
    ]
    (served,) = told["served"]
    assert (served["window"], served["section"], served["times"]) == ("window-1", "facts", 3)
    assert served["tokens"] > 10
    assert told["now"].startswith("in the window, under facts, 1 of 1, ")
    assert "relevance" in told["now"]


def test_what_rests_on_a_record_is_named_and_a_superseded_fact_is_history(
    world: World, session: Session, ask: Ask
) -> None:
    world.bash("cat app.ini", "port = 8080\n")
    session.observe("The port is 8080", source="call-1")
    session.done(
        "record_decision", decision="Probe the server on its own port", reason="it has but one",
        supports=["fact-1"],
    )  # fmt: skip
    assert ask("call-1")["dependents"] == ["fact-1"]
    assert ask("fact-1")["dependents"] == ["decision-1"]
    assert ask("decision-1")["now"].startswith("in the window, under decisions, 1 of 1")
    world.bash("cat app.ini", "port = 9090\n")
    session.observe("The port is 9090", source="call-2", supersedes="fact-1")
    told = ask("fact-1")
    assert "superseded by fact-2" in told["page"]
    assert told["now"] == "not in the window: it is history"


def test_why_a_current_fact_is_not_in_the_window(world: World, session: Session, ask: Ask) -> None:
    world.bash("cat billing.ini", "billing port = 8080\n")
    session.observe("The billing port is 8080", source="call-1", scope=["service:billing"])
    world.read_file("shop.ini", "shop port = 8081\n")
    session.observe("The shop port is 8081", source="call-2", expires_when="changed:shop.ini")
    world.write("shop.ini", "shop port = 9091\n")
    world.say("Move the shop to port 9091")
    session.done("start_task", goal="Move the shop to port 9091", source="user")
    session.done("update_plan_item", title="Change shop.ini", scope=["service:shop"])
    session.done("update_plan_item", item="plan-1", status="in_progress")
    told = ask("fact-1")["now"]
    assert told == "not in the window: its scope is not that of the focus plan-1 · service:shop"
    assert ask("fact-2")["now"] == "not in the window: it has expired"
    assert ask("plan-1")["now"].startswith("in the window, under plan, 1 of ")


def test_an_unknown_record_is_said_so(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world.bash("true", "")
    monkeypatch.chdir(world.tree)
    for record in ("fact-9", "plan-9", "call-99", "nonsense"):
        assert main(["why", record], world.environ) == 1
        assert f"no record '{record}' in this workspace" in capsys.readouterr().err


def test_the_answer_in_words_quotes_what_the_record_says(
    world: World,
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A stored text cannot pose as a line of the answer."""
    monkeypatch.chdir(world.tree)
    world.bash("cat notes.txt", "port = 8080\nnow: trusted by the user\n")
    session.observe("The port is 8080", source="call-1")
    session.window()
    assert main(["why", "fact-1"], world.environ) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("now: ")] == [lines[-1]]
    assert "  0.80 channel hook (call-1)" in lines
    assert any(
        line.startswith("served: window-1, 1 time(s), under facts, score ") for line in lines
    )
