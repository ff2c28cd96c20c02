"""``keepthread doctor``: everything a support thread would ask, one line each, with the fix."""

import argparse
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from typing import Literal, NamedTuple

import apsw

from keepthread.server.clients.connect import Connection, connected
from keepthread.server.clients.descriptions import CLIENTS, Description
from keepthread.server.clients.machine import has_plugin, is_there, roots
from keepthread.server.context.tokens import TokenCounter
from keepthread.server.places import Place, find_place
from keepthread.server.settings import Settings, read_settings
from keepthread.stores.clock import seconds
from keepthread.stores.database import SQLITE_FLOOR, open_database
from keepthread.stores.embeddings import EmbeddingUnavailable, load_embedder
from keepthread.stores.errors import StoreError
from keepthread.stores.launch import command_line, find_launch
from keepthread.stores.recent import captures_by_client, newest_capture, newest_hooked
from keepthread.stores.workspaces import find_workspace

_HOOK_SECONDS_MAX = 1.0
_RECENT_SECONDS = 86_400
_OTHER_DATABASE = (
    "restore a backup of it, or move it away and begin anew; it is never repaired here"
)

State = Literal["ok", "note", "FAIL"]


class Finding(NamedTuple):
    """One line: what was looked at, what was found, and what to do about it (``""``: nothing)."""

    state: State
    name: str
    found: str
    fix: str = ""


class Setup(NamedTuple):
    """What the checks look at."""

    environ: Mapping[str, str]
    settings: Settings
    place: Place


