"""A real `keepthread serve --http` process, and clients of it: raw requests and the SDK's own client."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
from anyio.from_thread import start_blocking_portal
from mcp import Client
from mcp.client.session import ElicitationFnT
from mcp.client.streamable_http import streamable_http_client

from keepthread.server.capture.hook import handle
from keepthread.server.http.tokens import TokenFile, user_database
from tests.server.world import Session

NEWEST = "2026-07-28"
_SERVING = re.compile(r"serving http://127\.0\.0\.1:(\d+)/mcp/WORKSPACE")


class Reply(NamedTuple):
    """What came back: status, headers in lower case, body."""

    status: int
    headers: dict[str, str]
    body: bytes


class Service:
    """One server process over the databases in ``folder``."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.db = str(folder / "memory.db")
        self.log = folder / "server.log"
        self.tokens = TokenFile(self.db)
        self.environ = {
            **{k: v for k, v in os.environ.items() if not k.startswith("KEEPTHREAD_")},
            "KEEPTHREAD_DB": self.db,
            "KEEPTHREAD_CONFIG": str(folder / "operator.toml"),
            "KEEPTHREAD_EMBEDDER": "none",
            "KEEPTHREAD_WRITES_PER_WINDOW": "0",
            "KEEPTHREAD_WRITES_BETWEEN_CALLS": "0",
        }
        ran = folder / "ran"
        (folder / "operator.toml").write_text(f'[commands]\ntouch = "touch {ran}"\n')
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "keepthread", "serve", "--http", "--port", "0", *options],
                env=self.environ,
                cwd=folder,
                stdout=log,
                stderr=log,
            )
        self.port = self._wait_for_port()

    def token(self, user: str) -> str:
        """Make a token for ``user``."""
        return self.tokens.create(user, "", time.time)[1]

    def database(self, user: str) -> str:
        """Return the path of a user's database."""
        return user_database(self.db, user)

    def hook(self, user: str, workspace: str, event: str, **payload: Any) -> None:
        """Deliver an event of a client's hook into a user's database and workspace."""
        db = self.database(user)
        os.makedirs(os.path.dirname(db), mode=0o700, exist_ok=True)
        folder = str(self.folder)
        environ = {"KEEPTHREAD_DB": db, "KEEPTHREAD_WORKSPACE": f"{workspace}={folder}"}
        common = {
            "hook_event_name": event,
            "session_id": f"hooks-{user}-{workspace}",
            "cwd": folder,
        }
        handle(json.dumps(common | payload).encode(), environ, db)

    def bash(self, user: str, workspace: str, command: str, stdout: str) -> None:
        """Have the client of ``user`` run a shell command that prints ``stdout``."""
        self.hook(
            user,
            workspace,
            "PostToolUse",
            tool_name="Bash",
            tool_input={"command": command},
            tool_use_id=f"{user}-{command}-{stdout}",
            tool_response={"stdout": stdout, "stderr": "", "interrupted": False},
        )

    def request(
        self,
        method: str = "POST",
        path: str = "/mcp/w",
        headers: Mapping[str, str] | None = None,
        body: bytes = b"{}",
    ) -> Reply:
        """Send one request as it is; without headers of its own but Host and Content-Length."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body=body, headers=dict(headers or {}))
            got = connection.getresponse()
            return Reply(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read())
        finally:
            connection.close()

    @contextmanager
    def connect(
        self,
        token: str,
        workspace: str = "w",
        mode: str = "auto",
        user: ElicitationFnT | None = None,
    ) -> Iterator[Session]:
        """Connect the SDK's client in one era; with a ``user``, one that shows forms."""
        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(
                Client(
                    self.transport(token, workspace), mode=mode, elicitation_callback=user
                )
            ) as client,
        ):
            yield Session(portal, client)

    @asynccontextmanager
    async def transport(self, token: str, workspace: str) -> AsyncIterator[Any]:
        """Return the SDK's transport to a workspace."""
        url = f"http://127.0.0.1:{self.port}/mcp/{workspace}"
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http_client,
            streamable_http_client(url, http_client=http_client) as streams,
        ):
            yield streams

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Stop the process; return its exit status."""
        self.process.send_signal(number)
        return self.process.wait(30)

    def _wait_for_port(self) -> int:
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            if found := _SERVING.search(self.log.read_text("utf-8")):
                return int(found[1])
            time.sleep(0.05)
        raise AssertionError(self.log.read_text("utf-8"))


def calling(token: str, **more: str) -> dict[str, str]:
    """Return the headers of a POST in the newest era."""
    return {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": NEWEST,
    } | more


def message(method: str, **params: Any) -> bytes:
    """Return a request of the newest era."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | {"_meta": meta}}
    ).encode()
