"""Where the rows of a table lie in a database file: the byte ranges of its leaf cells.

After the file format's description (sqlite.org/fileformat2.html, sections 1.6 and 2.1).
"""

import apsw

from keepthread.stores.query import fetch_all, fetch_value

_TABLE_LEAF, _INDEX_LEAF = 0x0D, 0x0A
_LEAF_HEADER_BYTES = 8


def row_cells(path: str, tables: frozenset[str]) -> list[tuple[str, int, int]]:
    """Return (table, start, stop) for every row of ``tables`` whose payload stays on its page."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    pages = fetch_all(connection, "SELECT name, pageno FROM dbstat WHERE pagetype = 'leaf'")
    size = int(fetch_value(connection, "PRAGMA page_size"))
    connection.close()
    with open(path, "rb") as file:
        data = file.read()
    found: list[tuple[str, int, int]] = []
    for name, number in pages:
        if name in tables:
            start = (int(number) - 1) * size
            cells = _cells(data[start : start + size])
            found.extend((str(name), start + a, start + b) for a, b in cells)
    return found


def _cells(page: bytes) -> list[tuple[int, int]]:
    kind, count = page[0], int.from_bytes(page[3:5], "big")
    assert kind in (_TABLE_LEAF, _INDEX_LEAF), "page 1 holds no rows of ours"
    found = []
    for n in range(count):
        at = _LEAF_HEADER_BYTES + 2 * n
        start = int.from_bytes(page[at : at + 2], "big")
        length, rest = _varint(page, start)
        if kind == _TABLE_LEAF:
            _, rest = _varint(page, rest)
        if rest + length <= len(page):
            found.append((start, rest + length))
    return found


def _varint(page: bytes, at: int) -> tuple[int, int]:
    """Return (value, offset after it); the ninth byte of a varint would be whole, none is that long here."""
    value = 0
    while True:
        byte = page[at]
        value, at = value << 7 | byte & 0x7F, at + 1
        if not byte & 0x80:
            return value, at
