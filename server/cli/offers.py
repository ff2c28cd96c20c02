"""What `init` offers once the clients are connected: shown first, then asked for, each for itself."""

import os
from collections.abc import Sequence

from keepthread.server.cli.connecting import (
    Connecting,
    Run,
    list_changes,
    make_changes,
    plan_client,
)
from keepthread.server.clients.agent_lines import LINES, plan_lines
from keepthread.server.clients.connect import connected


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
        hint = f"To have it: {run.command('init', '--client', one.client.name, '--wrap')}"
        if run.asker.agree("Put the relay before them?", hint=hint):
            wrapped = plan_client(run, one.client, wrap=True)
            list_changes(wrapped.changes, would=run.options.dry_run)
            if not run.options.dry_run:
                make_changes(title, wrapped.changes)


def offer_lines(run: Run, connecting: Sequence[Connecting]) -> None:
    """Offer three lines for the project's rules."""
    tree = run.place.tree
    changes = plan_lines([one.client for one in connecting], {**run.given, "project": tree})
    repository = bool(run.options.project) or os.path.exists(os.path.join(tree, ".git"))
    if not changes or not repository or run.options.lines is False:
        return
    print("\nThree lines for this project's rules, which tell an agent when to use the memory:")
    print(*(f"  {line}" for line in LINES), sep="\n")
    list_changes(changes, would=True)
    hint = f"To have them: {run.command('init', '--lines')}"
    agreed = run.asker.agree("Write them?", given=run.options.lines, hint=hint, default=False)
    if agreed and not run.options.dry_run:
        make_changes("The project's rules", changes)
