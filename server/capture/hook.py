"""``keepthread hook CLIENT``: one event of a client's hook, from stdin into the archive.

On the path of every tool call, so: standard library and apsw only, one transaction, nothing on
stdout but the brief window at SessionStart. A fault never stops the client: it goes to stderr
and to ``hook-errors.log`` beside the database, and the exit status is 0.
"""

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, NamedTuple

from keepthread.server.capture.append import append_call, append_message, clean_value
from keepthread.server.capture.clients.adapter import NAMES as CLIENTS
from keepthread.server.capture.clients.adapter import Adapter, load_adapter, unknown_fields
from keepthread.server.capture.events import (
    MCP_PREFIX,
    answer_ref,
    answers_of_question_tool,
    is_machine_text,
    prompt_refs,
)
from keepthread.server.capture.faults import NoEvent, report
from keepthread.server.capture.host import host_process
from keepthread.server.capture.transcript_check import (
    missing_calls,
    missing_prompts,
    prompt_is_human,
)
from keepthread.server.capture.windows import (
    close_session,
    open_session,
    session_author,
    window_author,
)
from keepthread.server.places import Place, database_path, find_place
from keepthread.stores.archive import Capture, append_entry, entries, find_by_ref, has_ref_below
from keepthread.stores.database import open_database
from keepthread.stores.journal import Journal, Transaction
from keepthread.stores.recent import hooked_calls, hooked_prompts
from keepthread.stores.records import Author
from keepthread.stores.windows import add_window_event, newest_windows, windows

PAYLOAD_BYTES_MAX = 64 << 20


class Hook(NamedTuple):
    """One event with all that handling it needs."""

    payload: Mapping[str, Any]
    environ: Mapping[str, str]
    journal: Journal
    adapter: Adapter
    extra: str = ""  # fields that the adapter does not know, as JSON

    def text(self, name: str) -> str:
        """Return a payload field as text; ``""`` when it is missing or no string."""
        value = self.payload.get(name)
        return value if isinstance(value, str) else ""

    @property
    def session(self) -> str:
        return self.text("session_id") or self.environ.get("CLAUDE_CODE_SESSION_ID", "")


def main(client: str, environ: Mapping[str, str]) -> int:
    """Handle one event on stdin. Always 0 for a known client, so that no fault stops it."""
    if client not in CLIENTS:
        print(
            f"keepthread hook: no client {client!r}; one of: {', '.join(CLIENTS)}", file=sys.stderr
        )
        return 2
    path = database_path(environ)
    try:
        printed = handle(_read_payload(sys.stdin.buffer), environ, path, client)
        if printed:
            sys.stdout.write(printed)
    except Exception as error:  # noqa: BLE001  (outermost: the client must go on whatever happens here)
        report(path, "hook", error)
    return 0


def handle(raw: bytes, environ: Mapping[str, str], path: str, client: str = "claude-code") -> str:
    """Archive one event; return what to print for the client to inject (only at SessionStart)."""
    payload = _parse(raw)
    if b"\\u" in raw:  # escapes are the only way in for what neither SQLite nor a path can hold
        payload = clean_value(payload)
    if "cursor_version" in payload:
        client = "cursor"  # it runs the hooks of Claude Code's settings as well
    adapter = load_adapter(client)
    extra = unknown_fields(adapter, payload)
    payload = adapter.event(payload)
    event = str(payload.get("hook_event_name", ""))
    if event in adapter.ignored:
        return ""
    if client != "claude-code":  # run from a shell of Claude Code, it would be taken for it
        environ = {k: v for k, v in environ.items() if not k.startswith("CLAUDE")}
    journal = Journal(path, open_database(path, "trusted"), time.time)
    hook = Hook(payload, environ, journal, adapter, extra)
    if event == "SessionStart":
        return _session_start(hook)
    with journal.transaction() as tx:
        _EVENTS.get(event, _unknown)(hook, tx)
    if event in _CHECKED:
        _cross_check(hook, _CHECKED[event])
    return ""


def _read_payload(stream: BinaryIO) -> bytes:
    """Read all the client has to say, so that it never writes into a closed pipe."""
    raw = stream.read(PAYLOAD_BYTES_MAX + 1)
    if len(raw) <= PAYLOAD_BYTES_MAX:
        return raw
    while stream.read(1 << 20):
        pass
    raise NoEvent(f"the event is larger than {PAYLOAD_BYTES_MAX} bytes; nothing was stored")


