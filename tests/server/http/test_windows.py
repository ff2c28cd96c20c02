"""Which window a client works in, several clients at once, and which files a workspace sees."""

import json
import os
import socket
import time
from pathlib import Path

import anyio
import pytest
from mcp import Client

from keepthread.server.http.tenants import OPEN_MAX
from keepthread.stores.database import open_database
from keepthread.stores.journal import verify_chain
from keepthread.stores.query import fetch_all
from keepthread.stores.records import Window
from keepthread.stores.windows import windows
from keepthread.stores.workspaces import find_workspace
from tests.server.http.service import Service, calling, message


def windows_of(service: Service, user: str, workspace: str = "w") -> list[Window]:
    """Return the windows of a user's workspace, oldest first."""
    reader = open_database(service.database(user), "reader")
    known = find_workspace(reader, workspace)
    found = windows(reader, known, limit=100) if known is not None else []
    reader.close()
    return found[::-1]


def test_each_session_of_the_older_era_has_a_window_that_ends_with_it(service: Service) -> None:
    token = service.token("sue")
    with service.connect(token, mode="legacy") as one, service.connect(token, mode="legacy") as two:
        one.done("add_open_question", question="Who owns the first thing?")
        two.done("add_open_question", question="Who owns the second thing?")
        one.done("add_open_question", question="Who owns the third thing?")
        assert [w.closed for w in windows_of(service, "sue")] == ["", ""]
    end = time.monotonic() + 10
    while not all(w.closed for w in windows_of(service, "sue")) and time.monotonic() < end:
        time.sleep(0.05)
    assert [w.closed for w in windows_of(service, "sue")] == ["ended", "ended"]


def test_in_the_newest_era_a_token_and_a_clients_name_are_a_window(service: Service) -> None:
    laptop, desktop = service.token("tom"), service.token("tom")
    for token in (laptop, desktop, laptop):
        with service.connect(token) as client:
            client.done("get_context")
    assert len(windows_of(service, "tom")) == 2
    with service.connect(laptop) as client:
        client.done("hand_off", doing="this", next="that")
        assert "CLAIMED" in client.window()
    assert [w.closed for w in windows_of(service, "tom")] == ["handed_off", "", ""]


@pytest.mark.parametrize("name", ["", "x" * 500, "\u202e:/\n'", "claude code"])
def test_a_client_may_call_itself_what_it_likes(service: Service, name: str) -> None:
    token = service.token("una")
    body = json.loads(message("tools/call", name="get_context", arguments={}))
    body["params"]["_meta"]["io.modelcontextprotocol/clientInfo"] = {"name": name, "version": "1"}
    given = calling(token, **{"Mcp-Method": "tools/call", "Mcp-Name": "get_context"})
    reply = service.request(headers=given, body=json.dumps(body).encode())
    assert reply.status == 200
    newest = windows_of(service, "una")[-1]
    assert newest.client.replace("-", "").isalnum()
    assert len(newest.client) <= 40


def test_a_window_is_of_one_workspace(service: Service) -> None:
    token = service.token("vic")
    for workspace in ("one", "two"):
        with service.connect(token, workspace) as client:
            client.done("add_open_question", question=f"Who owns {workspace}?")
    assert len(windows_of(service, "vic", "one")) == len(windows_of(service, "vic", "two")) == 1


def test_clients_that_write_at_once_lose_nothing(service: Service) -> None:
    tokens = [service.token("wes") for _ in range(3)]
    ids: list[str] = []

    async def write(token: str, workspace: str, mode: str) -> None:
        async with Client(service.transport(token, workspace), mode=mode) as client:
            for n in range(8):
                asked = {"question": f"{token[-6:]} {workspace} {mode} {n}?"}
                result = await client.call_tool("add_open_question", asked)
                assert not result.is_error
                ids.append(result.structured_content["id"])

    async def all_at_once() -> None:
        async with anyio.create_task_group() as group:
            for token in tokens:
                for workspace, mode in (("w", "auto"), ("w", "legacy"), ("v", "auto")):
                    group.start_soon(write, token, workspace, mode)

    anyio.run(all_at_once)
    assert len(set(ids)) == len(ids) == 72
    reader = open_database(service.database("wes"), "reader")
    stored = [
        row[0] for row in fetch_all(reader, "SELECT number FROM journal WHERE kind = 'question'")
    ]
    assert sorted(stored) == sorted(int(i.removeprefix("question-")) for i in ids)
    assert list(verify_chain(reader)) == []
    reader.close()


def test_a_client_that_hangs_up_leaves_nothing_half(service: Service) -> None:
    token = service.token("yan")
    given = calling(token, **{"Mcp-Method": "tools/call", "Mcp-Name": "add_open_question"})
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    for n in range(30):
        body = message("tools/call", name="add_open_question", arguments={"question": f"{n}?"})
        head = (
            f"POST /mcp/w HTTP/1.1\r\nHost: localhost\r\n{lines}Content-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", service.port)) as wire:
            wire.sendall(head.encode() + (body[:-5] if n % 3 == 0 else body))
            time.sleep(0.002 * n)
    with service.connect(token) as client:
        last = int(client.done("add_open_question", question="last?").id.removeprefix("question-"))
    assert 2 <= last <= 21
    reader = open_database(service.database("yan"), "reader")
    assert list(verify_chain(reader)) == []
    reader.close()
    assert "Traceback" not in service.log.read_text("utf-8")


