"""A limit on everything: no argument of any tool takes a text or a list of any length."""

from pathlib import Path
from typing import Any

import pytest

from .world import Session, World, stored

TEXT = "retries 7 " * 20_000
LIST = [f"path:src/{number}" for number in range(5_000)]
ENOUGH: dict[str, dict[str, Any]] = {
    "record_fact": {"text": "zulu retries 7 times", "kind": "observation", "source": "tool:Bash"},
    "record_decision": {"decision": "Use the pool", "reason": "the server drops idle sockets"},
    "update_plan_item": {"title": "Port the routes"},
    "add_open_question": {"question": "Who owns billing?"},
    "search_archive": {"query": "retries"},
    "read_record": {"id": "call-1"},
    "get_context": {},
    "capture_file": {"path": "zulu.ini"},
    "start_task": {"goal": "Port the routes"},
    "answer_question": {"question": "question-1", "answer": "the platform team"},
    "retract_fact": {"fact": "fact-1", "reason": "it was wrong"},
    "hand_off": {"doing": "porting", "next": "go on"},
}
HARMLESS = {("search_archive", "query"), ("search_archive", "scope")}
"""What is only looked for: words and tags beyond the limit are left out, and nothing is stored."""


@pytest.mark.parametrize("tool", sorted(ENOUGH))
def test_no_argument_takes_any_length(tool: str, tmp_path: Path) -> None:
    world = World(tmp_path)
    world.hook("SessionStart", source="startup")
    world.bash("cat zulu.ini", "zulu: retries 7")
    memory = world.memory()
    with world.connect(memory=memory) as session:
        session.done("add_open_question", question="Who owns billing?")
        before = stored(memory)
        for argument, kind in _arguments(session, tool).items():
            value = {"string": TEXT, "array": LIST}.get(kind)
            if value is None:
                continue
            answer = session.call(tool, **(ENOUGH[tool] | {argument: value}))
            assert answer.failed or (tool, argument) in HARMLESS, (argument, answer.text[:300])
            assert len(answer.text) < 20_000
        after = stored(memory)
    memory.close()
    assert {k: n for k, n in after.items() if k not in ("refusal", "window_event")} == {
        k: n for k, n in before.items() if k not in ("refusal", "window_event")
    }


def _arguments(session: Session, tool: str) -> dict[str, str]:
    """Return the tool's arguments and their types, as listed to clients."""
    (found,) = [listed for listed in session.tools().tools if listed.name == tool]
    return {
        name: schema.get("type", "") for name, schema in found.input_schema["properties"].items()
    }
