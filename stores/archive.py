"""The archive: what happened, as trusted channels saw it.

Contract: append-only; an entry is written once, by a channel and never by a tool a model can
call; the same event seen twice (same client id) is one entry; secrets are already redacted when
they get here. Output beyond the cap is cut with a marker, its hash is of the whole. Entries of
Keepthread's own calls (``own``) have no words and are never evidence.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import apsw

from keepthread.stores.journal import Transaction
from keepthread.stores.parts import words_and_tags
from keepthread.stores.passages import split_passages
from keepthread.stores.query import fetch_all, fetch_one, fetch_value
from keepthread.stores.records import Author, Draft, Entry, RecordId, Stamp, Tags

OLDER_CALLS_MAX = 500
_NOT_IN_TOOL_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_DOTS_MAX = 5
OUTPUT_CHARS_MAX = 200_000
ARGS_CHARS_MAX = 40_000


class Capture(NamedTuple):
    """What a channel saw, before it is an entry. ``kind``: call, msg (user), say (assistant), sys."""

    kind: str
    channel: str
    level: int
    tool: str = ""
    args: str = ""
    output: str = ""
    is_error: bool = False
    truncated: bool = False
    model_written: bool = False
    own: bool = False
    outer_ref: str = ""
    seen_at: str = ""
    path: str = ""
    file_sha256: str = ""
    file_signature: str = ""
    speaker: str = ""
    output_sha256: str = ""  # of the whole output where the client cut it
    wrote: tuple[str, ...] = ()  # files the call wrote
    shell: str = ""  # the background shell in which a call of ours runs
    suspects: tuple[str, ...] = ()  # ids of the calls that this check did not find
    extra: str = ""  # fields of the channel's event that nobody knows yet, as JSON


_ROLES = {"call": "", "msg": "user", "say": "assistant", "sys": "machine"}

_COLUMNS = (
    "SELECT e.seq, j.kind, j.number, e.workspace, j.window, j.task, j.agent, e.channel, e.level, e.role, "
    "e.tool, e.is_error, e.truncated, e.model_written, e.own, coalesce(e.outer_ref, ''), e.seen_at, "
    "EXISTS(SELECT 1 FROM erasure x WHERE x.target = e.seq), "
    "EXISTS(SELECT 1 FROM tag t JOIN entry k USING(seq) WHERE t.name = 'suspect' AND k.channel = 'check' "
    "AND t.value = j.kind || '-' || j.number) FROM entry e JOIN journal j USING(seq) "
)


def append_entry(tx: Transaction, author: Author, seen: Capture) -> Stamp:
    """Append what a channel saw; answer the existing entry when its ``outer_ref`` was seen before."""
    if seen.outer_ref:
        known = find_by_ref(tx.connection, author.workspace, seen.channel, seen.outer_ref)
        if known is not None:
            return known
    output, cut = _cap(seen.output, OUTPUT_CHARS_MAX)
    args, args_cut = _cap(seen.args, ARGS_CHARS_MAX)
    bodies = {
        "args": "" if seen.own else args,
        "output": "" if seen.own else output,
        "output_sha256": seen.output_sha256 or hashlib.sha256(seen.output.encode()).hexdigest(),
        "path": seen.path,
        "file_sha256": seen.file_sha256,
        "file_signature": seen.file_signature,
        "extra": "" if seen.own else seen.extra,
    }
    tags: list[tuple[str, str]] = []
    if seen.path:
        tags.append(("path", seen.path))
    if seen.speaker:
        tags.append(("speaker", seen.speaker))
    if seen.shell:
        tags.append(("shell", seen.shell))
    tags.extend(("wrote", path) for path in seen.wrote)
    tags.extend(("suspect", call) for call in seen.suspects)
    row = {
        "channel": seen.channel,
        "level": seen.level,
        "role": _ROLES[seen.kind],
        "tool": seen.tool,
        "outer_ref": seen.outer_ref or None,
        "own": int(seen.own),
        "is_error": int(seen.is_error),
        "truncated": int(seen.truncated or cut or args_cut),
        "model_written": int(seen.model_written),
        "workspace": author.workspace,
        "seen_at": seen.seen_at,
    }
    stamp = tx.append(author, Draft(seen.kind, "entry", row, bodies, tuple(tags)))
    index_entry(tx, stamp.seq, bodies)
    return stamp


def index_entry(tx: Transaction, seq: int, words: Mapping[str, str]) -> None:
    """Cut what an entry says into passages, which full text and vectors index."""
    for field in ("args", "output"):
        for start, stop in split_passages(words.get(field, "")):
            tx.connection.execute(
                "INSERT INTO passage(entry, field, start, stop) VALUES(?,?,?,?)",
                (seq, field, start, stop),
            )


def find_by_ref(
    connection: apsw.Connection, workspace: int, channel: str, outer_ref: str
) -> Stamp | None:
    """Return the entry a client's own id already made in this workspace, if any."""
    row = fetch_one(
        connection,
        "SELECT e.seq, j.kind, j.number, j.at FROM entry e JOIN journal j USING(seq) "
        "WHERE e.workspace = ? AND e.channel = ? AND e.outer_ref = ?",
        (workspace, channel, outer_ref),
    )
    return None if row is None else Stamp(row[0], f"{row[1]}-{row[2]}", row[3])


