"""Three agents at once, each with a server process, a work tree and hooks of its own, over one file."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.types import TextContent

from tests.server.handoff.project import agent_process
from tests.server.handoff.repository import Repository
from tests.server.world import World

SESSIONS = ("s1", "s2", "s3")
EACH = 8


class Agent:
    """A client session: hooks through its ``world``, tools through its own server."""

    def __init__(self, world: World, client: Client, name: str) -> None:
        self.world, self.client, self.name = world, client, name

    async def call(self, tool: str, /, **given: Any) -> tuple[str, str]:
        """Call a tool; return (code of the refusal or "", text)."""
        result = await self.client.call_tool(tool, given)
        (block,) = result.content
        assert isinstance(block, TextContent)
        data = result.structured_content or {}
        return (str(data.get("code", "error")) if result.is_error else ""), block.text

    async def done(self, tool: str, /, **given: Any) -> str:
        code, text = await self.call(tool, **given)
        assert not code, text
        return text


Story = Callable[[Sequence[Agent]], Awaitable[None]]


@pytest.fixture
def agents(tmp_path: Path) -> Callable[[Story], None]:
    """Runs a story with three agents: two in the repository itself, the third in a work tree of it."""
    repository = Repository(tmp_path / "w")
    repository.commit("first", a="1\n")
    elsewhere = repository.worktree(tmp_path / "feature", "feature")

    async def run(story: Story) -> None:
        async with AsyncExitStack() as stack:
            found = []
            for session in SESSIONS:
                pid = stack.enter_context(agent_process())
                tree = "feature" if session == "s3" else "w"
                world = World(tmp_path, tree, session)
                world.environ = world.environ | {"CLAUDE_PID": str(pid)}
                world.hook("SessionStart", source="startup")
                folder = elsewhere if session == "s3" else repository
                client = await stack.enter_async_context(_server(world, folder))
                found.append(Agent(world, client, session))
            await story(found)

    return lambda story: anyio.run(run, story)


@asynccontextmanager
async def _server(world: World, folder: Repository) -> AsyncIterator[Client]:
    kept = {k: os.environ[k] for k in ("PATH", "HOME") if k in os.environ}
    config = {"KEEPTHREAD_CONFIG": str(world.folder / "none.toml"), "KEEPTHREAD_EMBEDDER": "none"}
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "keepthread", "serve"], cwd=str(folder),
        env=kept | world.environ | config,
    )  # fmt: skip
    async with Client(server) as client:
        yield client


async def _at_once(acts: Sequence[Callable[[], Awaitable[Any]]]) -> list[Any]:
    results: list[Any] = [None] * len(acts)

    async def act(place: int) -> None:
        results[place] = await acts[place]()

    async with anyio.create_task_group() as group:
        for place in range(len(acts)):
            group.start_soon(act, place)
    return results


def test_of_three_that_update_one_item_at_once_one_wins_and_the_others_learn_its_state(
    agents: Callable[[Story], None],
) -> None:
    async def story(three: Sequence[Agent]) -> None:
        await three[0].done("update_plan_item", title="Shared")
        for agent in three:
            assert "plan-1 [pending, v1" in await agent.done("get_context")
        claims = [
            partial(
                a.call, "update_plan_item", item="plan-1", status="in_progress", note=f"by {a.name}"
            )
            for a in three
        ]
        answers = await _at_once(claims)
        codes = [code for code, _ in answers]
        assert sorted(codes) == ["", "stale_version", "stale_version"]
        winner, loser = three[codes.index("")], three[codes.index("stale_version")]
        for code, text in answers:
            assert not code or ("expected_version=2" in text and f"by {winner.name}" in text)
        await loser.done(
            "update_plan_item", item="plan-1", note=f"then {loser.name}", expected_version=2
        )
        page = await winner.done("read_record", id="plan-1")
        assert "version 3" in page
        assert f"by {winner.name}" in page and f"then {loser.name}" in page

    agents(story)


def test_nobodys_write_is_lost_and_each_sees_what_the_others_decided_and_finished(
    agents: Callable[[Story], None],
) -> None:
    async def work(agent: Agent) -> None:
        for n in range(EACH):
            title = f"{agent.name} step {n}"
            agent.world.bash(f"echo {title}", f"{agent.name} measured {n}{n} ms\n")
            await agent.done("update_plan_item", title=title, status="in_progress")
            await agent.done(
                "record_fact", text=f"{agent.name} measured {n}{n} ms", kind="observation", source="tool:Bash",
                scope=[f"agent:{agent.name}-{n}"],
            )  # fmt: skip
        await agent.done(
            "record_decision", decision=f"Agent {agent.name} keeps port 80{agent.name[1]}0",
            reason=f"{agent.name} measured it", scope=[f"service:{agent.name}"],
        )  # fmt: skip

    async def story(three: Sequence[Agent]) -> None:
        await _at_once([partial(work, agent) for agent in three])
        for agent in three:
            plan = await _resource(agent, "memory://plan")
            facts = await _resource(agent, "memory://facts")
            decisions = await _resource(agent, "memory://decisions")
            for name in SESSIONS:
                assert f"Agent {name} keeps port" in decisions
                assert all(f'"{name} step {n}"' in plan for n in range(EACH))
                assert all(f'"{name} measured {n}{n} ms"' in facts for n in range(EACH))
        verified = subprocess.run(
            [sys.executable, "-m", "keepthread", "verify"], capture_output=True, text=True, check=False,
            cwd=three[0].world.tree, env=os.environ | {"KEEPTHREAD_DB": str(three[0].world.db)},
        )  # fmt: skip
        assert verified.returncode == 0, verified.stdout + verified.stderr

    agents(story)


async def _resource(agent: Agent, uri: str) -> str:
    result = await agent.client.read_resource(uri)
    return "".join(getattr(c, "text", "") for c in result.contents)


def test_the_latest_observation_wins_and_a_decision_falls_to_its_successor_only(
    agents: Callable[[Story], None],
) -> None:
    async def story(three: Sequence[Agent]) -> None:
        one, two, third = three
        one.world.bash("cat port", "port = 8080\n")
        await one.done(
            "record_fact", text="The port is 8080", kind="observation", source="tool:Bash"
        )
        two.world.bash("cat port", "port = 9090\n")
        await two.done(
            "record_fact", text="The port is 9090", kind="observation", source="tool:Bash"
        )
        code, _ = await one.call(
            "record_fact", text="The port is 8080", kind="observation", source="call-1"
        )
        assert code == "older_than_belief"
        await one.done(
            "record_decision",
            decision="Use FastAPI for the API",
            reason="its types catch our mistakes",
        )
        code, text = await third.call(
            "record_decision",
            decision="Do not use FastAPI for the API",
            reason="it is too slow for us",
        )
        assert code == "settled_decision" and "its types catch our mistakes" in text
        await third.done(
            "record_decision", decision="Do not use FastAPI for the API", reason="it is too slow for us",
            supersedes="decision-1",
        )  # fmt: skip
        for agent in three:
            window = await agent.done("get_context")
            assert "The port is 9090" in window and '"The port is 8080"' not in window
            assert "Do not use FastAPI" in window and '"Use FastAPI for the API"' not in window

    agents(story)
