"""What happened last: the newest entries of the archive by window, tool and file, and what followed them."""

import json
import re
from collections.abc import Iterable, Sequence

import apsw

from keepthread.stores.archive import ENTRY_COLUMNS, ROLES, entries, entries_from_rows
from keepthread.stores.query import fetch_all, fetch_one
from keepthread.stores.records import DOORS, Entry

_NOT_IN_TOOL_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_DOTS_MAX = 5

_WORK = "(e.channel <> 'check' OR e.tool = 'capture_file')"
"""Steps of the work: Keepthread's own checks are evidence, not steps."""
_CAPTURED = (
    "(e.channel IN ('hook','relay') OR e.channel = 'user' AND e.tool NOT IN ("
    + ",".join(f"'{door}'" for door in DOORS)
    + "))"
)
"""What a client's capture brought; what the user said to Keepthread itself proves no capture."""
RECENT = {
    "any": "1",
    "call": f"e.role = '' AND {_WORK}",
    "user": "e.role = 'user'",
    "assistant": "e.role = 'assistant'",
    "machine": "e.role = 'machine'",
    "failure": f"e.role = '' AND e.is_error = 1 AND {_WORK}",
    "file": "EXISTS(SELECT 1 FROM tag t WHERE t.seq = e.seq AND t.name = 'path')",
}
OLDER_CALLS_MAX = 500


def recent(
    connection: apsw.Connection,
    workspace: int,
    *,
    where: str,
    limit: int,
    window: int | None = None,
    task: int | None = None,
    before: int | None = None,
    channels: str = "<> ''",
    words: Sequence[str] = (),
) -> list[Entry]:
    """Return the newest entries first, own calls left out.

    ``where`` is one of the named conditions in RECENT, ``channels`` one on the channel; the rest narrow it.
    With ``words`` (args, output, path) only those are read and the others left empty: outputs may be long.
    """
    sql = (
        ENTRY_COLUMNS
        + f"WHERE e.workspace = ? AND e.own = 0 AND {RECENT[where]} AND e.channel {channels}"
    )
    values: list[int] = [workspace]
    for column, value in (("j.window", window), ("j.task", task)):
        if value is not None:
            sql += f" AND {column} = ?"
            values.append(value)
    if before is not None:
        sql += " AND e.seq < ?"
        values.append(before)
    rows = fetch_all(connection, sql + f" ORDER BY e.seq DESC LIMIT {limit:d}", values)
    return entries_from_rows(connection, rows, words)


def recent_work(
    connection: apsw.Connection,
    workspace: int,
    *,
    where: str,
    limit: int,
    words: Sequence[str] = (),
) -> list[Entry]:
    """Return the newest of what was captured, then, where that is less than ``limit``, of what was imported.

    A past session that is imported during the work happened before it. The rest as in ``recent``.
    """
    found: list[Entry] = []
    for channels in ("<> 'import'", "= 'import'"):
        left = limit - len(found)
        if left:
            found += recent(
                connection, workspace, where=where, limit=left, channels=channels, words=words
            )
    return found


def recent_by_tool(
    connection: apsw.Connection, workspace: int, tool: str, *, limit: int, window: int | None = None
) -> list[Entry]:
    """Return the newest calls of ``tool`` (see tool_named), newest first."""
    named, names = tool_named(tool)
    sql = ENTRY_COLUMNS + f"WHERE e.workspace = ? AND e.own = 0 AND e.role = '' AND {named}"
    values: list[str | int] = [workspace, *names]
    if window is not None:
        sql += " AND j.window = ?"
        values.append(window)
    rows = fetch_all(connection, sql + f" ORDER BY e.seq DESC LIMIT {limit:d}", values)
    return entries_from_rows(connection, rows)


