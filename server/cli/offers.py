"""What `init` offers once the clients are connected: shown first, then asked for, each for itself."""

import os
import sys
from collections.abc import Sequence

from keepthread.server.cli.connecting import (
    Connecting,
    Run,
    list_changes,
    make_changes,
    plan_client,
)
from keepthread.server.cli.transfer import import_past, unknown_sessions
from keepthread.server.clients.agent_lines import LINES, plan_lines
from keepthread.server.clients.changes import Change
from keepthread.server.clients.connect import connected
from keepthread.server.settings import read_settings
from keepthread.stores.errors import StoreError
from keepthread.stores.launch import command_line


def offer_relays(run: Run, connecting: Sequence[Connecting]) -> None:
    """Offer the relay to clients whose servers are not seen otherwise."""
    for one in connecting:
        if one.client.hooks or one.fault or run.options.wrap is not None:
            continue
        bare = connected(one.client, one.given).bare
        if not bare:
            continue
        title, names = one.client.title, ", ".join(bare)
        print(f"\n{title} has servers of its own: {names}. It has no hooks; with the relay before")
        print("them, each call of theirs is archived and can be cited. Bytes pass unchanged.")
        hint = f"To have it: {command_line('init', '--client', one.client.name, '--wrap')}"
        if run.asker.agree("Put the relay before them?", hint=hint):
            wrapped = plan_client(run, one.client, wrap=True)
            if run.dry:
                list_changes(wrapped.changes)
            else:
                make_changes(title, wrapped.changes)


def offer_sessions(run: Run) -> None:
    """Offer the past sessions of this repository that clients kept."""
    if run.options.sessions is False:
        return
    settings = read_settings(run.environ)
    try:
        sessions = unknown_sessions(run.environ, settings, run.place)
        if not sessions:
            return
        count = f"{len(sessions)} past session{'s' if len(sessions) > 1 else ''}"
        print(f"\nFound {count} of this repository, since {sessions[0].begun[:10]}. Imported, what")
        print("happened there can be searched and cited at once; it backs no instruction.")
        hint = f"To have that: {command_line('import', '--sessions')}"
        question = f"Import {'them' if len(sessions) > 1 else 'it'}?"
        agreed = run.asker.agree(question, given=run.options.sessions, hint=hint)
        if agreed and not run.dry:
            done = import_past(settings, run.place, sessions)
            faults = f", {len(done.faults)} lines could not be read" if done.faults else ""
            print(f"  {done.entries} entries imported into {run.place.workspace}{faults}")
    except (StoreError, OSError) as error:
        print(f"Past sessions: not imported: {error}", file=sys.stderr)


def offer_lines(run: Run, connecting: Sequence[Connecting]) -> None:
    """Offer three lines for the project's rules."""
    repository = run.options.project or os.path.exists(os.path.join(run.place.tree, ".git"))
    if not repository or run.options.lines is False:
        return
    changes = lines_of_project(run, connecting)
    if not changes:
        return
    print("\nThree lines for this project's rules, which tell an agent when to use the memory:")
    print(*(f"  {line}" for line in LINES), sep="\n")
    list_changes(changes)
    hint = f"To have them: {command_line('init', '--lines')}"
    agreed = run.asker.agree("Write them?", given=run.options.lines, hint=hint, default=False)
    if agreed and not run.dry:
        make_changes("The project's rules", changes)


def lines_of_project(run: Run, connecting: Sequence[Connecting]) -> list[Change]:
    """Plan the lines, or their removal; say which file cannot be read, and leave them all alone then."""
    rules = {**run.given, "project": run.place.tree}
    try:
        return plan_lines([one.client for one in connecting], rules, remove=run.options.remove)
    except (OSError, UnicodeDecodeError) as error:
        print(f"The project's rules: not changed: {error}", file=sys.stderr)
        return []
