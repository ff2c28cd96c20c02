"""The door: what is asked of every HTTP request before the protocol sees it.

In this order: a Host we go by (421), no foreign Origin (403), the path of a workspace (404), a
valid token (401). No answer carries a CORS header, so that no page of another site reads one.
Method, size of the body (413) and protocol are the SDK's to judge.
"""

import json
import logging
import re
from collections.abc import Callable, Collection
from typing import NamedTuple

import anyio
import anyio.lowlevel
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from keepthread.server.http.tenants import Busy, Tenants
from keepthread.server.http.tokens import Token, TokenFault, TokenFile
from keepthread.stores.errors import StoreError

logger = logging.getLogger("keepthread")

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
WORKSPACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

_PATH = re.compile(rf"/mcp/({WORKSPACE.pattern})")
_HOST = re.compile(r"([a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?")
_BEARER = re.compile(r"bearer +([\w.~+/=-]{1,200})", re.ASCII | re.IGNORECASE)


class Rejected(NamedTuple):
    """Why a request does not come in: status, a word for programs, a sentence."""

    status: int
    error: str
    reason: str


_STOPPING = Rejected(503, "stopping", "the server is about to stop")
_INVALID = Rejected(401, "invalid_token", "this token is not valid here")


class Door:
    """The ASGI application. ``names`` are those that a Host header may carry, a port aside."""

    def __init__(self, tokens: TokenFile, names: Collection[str], tenants: Tenants) -> None:
        self._tokens, self._names, self._tenants = tokens, frozenset(names), tenants
        self._inside: set[anyio.CancelScope] = set()
        self._closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        answer = _Answer(send)
        try:
            checked = self._check(scope)
            if isinstance(checked, Rejected):
                await answer.reject(checked)
            else:
                await self._admit(*checked, scope, receive, answer)
        except ClientDisconnect:  # it hung up while it was sending: nobody is there to be answered
            return
        except Busy:
            await answer.reject(Rejected(503, "busy", "too many workspaces are in use; try again"))
        except StoreError as error:
            logger.error("a request failed: %s", error)
            what = "tokens" if isinstance(error, TokenFault) else "memory"
            await answer.reject(
                Rejected(503, error.code, f"the {what} cannot be read; the server's log says why")
            )

    async def drain(self) -> None:
        """Let in nobody more, let begun writes end and answer, then end every open stream."""
        self._closing = True
        await self._tenants.settle()
        await anyio.sleep(0.1)  # for the answers of what has just ended
        for scope in list(self._inside):
            scope.cancel()

    def _check(self, scope: Scope) -> Rejected | tuple[Token, str]:
        hosts, origins = _headers(scope, b"host"), _headers(scope, b"origin")
        if len(hosts) != 1 or not self._knows(hosts[0]):
            return Rejected(421, "unknown_host", "this server does not go by that Host")
        if not all(self._is_own(origin) for origin in origins):
            return Rejected(403, "foreign_origin", "requests from other sites' pages are refused")
        named = _PATH.fullmatch(scope["path"])
        if named is None:
            return Rejected(
                404,
                "not_found",
                "the address is /mcp/WORKSPACE; a name has 1 to 64 of A-Z a-z 0-9 . _ -",
            )
        if self._closing:
            return _STOPPING
        given = [_BEARER.fullmatch(value) for value in _headers(scope, b"authorization")]
        if not given:
            return Rejected(401, "no_token", "send Authorization: Bearer TOKEN")
        token = self._tokens.find(given[0][1]) if len(given) == 1 and given[0] else None
        if token is None:
            return _INVALID
        return token, named[1]

    async def _admit(
        self, token: Token, workspace: str, scope: Scope, receive: Receive, answer: "_Answer"
    ) -> None:
        # The SDK binds a session to who opened it: to the token's id, not to its text.
        known = AuthenticatedUser(AccessToken(token="", client_id=token.id, scopes=[]))
        async with self._tenants.use((token.user, workspace)) as tenant:
            with anyio.CancelScope() as inside:
                answer.go_on = lambda: self._tokens.holds(token)
                answer.stop = inside.cancel
                self._inside.add(inside)
                try:
                    await tenant.sessions.handle_request(
                        {**scope, "user": known}, receive, answer.send
                    )
                finally:
                    self._inside.discard(inside)
        if inside.cancelled_caught:
            await answer.reject(_STOPPING if self._tokens.holds(token) else _INVALID)

    def _knows(self, host: str) -> bool:
        named = _HOST.fullmatch(host.lower())
        return named is not None and named[1] in self._names

    def _is_own(self, origin: str) -> bool:
        scheme, _, host = origin.partition("://")
        return scheme.lower() in ("http", "https") and self._knows(host)


class _Answer:
    """The way back to the client: ends when the token behind it is revoked."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = self._ended = False
        self.go_on: Callable[[], bool] = lambda: True
        self.stop: Callable[[], None] = lambda: None

    async def send(self, message: Message) -> None:
        """Pass a part of the answer on."""
        if not self.go_on():
            self.stop()
            await anyio.lowlevel.checkpoint()
        self._begun = self._begun or message["type"] == "http.response.start"
        self._ended = message["type"] == "http.response.body" and not message.get("more_body")
        await self._send(message)

    async def reject(self, why: Rejected) -> None:
        """Answer with a refusal; an answer that has begun is only ended."""
        if self._begun:
            if not self._ended:
                await self._send({"type": "http.response.body", "body": b""})
            return
        body = json.dumps({"error": why.error, "error_description": why.reason}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
        ]
        if why.status == 401:
            error = b', error="invalid_token"' if why is _INVALID else b""
            headers.append((b"www-authenticate", b'Bearer realm="keepthread"' + error))
        await self._send({"type": "http.response.start", "status": why.status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})


def security_settings(names: Collection[str]) -> TransportSecuritySettings:
    """Return the same names as the SDK's own check takes them: it looks again, behind ours."""
    hosts = [*names, *(f"{name}:*" for name in names)]
    return TransportSecuritySettings(
        allowed_hosts=hosts,
        allowed_origins=[f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts],
    )


def _headers(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]
