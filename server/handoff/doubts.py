"""What is doubted from now on because a check keeps failing: the facts that rest on its earlier runs.

They go to the re-verify queue of the next window. A passing check, the user's confirmation or a
fresh observation takes them out again. What the user denies: ``hearing``.
"""

from collections.abc import Mapping

from keepthread.stores.archive import entries
from keepthread.stores.doubts import doubt, doubted_for_runs, rest_on_runs
from keepthread.stores.facts import add_fact_event
from keepthread.stores.journal import Transaction
from keepthread.stores.recent import same_call_before
from keepthread.stores.records import Author


def judge_run(tx: Transaction, author: Author, run: int, commands: Mapping[str, str]) -> None:
    """Follow up an archived run of a check: the second failure in a row casts doubt, a pass takes it away."""
    entry = entries(tx.connection, [run])[run]
    doubted = doubted_for_runs(tx.connection, entry)
    if not entry.is_error:
        for fact in doubted:
            add_fact_event(
                tx, author, fact, "verified", source=run, reason="the check passes again"
            )
        return
    before = same_call_before(tx.connection, entry)
    if before is not None and before.is_error:
        command = commands.get(entry.tool.partition(":")[2], "")
        resting = set(rest_on_runs(tx.connection, entry, command)).difference(doubted)
        doubt(tx, author, resting, run, f"{entry.tool} keeps failing")
