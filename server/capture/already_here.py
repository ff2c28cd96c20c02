"""What an import finds again: entries of the same time, tool and words, whatever channel told of them."""

import json
from typing import NamedTuple

import apsw

from keepthread.server.capture.formats.item import Item
from keepthread.stores.parts import words_of
from keepthread.stores.query import fetch_all
from keepthread.stores.records import ENTRY_KINDS, Stamp


class _Mark(NamedTuple):
    """What two entries of one event share before their words are compared."""

    kind: str
    tool: str
    seen_at: str


class AlreadyHere:
    """The entries of a workspace as they were before an import began; each is found once.

    A file that tells of the same thing twice is so stored as often as it tells it.
    """

    def __init__(self, connection: apsw.Connection, workspace: int) -> None:
        self._connection = connection
        self._seqs: dict[_Mark, list[tuple[int, str, str]]] = {}
        rows = fetch_all(
            connection,
            "SELECT e.seq, j.kind, j.number, j.at, e.tool, e.seen_at FROM entry e JOIN journal j USING(seq) "
            f"WHERE e.workspace = ? AND j.kind IN ({', '.join('?' * len(ENTRY_KINDS))}) ORDER BY e.seq DESC",
            (workspace, *ENTRY_KINDS),
        )
        for seq, kind, number, at, tool, seen_at in rows:
            mark = _Mark(str(kind), str(tool), str(seen_at))
            self._seqs.setdefault(mark, []).append((seq, f"{kind}-{number}", str(at)))

    def take(self, item: Item) -> Stamp | None:
        """Return the oldest entry not yet taken that says the same at the same time, if any."""
        tool = item.tool if item.call is None else item.call.tool
        found = self._seqs.get(_Mark(item.kind, tool, item.at), []) if item.at else []
        for place in range(len(found) - 1, -1, -1):
            if _says_the_same(item, words_of(self._connection, found[place][0])):
                return Stamp(*found.pop(place))
        return None


def _says_the_same(item: Item, words: dict[str, str]) -> bool:
    call = item.call
    text, args = (item.text, item.args) if call is None else (call.output, call.args)
    return text == words.get("output", "") and _parsed(args) == _parsed(words.get("args", ""))


def _parsed(args: str) -> object:
    """Arguments however they were spaced; text that is no JSON stands for itself."""
    try:
        return json.loads(args) if args else {}
    except (ValueError, RecursionError):
        return args
