"""``keepthread serve --http``: one process for several users, each with a database file of their own."""

import ipaddress
import os
import signal
import socket
import sys
import threading
from collections.abc import Collection, Mapping
from types import FrameType
from typing import NamedTuple

import anyio
import uvicorn

from keepthread.server.http.door import LOOPBACK, WORKSPACE, Door, security_settings
from keepthread.server.http.tenants import Key, Tenants
from keepthread.server.http.tokens import TokenFile, check_user
from keepthread.server.settings import Settings, SettingsError
from keepthread.stores.launch import command_line

STOP_SECONDS = 5
CONNECTIONS_MAX = 500
HEADER_BYTES_MAX = 32 << 10


class Address(NamedTuple):
    """Where to listen (port 0: any free one), and the names that clients know the server by."""

    host: str = "127.0.0.1"
    port: int = 8470
    names: tuple[str, ...] = ()


def serve_http(settings: Settings, address: Address, folders: Mapping[Key, str]) -> int:
    """Serve until SIGTERM, SIGINT or SIGHUP. Raises SettingsError where it must not be begun."""
    tokens = TokenFile(settings.db)
    if not tokens.all():
        hint = f"make one: {command_line('token', 'create', 'USER')}"
        if not is_loopback(address.host):
            raise SettingsError(f"without a token nothing is served beyond this machine; {hint}")
        print(f"keepthread: no token yet, so nobody can come in; {hint}", file=sys.stderr)
    anyio.run(_serve, settings, tokens, _listen(address), _names(address), folders)
    return 0


def is_loopback(host: str) -> bool:
    """True for an address that only this machine reaches."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def parse_folders(given: Collection[str]) -> dict[Key, str]:
    """Return the folders that ``USER/NAME=DIR`` options name. Raises SettingsError, and StoreError."""
    found: dict[Key, str] = {}
    for text in given:
        named, _, folder = text.partition("=")
        user, _, workspace = named.partition("/")
        check_user(user)
        tree = os.path.realpath(os.path.expanduser(folder))
        if not WORKSPACE.fullmatch(workspace) or not folder or not os.path.isdir(tree):
            raise SettingsError(
                f"--folder {text!r} must be USER/NAME=DIR, with a folder that is there"
            )
        found[user, workspace] = tree
    return found


class Server(uvicorn.Server):
    """uvicorn, with a stop that lets writes end, and after which we go on to close the databases."""

    def __init__(self, door: Door) -> None:
        super().__init__(
            uvicorn.Config(
                door, http="h11", ws="none", lifespan="off", log_level="warning", access_log=False,
                proxy_headers=False, server_header=False, limit_concurrency=CONNECTIONS_MAX,
                h11_max_incomplete_event_size=HEADER_BYTES_MAX, timeout_graceful_shutdown=STOP_SECONDS,
            )
        )  # fmt: skip
        self._door = door

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop. (uvicorn's own way raises the signal anew afterwards, which would end the process.)"""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish what was begun, then close the connections."""
        with anyio.move_on_after(STOP_SECONDS):
            await self._door.drain()
        await super().shutdown(sockets)


async def _serve(
    settings: Settings,
    tokens: TokenFile,
    listener: socket.socket,
    names: Collection[str],
    folders: Mapping[Key, str],
) -> None:
    async with anyio.create_task_group() as group:
        tenants = Tenants(settings, folders, security_settings(names), group)
        server = Server(Door(tokens, names, tenants))
        if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGHUP, server.handle_exit)
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        print(
            f"keepthread: serving http://{shown}:{port}/mcp/WORKSPACE", file=sys.stderr, flush=True
        )
        try:
            await server.serve(sockets=[listener])
        finally:
            tenants.close()


def _listen(address: Address) -> socket.socket:
    if not 0 <= address.port <= 65_535:  # getaddrinfo takes it modulo 65,536
        raise SettingsError(f"cannot listen on port {address.port}; ports go up to 65535")
    try:
        family, *_, where = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.create_server(where[:2], family=family)
    except OSError as error:
        raise SettingsError(f"cannot listen on {address.host}:{address.port}: {error}") from error
    # Connections inherit it. asyncio sets it on sockets of named protocol only, which these are not,
    # and without it every answer over a kept connection waits 40 ms for the client's acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _names(address: Address) -> tuple[str, ...]:
    own = f"[{address.host}]" if ":" in address.host else address.host.lower()
    return tuple(dict.fromkeys((*LOOPBACK, own, *(n.lower() for n in address.names))))