def newest_of(connection: apsw.Connection, workspace: int, tool: str, role: str) -> Entry | None:
    """Return the newest message of ``role`` that carries this tool's name."""
    row = fetch_one(
        connection,
        ENTRY_COLUMNS
        + "WHERE e.workspace = ? AND e.tool = ? AND +e.role = ? ORDER BY e.seq DESC LIMIT 1",
        (workspace, tool, role),
    )
    return None if row is None else entries_from_rows(connection, [row])[0]


def same_call_before(connection: apsw.Connection, entry: Entry) -> Entry | None:
    """Return the newest earlier call of the same tool with the same arguments."""
    row = fetch_one(
        connection,
        ENTRY_COLUMNS
        + "JOIN body b ON b.seq = e.seq AND b.field = 'args' WHERE e.workspace = ? AND e.tool = ? "
        "AND e.seq < ? AND e.channel = ? AND b.text = ? ORDER BY e.seq DESC LIMIT 1",
        (entry.workspace, entry.tool, entry.seq, entry.channel, entry.args),
    )
    return None if row is None else entries_from_rows(connection, [row])[0]


def facts_of_tool(connection: apsw.Connection, workspace: int, tool: str) -> list[int]:
    """Return the current facts (seqs) that cite one of the last OLDER_CALLS_MAX calls of a tool."""
    rows = fetch_all(
        connection,
        "SELECT DISTINCT c.owner FROM (SELECT seq FROM entry WHERE workspace = ? AND tool = ? AND own = 0 "
        f"ORDER BY seq DESC LIMIT {OLDER_CALLS_MAX}) e JOIN citation c ON c.entry = e.seq "
        "JOIN fact_current f ON f.seq = c.owner ORDER BY c.owner",
        (workspace, tool),
    )
    return [row[0] for row in rows]


def tool_named(tool: str) -> tuple[str, list[str]]:
    """Return a condition on ``e.tool``, with its values, case ignored.

    A tool of an MCP server (``mcp__SERVER__TOOL``) is also found as ``TOOL`` and ``SERVER.TOOL``.
    """
    known_as = _NOT_IN_TOOL_NAMES.sub("_", tool)
    of_any = f"mcp__%__{known_as}".replace("_", "\\_")
    splits = [i for i, character in enumerate(tool) if character == "."][:_DOTS_MAX]
    of_one = [f"mcp__{known_as[:i]}__{known_as[i + 1 :]}" for i in splits]
    names = ", ".join("lower(?)" for _ in (tool, *of_one))
    sql = f"(lower(e.tool) IN ({names}) OR lower(e.tool) LIKE lower(?) ESCAPE '\\')"
    return sql, [tool, *of_one, of_any]


def recent_by_path(
    connection: apsw.Connection, workspace: int, path: str, *, limit: int
) -> list[Entry]:
    """Return the newest entries that show the file ``path`` (or any file it ends), newest first."""
    rows = fetch_all(
        connection,
        ENTRY_COLUMNS
        + "JOIN tag t ON t.seq = e.seq AND t.name = 'path' WHERE e.workspace = ? AND e.own = 0 "
        "AND (t.value = ? OR t.value LIKE '%/' || ? ESCAPE '\\') ORDER BY e.seq DESC LIMIT ?",
        (workspace, path, _like(path), limit),
    )
    return entries_from_rows(connection, rows)


def calls_since(
    connection: apsw.Connection, workspace: int, window: int, kinds: tuple[str, ...]
) -> int:
    """Count the window's records of ``kinds`` written after its newest captured call."""
    marks = ",".join("?" * len(kinds))
    row = fetch_one(
        connection,
        f"SELECT count(*) FROM journal WHERE window = ? AND kind IN ({marks}) AND seq > coalesce("
        "(SELECT e.seq FROM journal j CROSS JOIN entry e USING(seq) WHERE j.window = ? AND j.kind = 'call' "
        "AND e.workspace = ? AND e.own = 0 AND e.role = '' ORDER BY j.seq DESC LIMIT 1), 0)",
        (window, *kinds, window, workspace),
    )
    return row[0] if row else 0


