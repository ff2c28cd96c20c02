"""Starts writers together, and checks afterwards what the database holds."""

import os
import subprocess
import sys
import time
from pathlib import Path

from keepthread.server.capture.append import append_call
from keepthread.server.capture.events import Call
from keepthread.stores.database import open_database
from keepthread.stores.journal import Journal, Transaction, head, verify_chain
from keepthread.stores.query import fetch_all, fetch_value
from keepthread.stores.records import Author
from keepthread.stores.windows import add_window
from keepthread.stores.workspaces import ensure_workspace
from tests.crash.writer import EVIDENCE, WORKSPACE

ROOT = Path(__file__).parents[2]


def make_database(path: str) -> None:
    """Make the database with what writers name."""
    journal = Journal(path, open_database(path, "trusted"), time.time)
    with journal.transaction() as tx:
        fill_workspace(tx, journal.anchor.key)
    journal.connection.close()


def fill_workspace(tx: Transaction, key: bytes) -> None:
    """Write the workspace, window and evidence that writers name."""
    assert ensure_workspace(tx.connection, "/w") == WORKSPACE
    author = Author(WORKSPACE, "hook")
    add_window(tx, author, client="test", session="s")
    call = Call(tool="Bash", args='{"command":"make"}', output="all finished\n")
    made = append_call(tx, author, call, channel="hook", level=1, tree="", key=key)
    assert made.seq == EVIDENCE


def start_writers(path: str, names: dict[str, str], count: int) -> list[subprocess.Popen[str]]:
    """Start one writer a name (its kind is the value); let all go once all are ready."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / ".dev"), str(ROOT)))}
    writers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.crash.writer", path, name, kind, str(count)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environ,
        )
        for name, kind in names.items()
    ]  # fmt: skip
    for writer in writers:
        assert writer.stdin is not None and writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    return writers


def acknowledged(writer: subprocess.Popen[str]) -> dict[str, float]:
    """Return what the (ended) writer acknowledged: record -> milliseconds; a torn last line is none."""
    said, _ = writer.communicate(timeout=60)
    lines = said.splitlines(keepends=True)
    whole = [line.split() for line in lines if line.endswith("\n")]
    return {record: float(taken) for record, taken in whole}


def stored(path: str) -> list[str]:
    """Return the names of all that writers stored, as they acknowledge them."""
    reader = open_database(path, "reader")
    names = [r[0] for r in fetch_all(reader, "SELECT outer_ref FROM entry WHERE outer_ref > ''")]
    names += [r[0] for r in fetch_all(reader, "SELECT value FROM tag WHERE name = 'run'")]
    titles = fetch_all(reader, "SELECT text FROM body WHERE field = 'title'")
    reader.close()
    return names + [str(r[0]).removeprefix("Do ") for r in titles]


def faults(path: str) -> list[str]:
    """Return what is wrong with the database: chain, pages, full text, vectors, anchor. Opens it for writing."""
    journal = Journal(path, open_database(path, "trusted", vectors=True), time.time)
    connection = journal.connection
    found = [f"record {seq}: {fault}" for seq, fault in verify_chain(connection)]
    checked = fetch_value(connection, "PRAGMA integrity_check")
    if checked != "ok":
        found.append(f"integrity_check: {checked}")
    for index in ("passage_fts", "record_fts"):
        connection.execute(f"INSERT INTO {index}({index}, rank) VALUES('integrity-check', 1)")
    for what, sql in _HALVES.items():
        count = fetch_value(connection, sql)
        if count:
            found.append(f"{count} {what}")
    with journal.transaction() as tx:  # asks the anchor
        assert tx.seq == head(connection)[0]
    connection.close()
    return found


_HALVES = {
    "facts without citation": "SELECT count(*) FROM fact WHERE seq NOT IN (SELECT owner FROM citation)",
    "facts without vector": "SELECT count(*) FROM fact WHERE seq NOT IN (SELECT seq FROM record_vector)",
    "facts without full text": (
        "SELECT count(*) FROM fact WHERE seq NOT IN (SELECT rowid FROM record_fts WHERE record_fts MATCH 'finished')"
    ),
    "entries without passage": "SELECT count(*) FROM entry WHERE seq NOT IN (SELECT entry FROM passage)",
    "passages without full text": (
        "SELECT count(*) FROM passage WHERE id NOT IN (SELECT rowid FROM passage_fts "
        "WHERE passage_fts MATCH 'finished OR run OR make')"
    ),
    "rows without journal": "SELECT count(*) FROM body WHERE seq > (SELECT max(seq) FROM journal)",
}
"""A write that is there by half leaves one of these."""
