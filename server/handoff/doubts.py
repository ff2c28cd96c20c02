"""What is doubted from now on: facts that rest on a check which keeps failing, or that the user denies.

Both put the fact into the re-verify queue of the next window. A passing check, the user's
confirmation or a fresh observation takes it out again.
"""

from collections.abc import Iterator, Mapping, Sequence

import apsw

from keepthread.stores.archive import entries, recent, same_call_before
from keepthread.stores.doubts import doubt, doubted_for_runs, rest_on_runs
from keepthread.stores.facts import add_fact_event, find_fact, load_facts, similar
from keepthread.stores.journal import Journal, Transaction
from keepthread.stores.records import Author, Entry, Fact, parse_id
from keepthread.validators.denials import Denial, find_denials, names_wrong, statements

MESSAGES_HEARD = 10
STATEMENTS_HEARD = 12
"""Held against the facts at one hearing: each costs a full-text query, and a window opens within a second."""

_NEAR = 5


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


def hear_user(journal: Journal, author: Author, after: int) -> int:
    """Doubt what the user's messages since entry ``after`` deny; return the newest one heard.

    Heard again after a restart, they change nothing: a message is held against a fact once.
    """
    said = recent(journal.connection, author.workspace, where="user", limit=MESSAGES_HEARD)
    fresh = [message for message in said if message.seq > after and message.channel == "user"]
    denied = [*_called_wrong(journal.connection, author.workspace, fresh)]
    denied += _stated_otherwise(journal.connection, author.workspace, fresh)
    standing = [(d, message) for d, message in denied if _stood(d.fact, message)]
    if standing:
        with journal.transaction() as tx:
            for denial, message in sorted(standing, key=lambda s: s[1].seq):
                user = author._replace(origin="user")
                doubt(tx, user, [denial.fact.seq], message.seq, denial.passage)
    return max((m.seq for m in fresh), default=after)


def _called_wrong(
    connection: apsw.Connection, workspace: int, messages: Sequence[Entry]
) -> Iterator[tuple[Denial, Entry]]:
    """Yield the facts that messages call wrong by their ids."""
    for message in messages:
        for name, passage in names_wrong(message.output).items():
            record = parse_id(name)
            seq = find_fact(connection, workspace, record) if record is not None else None
            if seq is not None:
                yield Denial(load_facts(connection, [seq])[seq], passage), message


def _stated_otherwise(
    connection: apsw.Connection, workspace: int, messages: Sequence[Entry]
) -> Iterator[tuple[Denial, Entry]]:
    """Yield the facts that messages state otherwise; of many statements, those that negate come first."""
    stated = [(s, message) for message in messages for s in statements(message.output)]
    stated.sort(key=lambda pair: not pair[0].negates)
    for statement, message in stated[:STATEMENTS_HEARD]:
        near = [seq for seq, _ in similar(connection, workspace, statement.text, None, _NEAR)]
        for denial in find_denials(statement, list(load_facts(connection, near).values())):
            yield denial, message


def _stood(fact: Fact, message: Entry) -> bool:
    return (
        fact.current
        and fact.seq < message.seq
        and message.seq not in {c.entry for c in fact.citations}
    )
