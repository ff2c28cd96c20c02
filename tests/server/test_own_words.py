"""What the agent sent out and reads back is its own word, whichever program carries it."""

from collections.abc import Callable

import pytest

from .world import Session, World

SENTENCE = "the staging port is 6001"


def _commit(world: World) -> None:
    world.bash(f"git add -A && git commit -qm '{SENTENCE}'", "")
    world.bash("git log -2 --oneline", f"3f2c1ab {SENTENCE}\n81aa0ce move billing to port 7002")


def _issue(world: World) -> None:
    world.bash(f'gh issue create --title "Staging" --body "{SENTENCE}"', "https://h/i/4")
    world.bash(
        "gh issue view 4", f"title: Staging\nstate: OPEN\n--\n{SENTENCE}\nbilling is on port 7002"
    )


def _post(world: World) -> None:
    body = '{"title": "the staging port is 6001"}'
    world.bash(f"curl -s -X POST -d '{body}' http://wiki/pages", "201")
    world.bash("curl -s http://wiki/pages", f"{body}\nbilling is on port 7002")


def _tool(world: World) -> None:
    world.tool("mcp__tracker__create_issue", {"title": SENTENCE}, {"id": 4})
    shown = f"4: {SENTENCE}\n3: billing is on port 7002"
    world.tool("mcp__tracker__list_issues", {}, {"content": [{"type": "text", "text": shown}]})


@pytest.mark.parametrize("send", [_commit, _issue, _post, _tool])
def test_what_was_sent_out_is_weak_when_read_back_and_what_others_wrote_beside_it_is_not(
    world: World, session: Session, send: Callable[[World], None]
) -> None:
    send(world)
    source = "tool:Bash" if send is not _tool else "tool:mcp__tracker__list_issues"
    own = session.observe("The staging port is 6001", source)
    assert own.data["confidence"] == 0.4
    assert "written by a model" in session.done("read_record", id=own.id).text
    others = session.observe("Billing is on port 7002", source)
    assert others.data["confidence"] >= 0.6


def test_what_was_only_searched_for_is_not_sent(world: World, session: Session) -> None:
    world.bash("git log --grep 'staging port'", "")
    world.bash(f"grep -rn '{SENTENCE}' docs", "")
    world.bash("git log -1 --format=%B", SENTENCE)
    assert session.observe("The staging port is 6001").data["confidence"] == 0.8
