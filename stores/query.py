"""Three ways to read rows. SQLite's values have no static type, so this is where Any begins and ends.

Text that is no UTF-8 any more is damage, and raises DatabaseDamaged.
"""

from collections.abc import Sequence
from typing import Any

import apsw

from keepthread.stores.errors import DatabaseDamaged
from keepthread.stores.launch import command_line


def fetch_all(connection: apsw.Connection, sql: str, values: Sequence[object] = ()) -> list[Any]:
    """Return every row of a query as a tuple."""
    try:
        return connection.execute(sql, tuple(values)).fetchall()
    except UnicodeDecodeError as error:
        raise _unreadable() from error


def fetch_one(connection: apsw.Connection, sql: str, values: Sequence[object] = ()) -> Any:
    """Return the first row of a query; None when there is none."""
    try:
        return connection.execute(sql, tuple(values)).fetchone()
    except UnicodeDecodeError as error:
        raise _unreadable() from error


def fetch_value(connection: apsw.Connection, sql: str, values: Sequence[object] = ()) -> Any:
    """Return the first value of the first row; None when there is no row."""
    row = fetch_one(connection, sql, values)
    return None if row is None else row[0]


def _unreadable() -> DatabaseDamaged:
    command = command_line("verify")
    return DatabaseDamaged(f"a stored text is damaged and is not served; run: {command}")
