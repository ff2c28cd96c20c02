"""Who comes in: Host, Origin, path, token, size; asked over real sockets."""

import json
import socket

import pytest

from tests.server.http.service import Reply, Service, calling, message


def post(service: Service, path: str = "/mcp/w", **headers: str) -> Reply:
    """Ask for the tools with a valid token, with other headers in place of ours."""
    given = calling(service.token("dora"), **{"Mcp-Method": "tools/list"}) | headers
    return service.request("POST", path, given, message("tools/list"))


def raw(service: Service, text: str, token: str = "") -> str:
    """Send bytes as they are and return the status line."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as wire:
        wire.sendall(text.replace("\n", "\r\n").replace("TOKEN", token).encode("latin-1"))
        return wire.makefile("rb").readline().decode("latin-1").strip()


def test_a_valid_token_comes_in_under_every_name_of_this_machine(service: Service) -> None:
    for host in (
        "127.0.0.1",
        "localhost",
        f"LocalHost:{service.port}",
        "[::1]:9",
        "memory.example.org",
    ):
        reply = post(service, Host=host)
        assert reply.status == (200 if host == host.lower() else 421), host
        assert not [h for h in reply.headers if h.startswith("access-control")]
    assert b"record_fact" in post(service).body


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.",
        "127.0.0.1:80@evil",
        "localhost:x",
        "",
        "[::1",
        "127.1",
    ],
)
def test_another_host_is_misdirected(service: Service, host: str) -> None:
    assert post(service, Host=host).status == 421


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://localhost.evil.example",
        "file://",
        "http://127.0.0.1:80@evil",
        "",
    ],
)
def test_a_foreign_origin_is_forbidden(service: Service, origin: str) -> None:
    assert post(service, Origin=origin).status == 403


def test_our_own_origin_is_not(service: Service) -> None:
    assert post(service, Origin="http://localhost:1234").status == 200
    assert post(service, Origin="https://memory.example.org").status == 200


@pytest.mark.parametrize(
    "method", ["GET", "POST", "DELETE", "OPTIONS", "PUT", "HEAD", "TRACE", "PATCH"]
)
def test_without_a_token_every_method_is_unauthorised(service: Service, method: str) -> None:
    reply = service.request(method, headers={"Content-Type": "application/json"})
    assert reply.status == 401
    assert reply.headers["www-authenticate"] == 'Bearer realm="keepthread"'
    assert not [h for h in reply.headers if h.startswith("access-control")]


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "TRACE", "PATCH", "HEAD"])
def test_with_one_other_methods_are_not_allowed(service: Service, method: str) -> None:
    assert service.request(method, headers=calling(service.token("dora"))).status == 405


@pytest.mark.parametrize(
    "given",
    ["Bearer", "Bearer ", "Bearer x", "Basic TOKEN", "TOKEN", "Bearer TOKENx", "Bearer TOKEN TOKEN", "Bearer\tTOKEN",
     "Bearer keepthread_", "Bearer " + "a" * 5000, "Bearer TOKEN,", "Token TOKEN", "Bearer \u00e9TOKEN"],
)  # fmt: skip
def test_what_is_no_valid_token_is_told_so(service: Service, given: str) -> None:
    value = given.replace("TOKEN", service.token("dora"))
    reply = service.request(headers={"Authorization": value}, body=message("tools/list"))
    assert reply.status == 401
    assert 'error="invalid_token"' in reply.headers["www-authenticate"]
    assert value[7:] not in reply.body.decode() or len(value) < 10


def test_the_scheme_is_read_as_the_standard_says(service: Service) -> None:
    token = service.token("dora")
    for given in (f"bearer {token}", f"BEARER   {token}"):
        assert post(service, Authorization=given).status == 200


@pytest.mark.parametrize(
    "lines",
    [
        "Authorization: Bearer TOKEN\nAuthorization: Bearer TOKEN",
        "Authorization: Bearer TOKEN\nAuthorization: x",
    ],
)
def test_two_authorizations_are_none(service: Service, lines: str) -> None:
    line = raw(
        service,
        f"GET /mcp/w HTTP/1.1\nHost: localhost\n{lines}\n\n",
        service.token("dora"),
    )
    assert " 401 " in line


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (
            "GET /mcp/w HTTP/1.1\nHost: localhost\nHost: evil.example\nAuthorization: Bearer TOKEN\n\n",
            400,
        ),
        ("GET /mcp/w HTTP/1.1\nAuthorization: Bearer TOKEN\n\n", 400),
        ("GET /mcp/w HTTP/1.0\nAuthorization: Bearer TOKEN\n\n", 421),
        (
            "GET http://evil.example/mcp/w HTTP/1.1\nHost: localhost\nAuthorization: Bearer TOKEN\n\n",
            404,
        ),
        ("GET /mcp/w HTTP/1.1\nHost: localhost\nX: " + "a" * 70_000, 400),
        ("POST /mcp/w HTTP/1.1\nHost: localhost\nContent-Length: 3\nContent-Length: 4\n\nabc", 400),
        ("POST /mcp/w HTTP/1.1\nHost: localhost\nContent-Length: -1\n\n", 400),
        ("GET /mcp/\u00e9 HTTP/1.1\nHost: localhost\n\n", 400),
        ("GET /mcp/%ff HTTP/1.1\nHost: localhost\n\n", 404),
        ("OPTIONS * HTTP/1.1\nHost: localhost\n\n", 404),
        ("CONNECT localhost:80 HTTP/1.1\nHost: localhost\n\n", 404),
        ("GET /mcp/w HTTP/1.1\nHost: localhost\nUpgrade: websocket\nConnection: Upgrade\n\n", 401),
        ("\x16\x03\x01\x02\n\n", 400),
        ("GARBAGE\n\n", 400),
    ],
)
def test_odd_requests_get_an_answer(service: Service, text: str, status: int) -> None:
    assert f" {status} " in raw(service, text, service.token("dora"))


@pytest.mark.parametrize(
    "path",
    ["/", "/mcp", "/mcp/", "/mcp/w/", "/mcp/w/x", "/mcp/..", "/mcp/%2e%2e", "/mcp/..%2f..%2fetc", "/mcp/.hidden",
     "/mcp/w%2f..%2fv", "/mcp/a%00b", "/mcp/%c3%a9", "/mcp/" + "a" * 65, "/mcp/-w", "//mcp/w", "/MCP/w", "/mcp/w%0a",
     "/mcp/C:%5Cx", "/mcp/w;x", "/.well-known/oauth-protected-resource/mcp/w", "/mcp/a=b", "/mcp/user:*"],
)  # fmt: skip
def test_only_a_plain_name_is_a_workspace(service: Service, path: str) -> None:
    assert post(service, path).status == 404


@pytest.mark.parametrize(
    "path", ["/mcp/w", "/mcp/W.2_x-y", "/mcp/" + "a" * 64, "/mcp/%77", "/mcp/w?x=../../v"]
)
def test_plain_names_are(service: Service, path: str) -> None:
    assert post(service, path).status == 200


def test_a_large_body_is_refused_however_it_is_announced(service: Service) -> None:
    token = service.token("dora")
    assert service.request(headers=calling(token), body=b"x" * (5 << 20)).status == 413
    head = "POST /mcp/w HTTP/1.1\nHost: localhost\nAuthorization: Bearer TOKEN\nContent-Type: application/json\n"
    assert " 413 " in raw(service, head + "Content-Length: 99999999999\n\n", token)
    chunk = "10000\n" + "x" * 0x10000 + "\n"
    assert " 413 " in raw(service, head + "Transfer-Encoding: chunked\n\n" + chunk * 80, token)


def test_a_large_body_without_a_token_is_not_even_read(service: Service) -> None:
    head = "POST /mcp/w HTTP/1.1\nHost: localhost\nContent-Length: 99999999999\n\n"
    assert " 401 " in raw(service, head)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"3", b'"x"', b"[" * 100_000, b'{"jsonrpc":"2.0"}', b'{"id":1}', b"\xff\xfe",
     b'[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]', b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}',
     b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}', b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}'],
)  # fmt: skip
@pytest.mark.parametrize("era", ["2026-07-28", "2025-11-25", "1999-01-01", ""])
def test_odd_messages_are_refused_and_the_server_goes_on(
    service: Service, body: bytes, era: str
) -> None:
    given = calling(service.token("dora")) | ({"MCP-Protocol-Version": era} if era else {})
    assert 400 <= service.request(headers=given, body=body).status < 500
    assert post(service).status == 200


def test_a_session_belongs_to_the_token_that_opened_it(service: Service) -> None:
    mine, other, foreign = service.token("dora"), service.token("dora"), service.token("eve")
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode()
    era = {"MCP-Protocol-Version": "2025-11-25"}
    opened = service.request(headers=calling(mine) | era, body=body)
    session = era | {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
    ping = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping"}).encode()
    assert service.request(headers=calling(mine) | session, body=ping).status == 200
    for token in (other, foreign):
        assert service.request(headers=calling(token) | session, body=ping).status == 404
        assert service.request("DELETE", headers=calling(token) | session).status == 404
    assert service.request(path="/mcp/v", headers=calling(mine) | session, body=ping).status == 404
    assert service.request("DELETE", headers=calling(mine) | session).status == 200
