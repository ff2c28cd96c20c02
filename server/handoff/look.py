"""Looks at plan items: runs their checks against the work trees they were worked on in.

A work tree is read once, however many items are looked at.
"""

import os
from collections.abc import Sequence

from keepthread.server.handoff.checks import FAIL, UNKNOWN, Checked, Run, World, run_check
from keepthread.server.handoff.commands import Ran
from keepthread.server.handoff.git_truth import GitFailed, GitTruth
from keepthread.stores.clock import seconds
from keepthread.stores.journal import Journal
from keepthread.stores.ledger import item_history
from keepthread.stores.query import fetch_value
from keepthread.stores.records import PlanItem
from keepthread.stores.windows import get_window

_FILES_SHOWN = 30


class Look:
    """Checks items, each in the work tree it was worked on in; a work tree is read once."""

    def __init__(self, journal: Journal, tree: str, run: Run) -> None:
        self._journal, self._tree, self._run = journal, tree, run
        self._truths: dict[str, GitTruth | None] = {}
        self.remarks: list[str] = []

    def at(self, item: PlanItem) -> tuple[Checked, ...]:
        """Run an item's checks. Where its work tree is gone, ours can confirm it and cannot refute it."""
        begun = _begun(self._journal, item)
        tree = self._work_tree(item)
        gone = tree != self._tree and not os.path.isdir(tree)
        world = self._world(self._tree if gone else tree, item, begun)
        checked = [run_check(c, world) for c in item.checks]
        if gone:
            checked = [c._replace(verdict=UNKNOWN) if c.verdict == FAIL else c for c in checked]
        return tuple(checked)

    def changed_files(self, items: Sequence[PlanItem]) -> tuple[str, ...]:
        """Return what changed in our own work tree since the first item began."""
        truth = self._truth(self._tree) if any(i.started_head for i in items) else None
        if truth is None:
            return ()
        first = min((i for i in items if i.started_head), key=lambda i: i.item)
        try:
            changes = truth.changes_since(first.started_head, _begun(self._journal, first))
        except GitFailed:
            return ()
        return tuple(f"{c.path} ({c.how})" for c in changes[:_FILES_SHOWN])

    def _world(self, tree: str, item: PlanItem, since: float) -> World:
        run = self._run if tree == self._tree else _not_here
        truth = self._truth(tree)
        if truth is None:
            return World(tree, None, None, run)
        try:
            changes = truth.changes_since(item.started_head, since)
            messages = []
            if any(c.startswith("commit_mentions:") for c in item.checks):
                messages = truth.messages_since(item.started_head, since)
        except GitFailed as error:
            self._remark(error)
            return World(tree, None, None, run)
        return World(tree, changes, messages, run, truth.ignores)

    def _truth(self, tree: str) -> GitTruth | None:
        if tree not in self._truths:
            try:
                self._truths[tree] = GitTruth(tree)
            except GitFailed as error:
                self._truths[tree] = None
                self._remark(error)
        return self._truths[tree]

    def _remark(self, error: GitFailed) -> None:
        line = f"version control was not read: {error}"
        if line not in self.remarks:
            self.remarks.append(line)

    def _work_tree(self, item: PlanItem) -> str:
        if not self._tree:  # who has no folder looks into nobody else's either
            return ""
        window = fetch_value(
            self._journal.connection,
            "SELECT window FROM journal WHERE seq = ?",
            (entered(self._journal, item, item.status).seq,),
        )
        return get_window(self._journal.connection, window).work_tree if window else self._tree


def _not_here(name: str) -> Ran | None:
    """The user's commands run in the caller's own work tree only."""
    return None


def entered(journal: Journal, item: PlanItem, status: str) -> PlanItem:
    """Return the event by which an item last came into ``status`` (its first one if it never did)."""
    history = item_history(journal.connection, item.item)
    came = [
        now
        for before, now in zip([None, *history], history, strict=False)
        if now.status == status and (before is None or before.status != status)
    ]
    return came[-1] if came else history[0]


def _begun(journal: Journal, item: PlanItem) -> float:
    """Return when the item was last set in progress (or made), in whole seconds, epoch."""
    return int(seconds(entered(journal, item, "in_progress").at))
