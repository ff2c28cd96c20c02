"""``keepthread init``: connect the clients that are there and offer what goes with it, or undo it."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence

from keepthread.server.cli.asking import Asker
from keepthread.server.cli.connecting import (
    Connecting,
    Run,
    list_changes,
    make_changes,
    plan_client,
    tell,
)
from keepthread.server.cli.offers import (
    lines_of_project,
    offer_lines,
    offer_relays,
    offer_sessions,
)
from keepthread.server.clients.connect import connected
from keepthread.server.clients.descriptions import BY_NAME, CLIENTS
from keepthread.server.clients.machine import find_launch, is_there, roots
from keepthread.server.places import find_place


def init(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread init``; exit 1 when a client could not be connected, 2 when there is none."""
    project = os.path.realpath(options.project) if options.project else ""
    if project and not os.path.isdir(project):
        print(f"keepthread: no folder {project}", file=sys.stderr)
        return 2
    given = roots(environ, project)
    named = [BY_NAME[name] for name in options.client]
    chosen = named or [client for client in CLIENTS if is_there(client, given, environ)]
    if not chosen:
        names = ", ".join(BY_NAME)
        print(f"keepthread: found no client; name one with --client: {names}", file=sys.stderr)
        return 2
    terminal = os.isatty(0) and os.isatty(1) and not options.dry_run
    run = Run(
        options, environ, find_place(project or os.getcwd()), find_launch(environ),
        Asker(options.yes, terminal), given,
    )  # fmt: skip
    connecting = [plan_client(run, client) for client in chosen]
    return _remove(run, connecting) if options.remove else _connect(run, connecting)


def _connect(run: Run, connecting: Sequence[Connecting]) -> int:
    dry = run.options.dry_run
    # A client that was named is agreed to.
    asks = run.asker.terminal and not (run.options.yes or run.options.client)
    for one in connecting:
        tell(one, would=dry or asks)
    if asks and any(one.changes for one in connecting):
        if not run.asker.agree("Make these changes?"):
            print("Nothing was changed.")
            return 0
    failed = 0
    for one in connecting:
        failed += bool(one.fault) or not (dry or make_changes(one.client.title, one.changes))
    offer_relays(run, connecting)
    offer_sessions(run)
    offer_lines(run, connecting)
    if not dry:
        _closing(run, connecting)
    return 1 if failed else 0


def _remove(run: Run, connecting: Sequence[Connecting]) -> int:
    dry = run.options.dry_run
    failed = 0
    for one in connecting:
        tell(one, would=dry, remove=True)
        failed += bool(one.fault) or not (dry or make_changes(one.client.title, one.changes))
    lines = lines_of_project(run, connecting)
    if lines:
        print("The lines in this project's rules")
        list_changes(lines, would=dry)
        failed += not (dry or make_changes("The project's rules", lines))
    return 1 if failed else 0


def _closing(run: Run, connecting: Sequence[Connecting]) -> None:
    """Say what each client captures, how to check, and what to try first."""
    if run.environ.get("KEEPTHREAD_DB"):
        print("KEEPTHREAD_DB is set in this shell: the clients must be started with it as well.")
    for one in connecting:
        if one.fault:
            continue
        print(f"\n{one.client.title}")
        if one.client.name == "claude-desktop":
            print(f"  works on: {one.given['project']} (for another: run init there with --client)")
        print(f"  capture: {one.client.capture}")
        relayed = () if one.plugin else connected(one.client, one.given).relayed
        if relayed:
            print(f"  relayed, so their calls are captured: {', '.join(relayed)}")
        print(f"  to check: {one.client.check}")
        print(f"  to try: {one.client.first}")
    print(f"\nUndo with:  {run.command('init', '--remove')}")
    print(f"Check with: {run.command('doctor')}")
