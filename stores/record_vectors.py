"""The vectors of all facts (or decisions) in memory, so that the nearest are found by one product.

15 MB for ten thousand records of 384 values. Records are insert-only: a look takes in what the
database has since the last one, whichever process wrote it, and the vectors that came late.
numpy is imported at first use only: where there is a vector to compare with, the embedder has it.
"""

import json
from typing import Any

import apsw

from keepthread.stores.query import fetch_all
from keepthread.stores.vectors import stored_model


class Compared:
    """The cosines of one vector with those of all records of a table."""

    def __init__(self, places: dict[int, int], seqs: Any, cosines: Any) -> None:
        self._places, self._seqs, self._cosines = places, seqs, cosines

    def cosine(self, seq: int) -> float | None:
        """Return the cosine with a record's vector; None where it has none."""
        place = self._places.get(seq)
        return None if place is None else float(self._cosines[place])

    def nearest(self, count: int | None) -> list[int]:
        """Return the ``count`` nearest records (all of them for None), the nearest first."""
        import numpy as np  # noqa: PLC0415

        far = -self._cosines
        some = None if count is None or count >= len(far) else np.argpartition(far, count)[:count]
        chosen = np.arange(len(far)) if some is None else np.sort(some)
        order = chosen[np.argsort(far[chosen], kind="stable")]
        return [int(seq) for seq in self._seqs[order]]


class RecordVectors:
    """Vectors of one table (``fact`` or ``decision``), of every workspace. For one thread."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._model: object = None
        self._clear()

    def compare(self, connection: apsw.Connection, vector: bytes) -> Compared:
        """Return the cosines of ``vector`` with the vector of every record that has one."""
        import numpy as np  # noqa: PLC0415

        self._refresh(connection)
        there = len(self._places)
        if not there or len(vector) != 4 * self._matrix.shape[1]:
            return Compared({}, np.empty(0, np.int64), np.empty(0, np.float32))
        # Not a matrix product: its threads spin, at four times the time of this.
        cosines = np.einsum("ij,j->i", self._matrix[:there], np.frombuffer(vector, "<f4"))
        return Compared(self._places, self._seqs[:there], cosines)

    def _clear(self) -> None:
        self._places: dict[int, int] = {}  # row by seq
        self._seqs: Any = None  # both with room for more rows than there are places
        self._matrix: Any = None
        self._late: set[int] = set()  # records that had no vector yet
        self._last = 0

    def _refresh(self, connection: apsw.Connection) -> None:
        model = stored_model(connection)
        if model != self._model:
            self._clear()
            self._model = model
        rows = fetch_all(
            connection,
            f"SELECT r.seq, v.vec FROM {self._table} r LEFT JOIN record_vector v USING(seq) WHERE r.seq > ?",
            (self._last,),
        )
        self._last = max((r[0] for r in rows), default=self._last)
        if self._late:
            rows += fetch_all(
                connection,
                "SELECT seq, vec FROM record_vector WHERE seq IN (SELECT value FROM json_each(?))",
                (json.dumps(sorted(self._late)),),
            )
        self._late |= {seq for seq, vec in rows if vec is None}
        found = [(seq, vec) for seq, vec in rows if vec is not None]
        if found:
            self._late -= {seq for seq, _ in found}
            self._add(found)

    def _add(self, rows: list[tuple[int, bytes]]) -> None:
        import numpy as np  # noqa: PLC0415

        there = len(self._places)
        values = np.frombuffer(b"".join(vec for _, vec in rows), "<f4").reshape(len(rows), -1)
        if self._matrix is None or there + len(rows) > len(self._matrix):
            room = max(2 * there, there + len(rows))
            seqs, matrix = np.empty(room, np.int64), np.empty((room, values.shape[1]), "<f4")
            if there:
                seqs[:there], matrix[:there] = self._seqs[:there], self._matrix[:there]
            self._seqs, self._matrix = seqs, matrix
        self._seqs[there : there + len(rows)] = [seq for seq, _ in rows]
        self._matrix[there : there + len(rows)] = values
        self._places.update((seq, there + n) for n, (seq, _) in enumerate(rows))