def _parse(raw: bytes) -> Mapping[str, Any]:
    """Return the event. Raises NoEvent."""
    if not raw.strip():
        raise NoEvent("nothing came on stdin, where a client writes its event; nothing was stored")
    try:
        payload = json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise NoEvent(f"what came on stdin is no JSON ({error}); nothing was stored") from error
    if not isinstance(payload, dict):
        raise NoEvent("what came on stdin is no JSON object, as an event is; nothing was stored")
    return payload


def _session_start(hook: Hook) -> str:
    place = _place(hook)
    with hook.journal.transaction() as tx:
        author, fresh = open_session(
            tx,
            session=hook.session,
            source=hook.text("source") or "startup",
            host=host_process(hook.environ),
            place=place,
            client=hook.adapter.client,
        )
    if not fresh:  # the client ran the same hook twice (settings and plugin): inject once
        return ""
    # Imports that only this event pays for, once a session.
    from keepthread.server.brief import brief_window  # noqa: PLC0415
    from keepthread.server.handoff.reconcile import reconcile_at_opening  # noqa: PLC0415

    reconcile_at_opening(hook.journal, author, place.tree)
    reader = open_database(hook.journal.path, "reader", vectors=True)
    window = brief_window(reader, author, hook.journal.clock(), hook.journal.anchor.key)
    return hook.adapter.injected(window)


def _author(
    hook: Hook, tx: Transaction, origin: str = "hook", *, last_words: bool = False
) -> tuple[Author, str]:
    agent = hook.text("agent_id")
    author, tree = session_author(
        tx,
        session=hook.session,
        host=lambda: host_process(hook.environ),
        place=lambda: _place(hook),
        client=hook.adapter.client,
        last_words=last_words,
    )
    return author._replace(agent=agent, origin=origin), tree


def _place(hook: Hook) -> Place:
    folder = hook.environ.get("CLAUDE_PROJECT_DIR") or hook.text("cwd") or os.getcwd()
    return find_place(folder, hook.environ.get("KEEPTHREAD_WORKSPACE", ""))


def _tool_use(hook: Hook, tx: Transaction) -> None:
    call = hook.adapter.call(hook.payload)
    key = hook.journal.anchor.key
    author, tree = _author(hook, tx)
    ref = hook.text("tool_use_id")
    asked = (
        call.tool == "AskUserQuestion"
        and hook.adapter.client == "claude-code"
        and hook.text("hook_event_name") == "PostToolUse"
        and not hook.payload.get("agent_id")  # nobody asks the person on a sub-agent's behalf
    )
    answers = answers_of_question_tool(hook.payload) if asked else ""
    if answers:
        append_message(
            tx, author._replace(origin="user"), "msg", answers, channel="user", key=key,
            outer_ref=ref, tool=call.tool, args=call.args, extra=hook.extra,
        )  # fmt: skip
        return
    if ref and call.tool.startswith(MCP_PREFIX):
        if find_by_ref(tx.connection, author.workspace, "relay", ref) is not None:
            return  # the relay saw the very bytes, before the client did
    append_call(
        tx, author, call, channel="hook", level=1, tree=tree, key=key, outer_ref=ref, extra=hook.extra
    )


def _prompt(hook: Hook, tx: Transaction) -> None:
    text = hook.text("prompt")
    if not text.strip():
        return
    author, _ = _author(hook, tx)
    kind, ref = _who_prompted(hook, tx, author, text)
    channel = "user" if kind == "msg" else "hook"
    append_message(
        tx, author._replace(origin=channel), kind, text, channel=channel,
        key=hook.journal.anchor.key, outer_ref=ref, extra=hook.extra,
    )  # fmt: skip


def _who_prompted(hook: Hook, tx: Transaction, author: Author, text: str) -> tuple[str, str]:
    """Return (``msg`` or ``sys``, outer reference): only a person's own prompt is a ``msg``.

    The client gives a finished sub-agent's report the person's prompt id, so a prompt is a
    person's only if its id is new, to machines too; an identical event seen twice is one event.
    """
    prompt_id = hook.text("prompt_id")
    ref, machine_ref = prompt_refs(hook.session, prompt_id, text)
    verdict = prompt_is_human(hook.text("transcript_path"), prompt_id, text)
    source = hook.payload.get("source")
    human = source in (None, "", "user", "sdk") and not is_machine_text(text)
    # Codex sends what a model asks a sub-agent this way
    human = human and not hook.payload.get("agent_id")
    if verdict is not None:
        human = human and verdict
    if not human:
        return "sys", machine_ref
    known = find_by_ref(tx.connection, author.workspace, "user", ref) if ref else None
    if known is not None:
        if entries(tx.connection, [known.seq])[known.seq].output != text:
            return "sys", machine_ref
    elif ref and has_ref_below(tx.connection, author.workspace, "hook", f"{ref}:"):
        return "sys", machine_ref
    return "msg", ref


