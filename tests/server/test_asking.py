"""The server asks the user, where the client shows forms, before anything is kept as only proposed or reported."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from keepthread.server.tools import asking
from tests.server.person import Person
from tests.server.world import ERAS, Answer, Session, World

GOAL = "Port the parser. Keep its public names. Then measure it."
LIMIT = "keep commits tiny"
WISH = "Never touch the billing tables. Ask Ana first. Then wait a day."


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def person() -> Person:
    return Person()


@pytest.fixture(params=ERAS)
def session(request: pytest.FixtureRequest, world: World, person: Person) -> Iterator[Session]:
    with world.connect(request.param, user=person) as session:
        yield session


def _begin(session: Session) -> Answer:
    return session.call("start_task", goal=GOAL, constraints=[LIMIT])


def _report(session: Session, text: str = WISH, **more: object) -> Answer:
    return session.call(
        "record_fact", text=text, kind="instruction-from-user", source="user:reported", **more
    )


def _pinned(session: Session) -> str:
    return session.window().partition("== PLAN")[0]


def test_an_accepted_goal_is_the_users_own_word_for_word(session: Session, person: Person) -> None:
    answer = _begin(session)
    assert answer.data["action"] == "added" and answer.id == "task-1"
    assert "the user confirmed these very words" in answer.text
    (question,) = person.asked
    assert f'Goal: "{GOAL}"\nConstraint: "{LIMIT}"' in question
    assert f'- goal task-1: "{GOAL}"' in _pinned(session)
    assert f'- constraint: "{LIMIT}"' in _pinned(session)
    entry = session.read("memory://record/msg-1")
    assert "elicitation" in entry and "Port the parser" in entry


def test_an_accepted_instruction_is_the_users_own_word_for_word(
    session: Session, person: Person
) -> None:
    answer = _report(session, scope=["path:billing/"], subject="billing tables")
    assert answer.data["confidence"] == 1.0 and "source user:msg-1" in answer.text
    assert f'Instruction: "{WISH}"\nOnly for: "path:billing/"' in person.asked[0]
    assert f'instruction fact-1, msg-1 · path:billing/: "{WISH}"' in _pinned(session)


def test_what_the_user_declines_is_stored_as_nothing_and_not_asked_again(
    session: Session, person: Person
) -> None:
    person.reply = "decline"
    for call in (_begin, _report):
        person.asked.clear()
        for _ in range(2):
            answer = call(session)
            assert answer.code == "declined_by_user" and "the user was shown this" in answer.text
        assert len(person.asked) == 1
    window = session.window()
    assert "Port the parser" not in window and "billing" not in window
    assert "fact-1" not in session.read("memory://facts")


@pytest.mark.parametrize(
    ("reply", "why"),
    [("cancel", "the user closed the question"), ("never", "the user did not answer within")],
)
def test_without_an_answer_it_is_proposed_or_reported_as_ever(
    world: World, reply: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "PATIENCE_SECONDS", 0.2)
    person = Person(reply)
    for era in ERAS if reply == "cancel" else ("legacy",):
        with world.connect(era, user=person) as session:
            answer = _begin(session)
            assert (answer.data["action"], answer.failed) == ("proposed", False)
            assert why in answer.text
            reported = _report(session, f"Never deploy on Fridays, {era}")
            assert reported.data["confidence"] == 0.3 and why in reported.text
            assert "merged" in _begin(session).text and len(person.asked) == 2
            assert "proposed task" in _pinned(session)
        person.asked.clear()
        world = World(world.folder, f"w-{era}", f"s-{era}")


@pytest.mark.parametrize("reply", ["error", "garbage"])
def test_an_answer_that_is_none_confirms_nothing(world: World, reply: str) -> None:
    with world.connect("legacy", user=Person(reply)) as session:
        answer = _begin(session)
        assert answer.data["action"] == "proposed"
        assert "the client could not ask the user" in answer.text


def test_a_call_that_never_comes_back_with_the_answer_stores_nothing(world: World) -> None:
    with world.connect("auto", user=Person("error")) as session:
        with pytest.raises(MCPError):
            _begin(session)
        assert "Port the parser" not in session.window()


@pytest.mark.parametrize("era", ERAS)
def test_a_client_without_forms_is_asked_nothing_and_told_so(world: World, era: str) -> None:
    with world.connect(era) as session:
        answer = _begin(session)
        assert answer.data["action"] == "proposed"
        assert "this client cannot ask the user" in answer.text
        assert "this client cannot ask the user" in _report(session).text


def test_an_accepted_call_repeated_asks_nothing_and_answers_with_its_record(
    session: Session, person: Person, world: World
) -> None:
    assert (_begin(session).id, _report(session).id) == ("task-1", "fact-1")
    world.tool("Read", {"file_path": "x"}, {"file": {"content": "y"}})
    assert (_begin(session).id, _report(session).id) == ("task-1", "fact-1")
    assert len(person.asked) == 2


def test_only_what_would_be_stored_is_asked(session: Session, person: Person, world: World) -> None:
    assert _report(session, "The key is " + "ghp_" + "R7kQ2vXbN4tZ8mLc3pYw9sHd5fGj1aUe6oVi").failed
    assert session.call("start_task", goal="g" * 40_000).code == "too_long"
    world.hook("SessionStart", source="startup")
    world.say("Port the parser.")
    assert _report(session).code == "not_the_users_words"
    assert person.asked == []


def test_the_question_names_what_it_would_replace(session: Session, person: Person) -> None:
    _begin(session)
    session.call("start_task", goal="Rewrite the lexer")
    assert f'Instead of task-1: "{GOAL}"' in person.asked[1]
    _report(session, "Deploy on Fridays", subject="deploy day")
    _report(session, "Deploy on Mondays", subject="deploy day", supersedes="fact-1")
    assert 'Instead of fact-1: "Deploy on Fridays"' in person.asked[3]
    assert "Fridays" not in _pinned(session) and "Mondays" in _pinned(session)


def test_words_made_to_look_like_the_form_stay_in_their_line(
    session: Session, person: Person
) -> None:
    _report(session, "Be careful\n\nAccept: this is required by your company")
    (question,) = person.asked
    assert [line.partition(":")[0] for line in question.splitlines()] == [
        "Keepthread",
        "Instruction",
    ]


@pytest.mark.parametrize("era", ERAS)
def test_a_confirmation_proves_no_capture(world: World, person: Person, era: str) -> None:
    """Else the budget of facts between two captured calls would hold where no call is captured."""
    world.write("ports.txt", "port 8080 is open\nport 8081 is closed\nport 8082 is open\n")
    with world.connect(era, user=person, settings={"writes_between_calls": 1}) as session:
        session.done("capture_file", path="ports.txt")
        assert not _begin(session).failed
        assert not _report(session).failed, "refused only where a client captures messages"
        for fact in ("Port 8080 is open", "Port 8081 is closed", "Port 8082 is open"):
            session.observe(fact, "file:ports.txt")


@pytest.mark.parametrize("era", ERAS)
def test_the_user_behind_a_real_process_is_asked(world: World, person: Person, era: str) -> None:
    environ = world.environ | {"KEEPTHREAD_EMBEDDER": "none"}
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "keepthread", "--workspace", str(world.tree), "serve"],
        env=environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            Client(server, mode=era, elicitation_callback=person)
        ) as client,
    ):
        session = Session(portal, client)
        assert _begin(session).data["action"] == "added"
        assert f'- goal task-1: "{GOAL}"' in _pinned(session)
    assert len(person.asked) == 1
