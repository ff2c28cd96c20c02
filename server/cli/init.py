"""``keepthread init``: connect the clients that are there and offer what goes with it, or undo it."""

import argparse
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from keepthread.server.cli.asking import Asker
from keepthread.server.clients.agent_lines import LINES, plan_lines
from keepthread.server.clients.changes import BACKUP, Change, make
from keepthread.server.clients.connect import connected, plan
from keepthread.server.clients.descriptions import BY_NAME, CLIENTS, Description
from keepthread.server.clients.jsonc import NotJson
from keepthread.server.clients.machine import find_launch, has_plugin, is_there, roots
from keepthread.server.clients.toml_table import NotToml
from keepthread.server.places import Place, find_place

_Roots = Mapping[str, str]


class _Connecting(NamedTuple):
    """One client to connect or undo: what would change, or why nothing can (``fault``)."""

    client: Description
    given: _Roots
    changes: Sequence[Change] = ()
    plugin: bool = False
    fault: str = ""


def init(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread init``; exit 1 when a client could not be connected, 2 when there is none."""
    project = os.path.realpath(options.project) if options.project else ""
    if project and not os.path.isdir(project):
        print(f"keepthread: no folder {project}", file=sys.stderr)
        return 2
    place = find_place(project or os.getcwd())
    given = roots(environ, project)
    named = [BY_NAME[name] for name in options.client]
    chosen = named or [client for client in CLIENTS if is_there(client, given, environ)]
    if not chosen:
        names = ", ".join(BY_NAME)
        print(f"keepthread: found no client; name one with --client: {names}", file=sys.stderr)
        return 2
    terminal = os.isatty(0) and os.isatty(1) and not options.dry_run
    asker = Asker(options.yes, terminal)
    connecting = [_plan(client, given, place, environ, options) for client in chosen]
    rules = {**given, "project": place.tree}
    if options.remove:
        return _remove(connecting, rules, options)
    asks = asker.terminal and not (options.yes or named)
    for one in connecting:
        _tell(one, would=options.dry_run or asks)
    if asks and any(one.changes for one in connecting):
        if not asker.agree("Make these changes?"):
            print("Nothing was changed.")
            return 0
    failed = 0 if options.dry_run else sum(not _make(one) for one in connecting)
    _offer_relays(connecting, place, environ, options, asker)
    _offer_lines(chosen, rules, place, environ, options, asker)
    if not options.dry_run:
        _closing(connecting, environ)
    return 1 if failed or any(one.fault for one in connecting) else 0


def _plan(
    client: Description,
    given: _Roots,
    place: Place,
    environ: Mapping[str, str],
    options: argparse.Namespace,
    wrap: bool = False,
) -> _Connecting:
    if not options.remove and has_plugin(client, given):
        return _Connecting(client, given, plugin=True)
    wrap = wrap or bool(options.wrap)
    try:
        if client.name == "claude-desktop" and not given["project"]:
            given = {**given, "project": _desktop_project(client, given, place, options)}
        changes = plan(client, given, find_launch(environ), remove=options.remove, wrap=wrap)
    except (NotJson, NotToml, UnicodeDecodeError, OSError) as error:
        return _Connecting(client, given, fault=str(error))
    return _Connecting(client, given, changes)


def _desktop_project(
    client: Description, given: _Roots, place: Place, options: argparse.Namespace
) -> str:
    """Return the one project of a client that starts servers anywhere: the one it has, unless it is
    named to be connected here, so that memory is never mixed and init in a second project moves nothing."""
    server = connected(client, given).server
    words = server.get("args", []) if server else []
    has = words[words.index("--workspace") + 1] if "--workspace" in words[:-1] else ""
    return has if has and (options.remove or client.name not in options.client) else place.workspace


def _tell(one: _Connecting, *, would: bool, remove: bool = False) -> None:
    """Say what changes for a client, before it does."""
    print(one.client.title)
    if one.fault:
        print(f"  not changed: {one.fault}. Mend the file, then run this again.", file=sys.stderr)
    elif one.plugin:
        print("  the plugin is enabled: nothing to do")
    elif not one.changes:
        print("  nothing to undo" if remove else "  connected already")
    _list(one.changes, would=would, remove=remove)


def _list(changes: Iterable[Change], *, would: bool, remove: bool = False) -> None:
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


def _make(one: _Connecting) -> bool:
    try:
        for change in one.changes:
            make(change)
    except OSError as error:
        print(f"{one.client.title}: not changed: {error}", file=sys.stderr)
        return False
    return True


def _offer_relays(
    connecting: Sequence[_Connecting],
    place: Place,
    environ: Mapping[str, str],
    options: argparse.Namespace,
    asker: Asker,
) -> None:
    """Offer the relay to clients whose servers are not seen otherwise."""
    for one in connecting:
        if one.client.hooks or one.fault or options.wrap is not None:
            continue
        bare = connected(one.client, one.given).bare
        if not bare:
            continue
        title, names = one.client.title, ", ".join(bare)
        print(f"\n{title} has servers of its own: {names}. It has no hooks; with the relay before")
        print("them, each call of theirs is archived and can be cited. Bytes pass unchanged.")
        hint = f"To have it: {_command(environ, '--client', one.client.name, '--wrap')}"
        if asker.agree("Put the relay before them?", hint=hint):
            wrapped = _plan(one.client, one.given, place, environ, options, wrap=True)
            _list(wrapped.changes, would=options.dry_run)
            if not options.dry_run:
                _make(wrapped)


def _offer_lines(
    chosen: Sequence[Description],
    rules: _Roots,
    place: Place,
    environ: Mapping[str, str],
    options: argparse.Namespace,
    asker: Asker,
) -> None:
    """Offer three lines for the project's rules; they are shown before they are written."""
    changes = plan_lines(chosen, rules)
    repository = bool(options.project) or os.path.exists(os.path.join(place.tree, ".git"))
    if not changes or not repository or options.lines is False:
        return
    print(
        "\nThree lines for the rules of this project, which tell an agent when to use the memory:"
    )
    print(*(f"  {line}" for line in LINES), sep="\n")
    _list(changes, would=True)
    hint = f"To have them: {_command(environ, '--lines')}"
    if asker.agree("Write them?", given=options.lines, hint=hint, default=False):
        for change in () if options.dry_run else changes:
            make(change)


def _remove(connecting: Sequence[_Connecting], rules: _Roots, options: argparse.Namespace) -> int:
    failed = 0
    for one in connecting:
        _tell(one, would=options.dry_run, remove=True)
        failed += bool(one.fault) or not (options.dry_run or _make(one))
    lines = plan_lines([one.client for one in connecting], rules, remove=True)
    if lines:
        print("The lines in this project's rules")
        _list(lines, would=options.dry_run, remove=True)
    for change in () if options.dry_run else lines:
        make(change)
    return 1 if failed else 0


def _closing(connecting: Sequence[_Connecting], environ: Mapping[str, str]) -> None:
    """Say what each client captures, how to check, and what to try first."""
    if environ.get("KEEPTHREAD_DB"):
        print("KEEPTHREAD_DB is set in this shell: the clients must be started with it as well.")
    for one in connecting:
        if one.fault:
            continue
        print(f"\n{one.client.title}")
        if one.client.name == "claude-desktop":
            print(
                f"  works on: {one.given['project']} (elsewhere: keepthread init --client claude-desktop there)"
            )
        print(f"  capture: {one.client.capture}")
        print(f"  to check: {one.client.check}")
        print(f"  to try: {one.client.first}")
    print(f"\nUndo with:  {_command(environ, '--remove')}")
    print(f"Check with: {find_launch(environ).line('doctor')}")


def _command(environ: Mapping[str, str], *more: str) -> str:
    """Return a line to copy into a shell, which may not find us by name."""
    return find_launch(environ).line("init", *more)
