"""The trusted append path: every channel hands over what it saw here.

Secrets go before anything is written; paths become workspace-relative; files are hashed where
they lie inside the work tree; text whose last recorded writer is the agent is marked.
"""

import hashlib
import os

from keepthread.server.capture.events import Call
from keepthread.server.capture.files import FileRefused, read_file, relative_path
from keepthread.stores.archive import Capture, append_entry, last_writer
from keepthread.stores.clock import stamp
from keepthread.stores.journal import Transaction
from keepthread.stores.records import Author, Stamp
from keepthread.validators.secrets import redact

HASHED_BYTES_MAX = 4 << 20
PROSE = (".md", ".markdown", ".rst", ".txt", ".adoc", ".org", ".log", "")
"""Endings of notes and other prose. Code and configuration say what the file says, whoever wrote it."""

_REST_BYTES_MAX = 10 << 20


def append_call(
    tx: Transaction,
    author: Author,
    call: Call,
    *,
    channel: str,
    level: int,
    tree: str,
    key: bytes,
    outer_ref: str = "",
    seen_at: str = "",
) -> Stamp:
    """Archive one tool call as a channel saw it. ``tree`` is the work tree, ``""`` for none."""
    output, whole_hash, truncated = call.output, "", call.truncated
    if call.rest_in:
        rest = _rest_of(call.rest_in)
        if rest:
            whole_hash = hashlib.sha256(rest).hexdigest()
            output, truncated = rest.decode("utf-8", "replace"), False
    path = relative_path(tree, call.path) if tree and call.path else call.path
    sha256 = signature = ""
    if path and tree and not call.own:
        try:
            seen = read_file(tree, path, HASHED_BYTES_MAX)
            sha256, signature = seen.sha256, seen.signature
        except FileRefused:
            path = (
                path
                if relative_path(tree, path) and not os.path.isdir(os.path.join(tree, path))
                else ""
            )
    wrote = tuple(w for w in (relative_path(tree, w) if tree else w for w in call.wrote) if w)
    written_by_agent = is_prose(path) and (
        path in wrote or last_writer(tx.connection, author.workspace, path, tx.seq + 1) is not None
    )
    args, _ = redact(clean(call.args), key)
    output, kinds = redact(clean(output), key)
    if kinds:
        whole_hash = ""  # the hash of a text with a secret would let it be guessed
    entry = Capture(
        kind="call",
        channel=channel,
        level=level,
        tool=call.tool[:200],
        args=args,
        output=output,
        output_sha256=whole_hash,
        is_error=call.is_error,
        truncated=truncated,
        model_written=call.model_written or written_by_agent,
        own=call.own,
        outer_ref=outer_ref,
        seen_at=seen_at or stamp(tx.now),
        path=path,
        file_sha256=sha256,
        file_signature=signature,
        wrote=wrote,
    )
    return append_entry(tx, author, entry)


def append_message(
    tx: Transaction,
    author: Author,
    kind: str,
    text: str,
    *,
    channel: str,
    key: bytes,
    outer_ref: str = "",
    seen_at: str = "",
    speaker: str = "",
    tool: str = "",
    args: str = "",
) -> Stamp:
    """Archive a message: ``msg`` of the user, ``say`` of the assistant, ``sys`` of a machine."""
    output, _ = redact(clean(text), key)
    about, _ = redact(clean(args), key)
    entry = Capture(
        kind=kind,
        channel=channel,
        level=1,
        tool=tool,
        args=about,
        output=output,
        model_written=kind == "say",
        outer_ref=outer_ref,
        seen_at=seen_at or stamp(tx.now),
        speaker=speaker,
    )
    return append_entry(tx, author, entry)


def is_prose(path: str) -> bool:
    """True for notes and other prose by ending."""
    return bool(path) and os.path.splitext(path)[1].lower() in PROSE


def clean(text: str) -> str:
    """Return ``text`` as SQLite can hold it: NUL visible, lone surrogates replaced."""
    if "\0" in text:
        text = text.replace("\0", "\N{SYMBOL FOR NULL}")
    return text.encode("utf-8", "replace").decode("utf-8")


def _rest_of(path: str) -> bytes:
    """Read the file in which the client keeps a long output (it named it, we follow)."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return b""
    try:
        return os.read(handle, _REST_BYTES_MAX)
    except OSError:
        return b""
    finally:
        os.close(handle)
