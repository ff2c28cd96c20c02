"""Runs hook events against a database, as Claude Code does but in this process."""

import json
import os
from pathlib import Path
from typing import Any

import apsw

from keepthread.server.capture.hook import handle
from keepthread.stores.archive import entries
from keepthread.stores.database import open_database
from keepthread.stores.query import fetch_all
from keepthread.stores.records import Entry

FIXTURES = Path(__file__).parents[2] / "fixtures" / "hooks"
FIRST_RUN = "claude-code-2.1.332.jsonl"
COMPACTED_RUN = "claude-code-2.1.332-compact-resume.jsonl"


class Client:
    """One session of a client in a work tree."""

    def __init__(self, db: str, work: Path, session: str = "session-1", pid: int = 0) -> None:
        self.db, self.work, self.session = db, work, session
        self.environ = {"CLAUDE_PID": str(pid or os.getpid()), "CLAUDE_PROJECT_DIR": str(work)}

    def event(self, name: str, **fields: Any) -> str:
        """Send one event; return what the client would inject."""
        payload = {
            "session_id": self.session, "cwd": str(self.work), "hook_event_name": name, **fields,
        }  # fmt: skip
        return handle(json.dumps(payload).encode(), self.environ, self.db)

    def start(self, source: str = "startup") -> str:
        return self.event("SessionStart", source=source)

    def prompt(self, text: str, prompt_id: str = "p1", **fields: Any) -> None:
        self.event("UserPromptSubmit", prompt=text, prompt_id=prompt_id, **fields)

    def tool(self, name: str, answer: Any, ref: str = "", **args: Any) -> None:
        self.event(
            "PostToolUse", tool_name=name, tool_input=args, tool_response=answer, tool_use_id=ref
        )

    def shell(self, command: str, stdout: str, ref: str = "") -> None:
        self.tool("Bash", {"stdout": stdout, "stderr": ""}, ref, command=command)


def replay(file: str, db: str, work: Path, times: int = 1) -> list[str]:
    """Send a recorded run, each event ``times`` times; return what was injected."""
    injected = []
    for line in (FIXTURES / file).read_text(encoding="utf-8").splitlines():
        recorded = json.loads(line.replace("/w/app", str(work)))
        environ = {**recorded["env"], "CLAUDE_PID": str(os.getpid())}
        raw = json.dumps(recorded["payload"]).encode()
        injected += [handle(raw, environ, db) for _ in range(times)]
    return [text for text in injected if text]


def archived(db: str) -> list[Entry]:
    """Return every entry, oldest first."""
    reader = open_database(db, "reader")
    found = entries(reader, [r[0] for r in fetch_all(reader, "SELECT seq FROM entry")])
    return [found[seq] for seq in sorted(found)]


def matches(db: str, words: str) -> list[str]:
    """Return the ids of entries that full text finds."""
    reader: apsw.Connection = open_database(db, "reader")
    rows = fetch_all(
        reader,
        "SELECT DISTINCT j.kind || '-' || j.number FROM passage_fts f JOIN passage p ON p.id = f.rowid "
        "JOIN journal j ON j.seq = p.entry WHERE passage_fts MATCH ? ORDER BY 1",
        (words,),
    )
    return [str(r[0]) for r in rows]


def wrote(db: str, seq: int) -> list[str]:
    """Return the files that an entry says were written."""
    rows = fetch_all(
        open_database(db, "reader"),
        "SELECT value FROM tag WHERE seq = ? AND name = 'wrote' ORDER BY value",
        (seq,),
    )
    return [str(row[0]) for row in rows]
