"""A workspace with a client's hooks and a real MCP client over one memory, for behaviour tests."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.client.session import ElicitationFnT
from mcp.types import ListToolsResult, TextContent, TextResourceContents

from keepthread.server import memory as memory_module
from keepthread.server.app import build_server
from keepthread.server.capture.hook import handle
from keepthread.server.context.tokens import TokenCounter
from keepthread.server.memory import Memory
from keepthread.server.places import Place
from keepthread.server.settings import Settings
from keepthread.stores.embeddings import BackgroundEmbedder

ERAS = ("auto", "legacy")
"""Modes of the SDK's client: the newest protocol revision, and the one with ``initialize``."""

COUNTER = TokenCounter()
"""Shared, since its ranks take a while to load."""

NOW = 1_790_000_000.0


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def pass_days(self, days: float) -> None:
        self.now += days * 86_400


class Answer(NamedTuple):
    """What a tool answered: whether as an error, its text, its structured content."""

    failed: bool
    text: str
    data: dict[str, Any]

    @property
    def code(self) -> str:
        """The code of a refusal; ``""`` for success."""
        return str(self.data.get("code", "")) if self.failed else ""

    @property
    def id(self) -> str:
        return str(self.data["id"])


class Session:
    """One client connected to the server, used synchronously."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self.portal, self.client = portal, client

    def call(self, tool: str, /, **arguments: Any) -> Answer:
        """Call a tool and return its answer, whatever it is."""
        result = self.portal.call(self.client.call_tool, tool, arguments)
        (block,) = result.content
        assert isinstance(block, TextContent)
        data = result.structured_content
        return Answer(bool(result.is_error), block.text, data if isinstance(data, dict) else {})

    def done(self, tool: str, /, **arguments: Any) -> Answer:
        """Call a tool that must succeed."""
        answer = self.call(tool, **arguments)
        assert not answer.failed, answer.text
        return answer

    def refused(self, tool: str, code: str, /, **arguments: Any) -> Answer:
        """Call a tool that must answer with the refusal ``code``."""
        answer = self.call(tool, **arguments)
        assert answer.code == code, answer
        return answer

    def observe(self, text: str, source: str = "tool:Bash", **more: Any) -> Answer:
        """Record an observation that must be admitted."""
        return self.done("record_fact", text=text, kind="observation", source=source, **more)

    def window(self, **arguments: Any) -> str:
        """Return the text of get_context."""
        return self.done("get_context", **arguments).text

    def read(self, uri: str) -> str:
        """Return the text of a resource."""
        result = self.portal.call(self.client.read_resource, uri)
        (content,) = result.contents
        assert isinstance(content, TextResourceContents)
        return content.text

    def prompt(self, name: str, arguments: dict[str, str] | None = None) -> str:
        """Return the text of a prompt's only message."""
        result = self.portal.call(self.client.get_prompt, name, arguments)
        (message,) = result.messages
        assert isinstance(message.content, TextContent)
        return message.content.text

    def tools(self) -> ListToolsResult:
        return self.portal.call(self.client.list_tools)


class World:
    """A workspace folder, one database, and the hooks of one client session ``s1``."""

    def __init__(self, folder: Path, workspace: str = "w", session: str = "s1") -> None:
        self.folder = folder
        self.tree = folder / workspace
        self.tree.mkdir(exist_ok=True)
        self.session = session
        self.db = folder / "memory.db"
        self.environ = {"KEEPTHREAD_DB": str(self.db), "CLAUDE_CODE_SESSION_ID": session}
        self._calls = 0

    def hook(self, event: str, **payload: Any) -> str:
        """Deliver one event of the client's hook; return what it would inject."""
        common = {"hook_event_name": event, "session_id": self.session, "cwd": str(self.tree)}
        raw = json.dumps(common | payload).encode()
        return handle(raw, self.environ, str(self.db))

    def bash(self, command: str, stdout: str, *, failed: bool = False) -> None:
        """Have the client run a shell command that prints ``stdout``."""
        self._calls += 1
        event = "PostToolUseFailure" if failed else "PostToolUse"
        answer = {"stdout": stdout, "stderr": "", "interrupted": False}
        result = {"error": stdout} if failed else {"tool_response": answer}
        self.hook(
            event,
            tool_name="Bash",
            tool_input={"command": command},
            tool_use_id=f"{self.session}-{self._calls}",
            **result,
        )

    def tool(self, name: str, given: dict[str, Any], response: Any) -> None:
        """Have the client call any other tool."""
        self._calls += 1
        self.hook(
            "PostToolUse",
            tool_name=name,
            tool_input=given,
            tool_response=response,
            tool_use_id=f"{self.session}-{self._calls}",
        )

    def say(self, prompt: str) -> None:
        """Have the user type a prompt."""
        self._calls += 1
        self.hook("UserPromptSubmit", prompt=prompt, prompt_id=f"{self.session}-p{self._calls}")

    def write(self, path: str, text: str) -> None:
        """Put a file into the workspace, unseen by any hook."""
        target = self.tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def read_file(self, path: str, text: str) -> None:
        """Put a file into the workspace and have the client read it."""
        self.write(path, text)
        self.tool("Read", {"file_path": str(self.tree / path)}, {"file": {"content": text}})

    def git(self) -> None:
        """Make the workspace a repository."""
        subprocess.run(["git", "init", "-q", str(self.tree)], check=True)

    def memory(self, **more: Any) -> Memory:
        """Open the memory as the server of this session does; without an embedder unless given one."""
        settings = more.pop("settings", {})
        given = {"writes_between_calls": 0, "writes_per_window": 0} | settings
        tree = os.path.realpath(self.tree)
        embedder = more.pop("embedder", None) or _no_embedder()
        return Memory(
            Settings(db=str(self.db), embedder="none", **given),
            Place(tree, tree),
            client=memory_module.Client("test", self.session),
            embedder=embedder,
            counter=more.pop("counter", COUNTER),
            **more,
        )

    @contextmanager
    def connect(
        self,
        mode: str = "auto",
        *,
        memory: Memory | None = None,
        user: ElicitationFnT | None = None,
        **more: Any,
    ) -> Iterator[Session]:
        """Connect a client of one era; closes the memory unless it was given. With a ``user`` to answer
        them, the client shows forms."""
        opened = memory or self.memory(**more)
        failed: Exception | None = None
        try:
            with (
                start_blocking_portal() as portal,
                portal.wrap_async_context_manager(
                    Client(build_server(opened), mode=mode, elicitation_callback=user)
                ) as client,
            ):
                try:
                    yield Session(portal, client)
                except Exception as error:  # noqa: BLE001  (raised below, where no task group wraps it)
                    failed = error
        finally:
            if memory is None:
                opened.close()
        if failed is not None:
            raise failed


def stored(memory: Memory) -> dict[str, int]:
    """Count the journal's rows by kind."""
    rows = memory.reader.execute("SELECT kind, count(*) FROM journal GROUP BY kind")
    return {str(kind): int(n) for kind, n in rows}


def _no_embedder() -> BackgroundEmbedder:
    embedder = BackgroundEmbedder("none")
    embedder.start()
    embedder.wait(5)
    return embedder
