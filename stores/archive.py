"""The archive: what happened, as trusted channels saw it.

Contract: append-only; an entry is written once, by a channel and never by a tool a model can
call; the same event seen twice (same client id) is one entry; secrets are already redacted when
they get here. Output beyond the cap is cut with a marker, its hash is of the whole. Entries of
Keepthread's own calls (``own``) have no words and are never evidence.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import apsw

from keepthread.stores.journal import Transaction
from keepthread.stores.parts import words_and_tags
from keepthread.stores.passages import split_passages
from keepthread.stores.query import fetch_all, fetch_one, fetch_value
from keepthread.stores.records import Author, Draft, Entry, RecordId, Stamp, Tags

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
    suspects: tuple[str, ...] = ()  # ids of the entries that this check did not find
    extra: str = ""  # fields of the channel's event that nobody knows yet, as JSON


ROLES = {"call": "", "msg": "user", "say": "assistant", "sys": "machine"}
"""Kind of entry -> whose words it holds."""

SUSPECT = (
    "SELECT j.seq FROM tag t JOIN entry k USING(seq) JOIN journal j "
    "ON j.kind = substr(t.value, 1, instr(t.value, '-') - 1) "
    "AND j.number = CAST(substr(t.value, instr(t.value, '-') + 1) AS INTEGER) "
    "WHERE t.name = 'suspect' AND k.channel = 'check'"
)
"""Entries that a check did not find in the client's transcript; a scope tag of that name marks nothing."""

ENTRY_COLUMNS = (
    "SELECT e.seq, j.kind, j.number, e.workspace, j.window, j.task, j.agent, e.channel, e.level, e.role, "
    "e.tool, e.is_error, e.truncated, e.model_written, e.own, coalesce(e.outer_ref, ''), e.seen_at, "
    "EXISTS(SELECT 1 FROM erasure x WHERE x.target = e.seq), "
    "EXISTS(SELECT 1 FROM tag t JOIN entry k USING(seq) WHERE t.name = 'suspect' AND k.channel = 'check' "
    "AND t.value = j.kind || '-' || j.number) FROM entry e JOIN journal j USING(seq) "
)
"""Opens a query for entries, whose rows ``entries_from_rows`` takes."""


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
        "role": ROLES[seen.kind],
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
        ENTRY_COLUMNS + "WHERE j.kind = ? AND j.number = ? AND e.workspace IN (?, 0)",
        (record.kind, record.number, workspace),
    )
    return None if row is None else entries_from_rows(connection, [row])[0]


def entries(connection: apsw.Connection, seqs: list[int]) -> dict[int, Entry]:
    """Return entries by seq: one query for the rows, one for the words and one for the tags."""
    rows = fetch_all(
        connection,
        ENTRY_COLUMNS + "WHERE e.seq IN (SELECT value FROM json_each(?))",
        (json.dumps(seqs),),
    )
    return {entry.seq: entry for entry in entries_from_rows(connection, rows)}


def has_entries(connection: apsw.Connection, workspace: int) -> bool:
    """True when anything was archived in a workspace, own calls left out."""
    sql = "SELECT EXISTS(SELECT 1 FROM entry WHERE workspace = ? AND own = 0)"
    return bool(fetch_value(connection, sql, (workspace,)))


def count_entries(connection: apsw.Connection, workspace: int) -> int:
    """Return how many entries the workspace has, own calls left out."""
    sql = "SELECT count(*) FROM entry WHERE workspace = ? AND own = 0"
    return int(fetch_value(connection, sql, (workspace,)))


def entries_from_rows(
    connection: apsw.Connection, rows: Sequence[Any], fields: Sequence[str] = ()
) -> list[Entry]:
    """Return the entries of rows of ENTRY_COLUMNS, in their order; with ``fields`` only those words are read."""
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
