"""Numbered migrations, append-only; each runs in one transaction together with its record.

``PRAGMA user_version`` is the record: it changes with the migration or not at all. A file of a
newer version is refused before anything is written to it.
"""

import os
import re

import apsw

from keepthread.stores.errors import DatabaseDamaged, DatabaseTooNew

MIGRATIONS = (
    "0001_initial.sql",
    "0002_read_the_small_side.sql",
    "0003_redacted_values.sql",
    "0004_drop_decisions.sql",
    "0005_sentence_vectors.sql",
)
LATEST = len(MIGRATIONS)

_FOLDER = os.path.join(os.path.dirname(__file__), "migrations")

_INSERT_ONLY = re.compile(r"^-- INSERT_ONLY (\S+): (.+)$", re.M)


def schema_version(connection: apsw.Connection) -> int:
    """Return the version of an open file, 0 for an empty one.

    Raises DatabaseTooNew when this code is older, DatabaseDamaged when the file is not ours.
    """
    version = int(connection.execute("PRAGMA user_version").get)
    sql = "SELECT count(*), total(name IN ('journal', 'content', 'entry')) = 3 FROM sqlite_master"
    objects, ours = connection.execute(sql).get
    if objects and not ours:
        raise DatabaseDamaged(
            "the file is a database of another program; it was left as it is. Point KEEPTHREAD_DB at another file."
        )
    if version > LATEST:
        raise DatabaseTooNew(
            f"the database has schema {version}, this Keepthread knows up to {LATEST}. "
            "Upgrade Keepthread (pip install -U keepthread); the file was not changed."
        )
    return version


def apply_migrations(connection: apsw.Connection) -> None:
    """Bring an open writable file up to LATEST. The caller holds the writer lock."""
    for number in range(schema_version(connection), LATEST):
        with open(os.path.join(_FOLDER, MIGRATIONS[number]), encoding="utf-8") as file:
            sql = file.read()
        connection.execute("BEGIN IMMEDIATE")
        try:
            if schema_version(connection) == number:  # another process may have been first
                connection.execute(sql + _guards(sql) + f"PRAGMA user_version = {number + 1};")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def _guards(sql: str) -> str:
    """Triggers for the tables a migration marks: rows are never changed or removed, and are
    inserted only for the record under construction, which its journal row then seals."""
    made: list[str] = []
    for column, tables in _INSERT_ONLY.findall(sql):
        for table in tables.split():
            if table not in ("body", "tag"):  # they have their own, which let an erasure through
                made += [_never(table, verb) for verb in ("UPDATE", "DELETE")]
            if column != "-":
                made.append(
                    f"CREATE TRIGGER {table}_unsealed BEFORE INSERT ON {table} "
                    f"WHEN NEW.{column} <> (SELECT coalesce(max(seq), 0) + 1 FROM journal) "
                    f"BEGIN SELECT raise(ABORT, '{table}: only with its own record'); END;"
                )
    return "\n".join(made)


def _never(table: str, verb: str) -> str:
    return (
        f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
        f"BEGIN SELECT raise(ABORT, '{table}: insert-only'); END;"
    )
