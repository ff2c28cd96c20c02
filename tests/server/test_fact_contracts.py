"""What a new fact does to the facts that are there: supersession, dispute, corroboration, weakness, scope."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepthread.server.users_word import remember
from keepthread.stores.clock import stamp

from .world import Answer, Clock, Session, World, stored

WISH = "Keep to Postgres 16. Always build with `make build-ci`. The platform team owns billing."


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.hook("SessionStart", source="startup")
    world.say(WISH)
    world.bash("cat ci.yml", "steps:\n  - run: make build-ci\ntimeout: 300\n")
    return world


@pytest.fixture
def session(world: World) -> Iterator[Session]:
    with world.connect() as session:
        yield session


def _build(session: Session, command: str, **more: str) -> Answer:
    return session.observe(f"The build command is `{command}`", subject="build command", **more)


def _inference(session: Session, text: str, *supports: str) -> Answer:
    return session.done("record_fact", text=text, kind="inference", supports=list(supports))


def _line(window: str, record: str) -> str:
    (line,) = [line for line in window.splitlines() if line.startswith(f"- {record} ")]
    return line


def test_a_newer_observation_supersedes_and_a_retraction_restores(
    world: World, session: Session
) -> None:
    first = _build(session, "make build-ci")
    world.bash("cat ci.yml", "steps:\n  - run: make build-all\n")
    second = _build(session, "make build-all")
    assert second.data["action"] == "superseded"
    assert second.data["superseded"] == [first.id]
    window = session.window()
    assert f"- {second.id} " in window
    assert f"- {first.id} " not in window
    page = session.read(f"memory://record/{first.id}")
    assert "superseded" in page
    assert second.id in page

    undone = session.done("retract_fact", fact=second.id, reason="that file is not used")
    assert undone.data["action"] == "retracted"
    assert f"current again: {first.id}" in undone.text
    window = session.window()
    assert f"- {first.id} " in window
    assert f"- {second.id} " not in window
    assert "that file is not used" in session.read(f"memory://record/{second.id}")


def test_weaker_evidence_disputes_what_the_workspace_shows(world: World, session: Session) -> None:
    ours = _build(session, "make build-ci")
    world.bash("curl -s https://wiki.example.org/build", "Run: make build-web\n")
    theirs = _build(session, "make build-web")
    assert theirs.data["action"] == "added"
    assert theirs.data["disputed_with"] == [ours.id]
    assert theirs.data["confidence"] <= 0.6
    window = session.window()
    assert window.index("disputed:") < window.index(f"- {ours.id} ")
    assert f"DISPUTED with {theirs.id}" in _line(window, ours.id)
    assert f"DISPUTED with {ours.id}" in _line(window, theirs.id)


def test_both_hold_when_the_caller_says_so(world: World, session: Session) -> None:
    first = _build(session, "make build-ci")
    world.bash("cat release.yml", "steps:\n  - run: make build-all\n")
    second = _build(session, "make build-all", supersedes="none")
    assert second.data["action"] == "added"
    assert second.data["disputed_with"] == second.data["superseded"] == []
    assert f"- {first.id} " in session.window()


def test_an_observation_never_replaces_the_users_instruction_but_shows_the_violation(
    world: World, session: Session
) -> None:
    wish = session.done(
        "record_fact",
        text="Always build with `make build-ci`",
        kind="instruction-from-user",
        source="user",
        subject="build command",
    )
    assert wish.data["confidence"] == 1.0
    world.bash("cat ci.yml", "steps:\n  - run: make build-all\n")
    seen = _build(session, "make build-all", supersedes=wish.id)
    assert f"violates the user's instruction {wish.id}" in seen.text
    assert seen.data["superseded"] == []
    pinned = _line(session.window().replace("- instruction ", "- "), wish.id + ",")
    assert f"VIOLATED by {seen.id}" in pinned


def test_a_newer_instruction_of_the_user_replaces_the_older(world: World, session: Session) -> None:
    old = session.done(
        "record_fact", text="Keep to Postgres 16", kind="instruction-from-user", source="user"
    )
    world.say("Changed my mind: keep to Postgres 17.")
    new = session.done(
        "record_fact",
        text="Keep to Postgres 17",
        kind="instruction-from-user",
        source="user",
        supersedes=old.id,
    )
    assert new.data["superseded"] == [old.id]
    assert "Postgres 16" not in session.window().split("== PLAN")[0].split("== PINNED")[1]


def test_a_correction_is_no_duplicate_however_similar_it_reads(
    world: World, session: Session
) -> None:
    world.bash("cat cfg.py", "RETRY_DELAY = 60  # default\n")
    first = session.observe("The retry delay defaults to 60")
    world.bash("cat cfg.py", "RETRY_DELAY = 600  # default\n")
    second = session.observe("The retry delay defaults to 600")
    assert second.id != first.id
    assert second.data["superseded"] == [first.id]


def test_only_another_origin_corroborates(world: World, session: Session) -> None:
    fact = _build(session, "make build-ci")
    before = _line(session.window(), fact.id)
    for _ in range(3):
        world.bash("cat ci.yml", "steps:\n  - run: make build-ci\ntimeout: 300\n")
        again = _build(session, "make build-ci")
        assert again.data["action"] == "merged"
        assert again.id == fact.id
    assert _line(session.window(), fact.id) == before
    world.bash("make -n ci", "make build-ci\n")
    merged = _build(session, "make build-ci")
    assert merged.id == fact.id
    assert "the new source was attached" in merged.text
    assert float(_line(session.window(), fact.id).split("[")[1][:4]) > float(
        before.split("[")[1][:4]
    )


def test_what_rests_on_a_superseded_fact_is_weakened_at_any_depth(
    world: World, session: Session
) -> None:
    base = _build(session, "make build-ci")
    first = _inference(session, "CI compiles everything anew", base.id)
    second = _inference(session, "Caching wheels would save minutes", first.id)
    session.done(
        "record_decision",
        decision="Cache wheels in CI",
        reason="saves minutes on every run",
        supports=[second.id],
    )
    assert "WEAKENED" not in session.window()
    world.bash("cat ci.yml", "steps:\n  - run: make build-all\n")
    _build(session, "make build-all")
    window = session.window()
    for record in (first.id, second.id, "decision-1"):
        assert "WEAKENED" in _line(window, record)
    assert "WEAKENED" not in _line(window, "fact-4")


def test_a_changed_file_makes_its_fact_stale_and_weakens_what_rests_on_it(
    world: World, session: Session
) -> None:
    world.write("limits.toml", "timeout = 300\n")
    session.done("capture_file", path="limits.toml")
    fact = session.observe("The timeout is 300", "file:limits.toml")
    guess = _inference(session, "Slow jobs are cut off after five minutes", fact.id)
    session.done(
        "record_decision",
        decision="Split the slow job",
        reason="jobs are cut off after five minutes",
        supports=[fact.id],
    )
    assert "STALE" not in session.window()
    world.write("limits.toml", "timeout = 900\n")
    window = session.window()
    assert window.index("re-verify:") < window.index(f"- {fact.id} ")
    assert 'STALE: "limits.toml" changed since' in _line(window, fact.id)
    assert "WEAKENED" in _line(window, guess.id)
    assert "WEAKENED" in _line(window, "decision-1")
    assert "STALE" in session.read(f"memory://record/{fact.id}")
    assert "WEAKENED" in session.read(f"memory://record/{guess.id}").upper()

    session.done("capture_file", path="limits.toml")
    now = session.observe("The timeout is 900", "file:limits.toml")
    assert now.data["superseded"] == [fact.id]
    assert "STALE" not in session.window()


def test_a_fact_recorded_anew_from_the_changed_file_is_stale_no_more(
    world: World, session: Session
) -> None:
    world.write("limits.toml", "timeout = 300\n")
    session.done("capture_file", path="limits.toml")
    fact = session.observe("The timeout is 300", "file:limits.toml")
    world.write("limits.toml", "# in seconds\ntimeout = 300\n")
    assert "STALE" in _line(session.window(), fact.id)
    session.done("capture_file", path="limits.toml")
    again = session.observe("The timeout is 300", "file:limits.toml")
    window = session.window()
    assert "STALE" not in window
    assert f"- {again.id} " in window


def test_a_fact_is_verified_again_only_where_that_says_something_new(world: World) -> None:
    clock = Clock(time.time())
    memory = world.memory(clock=clock)
    world.write("limits.toml", "timeout = 300\n")
    with world.connect(memory=memory) as session:
        session.done("capture_file", path="limits.toml")
        fact = session.observe("The timeout is 300", "file:limits.toml").id

        def events_after_a_look() -> int:
            session.done("capture_file", path="limits.toml")
            return stored(memory).get("fact_event", 0)

        assert events_after_a_look() == 0
        assert "last verified" not in session.done("read_record", id=fact).text
        world.write("limits.toml", "# in seconds\ntimeout = 300\n")
        assert [events_after_a_look() for _ in range(5)] == [1] * 5
        clock.pass_days(1.1)
        assert [events_after_a_look() for _ in range(5)] == [2] * 5
        assert f"last verified {stamp(clock.now)}" in session.done("read_record", id=fact).text
    memory.close()


def test_facts_expire_by_time_by_file_and_with_the_task(world: World) -> None:
    clock = Clock(time.time())
    memory = world.memory(clock=clock)
    with world.connect(memory=memory) as session:
        world.write("limits.toml", "timeout = 300\n")
        session.done("capture_file", path="limits.toml")
        session.done("start_task", goal="Keep to Postgres 16", source="user")
        tomorrow = time.strftime("%Y-%m-%d", time.gmtime(clock() + 86_400))
        session.observe("CI runs `make build-ci`", expires_when=tomorrow)
        session.observe("The time limit is 300 seconds", expires_when="changed:limits.toml")
        session.observe("The platform team owns billing", "user", expires_when="task_end")
        assert [f"- fact-{n} " in session.window() for n in (1, 2, 3)] == [True] * 3
        clock.pass_days(3)
        assert "- fact-1 " not in session.window()
        world.write("limits.toml", "timeout = 900\n")
        assert "- fact-2 " not in session.window()
        session.done("hand_off", doing="all of it", next="nothing", task_done=True)
        assert "- fact-3 " not in session.window()
    memory.close()


def test_reports_are_taken_only_where_messages_are_not_captured(tmp_path: Path) -> None:
    world = World(tmp_path)
    clock = Clock(time.time())
    memory = world.memory(clock=clock)
    with world.connect(memory=memory) as session:
        report = session.done(
            "record_fact",
            text="Keep commits tiny",
            kind="instruction-from-user",
            source="user:reported",
        )
        assert report.data["confidence"] == 0.3
        window = session.window()
        assert "Keep commits tiny" not in window.split("== PLAN")[0]
        assert window.index("reported, not confirmed:") < window.index(f"- {report.id} ")
        clock.pass_days(31)
        assert f"- {report.id} " not in session.window()
    memory.close()


def test_scope_comes_before_similarity(world: World, session: Session) -> None:
    ours = session.observe("The build is `make build-ci`", scope=["path:services/a/"])
    world.bash("cat b/ci.yml", "steps:\n  - run: make build-all\n")
    theirs = session.observe("The build is `make build-all`", scope=["path:services/b/"])
    assert theirs.data["action"] == "added"
    assert theirs.data["disputed_with"] == []
    session.done("update_plan_item", titles=["Build a"], scope=["path:services/a/x/"])
    window = session.window(item="plan-1")
    assert f"- {ours.id} " in window
    assert f"- {theirs.id} " not in window
    assert window == session.read("memory://context/plan-1")


def test_what_the_user_says_for_everywhere_is_served_in_every_workspace(
    world: World, tmp_path: Path
) -> None:
    memory = world.memory()
    with world.connect(memory=memory) as session:
        wish = remember(memory, "Keep to Postgres 16", via="terminal", everywhere=True)
        local = session.observe("CI runs `make build-ci`")
    memory.close()
    other = World(tmp_path, workspace="other", session="s2")
    with other.connect() as session:
        window = session.window()
        assert "Keep to Postgres 16" in window.split("== PLAN")[0]
        assert "make build-ci" not in window
        session.done("read_record", id=wish.id)
        session.refused("read_record", "unknown_record", id=local.id)
        session.refused("read_record", "unknown_record", id="call-1")
        assert "make build-ci" not in session.done("search_archive", query="make build-ci").text
        for source in ("call-1", "tool:Bash", "file:ci.yml"):
            session.refused(
                "record_fact",
                "unknown_source",
                text="CI runs `make build-ci`",
                kind="observation",
                source=source,
            )


def test_the_model_cannot_widen_the_users_words_to_every_workspace(
    world: World, tmp_path: Path
) -> None:
    world.say("Use tabs in this repo always")
    with world.connect() as session:
        fact = {"text": "Use tabs in this repo always", "kind": "instruction-from-user"}
        for source in ("user", "user:reported"):
            for tag in ("user:*", " user:* "):
                session.refused("record_fact", "bad_scope", **fact, source=source, scope=[tag])
        session.done("record_fact", **fact, source="user")
    with World(tmp_path, workspace="other", session="s2").connect() as session:
        assert "Use tabs" not in session.window()


def test_a_repeated_call_makes_one_record(world: World) -> None:
    memory = world.memory()
    with world.connect(memory=memory) as session:
        calls: list[tuple[str, dict[str, object]]] = [
            (
                "record_fact",
                {"text": "CI runs `make build-ci`", "kind": "observation", "source": "tool:Bash"},
            ),
            ("record_decision", {"decision": "Use FastAPI", "reason": "routers stay small"}),
            ("add_open_question", {"question": "Which port?"}),
            ("update_plan_item", {"titles": ["Port routes"]}),
            ("start_task", {"goal": "Keep to Postgres 16", "source": "user"}),
        ]
        for tool, arguments in calls:
            first = session.done(tool, **arguments)
            before = stored(memory)
            again = session.done(tool, **arguments)
            assert stored(memory) == before, tool
            assert again.id == first.id
            assert again.data["action"] == "merged"
    memory.close()


def test_what_the_agent_wrote_itself_is_weak_evidence_and_says_so(
    world: World, session: Session
) -> None:
    world.tool(
        "Write",
        {"file_path": str(world.tree / "NOTES.md"), "content": "The port is 8080.\n"},
        {
            "type": "create",
            "filePath": str(world.tree / "NOTES.md"),
            "content": "The port is 8080.\n",
        },
    )
    world.read_file("NOTES.md", "The port is 8080.\n")
    fact = session.observe("The port is 8080", "file:NOTES.md")
    assert fact.data["confidence"] <= 0.4
    assert "written by a model" in _line(session.window(), fact.id)


def test_a_spent_budget_still_lets_the_plan_move(world: World) -> None:
    with world.connect(settings={"writes_between_calls": 1}) as session:
        session.observe("CI runs `make build-ci`")
        fact = {"text": "The time limit is 300", "kind": "observation", "source": "tool:Bash"}
        session.refused("record_fact", "write_budget_spent", **fact)
        session.done("update_plan_item", titles=["Port routes"])
        session.done("retract_fact", fact="fact-1", reason="not used any more")
        world.bash("ls", "ci.yml\n")
        session.done("record_fact", **fact)


def test_what_supersedes_names_must_be_about_the_same(world: World, session: Session) -> None:
    ours = _build(session, "make build-ci")
    world.bash("ls", "README.md\nsetup.cfg\n")
    new = {"text": "There is a README.md", "kind": "observation", "source": "tool:Bash"}
    told = session.refused("record_fact", "unknown_record", **new, supersedes=ours.id)
    assert "is about something else" in told.text
    assert f"- {ours.id} " in session.window()
