"""Everything of a workspace as JSON Lines, oldest first, and back into an empty database.

Contract: a line holds one record whole: its row, words, tags, links, author and time, under its ``seq``. Entries
also read as lines of the import format. Restored, a record keeps its id, time and author; its
place in the chain, and so its hashes, are new. What is derived (vectors, what was served) is not in it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import apsw

from keepthread.stores.archive import index_entry
from keepthread.stores.errors import StoreError
from keepthread.stores.journal import TABLES, TAGS, Journal, Transaction, head
from keepthread.stores.parts import words_of
from keepthread.stores.query import fetch_all
from keepthread.stores.records import ENTRY_KINDS, Author, Draft
from keepthread.stores.workspaces import USER_SCOPE, ensure_workspace

REFERENCES: Mapping[str, tuple[str, ...]] = {
    "task": ("task", "source"),
    "window_event": ("window", "target"),
    "citation": ("entry",),
    "support": ("rests_on",),
    "supersession": ("old",),
    "dispute": ("old",),
    "fact_event": ("fact", "source"),
    "decision": ("supersedes",),
    "decision_event": ("decision", "source"),
    "plan_event": ("item", "task", "evidence"),
    "plan_dep": ("needs",),
    "question_event": ("question", "blocks", "source"),
    "erasure": ("target",),
}
"""Table -> its columns that name another record, or the record itself."""

_BLOBS = ("payload_hmac",)


class NotEmpty(StoreError):
    """A whole memory is only restored into an empty database."""

    code = "not_empty"


class BadExport(StoreError):
    """A line of an export does not fit those before it; the message names it. Nothing was restored."""

    code = "bad_export"


def is_export_line(row: Mapping[str, Any]) -> bool:
    """True for a line that ``export_lines`` wrote."""
    return row.get("kind") in TABLES and isinstance(row.get("row"), dict) and "seq" in row


def export_lines(connection: apsw.Connection, workspace: int) -> Iterator[str]:
    """Yield one line a record of the workspace and of the user's scope, and what those cite elsewhere."""
    rows = fetch_all(
        connection,
        "SELECT seq, kind, number, workspace, origin, agent, at, window, task, item FROM journal "
        "WHERE workspace IN (?, 0) OR seq IN (SELECT c.entry FROM citation c JOIN journal o ON o.seq = c.owner "
        "WHERE o.workspace = 0) ORDER BY seq",
        (workspace,),
    )
    for seq, kind, number, home, origin, agent, at, window, task, item in rows:
        line = {
            "type": kind, "id": f"{kind}-{number}" if number else "", "kind": kind, "seq": seq,
            "number": number, "everywhere": home == USER_SCOPE or home != workspace, "at": at, "origin": origin,
            "agent": agent, "window": window, "task": task, "item": item,
        }  # fmt: skip
        yield json.dumps(_whole(connection, line), ensure_ascii=False)


def restore_lines(journal: Journal, workspace_root: str, lines: Iterable[str]) -> int:
    """Restore an export into an empty database, in one transaction; return how many records.

    Raises NotEmpty, and BadExport for a line that is no record or refers to one that is not there.
    """
    with journal.transaction() as tx:
        if head(tx.connection)[0]:
            raise NotEmpty(
                f"{journal.path} holds records already; a whole memory is restored into an empty "
                "database only (set KEEPTHREAD_DB to a new file)."
            )
        workspace = ensure_workspace(tx.connection, workspace_root)
        seqs: dict[int, int] = {}
        for number, line in enumerate(lines, 1):
            if line.strip():
                _restore(tx, workspace, seqs, number, line)
        return len(seqs)


def _whole(connection: apsw.Connection, line: dict[str, Any]) -> dict[str, Any]:
    """Return a record's line with all that hangs on it."""
    seq, kind = line["seq"], line["kind"]
    table, children = TABLES[kind]
    words = words_of(connection, seq)
    line["tags"] = json.loads(words.pop(TAGS, "[]"))
    line["row"] = _objects(connection, table, "seq", seq)[0]
    if kind in ENTRY_KINDS:
        line.update(_entry_fields(line, words))
    line["words"] = words
    for child, key in children:
        found = _objects(connection, child, key, seq)
        if found:
            line[child] = found
    return line


