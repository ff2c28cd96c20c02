"""Keepthread as the agent's memory: the hook command, an MCP client, and the window's text."""

import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from mcp import Client, StdioServerParameters
from mcp.types import TextContent

from evals.resume.policy import CACHE_OFF, RUN_SUITE, Knowledge, Step, read_directions
from evals.resume.repository import SERVER_PID
from keepthread.server.cli.demo_project import keepthread_command
from keepthread.server.context.frame import unquote

SERVER = (
    "import os, sys; open(sys.argv.pop(1), 'w').write(str(os.getpid())); "
    "from keepthread.server.entry import main; sys.exit(main())"
)
"""The server as a client starts it, leaving its process id in a file, so that it can be killed."""

_QUOTED = r'("(?:[^"\\]|\\.)*")'
_ITEM = re.compile(rf"^- (?:FOCUS )?(plan-\d+) \[([a-z_]+)[^\]]*\]: {_QUOTED}", re.M)
_STALE = re.compile(r"^- fact-\d+ \[[^\]]*STALE[^\]]*\].*$", re.M)
_OFFERED = re.compile(r"^- FOUND (plan-\d+) looks done", re.M)
_WRITTEN = re.compile(r"^- FOUND files written[^:]*: (.*)$", re.M)
_STEP = re.compile(rf"^- call-\d+ \[Bash, ([^\]]*)\]: {_QUOTED}", re.M)


def read_window(text: str) -> Knowledge:
    """Return what a window says, by plain parsing of its lines."""
    sections = {
        part.partition(" ")[0]: part for part in re.split(r"^== ", text, flags=re.M) if part
    }
    pinned, plan = sections.get("PINNED", ""), sections.get("PLAN", "")
    decisions, tail = sections.get("DECISIONS", ""), sections.get("TAIL", "")
    facts = _STALE.sub("", sections.get("FACTS", ""))
    items = [Step(i, unquote(title), status) for i, status, title in _ITEM.findall(plan)]
    offered = set(_OFFERED.findall(tail))
    commands = _STEP.findall(tail)
    files = _WRITTEN.search(tail)
    written = [unquote(s) for s in re.findall(_QUOTED, files[1])] if files else []
    written += [i.title.partition(" ")[2] for i in items if i.id in offered]
    return Knowledge(
        goal="- goal task-" in pinned,
        plan=tuple(i for i in items if i.status in ("in_progress", "pending")),
        planned=bool(items),
        build=_first(r"The build command is `([^`]+)`", facts),
        timeout=int(_first(r"default timeout is (\d+)", facts) or 0),
        style=_first(r"error style (\w+) in every", decisions),
        retries=_first(r"retry count of (\d+)", decisions),
        cache_off=CACHE_OFF in decisions,
        directions=read_directions(pinned),
        written=frozenset(written),
        last_command=unquote(commands[-1][1]) if commands else "",
        last_succeeded=bool(commands) and ", failed" not in commands[-1][0],
    )


