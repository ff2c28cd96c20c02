"""``keepthread init``: connect the clients that are there and offer what goes with it, or undo it."""

import argparse
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from glob import escape as glob_escape
from glob import glob

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
from keepthread.server.clients.changes import Change
from keepthread.server.clients.connect import connected
from keepthread.server.clients.descriptions import BY_NAME, CLIENTS
from keepthread.server.clients.machine import SERVER, is_there, roots
from keepthread.server.places import database_path, find_place
from keepthread.stores.launch import command_line, find_launch


def init(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread init``; exit 1 when a client could not be connected, 2 when there is none or
    nobody to agree."""
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
    dry = options.dry_run
    terminal = os.isatty(0) and os.isatty(1) and not dry
    run = Run(
        options, environ, find_place(project or os.getcwd()), find_launch(environ),
        Asker(options.yes, terminal), given, dry,
    )  # fmt: skip
    connecting = [plan_client(run, client) for client in chosen]
    return _remove(run, connecting) if options.remove else _connect(run, connecting)


def _connect(run: Run, connecting: Sequence[Connecting]) -> int:
    """Connect the clients, once somebody agreed: by --yes, by naming them, or at the terminal."""
    asks = not (run.dry or run.options.yes or run.options.client)
    asks = asks and any(one.changes for one in connecting)
    if asks or run.dry:
        _list_all(connecting)
    if asks and run.asker.terminal and not run.asker.agree("Make these changes?"):
        print("Nothing was changed.")
        return 0
    unasked = asks and not run.asker.terminal
    run = run._replace(dry=run.dry or unasked)
    failed = 0
    for one in connecting:
        if not (asks or run.dry):
            tell(one)
        failed += bool(one.fault) or not (run.dry or make_changes(one.client.title, one.changes))
    offer_relays(run, connecting)
    offer_sessions(run)
    offer_lines(run, connecting)
    if unasked:
        command = command_line("init", "--yes")
        print(f"\nNothing was written: run it at a terminal, or with --yes: {command}", file=sys.stderr)
        return 2
    if not run.dry:
        _closing(run, connecting)
    return 1 if failed else 0


def _list_all(connecting: Sequence[Connecting]) -> None:
    for one in connecting:
        tell(one)
        list_changes(one.changes)


def _remove(run: Run, connecting: Sequence[Connecting]) -> int:
    failed = 0
    for one in connecting:
        tell(one, remove=True)
        failed += bool(one.fault) or not _carry_out(run, one.client.title, one.changes)
    lines = lines_of_project(run, connecting)
    if lines:
        print("The lines in this project's rules")
        failed += not _carry_out(run, "The project's rules", lines)
    _say_what_stays(run.environ)
    return 1 if failed else 0


def _carry_out(run: Run, title: str, changes: Sequence[Change]) -> bool:
    """Make the changes, or list them where nothing is written; False when one failed."""
    if run.dry:
        list_changes(changes)
        return True
    return make_changes(title, changes)


def _say_what_stays(environ: Mapping[str, str]) -> None:
    """Say where the memory itself is, which no removal touches, and how to delete it."""
    db = database_path(environ)
    files = sorted(name for name in glob(glob_escape(db) + "*") if os.path.isfile(name))
    if not files:
        return
    folder = os.path.dirname(db)
    gone = ["-r", folder] if os.path.basename(folder) == SERVER else files
    print(f"\nThe memory itself stays, of every project: {db}")
    print(f"To delete it, which cannot be undone: {shlex.join(['rm', *gone])}")


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
        elif one.client.names_project and not one.given["project"]:
            here = command_line("init", "--client", one.client.name, "--workspace", run.place.workspace)
            print(f"  works on: the folder it is started in; to bind it to this project: {here}")
        print(f"  capture: {one.client.capture}")
        relayed = () if one.plugin else connected(one.client, one.given).relayed
        if relayed:
            print(f"  relayed, so their calls are captured: {', '.join(relayed)}")
        print(f"  to check: {one.client.check}")
        print(f"  to try: {one.client.first}")
    print(f"\nUndo with:  {command_line('init', '--remove')}")
    print(f"Check with: {command_line('doctor')}")
