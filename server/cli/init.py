"""``keepthread init``: connect the clients that are there, or undo it."""

import argparse
import os
import sys
from collections.abc import Mapping

from keepthread.server.clients.connect import (
    BACKUP,
    Change,
    Launch,
    find_launch,
    has_plugin,
    is_there,
    make,
    plan,
    roots,
)
from keepthread.server.clients.descriptions import BY_NAME, CLIENTS, Description
from keepthread.server.clients.jsonc import NotJson
from keepthread.server.clients.toml_table import NotToml
from keepthread.server.places import find_place

_LINES_FOR_AGENTS = """\
Optional, for AGENTS.md, CLAUDE.md or your client's rules:
  Call get_context at the start of a task and after a compaction.
  Record what a tool showed and will matter later with record_fact, and cite the call.
  Call hand_off before you stop."""


def init(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread init``; exit 1 when a client could not be connected, 2 when there is none."""
    project = os.path.realpath(options.project) if options.project else ""
    if project and not os.path.isdir(project):
        print(f"keepthread: no folder {project}", file=sys.stderr)
        return 2
    given, launch = roots(environ, project), find_launch(environ)
    named = [BY_NAME[name] for name in options.client]
    chosen = named or [client for client in CLIENTS if is_there(client, given, environ)]
    if not chosen:
        names = ", ".join(BY_NAME)
        print(f"keepthread: found no client; name one with --client: {names}", file=sys.stderr)
        return 2
    failed = sum(not _connect(client, given, launch, options) for client in chosen)
    if not options.remove and not options.dry_run:
        _closing(environ)
    return 1 if failed else 0


def _connect(
    client: Description, given: Mapping[str, str], launch: Launch, options: argparse.Namespace
) -> bool:
    print(client.title)
    if not options.remove and has_plugin(client, given):
        print("  the plugin is enabled: nothing to do")
        return True
    # A client that starts servers anywhere is told the project, so that memory is not mixed.
    if client.names_project and not given["project"] and client.name == "claude-desktop":
        given = {**given, "project": find_place(os.getcwd()).workspace}
    try:
        changes = plan(client, given, launch, remove=options.remove)
        for change in changes:
            _tell(change, options)
            if not options.dry_run:
                make(change)
    except (NotJson, NotToml, UnicodeDecodeError, OSError) as error:
        print(f"  not changed: {error}. Mend the file, then run this again.", file=sys.stderr)
        return False
    if not changes:
        print("  nothing to undo" if options.remove else "  connected already")
    if not options.remove:
        print(f"  capture: {client.capture}")
        print(f"  to check: {client.check}")
    return True


def _tell(change: Change, options: argparse.Namespace) -> None:
    verb = (
        "remove" if change.after is None
        else "write" if change.before is None
        else "restore" if change.restores
        else "change"
    )  # fmt: skip
    note = f" (the old one is kept as {os.path.basename(change.backup)})" if change.backup else ""
    if options.remove and not change.restores and os.path.exists(change.file + BACKUP):
        note = (
            f" (only our entries, since it was changed after; first state: {change.file}{BACKUP})"
        )
    print(f"  {'would ' if options.dry_run else ''}{verb} {change.file}{note}")


def _closing(environ: Mapping[str, str]) -> None:
    if environ.get("KEEPTHREAD_DB"):
        print("KEEPTHREAD_DB is set in this shell: the clients must be started with it as well.")
    print(_LINES_FOR_AGENTS)
    print("Undo with: keepthread init --remove. Check with: keepthread doctor")