def _stop(hook: Hook, tx: Transaction) -> None:
    said = hook.text("last_assistant_message")
    if not said.strip():
        return
    author, _ = _author(hook, tx, last_words=True)
    append_message(
        tx, author, "say", said, channel="hook", key=hook.journal.anchor.key,
        outer_ref=answer_ref(hook.session, author.agent, hook.text("prompt_id"), said),
        extra=hook.extra,
    )  # fmt: skip


def _subagent_stop(hook: Hook, tx: Transaction) -> None:
    if hook.text("agent_type"):  # without a type it is the client's own helper, such as compaction
        _stop(hook, tx)


def _pre_compact(hook: Hook, tx: Transaction) -> None:
    close_session(tx, session=hook.session, event="compacted", reason=hook.text("trigger"))


def _post_compact(hook: Hook, tx: Transaction) -> None:
    summary = hook.text("compact_summary")
    author, _ = _author(hook, tx)
    if not summary.strip():
        return
    ref = hashlib.sha256(f"{hook.session}:{hook.text('prompt_id')}:{summary}".encode())
    before = tx.seq
    stamp = append_message(
        tx,
        author,
        "say",
        summary,
        channel="hook",
        key=hook.journal.anchor.key,
        tool="compaction summary",
        outer_ref=ref.hexdigest()[:32],
        extra=hook.extra,
    )
    if tx.seq == before:
        return
    closed = [
        w
        for w in windows(tx.connection, author.workspace, session=hook.session)
        if w.closed == "compacted"
    ]
    if closed:
        add_window_event(tx, author, closed[0].seq, "summarised", target=stamp.seq)


def _session_end(hook: Hook, tx: Transaction) -> None:
    close_session(tx, session=hook.session, event="ended", reason=hook.text("reason"))


def _cross_check(hook: Hook, most: int) -> None:
    """Mark those among the newest ``most`` calls and prompts of the session that the client's own transcript
    does not know.

    The check is an entry of its own, insert-only; what was marked is not marked again.
    """
    connection = hook.journal.connection
    transcript = hook.text("session_file") or hook.text("transcript_path")
    window = next(iter(newest_windows(connection, hook.session)), None)
    if window is None or not transcript or hook.text("agent_id"):
        return
    calls = hooked_calls(connection, window.seq, most)
    if hook.adapter.client == "claude-code":
        missing = missing_calls(transcript, [c for c in calls if not c.suspect]) if calls else []
        missing += missing_prompts(transcript, hooked_prompts(connection, window.seq, most))
    else:
        # Reads the formats of other clients, which no other event needs.
        from keepthread.server.capture.session_check import calls_not_in  # noqa: PLC0415

        missing = calls_not_in(transcript, hook.adapter.client, hook.session, calls)
    ids = tuple(entry.id for entry in missing if not entry.suspect)
    if not ids:
        return
    said = f"Not in the transcript of the session: {', '.join(ids)}"
    with hook.journal.transaction() as tx:
        author = window_author(tx, window)._replace(origin="check")
        args = json.dumps({"transcript": transcript}, ensure_ascii=False)
        seen = Capture("call", "check", 4, "transcript_check", args, said, seen_at=tx.at, suspects=ids)
        append_entry(tx, author, seen)


def _unknown(hook: Hook, tx: Transaction) -> None:
    """An event this version does not know: kept raw, so that nothing is lost."""
    author, _ = _author(hook, tx)
    append_message(
        tx, author, "sys", json.dumps(hook.payload, ensure_ascii=False), channel="hook",
        key=hook.journal.anchor.key, tool=hook.text("hook_event_name")[:100] or "event",
    )  # fmt: skip


_EVENTS: Mapping[str, Callable[[Hook, Transaction], None]] = {
    "PostToolUse": _tool_use,
    "PostToolUseFailure": _tool_use,
    "UserPromptSubmit": _prompt,
    "Stop": _stop,
    "SubagentStop": _subagent_stop,
    "PreCompact": _pre_compact,
    "PostCompact": _post_compact,
    "SessionEnd": _session_end,
}

_CHECKED = {"Stop": 200, "PreCompact": 5_000, "SessionEnd": 5_000}
"""When calls are held against the transcript, and how many: at the ends of turns and windows only."""