def _entry_fields(line: Mapping[str, Any], words: dict[str, str]) -> dict[str, Any]:
    """Return an entry in the import format, and take from ``words`` what that holds."""
    row, text = line["row"], words.pop("output", "")
    common = {"ts": row["seen_at"], "ref": row["outer_ref"] or line["id"]}
    if row["role"]:
        speaker = next((value for tag, value in line["tags"] if tag == "speaker"), "")
        return {"type": "message", "role": row["role"], "speaker": speaker, "text": text, **common}
    return {
        "type": "tool_call", "tool": row["tool"], "args": _args(words), "output": text,
        "is_error": bool(row["is_error"]), "own": bool(row["own"]), **common,
    }  # fmt: skip


def _args(words: dict[str, str]) -> Any:
    """Return a call's arguments as JSON; where they would not come back as they are, they stay words."""
    given = words.setdefault("args", "")
    try:
        args = json.loads(given) if given else {}
    except ValueError:
        return {"input": given}
    if _compact(args) == given:
        del words["args"]
    return args


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _restore(
    tx: Transaction, workspace: int, seqs: dict[int, int], number: int, line: str
) -> None:
    try:
        record = json.loads(line)
        if not (isinstance(record, dict) and is_export_line(record)):
            raise BadExport(f"line {number} is no record of an export; nothing was restored.")
        seqs[record["seq"]] = tx.seq + 1
        author, draft = _author(record, workspace, seqs), _draft(record, workspace, seqs)
        made = tx.append(author, draft, at=record["at"], number=record["number"] or 0)
    except KeyError as error:
        raise BadExport(
            f"line {number} lacks {error}, or refers to a record that is not before it; nothing was restored."
        ) from error
    except (ValueError, TypeError, RecursionError, apsw.ConstraintError) as error:
        raise BadExport(f"line {number}: {error}; nothing was restored.") from error
    if record["kind"] in ENTRY_KINDS:
        index_entry(tx, made.seq, draft.bodies)


def _author(record: Mapping[str, Any], workspace: int, seqs: Mapping[int, int]) -> Author:
    # A record of the user's scope may have been written in a window of another workspace.
    window, task, item = (seqs.get(record[name]) for name in ("window", "task", "item"))
    home = USER_SCOPE if record["everywhere"] else workspace
    return Author(home, record["origin"], window, task, item, record["agent"])


def _draft(record: Mapping[str, Any], workspace: int, seqs: Mapping[int, int]) -> Draft:
    table, children = TABLES[record["kind"]]
    row = _moved(table, record["row"], "seq", seqs)
    words = dict(record["words"])
    if table == "entry":
        row["workspace"] = USER_SCOPE if record["everywhere"] else workspace
        words["output"] = record["text" if row["role"] else "output"]
        if not row["role"]:
            words.setdefault("args", _compact(record["args"]))
    links = {
        child: [_moved(child, found, key, seqs) for found in record.get(child, ())]
        for child, key in children
    }
    return Draft(
        record["kind"], table, row, words, tuple((n, v) for n, v in record["tags"]), links,
        numbered=record["number"] is not None,
    )  # fmt: skip


def _moved(
    table: str, row: Mapping[str, Any], key: str, seqs: Mapping[int, int]
) -> dict[str, object]:
    """Return a row without its own ``key``, its references moved to where those records are now."""
    moved: dict[str, object] = {}
    for column, value in row.items():
        if column in REFERENCES.get(table, ()) and value is not None:
            value = seqs[value]
        if column != key:
            moved[column] = bytes.fromhex(value) if column in _BLOBS else value
    return moved


def _objects(connection: apsw.Connection, table: str, key: str, seq: int) -> list[dict[str, Any]]:
    columns = [r[1] for r in fetch_all(connection, f"PRAGMA table_info({table})")]
    return [
        {c: v.hex() if isinstance(v, bytes) else v for c, v in zip(columns, row, strict=True)}
        for row in fetch_all(connection, f"SELECT * FROM {table} WHERE {key} = ?", (seq,))
    ]
