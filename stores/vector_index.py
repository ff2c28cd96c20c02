"""The signs of all passage vectors, in memory: the nearest of a million are found in milliseconds.

A vector is kept as one bit a dimension (48 bytes of 384 values); the passages whose bits differ least
from the query's are candidates, whose cosines are then read exactly. The filters come first: a passage
that does not pass them is no candidate. The background worker keeps the index up to date in steps;
a search sees what was there when it began. numpy is imported at first use only.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import apsw

from keepthread.stores.query import fetch_all
from keepthread.stores.vectors import newest_vector, stored_model

STEP = 16_384
"""Vectors read at a time: 25 MB."""

BLOCK = 65_536


class _Block(NamedTuple):
    """Some passages: ids, entries, workspaces, and the bits, each 64 of them in a row of their own."""

    ids: Any
    entries: Any
    workspaces: Any
    bits: Any  # uint64, words x passages


class VectorIndex:
    """Candidates by meaning. One thread may ``refresh`` while another asks for the ``nearest``."""

    def __init__(self) -> None:
        self._blocks: tuple[_Block, ...] = ()
        self._last = 0
        self._model = ""

    def refresh(self, connection: apsw.Connection) -> bool:
        """Take in the next STEP vectors; return whether there may be more."""
        model = stored_model(connection)
        newest = newest_vector(connection)
        name = model[1] if model is not None else ""
        if newest < self._last or name != self._model:
            self._blocks, self._last, self._model = (), 0, name  # all were made anew
        if newest == self._last:
            return False
        rows = fetch_all(
            connection,
            "SELECT v.id, p.entry, e.workspace, v.vec FROM passage_vector v JOIN passage p ON p.id = v.id "
            "JOIN entry e ON e.seq = p.entry WHERE v.id > ? ORDER BY v.id LIMIT ?",
            (self._last, STEP),
        )
        if rows:
            self._add(_block(rows))
        self._last = rows[-1][0] if rows else newest
        return len(rows) == STEP

    def nearest(
        self, vector: bytes, workspace: int, entries: Iterable[int] | None, count: int
    ) -> list[int]:
        """Return the ``count`` passages of a workspace whose bits are nearest to those of ``vector``.

        ``entries`` are those that pass the filters; None when all do.
        """
        import numpy as np  # noqa: PLC0415  (a tenth of a second that hooks must not pay)

        blocks = self._blocks
        if not blocks:
            return []
        query = _bits(np.frombuffer(vector, "<f4")[np.newaxis])[:, 0]
        passing = _membership(entries, max(int(b.entries.max()) for b in blocks))
        ids, distances = [], []
        for block in blocks:
            away = np.zeros(len(block.ids), np.uint16)
            for row, word in zip(block.bits, query, strict=True):
                away += np.bitwise_count(row ^ word)
            keep = block.workspaces == workspace
            if passing is not None:
                keep &= passing[block.entries]
            ids.append(block.ids[keep])
            distances.append(away[keep])
        found, away = np.concatenate(ids), np.concatenate(distances)
        if len(found) > count:
            found = found[np.argpartition(away, count)[:count]]
        return [int(i) for i in found]

    def _add(self, new: _Block) -> None:
        import numpy as np  # noqa: PLC0415

        blocks = self._blocks
        if blocks and len(blocks[-1].ids) + len(new.ids) <= BLOCK:
            joined = zip(blocks[-1], new, strict=True)
            new = _Block(*(np.concatenate(pair, axis=-1) for pair in joined))
            blocks = blocks[:-1]
        self._blocks = (*blocks, new)


def _block(rows: list[Any]) -> _Block:
    import numpy as np  # noqa: PLC0415

    ids, entries, workspaces, vectors = zip(*rows, strict=True)
    values = np.frombuffer(b"".join(vectors), "<f4").reshape(len(rows), -1)
    return _Block(
        np.array(ids, np.int64),
        np.array(entries, np.int64),
        np.array(workspaces, np.int32),
        _bits(values),
    )


def _bits(values: Any) -> Any:
    """Return the signs of (n, dimension) values as (dimension / 64, n) words, zeros where it is no
    multiple."""
    import numpy as np  # noqa: PLC0415

    packed = np.packbits(values > 0, axis=1)
    packed = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))
    return np.ascontiguousarray(packed.view(np.uint64).T)


def _membership(entries: Iterable[int] | None, highest: int) -> Any:
    """Return an array that tells of each entry whether it is one of ``entries``; None for None."""
    import numpy as np  # noqa: PLC0415

    if entries is None:
        return None
    there = np.zeros(highest + 1, bool)
    given = np.fromiter(entries, np.int64)
    there[given[given <= highest]] = True
    return there