def find_in_session(
    connection: apsw.Connection, workspace: int, session: str, tool: str, field: str, text: str
) -> Stamp | None:
    """Return an entry of ``tool`` that a hook told of in a client's session, by its args or its output."""
    row = fetch_one(
        connection,
        "SELECT j.seq, j.kind, j.number, j.at FROM window w JOIN journal j ON j.window = w.seq "
        "JOIN entry e ON e.seq = j.seq JOIN body b ON b.seq = j.seq AND b.field = ? "
        "WHERE w.session = ? AND e.workspace = ? AND e.tool = ? AND e.channel IN ('hook','user') "
        "AND b.text = ? LIMIT 1",
        (field, session, workspace, tool, text),
    )
    return None if row is None else Stamp(row[0], f"{row[1]}-{row[2]}", row[3])


def has_ref_below(connection: apsw.Connection, workspace: int, channel: str, prefix: str) -> bool:
    """True when a client's id that begins with ``prefix`` (not empty) made an entry here."""
    after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    row = fetch_one(
        connection,
        "SELECT 1 FROM entry WHERE workspace = ? AND channel = ? AND outer_ref >= ? "
        "AND outer_ref < ? LIMIT 1",
        (workspace, channel, prefix, after),
    )
    return row is not None


def get_entry(connection: apsw.Connection, workspace: int, record: RecordId) -> Entry | None:
    """Return the entry with this id when it belongs to ``workspace`` or to the user's scope."""
    row = fetch_one(
        connection,
        _COLUMNS + "WHERE j.kind = ? AND j.number = ? AND e.workspace IN (?, 0)",
        (record.kind, record.number, workspace),
    )
    return None if row is None else _entries_from_rows(connection, [row])[0]


def entries(connection: apsw.Connection, seqs: list[int]) -> dict[int, Entry]:
    """Return entries by seq: one query for the rows, one for the words and one for the tags."""
    rows = fetch_all(
        connection,
        _COLUMNS + "WHERE e.seq IN (SELECT value FROM json_each(?))",
        (json.dumps(seqs),),
    )
    return {entry.seq: entry for entry in _entries_from_rows(connection, rows)}


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
    sql = _COLUMNS + f"WHERE e.workspace = ? AND e.own = 0 AND {RECENT[where]} AND e.channel {channels}"
    values: list[int] = [workspace]
    for column, value in (("j.window", window), ("j.task", task)):
        if value is not None:
            sql += f" AND {column} = ?"
            values.append(value)
    if before is not None:
        sql += " AND e.seq < ?"
        values.append(before)
    rows = fetch_all(connection, sql + f" ORDER BY e.seq DESC LIMIT {limit:d}", values)
    return _entries_from_rows(connection, rows, words)


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


_WORK = "(e.channel <> 'check' OR e.tool = 'capture_file')"
"""Steps of the work: Keepthread's own checks are evidence, not steps."""

RECENT = {
    "any": "1",
    "call": f"e.role = '' AND {_WORK}",
    "user": "e.role = 'user'",
    "assistant": "e.role = 'assistant'",
    "machine": "e.role = 'machine'",
    "failure": f"e.role = '' AND e.is_error = 1 AND {_WORK}",
    "file": "EXISTS(SELECT 1 FROM tag t WHERE t.seq = e.seq AND t.name = 'path')",
}


def recent_by_tool(
    connection: apsw.Connection, workspace: int, tool: str, *, limit: int, window: int | None = None
) -> list[Entry]:
    """Return the newest calls of ``tool`` (see tool_named), newest first."""
    named, names = tool_named(tool)
    sql = _COLUMNS + f"WHERE e.workspace = ? AND e.own = 0 AND e.role = '' AND {named}"
    values: list[str | int] = [workspace, *names]
    if window is not None:
        sql += " AND j.window = ?"
        values.append(window)
    rows = fetch_all(connection, sql + f" ORDER BY e.seq DESC LIMIT {limit:d}", values)
    return _entries_from_rows(connection, rows)


def newest_of(connection: apsw.Connection, workspace: int, tool: str, role: str) -> Entry | None:
    """Return the newest message of ``role`` that carries this tool's name."""
    row = fetch_one(
        connection,
        _COLUMNS + "WHERE e.workspace = ? AND e.tool = ? AND +e.role = ? ORDER BY e.seq DESC LIMIT 1",
        (workspace, tool, role),
    )
    return None if row is None else _entries_from_rows(connection, [row])[0]


