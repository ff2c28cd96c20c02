"""What `init` and its offers share: one run of it, and the changes for one client, shown and made."""

import argparse
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from keepthread.server.cli.asking import Asker
from keepthread.server.clients.changes import BACKUP, Change, make
from keepthread.server.clients.connect import connected, plan
from keepthread.server.clients.descriptions import Description
from keepthread.server.clients.jsonc import NotJson
from keepthread.server.clients.machine import Launch, has_plugin
from keepthread.server.clients.toml_table import NotToml
from keepthread.server.places import Place


class Run(NamedTuple):
    """One run of ``init``: what was asked for, where, who answers, and what templates stand for."""

    options: argparse.Namespace
    environ: Mapping[str, str]
    place: Place
    launch: Launch
    asker: Asker
    given: Mapping[str, str]

    def command(self, *more: str) -> str:
        """Return a line to copy into a shell, which may not find us by name."""
        return self.launch.line(*more)


class Connecting(NamedTuple):
    """One client to connect or undo: what would change, or why nothing can (``fault``)."""

    client: Description
    given: Mapping[str, str]
    changes: Sequence[Change] = ()
    plugin: bool = False
    fault: str = ""


def plan_client(run: Run, client: Description, *, wrap: bool = False) -> Connecting:
    """Plan the changes for a client; with ``wrap`` the relay goes before its servers."""
    given, remove = run.given, run.options.remove
    if not remove and has_plugin(client, given):
        return Connecting(client, given, plugin=True)
    try:
        if client.name == "claude-desktop" and not given["project"]:
            given = {**given, "project": _desktop_project(run, client)}
        wrap = wrap or bool(run.options.wrap)
        changes = plan(client, given, run.launch, remove=remove, wrap=wrap)
    except (NotJson, NotToml, UnicodeDecodeError, OSError) as error:
        return Connecting(client, given, fault=str(error))
    return Connecting(client, given, changes)


def tell(one: Connecting, *, would: bool, remove: bool = False) -> None:
    """Say what changes for a client, before it does."""
    print(one.client.title)
    if one.fault:
        print(f"  not changed: {one.fault}. Mend the file, then run this again.", file=sys.stderr)
    elif one.plugin:
        print("  the plugin is enabled: nothing to do")
    elif not one.changes:
        print("  nothing to undo" if remove else "  connected already")
    list_changes(one.changes, would=would, remove=remove)


def list_changes(changes: Iterable[Change], *, would: bool, remove: bool = False) -> None:
    """Print one line a file."""
    for change in changes:
        verb = (
            "remove" if change.after is None
            else "write" if change.before is None
            else "restore" if change.restores
            else "change"
        )  # fmt: skip
        note = (
            f" (the old one is kept as {os.path.basename(change.backup)})" if change.backup else ""
        )
        if remove and not change.restores and os.path.exists(change.file + BACKUP):
            kept = change.file + BACKUP
            note = f" (only our entries, since it was changed after; first state: {kept})"
        print(f"  {'would ' if would else ''}{verb} {change.file}{note}")


def make_changes(title: str, changes: Iterable[Change]) -> bool:
    """Write changes; False, and why on stderr, when a file could not be written."""
    try:
        for change in changes:
            make(change)
    except OSError as error:
        print(f"{title}: not changed: {error}", file=sys.stderr)
        return False
    return True


def _desktop_project(run: Run, client: Description) -> str:
    """Return the one project of a client that starts servers anywhere: the one it has, unless it is
    named to be connected here, so that memory is never mixed and init in a second project moves nothing."""
    server = connected(client, run.given).server
    words = server.get("args", []) if server else []
    has = words[words.index("--workspace") + 1] if "--workspace" in words[:-1] else ""
    stays = has and (run.options.remove or client.name not in run.options.client)
    return has if stays else run.place.workspace
