"""The file of the official memory server (``@modelcontextprotocol/server-memory``): entities and relations.

Its observations are what a model once said, without evidence. Each entity becomes one document
that a model wrote: found by search, shown as such, and nothing that is believed.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator

from keepthread.server.capture.events import Call
from keepthread.server.capture.formats.item import BadLine, Item, Row, text_of

TOOL = "server-memory"


class OfficialMemory:
    """Reads a knowledge graph. ``at`` is the time of the file, which has none in it.

    The whole graph is held: its relations come last, and its own server holds it as well.
    """

    def __init__(self, at: str = "") -> None:
        self._at = at
        self._lines: dict[str, list[str]] = {}
        self._types: dict[str, str] = {}

    def read(self, row: Row) -> Iterable[Item]:
        """Remember an entity or a relation."""
        if row.get("type") == "entity":
            name, said = text_of(row.get("name")), row.get("observations")
            if not name or not isinstance(said, list):
                raise BadLine("an entity needs a name and a list of observations")
            self._types[name] = text_of(row.get("entityType"))
            self._lines.setdefault(name, []).extend(f"- {text_of(o)}" for o in said)
        elif row.get("type") == "relation":
            ends = (
                text_of(row.get("from")),
                text_of(row.get("relationType")),
                text_of(row.get("to")),
            )
            if not all(ends):
                raise BadLine("a relation needs from, to and relationType")
            self._lines.setdefault(ends[0], []).append(" ".join(ends))
        else:
            raise BadLine(f"type must be entity or relation, not {row.get('type')!r}")
        return ()

    def end(self) -> Iterator[Item]:
        """Return one document an entity."""
        for name, lines in self._lines.items():
            about = {"name": name, "entityType": self._types.get(name, "")}
            text = "\n".join([f"{name} ({about['entityType'] or 'unknown'})", *lines])
            mark = hashlib.sha256(text.encode()).hexdigest()[:16]
            call = Call(TOOL, json.dumps(about, ensure_ascii=False), text, model_written=True)
            yield Item("call", f"{TOOL}:{mark}", self._at, call=call, name=name)