def last_capture(connection: apsw.Connection, workspace: int, window: int) -> tuple[int, str]:
    """Return (seq, time) of the window's newest entry by a hook, a relay or the user; (0, "") without one."""
    row = fetch_one(
        connection,
        "SELECT max(seq), at FROM (SELECT j.seq, j.at FROM json_each(?3) k JOIN journal j ON j.seq = ("
        "SELECT j.seq FROM journal j CROSS JOIN entry e USING(seq) WHERE j.window = ?1 AND j.kind = k.value "
        "AND e.workspace = ?2 AND e.channel IN ('hook','relay','user') ORDER BY j.seq DESC LIMIT 1))",
        (window, workspace, json.dumps(list(ROLES))),
    )
    return (row[0], str(row[1])) if row and row[0] else (0, "")


def has_capture(connection: apsw.Connection, workspace: int, window: int) -> bool:
    """True where a client's capture brought anything in this window."""
    row = fetch_one(
        connection,
        "SELECT EXISTS(SELECT 1 FROM json_each(?3) k JOIN journal j ON j.window = ?1 AND j.kind = k.value "
        f"CROSS JOIN entry e USING(seq) WHERE e.workspace = ?2 AND {_CAPTURED})",
        (window, workspace, json.dumps(list(ROLES))),
    )
    return bool(row and row[0])


def newest_capture(connection: apsw.Connection, workspace: int | None = None) -> str:
    """Return when the newest entry came in by a trusted channel, in one workspace or any; ``""`` if none."""
    row = fetch_one(
        connection,
        "SELECT max(j.at) FROM entry e JOIN journal j USING(seq) WHERE e.workspace = coalesce(?, e.workspace) "
        f"AND {_CAPTURED}",
        (workspace,),
    )
    return row[0] or "" if row else ""


def captures_by_client(
    connection: apsw.Connection, workspace: int
) -> list[tuple[str, str, int, str]]:
    """Return (client, ``hook`` or ``relay``, entries, time of the newest) of what was captured in a workspace."""
    rows = fetch_all(
        connection,
        "SELECT w.client, iif(e.channel = 'relay', 'relay', 'hook') way, count(*), max(j.at) FROM entry e "
        "JOIN journal j USING(seq) JOIN window w ON w.seq = j.window "
        f"WHERE e.workspace = ? AND {_CAPTURED} GROUP BY w.client, way ORDER BY max(j.at) DESC",
        (workspace,),
    )
    return [(str(client), str(way), count, str(at)) for client, way, count, at in rows]


def hooked_calls(connection: apsw.Connection, window: int, limit: int) -> list[Entry]:
    """Return the newest calls that a hook told of in a window, own ones too, newest first."""
    rows = fetch_all(
        connection,
        ENTRY_COLUMNS + "WHERE j.window = ? AND j.kind = 'call' AND e.channel = 'hook' "
        f"ORDER BY e.seq DESC LIMIT {limit:d}",
        (window,),
    )
    return entries_from_rows(connection, rows)


def hooked_prompts(connection: apsw.Connection, window: int, limit: int) -> list[Entry]:
    """Return the newest prompts that a hook told of as the user's in a window, newest first."""
    rows = fetch_all(
        connection,
        ENTRY_COLUMNS + "WHERE j.window = ? AND j.kind = 'msg' AND e.channel = 'user' AND e.tool = '' "
        f"ORDER BY e.seq DESC LIMIT {limit:d}",
        (window,),
    )
    return entries_from_rows(connection, rows)


def newest_hooked(connection: apsw.Connection) -> dict[str, str]:
    """Return for each client when the newest event of its hooks came in, in any workspace."""
    rows = fetch_all(
        connection,
        "SELECT w.client, max(j.at) FROM entry e JOIN journal j USING(seq) JOIN window w ON w.seq = j.window "
        "WHERE j.origin = 'hook' OR e.channel = 'hook' GROUP BY w.client",
    )
    return {str(client): str(at) for client, at in rows}


