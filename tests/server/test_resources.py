"""Resources, prompts and notifications in both protocol eras, and odd input to every tool."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.types import ResourceUpdatedNotification

from keepthread.server.app import build_server
from keepthread.server.resources import CHANGING

from .world import ERAS, Session, World, stored

FACT = {"text": "CI runs `make build-ci`", "kind": "observation", "source": "tool:Bash"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.hook("SessionStart", source="startup")
    world.say("Migrate the invoice service to FastAPI. Keep commits tiny.")
    world.bash("cat ci.yml", "steps:\n  - run: make build-ci\n")
    return world


@pytest.fixture(params=ERAS)
def session(request: pytest.FixtureRequest, world: World) -> Iterator[Session]:
    with world.connect(request.param) as session:
        yield session


def test_every_resource_listed_can_be_read(session: Session) -> None:
    session.observe("CI runs `make build-ci`")
    session.done("record_decision", decision="Use FastAPI", reason="routers stay small")
    session.done("update_plan_item", titles=["Port routes"])
    session.done("add_open_question", question="Which port?")
    listed = session.portal.call(session.client.list_resources).resources
    assert {r.uri for r in listed} == set(CHANGING)
    for resource in listed:
        assert resource.title
        assert session.read(str(resource.uri)).startswith("Keepthread: ")
    shown = {
        "memory://plan": "Port routes",
        "memory://decisions": "Use FastAPI",
        "memory://facts": "make build-ci",
        "memory://questions": "Which port?",
        "memory://context/plan-1": "FOCUS plan-1",
    }
    for uri, words in shown.items():
        assert words in session.read(uri)
    for record in ("fact-1", "decision-1", "plan-1", "question-1", "call-1", "msg-1"):
        assert session.read(f"memory://record/{record}").startswith(record)


def test_templates_name_the_window_of_an_item_and_any_record(session: Session) -> None:
    templates = session.portal.call(session.client.list_resource_templates).resource_templates
    assert {t.uri_template for t in templates} == {
        "memory://context/{item}",
        "memory://record/{id}",
    }


@pytest.mark.parametrize(
    "uri",
    ["memory://record/fact-99", "memory://record/x", "memory://context/plan-99", "memory://no"],
)
def test_an_unknown_resource_is_a_protocol_error_that_says_so(session: Session, uri: str) -> None:
    with pytest.raises(MCPError) as refused:
        session.read(uri)
    assert "Internal" not in str(refused.value)


def test_every_prompt_answers_with_and_without_arguments(session: Session) -> None:
    listed = session.portal.call(session.client.list_prompts).prompts
    assert [p.name for p in listed] == [
        "resume", "start_task", "remember", "hand_off", "review", "forget",
    ]  # fmt: skip
    for prompt in listed:
        assert prompt.description
        assert session.prompt(prompt.name)
    assert "added: task-1" in session.prompt(
        "start_task", {"goal": "Port the invoice service", "constraints": "no new tables\nno Rust"}
    )
    assert "added: fact-1" in session.prompt("remember", {"instruction": "Never push to main"})
    pinned = session.window().split("== PLAN")[0]
    for words in ("Port the invoice service", "no new tables", "no Rust", "Never push to main"):
        assert words in pinned
    assert "no new tables" in session.prompt("resume")


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
def test_a_subscriber_of_the_older_era_is_told_until_it_leaves(world: World) -> None:
    memory = world.memory()
    told: list[str] = []

    async def keep(message: Any) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            told.append(str(message.params.uri))

    async def run() -> None:
        server = build_server(memory)
        async with Client(server, mode="legacy", message_handler=keep) as client:
            assert client.server_capabilities.resources
            assert client.server_capabilities.resources.subscribe
            await client.call_tool("record_fact", FACT)
            assert told == []
            await client.subscribe_resource("memory://context")
            await client.call_tool("update_plan_item", {"titles": ["Port routes"]})
            await client.call_tool("get_context", {})
            await client.call_tool("record_fact", {"text": "x", "kind": "observation"})
            await anyio.sleep(0.05)
            assert told == ["memory://context"]
            await client.unsubscribe_resource("memory://context")
            await client.call_tool("update_plan_item", {"titles": ["Port models"]})
            await anyio.sleep(0.05)
            assert told == ["memory://context"]

    anyio.run(run)
    memory.close()


def test_a_listener_of_the_newer_era_is_told_after_each_write(world: World) -> None:
    memory = world.memory()

    async def run() -> None:
        async with (
            Client(build_server(memory)) as client,
            client.listen(resource_subscriptions=["memory://context", "memory://plan"]) as events,
        ):
            await client.call_tool("get_context", {})
            await client.call_tool("update_plan_item", {"titles": ["Port routes"]})
            told = set()
            with anyio.fail_after(5):
                async for event in events:
                    told.add(getattr(event, "uri", ""))
                    if len(told) == 2:
                        break
            assert told == {"memory://context", "memory://plan"}

    anyio.run(run)
    memory.close()


ODD_TEXTS = {
    "a megabyte": "x" * 1_000_000,
    "a megabyte of words": "word " * 200_000,
    "NUL": "port\0 8080",
    "lone surrogates": "port \ud800 8080 \udfff",
    "emoji": "👩‍👩‍👧‍👦 " * 20 + "🏳️‍🌈",
    "right to left": "\u202eהשלום\u202c مرحبا",
    "tags": "".join(chr(0xE0000 + ord(c)) for c in "run rm -rf"),
    "deep JSON": "[" * 5_000 + "]" * 5_000,
    "format": "%s %n {0} {} \\u{41} ${x} `x`",
    "SQL": "'; DROP TABLE fact; --\" OR 1=1",
    "full text syntax": 'NEAR("a" b) AND * NOT (',
    "newlines": "\n\r\n\t" * 50,
    "empty": "",
}
DEEP: Any = []
for _ in range(60):
    DEEP = [DEEP]

ODD_VALUES = {"number": 7, "float": 1e308, "object": {"a": {"b": 1}}, "deep": DEEP, "true": True}


def _calls(odd: Any) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("record_fact", {"text": odd, "kind": "observation", "source": "tool:Bash"}),
        ("record_fact", FACT | {"source": odd}),
        ("record_fact", FACT | {"subject": odd, "text": "The port is 8080"}),
        ("record_fact", FACT | {"supersedes": odd, "text": "The port is 8080"}),
        ("record_fact", FACT | {"observed_at": odd, "text": "The port is 8080"}),
        ("record_fact", FACT | {"scope": [odd], "text": "The port is 8080"}),
        ("record_fact", {"text": "The port is 8080", "kind": "inference", "supports": [odd]}),
        ("record_decision", {"decision": odd, "reason": odd, "supports": [odd]}),
        ("update_plan_item", {"item": odd, "status": "done"}),
        ("update_plan_item", {"title": "Port routes", "depends_on": ["plan-7", odd]}),
        ("add_open_question", {"question": odd, "blocks": "plan-99"}),
        ("answer_question", {"question": odd, "answer": odd}),
        ("retract_fact", {"fact": odd, "reason": odd}),
        ("read_record", {"id": odd}),
        ("capture_file", {"path": odd}),
        ("start_task", {"goal": odd, "source": "user"}),
        ("hand_off", {"doing": odd, "next": odd, "noticed": "x" * 5_000}),
        ("get_context", {"item": odd, "max_tokens": 1}),
    ]


@pytest.mark.parametrize("name", [*ODD_TEXTS, *ODD_VALUES])
def test_odd_input_gets_an_answer_and_changes_nothing(world: World, name: str) -> None:
    odd = (ODD_TEXTS | ODD_VALUES)[name]
    memory = world.memory()
    with world.connect(memory=memory) as session:
        session.window()
        before = stored(memory)
        for tool, arguments in _calls(odd):
            answer = session.call(tool, **arguments)
            assert answer.failed, (tool, arguments.keys(), answer.text[:200])
            assert answer.code, answer.text[:300]
            assert len(answer.text) < 4_000, tool
        found = session.call("search_archive", query=odd, tool=odd, scope=["a:b"])
        assert len(found.text) < 4_000
        after = stored(memory)
        assert {k: n for k, n in after.items() if k != "refusal"} == before
        assert session.observe("CI runs `make build-ci`").id == "fact-1"
    memory.close()


@pytest.mark.parametrize(
    "path", ["../memory.db", "/etc/passwd", "w/../../x", "link", "fifo", ".", "no.txt"]
)
def test_only_regular_files_of_the_workspace_are_read(world: World, path: str) -> None:
    (world.tree / "link").symlink_to("/etc/hostname")
    os.mkfifo(world.tree / "fifo")
    with world.connect() as session:
        refused = session.refused("capture_file", "file_refused", path=path)
        assert refused.text.startswith("error[file_refused]: ")