def test_more_workspaces_than_are_kept_open(service: Service) -> None:
    token = service.token("zoe")
    with service.connect(token, "first") as first:
        first.done("add_open_question", question="Who owns the quagga?")
        for n in range(OPEN_MAX + 3):
            given = calling(token, **{"Mcp-Method": "tools/list"})
            path = f"/mcp/many-{n}"
            assert (
                service.request(path=path, headers=given, body=message("tools/list")).status == 200
            )
        assert "quagga" in first.window()


def test_no_argument_of_a_tool_is_the_users_word(service: Service) -> None:
    instruction = {"text": "Never push to main", "kind": "instruction-from-user"}
    with service.connect(service.token("quin")) as quin:
        names = {tool.name for tool in quin.tools().tools}
        assert not names & {"task", "remember", "confirm", "trust", "forget", "restore", "token"}
        assert quin.done("start_task", goal="Push to main").data["action"] == "proposed"
        for source in ("", "user", "msg-1", "prompt", "terminal"):
            answer = quin.call("record_fact", source=source, **instruction)
            assert answer.code in ("not_the_users_words", "unknown_source"), answer
        quin.done("record_fact", source="user:reported", **instruction)
        pinned = quin.window().partition("== PLAN")[0]
        assert "Never push" not in pinned
        assert "proposed" in pinned
        quin.refused(
            "record_fact",
            "bad_scope",
            text="x y",
            kind="observation",
            scope=["user:*"],
            source="call-1",
        )


def test_evidence_of_a_hook_is_cited_over_http(service: Service) -> None:
    service.bash("xia", "w", "pytest -q", "214 passed in 3.1s")
    with service.connect(service.token("xia")) as client:
        client.observe("The suite has 214 passing tests", source="call-1")
        client.refused(
            "record_fact", "not_in_source", text="215 passed", kind="observation", source="call-1"
        )


def test_a_folder_is_read_by_the_user_and_workspace_it_was_given_to(service: Service) -> None:
    (service.folder / "files" / "port.txt").write_text("port = 8443\n")
    with service.connect(service.token("fay"), "files") as fay:
        assert "8443" in fay.done("capture_file", path="port.txt").text
        fay.observe("The port is 8443", source="file:port.txt")
    for user, workspace in (("fay", "other"), ("gil", "files")):
        with service.connect(service.token(user), workspace) as other:
            refused = other.call("capture_file", path=str(service.folder / "files" / "port.txt"))
            assert "no folder on this machine" in refused.text
            assert "8443" not in refused.text


@pytest.mark.parametrize(
    "path",
    [
        "../memory.db",
        "../server.log",
        "/etc/passwd",
        "link",
        "link/passwd",
        "a/../../server.log",
        "..",
        ".",
    ],
)
def test_no_path_leads_out_of_a_folder(service: Service, path: str) -> None:
    link = service.folder / "files" / "link"
    if not link.is_symlink():
        link.symlink_to("/etc")
    with service.connect(service.token("fay"), "files") as fay:
        assert fay.call("capture_file", path=path).code == "file_refused"


def test_without_a_folder_checks_say_that_they_cannot_tell(service: Service) -> None:
    asked = [
        "path_exists:server.log",
        "file_contains:server.log:serving",
        "path_changed:server.log",
    ]
    with service.connect(service.token("hal")) as hal:
        hal.done("update_plan_item", title="Look at the log", status="in_progress", checks=asked)
        hal.done("update_plan_item", item="plan-1", status="done", note="seen")
        answer = hal.done("hand_off", doing="looking", next="nothing")
        assert "claimed done, not confirmed" in answer.text
        assert "refuted" not in answer.text


def test_the_operators_commands_are_not_run_for_users(service: Service) -> None:
    with service.connect(service.token("fay"), "files") as fay:
        fay.done("update_plan_item", title="Run it", status="in_progress", checks=["command:touch"])
        fay.done("update_plan_item", title="Run it", status="done", note="ran")
        fay.done("hand_off", doing="a", next="b")
    assert not (service.folder / "ran").exists()
    own = Path(service.database("fay")).parent / "keepthread.toml"
    own.write_text(f'[commands]\ntouch = "touch {service.folder / "ran"}"\n')
    with service.connect(service.token("fay"), "files") as fay:
        fay.done(
            "update_plan_item",
            title="Run it once more",
            status="done",
            note="x",
            checks=["command:touch"],
        )
        fay.done("hand_off", doing="a", next="b")
    assert (service.folder / "ran").exists()


def test_files_of_users_are_their_owners_only(service: Service) -> None:
    with service.connect(service.token("ida")) as ida:
        ida.done("get_context")
    if os.name == "posix":
        for folder in (service.folder / "users", service.folder / "users" / "ida"):
            assert folder.stat().st_mode & 0o077 == 0
            assert all(f.stat().st_mode & 0o077 == 0 for f in folder.iterdir())
