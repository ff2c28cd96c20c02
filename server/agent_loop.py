"""An agent loop of your own with this memory: capture, window and tools in one process.

``docs/snippets/agent_loop.py`` is a whole loop. The program that runs the loop is the trusted channel:
it tells what really happened, and the model reaches the memory through the tools only.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.types import TextContent

from keepthread.server.app import build_server
from keepthread.server.capture.append import append_call, append_message
from keepthread.server.capture.events import Call, is_own_call, is_shell, paths_of_call
from keepthread.server.capture.windows import close_session
from keepthread.server.embedding_worker import EmbeddingWorker
from keepthread.server.memory import Memory
from keepthread.server.places import find_place
from keepthread.server.settings import read_settings

_LEVEL = 1  # as a client's hook: the process that ran the call told of it


class Answer(NamedTuple):
    """What a memory tool answered; refusals are errors that say what to do instead."""

    text: str
    is_error: bool


class AgentLoop:
    """One session of one agent in one workspace. Made by ``open_loop``; for one thread at a time.

    ``tools`` are the memory's tools in the Messages API's form: name, description, input_schema.
    """

    def __init__(self, memory: Memory, portal: BlockingPortal, client: Client) -> None:
        self.memory, self._portal, self._client = memory, portal, client
        listed = portal.call(client.list_tools).tools
        self.tools: list[dict[str, Any]] = [
            {"name": t.name, "description": t.description or "", "input_schema": t.input_schema}
            for t in listed
        ]
        self._names = frozenset(tool.name for tool in listed)

    def window(self) -> str:
        """Return the assembled window, for the system prompt or the first message."""
        return self.memory.context().text

    def run(
        self,
        tool: str,
        args: Mapping[str, Any],
        ref: str,
        functions: Mapping[str, Callable[..., str]],
    ) -> dict[str, Any]:
        """Run what the model calls and return its ``tool_result``: a memory tool, or one of ``functions``,
        whose output or exception is archived before the model sees it."""
        if tool in self._names:
            answer = self.call(tool, args)
        elif tool not in functions:
            answer = Answer(f"no tool {tool!r}", True)
        else:
            try:
                answer = Answer(functions[tool](**args), False)
            except Exception as error:  # noqa: BLE001  (whatever a tool raises is its answer)
                output = getattr(error, "stdout", None)
                answer = Answer("\n".join(str(p) for p in (output, error) if p), True)
            self.append_call(tool, args, answer.text, is_error=answer.is_error, ref=ref)
        return {
            "type": "tool_result", "tool_use_id": ref, "content": answer.text, "is_error": answer.is_error,
        }  # fmt: skip

    def call(self, tool: str, args: Mapping[str, Any]) -> Answer:
        """Run a memory tool for the model: every write passes the gate."""
        result = self._portal.call(self._client.call_tool, tool, dict(args))
        text = "\n".join(c.text for c in result.content if isinstance(c, TextContent))
        return Answer(text, bool(result.is_error))

    def append_call(
        self,
        tool: str,
        args: Mapping[str, Any],
        output: str,
        *,
        is_error: bool = False,
        ref: str = "",
    ) -> str:
        """Archive a call of the loop's own tools; return its id. The same ``ref`` is stored once."""
        path, wrote = paths_of_call(tool, args)
        call = Call(
            tool=tool,
            args=json.dumps(args, ensure_ascii=False, separators=(",", ":")),
            output=output,
            is_error=is_error,
            own=is_own_call(tool, args),
            path=path,
            wrote=wrote if is_shell(tool) or not is_error else (),
        )
        caller = self.memory.caller()
        with self.memory.capture.transaction() as tx:
            return append_call(
                tx, caller.author._replace(origin="hook"), call, channel="hook", level=_LEVEL,
                tree=caller.tree, key=self.memory.capture.anchor.key, outer_ref=ref,
            ).id  # fmt: skip

    def append_prompt(self, text: str) -> str:
        """Archive what the person typed; return its id. It backs instructions: pass nothing else."""
        return self._append("msg", text, "user")

    def append_answer(self, text: str) -> str:
        """Archive what the model said; return its id. It is citable by nothing."""
        return self._append("say", text, "hook")

    def _append(self, kind: str, text: str, channel: str) -> str:
        author = self.memory.caller().author._replace(origin=channel)
        with self.memory.capture.transaction() as tx:
            key = self.memory.capture.anchor.key
            return append_message(tx, author, kind, text, channel=channel, key=key).id


@contextmanager
def open_loop(folder: str = ".", environ: Mapping[str, str] = os.environ) -> Iterator[AgentLoop]:
    """Open the memory of the repository of ``folder`` for one session, and end its window at the end.

    Settings are those of the command line. Raises StoreError and SettingsError.
    """
    settings = read_settings(environ)
    memory = Memory(settings, find_place(folder, settings.workspace))
    worker = EmbeddingWorker(settings.db, memory.embedder)
    memory.embedding_fault = lambda: worker.fault
    memory.embedder.start()
    worker.start()
    try:
        with start_blocking_portal() as portal, ExitStack() as stack:
            connection = portal.wrap_async_context_manager(Client(build_server(memory)))
            client = connection.__enter__()
            # The loop's own exception must not come out wrapped in the client's task group.
            stack.callback(connection.__exit__, None, None, None)
            yield AgentLoop(memory, portal, client)
    finally:
        worker.stop()
        with memory.capture.transaction() as tx:
            close_session(tx, session=memory.client.session, event="ended", reason="loop ended")
        memory.close()
