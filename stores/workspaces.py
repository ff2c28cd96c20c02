"""Workspaces: one project each, known by the root of its repository. 0 is the user's own scope."""

from typing import cast

import apsw

from keepthread.stores.query import fetch_one, fetch_value

USER_SCOPE = 0


def ensure_workspace(connection: apsw.Connection, root: str) -> int:
    """Return the id of the workspace at ``root``, made at first sight. Needs a write transaction."""
    connection.execute(
        "INSERT INTO workspace(root) VALUES(?) ON CONFLICT(root) DO NOTHING", (root,)
    )
    return cast(int, fetch_value(connection, "SELECT id FROM workspace WHERE root = ?", (root,)))


def find_workspace(connection: apsw.Connection, root: str) -> int | None:
    """Return the id of the workspace at ``root``; None when nothing was recorded there yet."""
    row = fetch_one(connection, "SELECT id FROM workspace WHERE root = ?", (root,))
    return None if row is None else row[0]


def workspace_root(connection: apsw.Connection, workspace: int) -> str:
    """Return the root a workspace is known by."""
    return cast(
        str, fetch_value(connection, "SELECT root FROM workspace WHERE id = ?", (workspace,))
    )