def same_call_before(connection: apsw.Connection, entry: Entry) -> Entry | None:
    """Return the newest earlier call of the same tool with the same arguments."""
    row = fetch_one(
        connection,
        _COLUMNS + "JOIN body b ON b.seq = e.seq AND b.field = 'args' WHERE e.workspace = ? AND e.tool = ? "
        "AND e.seq < ? AND e.channel = ? AND b.text = ? ORDER BY e.seq DESC LIMIT 1",
        (entry.workspace, entry.tool, entry.seq, entry.channel, entry.args),
    )
    return None if row is None else _entries_from_rows(connection, [row])[0]


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
        _COLUMNS
        + "JOIN tag t ON t.seq = e.seq AND t.name = 'path' WHERE e.workspace = ? AND e.own = 0 "
        "AND (t.value = ? OR t.value LIKE '%/' || ? ESCAPE '\\') ORDER BY e.seq DESC LIMIT ?",
        (workspace, path, _like(path), limit),
    )
    return _entries_from_rows(connection, rows)


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
    """Return (seq, time) of the window's newest entry by a hook or relay; (0, "") when there is none."""
    row = fetch_one(
        connection,
        "SELECT max(seq), at FROM (SELECT j.seq, j.at FROM json_each(?3) k JOIN journal j ON j.seq = ("
        "SELECT j.seq FROM journal j CROSS JOIN entry e USING(seq) WHERE j.window = ?1 AND j.kind = k.value "
        "AND e.workspace = ?2 AND e.channel IN ('hook','relay','user') ORDER BY j.seq DESC LIMIT 1))",
        (window, workspace, json.dumps(list(_ROLES))),
    )
    return (row[0], str(row[1])) if row and row[0] else (0, "")


def newest_capture(connection: apsw.Connection, workspace: int | None = None) -> str:
    """Return when the newest entry came in by a trusted channel, in one workspace or any; ``""`` if none."""
    row = fetch_one(
        connection,
        "SELECT max(j.at) FROM entry e JOIN journal j USING(seq) WHERE e.workspace = coalesce(?, e.workspace) "
        "AND e.channel IN ('hook','relay','user')",
        (workspace,),
    )
    return row[0] or "" if row else ""


def hooked_calls(connection: apsw.Connection, window: int, limit: int) -> list[Entry]:
    """Return the newest calls that a hook told of in a window, own ones too, newest first."""
    rows = fetch_all(
        connection,
        _COLUMNS + "WHERE j.window = ? AND j.kind = 'call' AND e.channel = 'hook' "
        f"ORDER BY e.seq DESC LIMIT {limit:d}",
        (window,),
    )
    return _entries_from_rows(connection, rows)


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


def has_entries(connection: apsw.Connection, workspace: int) -> bool:
    """True when anything was archived in a workspace, own calls left out."""
    sql = "SELECT EXISTS(SELECT 1 FROM entry WHERE workspace = ? AND own = 0)"
    return bool(fetch_value(connection, sql, (workspace,)))


def count_entries(connection: apsw.Connection, workspace: int) -> int:
    """Return how many entries the workspace has, own calls left out."""
    sql = "SELECT count(*) FROM entry WHERE workspace = ? AND own = 0"
    return int(fetch_value(connection, sql, (workspace,)))


def _entries_from_rows(
    connection: apsw.Connection, rows: Sequence[Any], fields: Sequence[str] = ()
) -> list[Entry]:
    words, tags = words_and_tags(connection, [row[0] for row in rows], fields)
    return [_entry_from_row(row, words.get(row[0], {}), tags.get(row[0], ())) for row in rows]


def _entry_from_row(row: Any, words: Mapping[str, str], tags: Tags) -> Entry:
    return Entry(
        seq=row[0],
        id=f"{row[1]}-{row[2]}",
        workspace=row[3],
        window=row[4],
        task=row[5],
        agent=str(row[6]),
        channel=str(row[7]),
        level=row[8],
        role=str(row[9]),
        tool=str(row[10]),
        args=words.get("args", ""),
        output=words.get("output", ""),
        output_sha256=words.get("output_sha256", ""),
        is_error=bool(row[11]),
        truncated=bool(row[12]),
        model_written=bool(row[13]),
        own=bool(row[14]),
        outer_ref=str(row[15]),
        seen_at=str(row[16]),
        path=words.get("path", ""),
        file_sha256=words.get("file_sha256", ""),
        file_signature=words.get("file_signature", ""),
        speaker=next((v for n, v in tags if n == "speaker"), ""),
        erased=bool(row[17]),
        suspect=bool(row[18]),
        extra=words.get("extra", ""),
    )


def _cap(text: str, limit: int) -> tuple[str, bool]:
    if len(text) <= limit:
        return text, False
    half = limit // 2
    left = len(text) - 2 * half
    return f"{text[:half]}\n[… {left} characters left out …]\n{text[-half:]}", True


def _like(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