def last_writer(connection: apsw.Connection, workspace: int, path: str, before: int) -> int | None:
    """Return the entry by which the agent last wrote ``path`` before ``before``; None if never."""
    row = fetch_one(
        connection,
        "SELECT e.seq FROM tag t JOIN entry e USING(seq) WHERE t.name = 'wrote' AND t.value = ? "
        "AND e.workspace = ? AND e.seq < ? ORDER BY e.seq DESC LIMIT 1",
        (path, workspace, before),
    )
    return row[0] if row else None


def is_own_shell(connection: apsw.Connection, workspace: int, shell: str) -> bool:
    """True when a call of ours was started in the background shell with this id."""
    row = fetch_one(
        connection,
        "SELECT 1 FROM tag t JOIN entry e USING(seq) WHERE t.name = 'shell' AND t.value = ? "
        "AND e.workspace = ? AND e.own = 1 LIMIT 1",
        (shell, workspace),
    )
    return row is not None


def show_agents_files(
    connection: apsw.Connection, workspace: int, shown: Iterable[Entry]
) -> set[int]:
    """Return which entries (seqs) show a file that the agent had written by then."""
    paths = {entry.seq: entry.path for entry in shown if entry.path}
    rows = fetch_all(
        connection,
        "SELECT t.value, min(e.seq) FROM tag t JOIN entry e USING(seq) WHERE t.name = 'wrote' "
        "AND t.value IN (SELECT value FROM json_each(?)) AND e.workspace = ? GROUP BY t.value",
        (json.dumps(sorted(set(paths.values()))), workspace),
    )
    first = {str(path): int(seq) for path, seq in rows}
    return {seq for seq, path in paths.items() if path in first and first[path] <= seq}


def files_written(
    connection: apsw.Connection, workspace: int, *, since: int = 0, limit: int = 50
) -> list[tuple[str, int]]:
    """Return (path, newest entry that wrote it) after entry ``since``, newest first, imports last."""
    rows = fetch_all(
        connection,
        "SELECT t.value, max(e.seq) m FROM tag t JOIN entry e USING(seq) WHERE t.name = 'wrote' "
        "AND e.workspace = ? AND e.seq > ? AND e.is_error = 0 GROUP BY t.value "
        "ORDER BY min(e.channel = 'import'), m DESC LIMIT ?",
        (workspace, since, limit),
    )
    return [(str(path), seq) for path, seq in rows]


def older_calls(
    connection: apsw.Connection, workspace: int, before: int
) -> list[tuple[str, int, int]]:
    """Return (tool, calls, failures) of the last OLDER_CALLS_MAX steps before entry ``before``."""
    rows = fetch_all(
        connection,
        "SELECT tool, count(*) n, sum(is_error) FROM (SELECT tool, is_error FROM entry e WHERE workspace = ? "
        f"AND role = '' AND own = 0 AND {_WORK} AND seq < ? ORDER BY seq DESC LIMIT ?) "
        "GROUP BY tool ORDER BY n DESC, tool",
        (workspace, before, OLDER_CALLS_MAX),
    )
    return [(str(tool), n, failed) for tool, n, failed in rows]


def older_failures(
    connection: apsw.Connection, workspace: int, before: int, limit: int
) -> list[Entry]:
    """Return the newest of the last OLDER_CALLS_MAX steps before entry ``before`` that failed."""
    rows = fetch_all(
        connection,
        "SELECT seq FROM (SELECT seq, is_error FROM entry e WHERE workspace = ? AND role = '' AND own = 0 "
        f"AND {_WORK} AND seq < ? ORDER BY seq DESC LIMIT ?) WHERE is_error ORDER BY seq DESC LIMIT ?",
        (workspace, before, OLDER_CALLS_MAX, limit),
    )
    found = entries(connection, [r[0] for r in rows])
    return [found[r[0]] for r in rows]


def _like(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
