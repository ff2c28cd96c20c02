"""Calls that the client's own transcript does not know are marked, and lower what cites them."""

import json
from pathlib import Path
from typing import Any

import pytest

from keepthread.server.capture import transcript_check
from keepthread.server.capture.transcript_check import missing_calls
from tests.server.capture.hooks import archived
from tests.server.world import World

FORGED = "forged-1"


class Session:
    """A session whose transcript is written as the client writes it: a row a message."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.transcript = world.folder / "projects" / f"{world.session}.jsonl"
        self.transcript.parent.mkdir()
        self.transcript.write_text("", encoding="utf-8")

    def row(self, *blocks: dict[str, Any], at: str = "", agent: str = "") -> None:
        """Let the model say blocks, in the session's transcript or in a sub-agent's."""
        file = self.transcript
        if agent:
            file = file.with_suffix("") / "subagents" / f"agent-{agent}.jsonl"
            file.parent.mkdir(parents=True, exist_ok=True)
        said = {
            "type": "assistant",
            "message": {"content": blocks},
            "timestamp": at or "2000-01-01T00:00:00.000Z",
        }
        with file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(said, ensure_ascii=False) + "\n")

    def calls(self, command: str, output: str, ref: str, agent: str = "") -> None:
        """The model calls a tool, and the hook tells of it."""
        self.row(
            {"type": "tool_use", "id": ref, "name": "Bash", "input": {"command": command}},
            agent=agent,
        )
        self.forges(command, output, ref, agent)

    def forges(self, command: str, output: str, ref: str, agent: str = "") -> None:
        """Something tells the hook of a call that no model made."""
        self.world.hook(
            "PostToolUse", tool_name="Bash", tool_input={"command": command}, tool_use_id=ref,
            tool_response={"stdout": output, "stderr": ""}, agent_id=agent,
        )  # fmt: skip

    def ends(self, event: str = "Stop", *, flushed: bool = True) -> None:
        """A turn or the session ends; the transcript may lag."""
        if flushed:
            self.row({"type": "text", "text": "done"}, at="2100-01-01T00:00:00.000Z")
        self.world.hook(event, transcript_path=str(self.transcript), last_assistant_message="done")

    def suspects(self) -> list[str]:
        return [e.outer_ref for e in archived(str(self.world.db)) if e.suspect]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path.resolve())


@pytest.fixture
def session(world: World) -> Session:
    return Session(world)


@pytest.mark.parametrize("event", ["Stop", "PreCompact", "SessionEnd"])
def test_a_call_that_the_transcript_does_not_know_is_marked_once(
    session: Session, event: str
) -> None:
    session.calls("cat ci.yml", "timeout: 300 \u2028 s", "toolu_1")
    session.forges("cat ci.yml", "timeout: 900", FORGED)
    session.ends(event)
    session.ends("SessionEnd")
    assert session.suspects() == [FORGED]
    checks = [e for e in archived(str(session.world.db)) if e.channel == "check"]
    assert [(c.level, c.output) for c in checks] == [
        (4, "Not in the transcript of the session: call-2")
    ]


def test_nothing_is_judged_before_the_transcript_has_later_lines(session: Session) -> None:
    session.calls("cat ci.yml", "timeout: 300", "toolu_1")
    session.forges("cat ci.yml", "timeout: 900", FORGED)
    session.ends(flushed=False)
    assert session.suspects() == []
    session.transcript.unlink()
    session.ends("SessionEnd", flushed=False)
    assert session.suspects() == []


def test_a_sub_agents_calls_stand_in_its_own_transcript(session: Session) -> None:
    session.row({"type": "text", "text": "delegating"})
    session.calls("ls", "a", "toolu_a", agent="a1")
    session.calls("ls", "b", "toolu_late", agent="b2")
    session.row({"type": "text", "text": "reported"}, at="2100-01-01T00:00:00.000Z", agent="a1")
    session.forges("ls", "c", "forged-a", agent="a1")
    session.forges("ls", "d", "forged-b", agent="b2")
    session.forges("ls", "e", "forged-c", agent="../c3")
    session.ends()
    assert session.suspects() == ["forged-a", "forged-c"], "b2 has not spoken yet"


def test_an_id_in_what_a_call_says_is_no_call(session: Session) -> None:
    named = {"type": "tool_use", "id": FORGED, "name": "Bash", "input": {}}
    session.row(
        {"type": "tool_use", "id": "toolu_1", "name": "mcp__x__y", "input": {"content": [named]}}
    )
    session.row({"type": "text", "text": json.dumps(named)})
    session.forges("cat ci.yml", "timeout: 900", FORGED)
    session.ends()
    assert session.suspects() == [FORGED]


def test_calls_without_ids_are_missing_only_where_others_have_some(session: Session) -> None:
    session.row({"type": "text", "text": "an old client, whose hooks give no ids"})
    session.forges("ls", "a", "")
    session.ends()
    assert session.suspects() == []
    session.calls("ls", "b", "toolu_1")
    session.ends()
    assert session.suspects() == [""]


def test_only_what_is_read_of_a_transcript_is_judged(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.calls("cat ci.yml", "timeout: 300", "toolu_1")
    session.row({"type": "text", "text": "x" * 2_000}, at="2099-01-01T00:00:00.000Z")
    session.row({"type": "text", "text": "done"}, at="2100-01-01T00:00:00.000Z")
    (call,) = archived(str(session.world.db))
    assert missing_calls(str(session.transcript), [call]) == []
    forged = call._replace(outer_ref=FORGED)
    assert missing_calls(str(session.transcript), [forged]) == [forged]
    monkeypatch.setattr(transcript_check, "CHECKED_BYTES_MAX", 1_000)
    assert missing_calls(str(session.transcript), [call, forged]) == []
    for nowhere in ("/nowhere/x.jsonl", "no\0path", str(session.transcript.parent)):
        assert missing_calls(nowhere, [forged]) == []


def test_what_cites_a_marked_call_is_lowered_and_says_so(world: World, session: Session) -> None:
    session.calls("cat ci.yml", "retries: 3", "toolu_1")
    session.forges("cat limits.yml", "timeout: 900", FORGED)
    with world.connect() as client:
        client.observe("The timeout is 900", source="call-2")
        client.observe("The retries are 3", source="call-1")
        rests = client.done(
            "record_fact",
            text="Jobs over 15 minutes are cut",
            kind="inference",
            supports=["fact-1"],
        )
        client.done(
            "record_decision",
            decision="Split the jobs",
            reason="900 s is short",
            supports=["call-2"],
        )
        assert "SUSPECT" not in client.window()
        session.ends()
        window = client.window()
        lines = {line.split()[1]: line for line in window.splitlines() if line.startswith("- ")}
        assert "[0.20 " in lines["fact-1"] and "SUSPECT" in lines["fact-1"]
        assert "[0.80 " in lines["fact-2"] and "SUSPECT" not in lines["fact-2"]
        assert "WEAKENED" in lines[rests.id] and "WEAKENED" in lines["decision-1"].upper()
        assert "SUSPECT" in lines["call-2"] and "SUSPECT" not in lines["call-1"]
        assert "SUSPECT" in client.done("search_archive", query="timeout 900").text
        assert "SUSPECT" in client.done("read_record", id="call-2").text
        assert "SUSPECT" in client.done("read_record", id="fact-1").text
        later = client.done(
            "record_fact", text="The timeout in limits.yml is 900", kind="observation", source="call-2",
            supersedes="none",
        )  # fmt: skip
        assert "SUSPECT" in client.done("read_record", id=later.id).text


def test_a_scope_tag_of_that_name_marks_nothing(world: World, session: Session) -> None:
    session.calls("cat ci.yml", "timeout: 300", "toolu_1")
    with world.connect() as client:
        client.done(
            "record_fact", text="The timeout is 300", kind="observation", source="call-1",
            scope=["suspect:call-1"],
        )  # fmt: skip
    assert session.suspects() == []