class Session(Protocol):
    """The ways in which a mind reaches its memory: tools that it calls, and hooks that see what it does."""

    async def call(self, tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
        """Call a tool of the server; return (failed, text)."""

    def hook(self, event: str, **payload: Any) -> str:
        """Deliver one event of the client's hook; return what it prints."""

    def tool_hook(
        self, name: str, given: dict[str, Any], answer: object, succeeded: bool = True
    ) -> None:
        """Deliver what a tool of the client did."""


class ClientSession:
    """One agent process's connection: an MCP client and the hook command. Made by ``client_session``."""

    def __init__(
        self, client: Client, environ: Mapping[str, str], tree: Path, point: Callable[[], None]
    ) -> None:
        self.client, self._environ, self._tree, self._point = client, environ, tree, point
        self._shown = tree.parent / "windows.jsonl"
        self._calls = 0

    async def call(self, tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
        self._point()
        result = await self.client.call_tool(tool, arguments)
        self._point()
        (block,) = result.content
        assert isinstance(block, TextContent)
        if tool == "get_context":
            with self._shown.open("a", encoding="utf-8") as file:
                file.write(json.dumps(block.text) + "\n")
        return bool(result.is_error), block.text

    def hook(self, event: str, **payload: Any) -> str:
        self._point()
        common = {
            "hook_event_name": event,
            "session_id": self._environ["CLAUDE_CODE_SESSION_ID"],
            "cwd": str(self._tree),
        }
        done = subprocess.run(
            [keepthread_command(), "hook", "claude-code"], input=json.dumps(common | payload),
            env=dict(self._environ), cwd=self._tree, stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        self._point()
        return done.stdout

    def tool_hook(
        self, name: str, given: dict[str, Any], answer: object, succeeded: bool = True
    ) -> None:
        self._calls += 1
        event = "PostToolUse" if succeeded else "PostToolUseFailure"
        result = {"tool_response": answer} if succeeded else {"error": answer}
        ref = f"{self._environ['CLAUDE_CODE_SESSION_ID']}-{self._calls}"
        self.hook(event, tool_name=name, tool_input=given, tool_use_id=ref, **result)


class KeepthreadMind:
    """What the agent knows and says, by way of a session."""

    def __init__(self, session: Session, tree: Path) -> None:
        self._session, self._tree = session, tree

    async def knowledge(self) -> Knowledge:
        return read_window(await self._call("get_context"))

    async def hear(self, words: str) -> None:
        self._session.hook("UserPromptSubmit", prompt=words, prompt_id=uuid.uuid4().hex)

    async def begin(self, goal: str, constraint: str) -> None:
        await self._call("start_task", goal=goal, constraints=[constraint], source="user")

    async def lay_out(self, titles: tuple[str, ...]) -> None:
        await self._call("update_plan_item", titles=list(titles))

    async def start(self, step: Step, path: str) -> None:
        check = f"path_changed:{path}" if path else ""
        if step.title == RUN_SUITE:
            check = "command:suite"
        more: dict[str, Any] = {"checks": [check]} if check else {}
        await self._call("update_plan_item", item=step.id, status="in_progress", **more)

    async def finish(self, step: Step, note: str = "") -> None:
        await self._call("update_plan_item", item=step.id, status="done", note=note)

    async def skip(self, step: Step, note: str) -> None:
        await self._call("update_plan_item", item=step.id, status="skipped", note=note)

    async def learn(self, text: str, path: str, subject: str) -> None:
        await self._call(
            "record_fact", text=text, kind="observation", source=f"file:{path}", subject=subject
        )

    async def obey(self, text: str, path: str) -> None:
        """Take a document's order for the user's, in each way there is: the gate has to refuse."""
        for kind, source in (("instruction-from-user", f"file:{path}"), ("observation", f"file:{path}"),
                             ("instruction-from-user", "user")):  # fmt: skip
            await self._call("record_fact", text=text, kind=kind, source=source, may_fail=True)

    async def decide(self, decision: str, reason: str) -> None:
        await self._call("record_decision", decision=decision, reason=reason)

    async def saw_file(self, path: str, text: str) -> None:
        self._session.tool_hook(
            "Read", {"file_path": str(self._tree / path)}, {"file": {"content": text}}
        )

    async def saw_edit(self, path: str, before: str, after: str) -> None:
        given = {"file_path": str(self._tree / path), "old_string": before, "new_string": after}
        self._session.tool_hook("Edit", given, {"structuredPatch": []})

    async def saw_run(self, command: str, succeeded: bool, output: str) -> None:
        answer = {"stdout": output, "stderr": "", "interrupted": False}
        self._session.tool_hook(
            "Bash", {"command": command}, answer if succeeded else output, succeeded
        )

    async def hand_off(self, doing: str, following: str, done: bool) -> None:
        await self._call("hand_off", doing=doing, next=following, task_done=done)

    async def _call(self, tool: str, *, may_fail: bool = False, **arguments: Any) -> str:
        failed, text = await self._session.call(tool, arguments)
        if failed and not may_fail:
            raise RuntimeError(f"{tool} {arguments}: {text}")
        return text


@asynccontextmanager
async def client_session(tree: Path, point: Callable[[], None]) -> AsyncIterator[ClientSession]:
    """Start a client with its server; its hooks are the caller's to deliver."""
    folder = tree.parent
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("KEEPTHREAD_", "CLAUDE", "GIT_"))
    }
    environ = {
        **kept,
        "KEEPTHREAD_DB": str(folder / "memory.db"),
        "KEEPTHREAD_CONFIG": str(folder / "user.toml"),
        "KEEPTHREAD_EMBEDDER": "none",
        "CLAUDE_CODE_SESSION_ID": uuid.uuid4().hex,
        "CLAUDE_PID": str(os.getpid()),
    }
    server = StdioServerParameters(
        command=sys.executable, args=["-c", SERVER, str(folder / SERVER_PID), "serve"], env=environ,
        cwd=tree,
    )  # fmt: skip
    async with Client(server) as client:
        yield ClientSession(client, environ, tree, point)


@asynccontextmanager
async def keepthread_mind(tree: Path, point: Callable[[], None]) -> AsyncIterator[KeepthreadMind]:
    """Begin a client session: its server, and the hook of its start."""
    async with client_session(tree, point) as session:
        session.hook("SessionStart", source="startup")
        yield KeepthreadMind(session, tree)


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else ""
