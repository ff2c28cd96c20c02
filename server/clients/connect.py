"""Planning the changes that connect a client, or undo it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from keepthread.server.clients.changes import Change, Step, plan_change, read
from keepthread.server.clients.descriptions import Description, Where
from keepthread.server.clients.hook_entries import add_hooks, count_hooks, strip_hooks
from keepthread.server.clients.machine import SERVER
from keepthread.server.clients.server_entries import (
    Table,
    free_servers,
    relay_servers,
    relayed_and_bare,
)
from keepthread.stores.launch import Launch

_STARTUP_SECONDS = 30


class Connection(NamedTuple):
    """What a client's files say: our server (command and args), how many hooks of ours, and the
    names of its other servers over stdio, behind the relay and without it."""

    server: dict[str, Any] | None
    hooks: int
    relayed: tuple[str, ...]
    bare: tuple[str, ...]


def plan(
    client: Description,
    given: Mapping[str, str],
    launch: Launch,
    *,
    remove: bool = False,
    wrap: bool = False,
) -> list[Change]:
    """Return what would change; with ``wrap`` the relay is put before every server the client has.

    Raises NotJson or NotToml for a file that cannot be read.
    """
    if remove:
        wrap = bool(connected(client, given).relayed)
    steps: dict[str, list[Step]] = {}
    for step in _steps(client, given, launch, wrap):
        steps.setdefault(step.file, []).append(step)
    changes = (plan_change(file, found, remove) for file, found in steps.items())
    return [change for change in changes if change is not None]


def connected(client: Description, given: Mapping[str, str]) -> Connection:
    """Return what a client's files say of us, for the user and for the project."""
    servers: dict[str, Any] = {}
    for table in _tables(client.server, given):
        servers |= table.servers(read(table.file) or "")
    server = servers.get(SERVER)
    hooks = 0
    for file in (client.hooks.where.user, client.hooks.where.project) if client.hooks else ():
        hooks += count_hooks(read(file.format_map(given)) or "")
    return Connection(
        server if isinstance(server, dict) else None, hooks, *relayed_and_bare(servers)
    )


def _tables(where: Where, given: Mapping[str, str]) -> tuple[Table, Table]:
    """Return where a client's servers stand: for the user, and for the project."""
    return (
        Table(where.user.format_map(given), where.user_path),
        Table(
            where.project.format_map(given), tuple(k.format_map(given) for k in where.project_path)
        ),
    )


def _steps(client: Description, given: Mapping[str, str], launch: Launch, wrap: bool) -> list[Step]:
    project = given["project"]
    table = _tables(client.server, given)[bool(project)]
    named = project if client.names_project else ""
    args = ["--workspace", named, "serve"] if named else ["serve"]
    server: dict[str, Any] = {"command": launch.command, "args": [*launch.args, *args]}
    if client.typed:
        server = {"type": "stdio", **server}
    if table.file.endswith(".toml"):
        server["startup_timeout_sec"] = _STARTUP_SECONDS
    steps = [
        Step(table.file, lambda text: table.put(text, server), table.drop),
        Step(
            table.file,
            lambda text: relay_servers(text, table, launch, named, every=wrap),
            lambda text: free_servers(text, table),
        ),
    ]
    if client.hooks is not None:
        hooks = client.hooks
        file = (hooks.where.project if project else hooks.where.user).format_map(given)
        steps.append(
            Step(file, lambda text: add_hooks(text, hooks, launch, client.name), strip_hooks)
        )
    return steps
