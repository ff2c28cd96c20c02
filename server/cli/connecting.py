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
from keepthread.server.clients.machine import has_plugin
from keepthread.server.clients.toml_table import NotToml
from keepthread.server.places import Place
from keepthread.stores.launch import Launch


class Run(NamedTuple):
    """One run of ``init``: what was asked for, where, who answers, and what templates stand for."""

    options: argparse.Namespace
    environ: Mapping[str, str]
    place: Place
    launch: Launch
    asker: Asker
    given: Mapping[str, str]
    dry: bool  # nothing is written


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


def tell(one: Connecting, *, remove: bool = False) -> None:
    """Say which client this is, and why nothing is to be done where that is so."""
    print(one.client.title)
    if one.fault:
        print(f"  not changed: {one.fault}. Mend the file, then run this again.", file=sys.stderr)
    elif one.plugin:
        print("  the plugin is enabled: nothing to do")
    elif not one.changes:
        print("  nothing to undo" if remove else "  connected already")


def list_changes(changes: Iterable[Change]) -> None:
    """Print one line a file: what would be done."""
    for change in changes:
        print(f"  would {_VERBS[_kind(change)][0]} {change.file}{_note(change)}")


def make_changes(title: str, changes: Iterable[Change]) -> bool:
    """Write changes, one line a file once it is done; False, and why on stderr, when one could not be."""
    for change in changes:
        note = _note(change)
        try:
            make(change)
        except OSError as error:
            print(f"{title}: not changed: {error}", file=sys.stderr)
            return False
        print(f"  {_VERBS[_kind(change)][1]} {change.file}{note}")
    return True


_VERBS = {
    "remove": ("remove", "removed"),
    "write": ("write", "wrote"),
    "restore": ("restore", "restored"),
    "change": ("change", "changed"),
}


def _kind(change: Change) -> str:
    if change.after is None:
        return "remove"
    if change.before is None:
        return "write"
    return "restore" if change.restores else "change"


def _note(change: Change) -> str:
    if change.backup:
        return f" (the old one is kept as {change.backup})"
    if change.restores:
        return " (as it was before, byte for byte)"
    if change.stripped and os.path.exists(change.file + BACKUP):
        return f" (only our entries, since it was changed after; first state: {change.file + BACKUP})"
    return ""


def _desktop_project(run: Run, client: Description) -> str:
    """Return the one project of a client that starts servers anywhere: the one it has, unless it is
    named to be connected here, so that memory is never mixed and init in a second project moves nothing."""
    server = connected(client, run.given).server
    words = server.get("args", []) if server else []
    has = words[words.index("--workspace") + 1] if "--workspace" in words[:-1] else ""
    stays = has and (run.options.remove or client.name not in run.options.client)
    return has if stays else run.place.workspace
