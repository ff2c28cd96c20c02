"""Two users, and two workspaces of one user: nothing of one is ever shown to the other.

The surface is taken from the server's own lists, so that a new tool, resource or prompt is asked too.
"""

from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup
from mcp import Client
from mcp.types import Prompt, ResourceUpdatedNotification, TextResourceContents, Tool

from tests.server.http.service import Service
from tests.server.world import Session

CANARY = "quokka"
GUESSES = ["fact-1", "decision-1", "plan-1", "question-1", "call-1", "msg-1", "deploy"]


@pytest.fixture(scope="module")
def secrets(service: Service) -> dict[str, str]:
    """Tokens of ann, who has every kind of record with the canary in it, and of ben, who has none."""
    service.bash("ann", "w", "cat deploy.md", f"the deploy of billing is named {CANARY}\nport 8443")
    service.hook(
        "ann", "w", "UserPromptSubmit", prompt=f"Finish the {CANARY} deploy.", prompt_id="p1"
    )
    tokens = {"ann": service.token("ann"), "ben": service.token("ben")}
    with service.connect(tokens["ann"]) as ann:
        ann.done("start_task", goal=f"Finish the {CANARY} deploy", source="msg-1")
        ann.observe(f"The deploy of billing is named {CANARY}", scope=["repo:billing"])
        ann.done(
            "record_decision", decision=f"Keep {CANARY} as the name", reason="the deploy has it"
        )
        ann.done("update_plan_item", title=f"Rename {CANARY} in deploy")
        ann.done("add_open_question", question=f"Who owns {CANARY}?")
        ann.done("hand_off", doing=f"the {CANARY} deploy", next=f"ask about {CANARY}")
        ann.done("get_context")
    return tokens


def everything(session: Session, guesses: list[str]) -> Iterator[str]:
    """Use every tool, resource, template and prompt that the server lists, with every guess."""
    for tool in session.tools().tools:
        for arguments in attempts(tool, guesses):
            answer = session.call(tool.name, **arguments)
            yield f"{tool.name}: {answer.text} {answer.data}"
    client, portal = session.client, session.portal
    uris = [str(r.uri) for r in portal.call(client.list_resources).resources]
    for template in portal.call(client.list_resource_templates).resource_templates:
        uris += [template.uri_template.replace("{item}", g).replace("{id}", g) for g in guesses]
    for uri in uris:
        yield f"{uri}: {read(session, uri)}"
    for prompt in portal.call(client.list_prompts).prompts:
        for given in worded(prompt, guesses):
            result = portal.call(client.get_prompt, prompt.name, given)
            yield f"{prompt.name}: {[m.content for m in result.messages]}"


def attempts(tool: Tool, guesses: list[str]) -> Iterator[dict[str, Any]]:
    """Arguments in every place that takes text: each guess once alone and once everywhere."""
    properties: dict[str, Any] = tool.input_schema.get("properties", {})
    texts = [n for n, p in properties.items() if p.get("type") == "string" and "enum" not in p]
    lists = [n for n, p in properties.items() if p.get("type") == "array" and n != "scope"]
    choices = {n: p["enum"][0] for n, p in properties.items() if "enum" in p}
    required = set(tool.input_schema.get("required", ()))
    for guess in guesses:
        base = {n: guess for n in texts if n in required} | choices
        yield base
        for name in texts:
            yield base | {name: guess}
        yield base | dict.fromkeys(texts, guess) | {n: [guess] for n in lists}


def worded(prompt: Prompt, guesses: list[str]) -> Iterator[dict[str, str]]:
    """Arguments for a prompt."""
    names = [a.name for a in prompt.arguments or []]
    yield {}
    if names:
        yield from (dict.fromkeys(names, g) for g in guesses)


def read(session: Session, uri: str) -> str:
    """Return what a resource says, or its error."""
    try:
        contents = session.portal.call(session.client.read_resource, uri).contents
    except Exception as error:  # noqa: BLE001  (whatever the client raises is an answer too)
        return str(error)
    return " ".join(c.text for c in contents if isinstance(c, TextResourceContents))


def test_the_owner_finds_the_canary_in_this_way(service: Service, secrets: dict[str, str]) -> None:
    with service.connect(secrets["ann"]) as ann:
        seen = list(everything(ann, ["fact-1", "call-1", "deploy"]))
    found = {text.partition(":")[0] for text in seen if CANARY in text}
    assert {"get_context", "search_archive", "read_record", "resume", "memory"} <= found


@pytest.mark.parametrize(
    ("user", "workspace", "mode"),
    [("ben", "w", "auto"), ("ben", "w", "legacy"), ("ann", "other", "auto")],
)
def test_nobody_else_does(
    service: Service, secrets: dict[str, str], user: str, workspace: str, mode: str
) -> None:
    with service.connect(secrets[user], workspace, mode) as session:
        tried = 0
        for text in everything(session, GUESSES):
            tried += 1
            assert CANARY not in text
    assert tried > 200


def test_the_files_hold_their_own_user_only(service: Service, secrets: dict[str, str]) -> None:
    with service.connect(secrets["ben"]) as ben:
        ben.call("search_archive", query="deploy")
    for file in Path(service.database("ben")).parent.iterdir():
        assert CANARY.encode() not in file.read_bytes(), file
    held = (Path(service.database("ann") + s) for s in ("", "-wal"))
    assert any(CANARY.encode() in f.read_bytes() for f in held if f.exists())


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
@pytest.mark.parametrize("writing", ["auto", "legacy"])
@pytest.mark.parametrize("listening", ["auto", "legacy"])
def test_news_of_one_memory_reach_its_own_clients_only(
    service: Service, secrets: dict[str, str], listening: str, writing: str
) -> None:
    heard: list[str] = []
    places = {"ann/news": "ann", "ben/news": "ben", "ann/others": "ann"}

    async def listen(place: str, group: TaskGroup, stack: AsyncExitStack) -> None:
        async def receive(message: Any) -> None:
            if isinstance(message, ResourceUpdatedNotification):
                heard.append(place)

        async def follow() -> None:
            nonlocal heard
            async for _ in events:
                heard += [place]

        transport = service.transport(secrets[places[place]], place.partition("/")[2])
        client = Client(transport, mode=listening, message_handler=receive)
        await stack.enter_async_context(client)
        if listening == "legacy":
            await client.subscribe_resource("memory://facts")
        else:
            events = await stack.enter_async_context(
                client.listen(resource_subscriptions=["memory://facts"])
            )
            group.start_soon(follow)

    async def scene() -> None:
        async with anyio.create_task_group() as group, AsyncExitStack() as stack:
            for place in places:
                await listen(place, group, stack)
            await anyio.sleep(0.5)  # until the streams of the older era are open
            writer = Client(service.transport(secrets["ann"], "news"), mode=writing)
            async with writer:
                await writer.call_tool("add_open_question", {"question": f"{listening} {writing}?"})
            with anyio.move_on_after(10):
                while not heard:
                    await anyio.sleep(0.05)
            await anyio.sleep(0.5)

    anyio.run(scene)
    assert set(heard) == {"ann/news"}
