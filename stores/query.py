"""Three ways to read rows. SQLite's values have no static type, so this is where Any begins and ends."""

from collections.abc import Sequence
from typing import Any

import apsw


def fetch_all(connection: apsw.Connection, sql: str, values: Sequence[object] = ()) -> list[Any]:
    """Return every row of a query as a tuple."""
    return connection.execute(sql, tuple(values)).fetchall()


def fetch_one(connection: apsw.Connection, sql: str, values: Sequence[object] = ()) -> Any:
    """Return the first row of a query; None when there is none."""
    return connection.execute(sql, tuple(values)).fetchone()


def fetch_value(connection: apsw.Connection, sql: str, values: Sequence[object] = ()) -> Any:
    """Return the first value of the first row; None when there is no row."""
    row = fetch_one(connection, sql, values)
    return None if row is None else row[0]
