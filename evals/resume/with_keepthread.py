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
from typing import Any

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
_STEP = re.compile(rf"^- call-\d+ \[Bash, [^,\]]+(, failed)?\]: {_QUOTED}", re.M)


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
        last_succeeded=bool(commands) and not commands[-1][0],
    )


class KeepthreadMind:
    """One agent process's connection. Made by ``keepthread_mind``."""

    def __init__(
        self, client: Client, environ: Mapping[str, str], tree: Path, point: Callable[[], None]
    ) -> None:
        self._client, self._environ, self._tree, self._point = client, environ, tree, point
        self._shown = tree.parent / "windows.jsonl"
        self._calls = 0

    async def knowledge(self) -> Knowledge:
        text = await self._call("get_context")
        with self._shown.open("a", encoding="utf-8") as file:
            file.write(json.dumps(text) + "\n")
        return read_window(text)

    async def hear(self, words: str) -> None:
        self.hook("UserPromptSubmit", prompt=words, prompt_id=uuid.uuid4().hex)

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
        self._tool("Read", {"file_path": str(self._tree / path)}, {"file": {"content": text}})

    async def saw_edit(self, path: str, before: str, after: str) -> None:
        given = {"file_path": str(self._tree / path), "old_string": before, "new_string": after}
        self._tool("Edit", given, {"structuredPatch": []})

    async def saw_run(self, command: str, succeeded: bool, output: str) -> None:
        answer = {"stdout": output, "stderr": "", "interrupted": False}
        self._tool("Bash", {"command": command}, answer if succeeded else output, succeeded)

    async def hand_off(self, doing: str, following: str, done: bool) -> None:
        await self._call("hand_off", doing=doing, next=following, task_done=done)

    def hook(self, event: str, **payload: Any) -> None:
        """Deliver one event through the hook command."""
        self._point()
        common = {
            "hook_event_name": event,
            "session_id": self._environ["CLAUDE_CODE_SESSION_ID"],
            "cwd": str(self._tree),
        }
        subprocess.run(
            [keepthread_command(), "hook", "claude-code"], input=json.dumps(common | payload).encode(),
            env=dict(self._environ), cwd=self._tree, stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        self._point()

    def _tool(
        self, name: str, given: dict[str, Any], answer: object, succeeded: bool = True
    ) -> None:
        self._calls += 1
        event = "PostToolUse" if succeeded else "PostToolUseFailure"
        result = {"tool_response": answer} if succeeded else {"error": answer}
        ref = f"{self._environ['CLAUDE_CODE_SESSION_ID']}-{self._calls}"
        self.hook(event, tool_name=name, tool_input=given, tool_use_id=ref, **result)

    async def _call(self, tool: str, *, may_fail: bool = False, **arguments: Any) -> str:
        self._point()
        result = await self._client.call_tool(tool, arguments)
        self._point()
        (block,) = result.content
        assert isinstance(block, TextContent)
        if result.is_error and not may_fail:
            raise RuntimeError(f"{tool} {arguments}: {block.text}")
        return block.text


@asynccontextmanager
async def keepthread_mind(tree: Path, point: Callable[[], None]) -> AsyncIterator[KeepthreadMind]:
    """Begin a client session: its server, and the hook of its start."""
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
        mind = KeepthreadMind(client, environ, tree, point)
        mind.hook("SessionStart", source="startup")
        yield mind


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else ""
