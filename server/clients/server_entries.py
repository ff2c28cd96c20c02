"""Entries of MCP servers in a client's file: our own, and the relay before those of others.

A relayed entry holds the whole of the one it stands for behind ``--``, so that it can be undone
without anything kept elsewhere.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from keepthread.server.clients.jsonc import drop, find, put
from keepthread.server.clients.machine import SERVER
from keepthread.server.clients.toml_table import drop_table, put_table, read_table, set_values
from keepthread.stores.launch import Launch


class Table(NamedTuple):
    """Where a client's servers stand: keys in a JSON file, or a table of a TOML file."""

    file: str
    path: tuple[str, ...]

    def servers(self, text: str) -> dict[str, Any]:
        """Return the entries by name. Raises NotJson or NotToml."""
        found = (
            read_table(text, self.path) if self.file.endswith(".toml") else find(text, self.path)
        )
        return found if isinstance(found, dict) else {}

    def put(self, text: str, server: Mapping[str, Any]) -> str:
        """Return ``text`` with our own entry. Raises NotJson or NotToml."""
        if self.servers(text).get(SERVER) == server:
            return text
        keys = (*self.path, SERVER)
        if self.file.endswith(".toml"):
            return put_table(text, keys, server)
        return put(text, keys, server)

    def drop(self, text: str) -> str:
        """Return ``text`` without our own entry. Raises NotJson or NotToml."""
        keys = (*self.path, SERVER)
        return drop_table(text, keys) if self.file.endswith(".toml") else drop(text, keys)

    def put_start(self, text: str, name: str, start: "Start") -> str:
        """Return ``text`` with another command and arguments for one server, the rest of it kept.

        Raises NotJson or NotToml.
        """
        keys = (*self.path, name)
        if self.file.endswith(".toml"):
            return set_values(text, keys, {"command": start.command, "args": list(start.args)})
        text = put(text, (*keys, "command"), start.command)
        if start.args:
            return put(text, (*keys, "args"), list(start.args))
        return drop(text, (*keys, "args"))


class Start(NamedTuple):
    """How a server is started."""

    command: str
    args: tuple[str, ...] = ()


def relay_servers(text: str, table: Table, launch: Launch, project: str, every: bool) -> str:
    """Return ``text`` with the relay before ``every`` server that speaks over stdio, else before those
    alone that have it already: an installation may have moved. Raises NotJson or NotToml."""
    for name, start in _others(table.servers(text)):
        behind = _behind(start)
        if behind is None and not every:
            continue
        given = ("--workspace", project) if project else ()
        server = behind or start
        words = (*launch.args, "relay", *given, "--name", name, "--", server.command, *server.args)
        wanted = Start(launch.command, words)
        if start != wanted:
            text = table.put_start(text, name, wanted)
    return text


def free_servers(text: str, table: Table) -> str:
    """Return ``text`` without the relay before any server. Raises NotJson or NotToml."""
    for name, start in _others(table.servers(text)):
        behind = _behind(start)
        if behind is not None:
            text = table.put_start(text, name, behind)
    return text


def relayed_and_bare(servers: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the servers over stdio behind the relay, and of those without it."""
    others = list(_others(servers))
    relayed = tuple(name for name, start in others if _behind(start) is not None)
    return relayed, tuple(name for name, _ in others if name not in relayed)


def _others(servers: Mapping[str, Any]) -> Iterator[tuple[str, Start]]:
    for name, server in servers.items():
        command = server.get("command") if isinstance(server, dict) else None
        if isinstance(command, str) and command and name != SERVER:
            args = server.get("args", [])
            yield name, Start(command, tuple(map(str, args if isinstance(args, list) else ())))


def _behind(start: Start) -> Start | None:
    """Return the server behind our relay; None when there is no relay of ours."""
    words = (start.command, *start.args)
    at = words.index("relay", 1) if "relay" in start.args else 0
    if not at or os.path.basename(words[at - 1]).removesuffix(".exe") != SERVER:
        return None
    server = words[words.index("--", at) + 1 :] if "--" in words[at:] else ()
    return Start(server[0], server[1:]) if server else None
