"""The product as a user meets it: a database of its own, ``keepthread import``, and an MCP client.

Every suite goes through this door: nothing here reads a table or goes round a rule. Only the
write budgets are off, which is a setting of the product.
"""

import functools
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mcp import Client
from mcp.types import TextContent

from keepthread.server.app import build_server
from keepthread.server.capture.hook import handle
from keepthread.server.capture.imports import import_lines
from keepthread.server.embedding_worker import embed_batch
from keepthread.server.memory import Client as Who
from keepthread.server.memory import Memory
from keepthread.server.places import Place
from keepthread.server.settings import Settings
from keepthread.stores.embeddings import BackgroundEmbedder, Embedder
from keepthread.stores.transfer import export_lines

LOAD_SECONDS_MAX = 120.0
WORKSPACE = "evals"
CRASHED = "crashed"


class Answer(NamedTuple):
    """What a tool answered: its text, its structured content, and the refusal's code if it failed
    (CRASHED where the product has no code for it)."""

    text: str
    fields: Mapping[str, Any]
    refused: str


class Product:
    """One database and one connected client. Made by ``open_product``."""

    def __init__(self, memory: Memory, client: Client, folder: Path) -> None:
        self._memory, self._client, self._folder = memory, client, folder

    @property
    def memory(self) -> Memory:
        """The same database through the Python API."""
        return self._memory

    def bring(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
        """Import rows of the import format; return the entry id of each ``ref``."""
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        done = import_lines(self._memory.capture, self._memory.place.workspace, lines)
        if done.faults:
            raise ValueError(f"a suite's rows must all be good: {done.faults[:3]}")
        return done.ids

    def embed_all(self, progress: Callable[[int], None] = lambda made: None) -> None:
        """Let the embedding worker finish; ``progress`` gets the size of each batch."""
        while made := embed_batch(self._memory.capture, embedder(), "evals"):
            progress(made)

    async def call(self, tool: str, **arguments: object) -> Answer:
        """Call an MCP tool."""
        result = await self._client.call_tool(tool, arguments)
        text = "".join(c.text for c in result.content if isinstance(c, TextContent))
        fields: Mapping[str, Any] = result.structured_content or {}
        return Answer(text, fields, str(fields.get("code", CRASHED)) if result.is_error else "")

    def say(self, words: str, number: int) -> None:
        """Let the user type ``words``, as the client's prompt hook reports it."""
        event = {
            "hook_event_name": "UserPromptSubmit",
            "session_id": self._memory.client.session,
            "cwd": str(self._folder),
            "prompt": words,
            "prompt_id": f"prompt-{number}",
        }
        workspace = f"{self._memory.place.workspace}={self._folder}"  # a bare name may be a folder here
        environ = {"KEEPTHREAD_WORKSPACE": workspace}
        handle(json.dumps(event).encode(), environ, self._memory.settings.db)

    def configure(self, **settings: Any) -> None:
        """Change settings for the calls that follow, as a restart with others would."""
        self._memory.settings = self._memory.settings._replace(**settings)

    def count(self, text: str) -> int:
        """Return the tokens of a text as the product counts them."""
        return self._memory.counter.count(text)

    def exported(self) -> list[dict[str, Any]]:
        """Return what ``keepthread export`` writes of this workspace."""
        workspace = self._memory.onlooker().author.workspace
        return [json.loads(line) for line in export_lines(self._memory.reader, workspace)]


@asynccontextmanager
async def open_product(folder: Path, workspace: str = WORKSPACE) -> AsyncIterator[Product]:
    """Open the database in ``folder`` (made when missing) and connect a client to it."""
    settings = Settings(
        db=str(folder / "memory.db"),
        workspace=workspace,
        writes_per_window=0,
        writes_between_calls=0,
    )
    place = Place(workspace, str(folder))
    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # a crash is counted, not printed in full
    embedder()
    memory = Memory(settings, place, client=Who("evals", f"evals:{workspace}"), embedder=_loaded())
    try:
        async with Client(build_server(memory)) as client:
            yield Product(memory, client, folder)
    finally:
        memory.close()


def embedder() -> Embedder:
    """Return the product's default embedder, loaded once a process."""
    model = _loaded().wait(LOAD_SECONDS_MAX)
    if model is None:
        raise RuntimeError(f"the embedder is not ready: {_loaded().state}")
    return model


@functools.cache
def _loaded() -> BackgroundEmbedder:
    background = BackgroundEmbedder("")
    background.start()
    return background