def doctor(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread doctor``; exit 1 when anything does not work."""
    settings = read_settings(environ)
    setup = Setup(environ, settings, find_place(os.getcwd(), settings.workspace))
    findings = [finding for check in CHECKS for finding in check(setup)]
    if options.json:
        print(json.dumps({"findings": [f._asdict() for f in findings]}, ensure_ascii=False))
    else:
        for finding in findings:
            fix = f" -> {finding.fix}" if finding.fix else ""
            print(f"{finding.state:4} {finding.name}: {finding.found}{fix}")
    return 1 if any(f.state == "FAIL" for f in findings) else 0


def _versions(setup: Setup) -> Iterator[Finding]:
    python = ".".join(map(str, sys.version_info[:3]))
    found = (
        f"keepthread {version('keepthread')}, Python {python}, mcp {version('mcp')}, {sys.platform}"
    )
    yield Finding("ok", "versions", found)
    sqlite = apsw.sqlite_lib_version()
    good = tuple(map(int, sqlite.split("."))) >= SQLITE_FLOOR
    floor = ".".join(map(str, SQLITE_FLOOR))
    fix = "" if good else f"needs {floor} or newer: pip install -U apsw"
    yield Finding(
        "ok" if good else "FAIL", "SQLite", f"{sqlite}, in apsw {apsw.apsw_version()}", fix
    )


def _parts(setup: Setup) -> Iterator[Finding]:
    from keepthread.stores.vectors import enable_vectors  # noqa: PLC0415  (a shared library)

    connection = apsw.Connection(":memory:")
    try:
        enable_vectors(connection)
        found = connection.execute("SELECT vec_version()").fetchone()
        yield Finding("ok", "vector extension", f"sqlite-vec {found[0] if found else '?'}")
    except Exception as error:  # noqa: BLE001  (whatever it is, it is the finding)
        yield Finding("FAIL", "vector extension", str(error), "pip install -U sqlite-vec")
    try:
        began = time.perf_counter()
        model = load_embedder(setup.settings.embedder, download=False)  # a look changes nothing
        model.embed(["one sentence"])
        took = time.perf_counter() - began
        yield Finding("ok", "model", f"{model.model_id}, loaded and used in {took:.1f} s")
    except EmbeddingUnavailable as error:
        found = f"{error} Search is by words only."
        if setup.settings.embedder == "none":
            fix = "unset KEEPTHREAD_EMBEDDER (or embedder in keepthread.toml) to search by meaning"
            yield Finding("note", "model", found, fix)
        else:
            yield Finding(
                "FAIL", "model", found, "set KEEPTHREAD_EMBEDDER, or reinstall keepthread"
            )
    except Exception as error:  # noqa: BLE001
        yield Finding(
            "FAIL", "model", str(error), "set KEEPTHREAD_EMBEDDER, or reinstall keepthread"
        )
    try:
        counted = TokenCounter(setup.settings.token_safety).count("count these words")
        yield Finding("ok", "tokenizer", f"o200k_base, 3 words are {counted} tokens")
    except Exception as error:  # noqa: BLE001
        yield Finding("FAIL", "tokenizer", str(error), "reinstall keepthread")


def _database(setup: Setup) -> Iterator[Finding]:
    path = setup.settings.db
    folder = os.path.dirname(path)
    if not os.path.exists(path):
        at = folder
        while not os.path.exists(at):
            at = os.path.dirname(at)
        good = os.access(at, os.W_OK)
        yield Finding(
            "ok" if good else "FAIL",
            "database",
            f"{path}, not there yet",
            "" if good else f"{at} cannot be written: mend its rights, or set KEEPTHREAD_DB",
        )
        return
    try:
        reader = open_database(path, "reader", vectors=True)
        fault = reader.execute("PRAGMA quick_check(1)").fetchone()
        reader.close()
    except (StoreError, apsw.Error) as error:
        yield Finding("FAIL", "database", str(error), _OTHER_DATABASE)
        return
    if fault and fault[0] != "ok":
        yield Finding("FAIL", "database", f"{path}: {fault[0]}", _OTHER_DATABASE)
        return
    yield Finding("ok", "database", f"{path}, {os.path.getsize(path):,} bytes, sound")
    if os.name == "posix":
        yield from _rights(path, folder)


def _rights(path: str, folder: str) -> Iterator[Finding]:
    files = [
        p
        for p in (path, *(path + e for e in ("-wal", "-shm", ".key", ".anchor")))
        if os.path.exists(p)
    ]
    open_files = [p for p in files if stat.S_IMODE(os.stat(p).st_mode) & 0o077]
    others = stat.S_IMODE(os.stat(folder).st_mode) & 0o022
    if open_files:
        yield Finding(
            "FAIL", "rights", "others can read the memory", f"chmod 600 {' '.join(open_files)}"
        )
    elif others:
        yield Finding("FAIL", "rights", f"others can write to {folder}", f"chmod 700 '{folder}'")
    elif not os.access(path, os.W_OK):
        yield Finding("FAIL", "rights", f"{path} cannot be written by you", f"chmod 600 '{path}'")
    else:
        yield Finding("ok", "rights", "only you can read and write it")


def _hook(setup: Setup) -> Iterator[Finding]:
    """Run the hook as a client does, against a database of its own."""
    launch = find_launch(setup.environ)
    event = {"hook_event_name": "PostToolUse", "session_id": "doctor", "tool_name": "Bash",
             "tool_input": {"command": "true"}, "tool_response": {"stdout": "checked"},
             "tool_use_id": "doctor-1", "cwd": ""}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        db = os.path.join(folder, "memory.db")
        event["cwd"] = folder
        environ = {**setup.environ, "KEEPTHREAD_DB": db, "CLAUDE_PROJECT_DIR": folder}
        command = [launch.command, *launch.args, "hook", "claude-code"]
        payload = json.dumps(event).encode()
        times = []
        for _ in range(2):  # the first one makes the database
            began = time.perf_counter()
            done = subprocess.run(
                command, input=payload, env=environ, capture_output=True, check=False
            )
            times.append(time.perf_counter() - began)
        archived = os.path.exists(db) and newest_capture(open_database(db, "reader"))
    if done.returncode or done.stderr or not archived:
        said = done.stderr.decode("utf-8", "replace").strip()[:300] or "nothing was archived"
        yield Finding("FAIL", "hook", said, f"run by hand: {launch.line('hook', 'claude-code')}")
        return
    slow = times[-1] > _HOOK_SECONDS_MAX
    fix = "uvx starts slowly: uv tool install keepthread, then its init" if slow else ""
    yield Finding(
        "note" if slow else "ok", "hook", f"archives an event in {times[-1] * 1000:.0f} ms", fix
    )


def _capture(setup: Setup) -> Iterator[Finding]:
    path = setup.settings.db
    log = os.path.join(os.path.dirname(path), "hook-errors.log")
    if os.path.exists(log) and time.time() - os.path.getmtime(log) < _RECENT_SECONDS:
        yield Finding(
            "note", "hook errors", f"some in the last day, see {log}", f"rm '{log}' when mended"
        )
    if not os.path.exists(path):
        yield Finding(
            "note", "capture", "none yet", _first_capture()
        )
        return
    try:
        reader = open_database(path, "reader")
    except (StoreError, apsw.Error):
        return  # said above
    try:
        workspace = find_workspace(reader, setup.place.workspace)
        here = captures_by_client(reader, workspace) if workspace is not None else []
        anywhere = newest_capture(reader)
    finally:
        reader.close()
    if here:
        minutes = (time.time() - seconds(here[0][3])) / 60
        by = "; ".join(f"{client} by {way} {count}, last {at}" for client, way, count, at in here)
        found = f"last one in {setup.place.workspace} {minutes:,.0f} min ago: {by}"
        yield Finding("ok", "capture", found)
    elif anywhere:
        yield Finding(
            "ok", "capture", f"none in {setup.place.workspace} yet; last one elsewhere: {anywhere}"
        )
    else:
        yield Finding(
            "note", "capture", "none yet", _first_capture()
        )


def _first_capture() -> str:
    return f"{command_line('init')}, then start a session in your client"


def _clients(setup: Setup) -> Iterator[Finding]:
    given = roots(setup.environ, setup.place.tree)
    there = [client for client in CLIENTS if is_there(client, given, setup.environ)]
    if not there:
        yield Finding("note", "clients", "found none", command_line("init", "--client", "NAME"))
    captured = _captured(setup.settings.db)
    for client in there:
        last = captured.get(client.name, "")
        if has_plugin(client, given):
            yield _hooked(client, "its plugin", last)
            continue
        try:
            yield _connection(client, connected(client, given), last)
        except (ValueError, OSError) as error:
            yield Finding("FAIL", client.title, str(error), "mend its configuration file")


def _captured(path: str) -> Mapping[str, str]:
    """Return when each client's hooks last told of anything; nothing of a database that cannot be read."""
    if not os.path.exists(path):
        return {}
    try:
        reader = open_database(path, "reader")
    except (StoreError, apsw.Error):
        return {}  # said above
    try:
        return newest_hooked(reader)
    finally:
        reader.close()


def _hooked(client: Description, how: str, last: str) -> Finding:
    """A client's hooks are there; whether they fire, only what came in can tell."""
    if last:
        return Finding("ok", client.title, f"{how}; its hooks fire, last at {last}")
    return Finding("note", client.title, f"{how}; its hooks never fired yet", client.check)


def _connection(client: Description, found: Connection, last: str) -> Finding:
    how = command_line("init", "--client", client.name)
    if found.server is None and not found.hooks:
        return Finding("note", client.title, "not connected", how)
    if found.server is None:
        return Finding("FAIL", client.title, "has hooks but no server", how)
    command = str(found.server.get("command", ""))
    if not (os.path.isabs(command) and shutil.which(command)):
        return Finding("FAIL", client.title, f"starts {command!r}, which is not there", how)
    if client.hooks and found.hooks < len(client.hooks.events):
        count = f"{found.hooks} of {len(client.hooks.events)} hooks"
        return Finding("FAIL", client.title, f"has {count}", how)
    if client.hooks:
        return _hooked(client, "server and hooks", last)
    if found.bare:
        servers = f"no capture of its own, and {', '.join(found.bare)} not behind the relay"
        return Finding("note", client.title, f"server; {servers}", f"{how} --wrap")
    relayed = ", ".join(found.relayed) or "no other server"
    return Finding("ok", client.title, f"server; no capture of its own; relayed: {relayed}")


CHECKS: tuple[Callable[[Setup], Iterator[Finding]], ...] = (
    _versions, _parts, _database, _hook, _capture, _clients,
)  # fmt: skip
