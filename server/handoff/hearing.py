"""What the user's messages deny: facts called wrong by their ids, and facts stated otherwise.

A denied fact goes to the re-verify queue of the window that opens next (see ``doubts`` for what takes it out).
"""

from collections.abc import Iterator, Sequence

import apsw

from keepthread.stores.doubts import doubt
from keepthread.stores.facts import find_fact, load_facts, similar
from keepthread.stores.journal import Journal
from keepthread.stores.recent import recent
from keepthread.stores.records import Author, Entry, Fact, parse_id
from keepthread.validators.denials import Denial, find_denials, names_wrong, statements

MESSAGES_HEARD = 10
STATEMENTS_HEARD = 12
"""Held against the facts at one hearing: each costs a full-text query, and a window opens within a second."""

_NEAR = 5


def hear_user(journal: Journal, author: Author, after: int) -> int:
    """Doubt what the user's messages since entry ``after`` deny; return the newest one heard.

    Heard again after a restart, they change nothing: a message is held against a fact once.
    """
    said = recent(journal.connection, author.workspace, where="user", limit=MESSAGES_HEARD)
    fresh = [m for m in said if m.seq > after and m.channel == "user" and not m.suspect]
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
        near = similar(connection, workspace, statement.text, None, None, _NEAR)
        for denial in find_denials(statement, list(load_facts(connection, near).values())):
            yield denial, message


def _stood(fact: Fact, message: Entry) -> bool:
    """The fact held when the message came, and is not the user's own word: that is only taken back."""
    return (
        fact.current
        and fact.kind != "instruction-from-user"
        and fact.seq < message.seq
        and message.seq not in {c.entry for c in fact.citations}
    )
