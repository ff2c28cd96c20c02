"""The tools as clients see them: schemas that pass everywhere, few tokens, strict arguments."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keepthread.server.instructions import INSTRUCTIONS

from .world import COUNTER, ERAS, Session, World

GOLDEN = "d55fac38133af429ee93529b5cf50536c49512ea219e09de2edc9aa45d2ad57a"
"""SHA-256 of tools/list: what a model is told about a tool changes only on purpose."""

ARGUMENTS = {
    "record_fact": "text! kind! source='' scope=[] subject='' supports=[] observed_at='' expires_when='' supersedes=''",
    "retract_fact": "fact! reason! source=''",
    "record_decision": "decision! reason! scope=[] alternatives=[] supports=[] supersedes=''",
    "update_plan_item": "item='' title='' titles=[] description='' status='' scope=[] depends_on=[] checks=[] "
    "note='' expected_version=0",
    "add_open_question": "question! why='' scope=[] blocks=''",
    "answer_question": "question! answer! source=''",
    "get_context": "item='' stage='execute' max_tokens=0 explain=False",
    "search_archive": "query! tool='' since='' until='' scope=[] limit=10 max_tokens=2000",
    "read_record": "id! offset=0 max_tokens=2000",
    "capture_file": "path!",
    "start_task": "goal! constraints=[] source=''",
    "hand_off": "doing! next! noticed='' task_done=False",
}
READ_ONLY = {"get_context", "search_archive", "read_record"}
TEXT_ONLY = READ_ONLY | {"hand_off", "capture_file"}
ALWAYS_LOADED = {"get_context", "record_fact", "update_plan_item"}
COMBINING = (
    "$ref",
    "$defs",
    "definitions",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "patternProperties",
)


@pytest.fixture(params=ERAS)
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    world = World(tmp_path)
    world.hook("SessionStart", source="startup")
    world.say("Keep commits tiny.")
    world.bash("cat ci.yml", "steps:\n  - run: make build-ci\n")
    with world.connect(request.param) as session:
        yield session


def _listed(session: Session) -> list[dict[str, Any]]:
    listed = session.tools()
    assert listed.next_cursor is None
    return [t.model_dump(mode="json", by_alias=True, exclude_none=True) for t in listed.tools]


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def test_every_tool_has_the_arguments_of_the_contract_in_their_order(session: Session) -> None:
    listed = _listed(session)
    assert [t["name"] for t in listed] != []
    found = {}
    for tool in listed:
        schema = tool["inputSchema"]
        required = schema.get("required", [])
        found[tool["name"]] = " ".join(
            f"{name}!" if name in required else f"{name}={field['default']!r}"
            for name, field in schema["properties"].items()
        )
    assert found == ARGUMENTS


def test_schemas_use_only_what_every_client_takes(session: Session) -> None:
    for tool in _listed(session):
        schema = tool["inputSchema"]
        assert schema["type"] == "object", tool["name"]
        assert schema["additionalProperties"] is False
        assert set(schema) <= {"type", "properties", "required", "additionalProperties"}
        for name, field in schema["properties"].items():
            assert field["type"] in ("string", "integer", "boolean", "array"), (tool["name"], name)
            assert field.get("default", "") is not None
            if field["type"] == "array":
                assert field["items"] == {"type": "string"}
            assert set(field) <= {"type", "default", "items", "enum", "minimum", "description"}
        assert not [word for word in COMBINING if f'"{word}"' in _compact(schema)]
        assert tool.get("outputSchema", {"type": "object"})["type"] == "object"


def test_names_and_descriptions_stay_within_the_narrowest_client(session: Session) -> None:
    listed = _listed(session)
    assert len(listed) <= 12
    for tool in listed:
        assert re.fullmatch(r"[a-z][a-z0-9_]{0,23}", tool["name"])
        assert len(f"mcp__plugin_keepthread_keepthread__{tool['name']}") <= 64
        assert 40 <= len(tool["description"]) <= 2_048
        assert "\n " not in tool["description"]
        assert tool["title"]
    assert len(INSTRUCTIONS) <= 1_800


def test_hints_say_which_tools_only_read(session: Session) -> None:
    for tool in _listed(session):
        hints = tool["annotations"]
        assert hints["readOnlyHint"] is (tool["name"] in READ_ONLY)
        assert hints["destructiveHint"] is False
        assert hints["openWorldHint"] is False
        assert hints["idempotentHint"] is (tool["name"] != "hand_off")
        always = tool.get("_meta", {}).get("anthropic/alwaysLoad", False)
        assert always is (tool["name"] in ALWAYS_LOADED)


def test_the_tools_cost_few_tokens(session: Session) -> None:
    count = COUNTER.count
    listed = _listed(session)
    read = [{k: t[k] for k in ("name", "description", "inputSchema")} for t in listed]
    sent = session.tools().model_dump(mode="json", by_alias=True, exclude_none=True)
    assert count(_compact(read)) <= 2_500
    assert count(_compact(sent)) <= 4_000


def test_what_models_are_told_changes_only_on_purpose(session: Session) -> None:
    told = json.dumps(_listed(session), sort_keys=True, ensure_ascii=False)
    digest = hashlib.sha256(told.encode()).hexdigest()
    assert digest == GOLDEN, f"if the change is meant, set GOLDEN to {digest}"


@pytest.mark.parametrize("words", ["remember", "recall", "memory", "decision", "search", "plan"])
def test_descriptions_hold_the_words_that_people_search_tools_by(
    session: Session, words: str
) -> None:
    told = " ".join(f"{t['name']} {t['title']} {t['description']}" for t in _listed(session))
    assert words in told.lower()


def test_an_unknown_argument_is_refused_with_the_near_name(session: Session) -> None:
    fact = {"text": "CI runs `make build-ci`", "kind": "observation"}
    answer = session.refused("record_fact", "bad_arguments", **fact, sorce="tool:Bash")
    assert "`sorce` is no argument of record_fact" in answer.text
    assert "`source`" in answer.text
    far = session.refused("capture_file", "bad_arguments", path="a", zzz=1)
    assert "it takes path" in far.text


def test_wrong_and_missing_arguments_are_named_without_echoing_values(session: Session) -> None:
    missing = session.refused("record_fact", "bad_arguments", text="x")
    assert "`kind` is required" in missing.text
    for arguments in (
        {"text": "SENTINEL", "kind": "SENTINEL"},
        {"text": {"SENTINEL": 1}, "kind": "observation"},
        {"text": "x", "kind": "observation", "scope": [{"SENTINEL": 1}]},
        {"text": "x", "kind": "observation", "scope": "[not json SENTINEL"},
    ):
        answer = session.call("record_fact", **arguments)
        assert answer.failed
        assert "SENTINEL" not in answer.text or answer.code == "bad_scope"
        assert "pydantic" not in answer.text
    assert session.refused("get_context", "bad_arguments", max_tokens=-1).text.count("max_tokens")


@pytest.mark.parametrize("empty", [None, "null", "", []])
def test_null_in_every_form_means_the_default(session: Session, empty: Any) -> None:
    fact = {"text": "CI runs `make build-ci`", "kind": "observation", "source": "tool:Bash"}
    text = "" if empty == [] else empty
    answer = session.done(
        "record_fact", **fact, scope=empty, supports=empty, subject=text, supersedes=text
    )
    assert answer.data["action"] in ("added", "merged")
    session.done("get_context", item=text, stage=text, max_tokens=text, explain=text)
    session.done("search_archive", query="build", tool=text, limit=text, scope=empty)


@pytest.mark.parametrize(
    "scope", [["path:ci.yml", "repo:w"], '["path:ci.yml", "repo:w"]', ["null"], "path:ci.yml"]
)
def test_lists_are_taken_as_lists_as_json_text_and_as_one_word(
    session: Session, scope: Any
) -> None:
    fact = {"text": "CI runs `make build-ci`", "kind": "observation", "source": "tool:Bash"}
    done = session.done("record_fact", **fact, scope=scope)
    page = session.read(f"memory://record/{done.id}")
    assert ("path:ci.yml" in page) is (scope != ["null"])


def test_writing_tools_answer_with_the_same_facts_in_text_and_structure(session: Session) -> None:
    answers = [
        session.done("start_task", goal="Keep commits tiny", source="user"),
        session.observe("CI runs `make build-ci`", "tool:Bash"),
        session.observe("CI runs `make build-ci`", "tool:Bash"),
        session.done("record_fact", text="CI is one step", kind="inference", supports=["fact-1"]),
        session.done(
            "record_fact", text="Keep commits tiny", kind="instruction-from-user", source="user"
        ),
        session.done("record_decision", decision="Use FastAPI", reason="routers stay small"),
        session.done("update_plan_item", titles=["Port routes", "Port models"]),
        session.done("add_open_question", question="Which port?", blocks="plan-1"),
        session.done("answer_question", question="question-1", answer="It is make build-ci"),
        session.done("retract_fact", fact="fact-2", reason="two steps after all"),
    ]
    for answer in answers:
        assert answer.data["message"] in answer.text
        for name, value in answer.data.items():
            for part in value if isinstance(value, list) else [value]:
                assert str(part) in answer.text, (name, answer)
    assert answers[2].data["source"] == answers[1].data["source"]
    assert answers[2].data["confidence"] == answers[1].data["confidence"]


def test_reading_tools_answer_in_text_only(session: Session, tmp_path: Path) -> None:
    (tmp_path / "w" / "a.txt").write_text("port: 8080\n")
    calls: dict[str, dict[str, Any]] = {
        "get_context": {},
        "search_archive": {"query": "build"},
        "read_record": {"id": "call-1"},
        "capture_file": {"path": "a.txt"},
        "hand_off": {"doing": "porting", "next": "test it"},
    }
    assert set(calls) == TEXT_ONLY
    for tool, arguments in calls.items():
        answer = session.done(tool, **arguments)
        assert answer.text
        assert answer.data == {}
