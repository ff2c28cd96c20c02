"""The trusted append path: every channel hands over what it saw here.

Secrets go before anything is written; paths become workspace-relative; files are hashed where
they lie inside the work tree; text whose last recorded writer is the agent is marked.
"""

import hashlib
import os
import stat
from typing import Any, NamedTuple

import apsw

from keepthread.server.capture.events import SHELL_TOOLS, Call
from keepthread.server.capture.files import (
    FileRead,
    FileRefused,
    read_all,
    read_file,
    relative_path,
)
from keepthread.stores.archive import ARGS_CHARS_MAX, OUTPUT_CHARS_MAX, Capture, append_entry
from keepthread.stores.clock import seconds, stamp
from keepthread.stores.facts import add_fact_event, facts_of_file, last_looks, standing
from keepthread.stores.journal import Transaction
from keepthread.stores.parts import words_of
from keepthread.stores.recent import is_own_shell, last_writer
from keepthread.stores.records import Author, Stamp
from keepthread.validators.known_secrets import KnownSecrets
from keepthread.validators.secrets import redact

HASHED_BYTES_MAX = 4 << 20
PROSE = frozenset(
    ".md .mdx .markdown .rst .txt .text .adoc .org .log .notes .html .csv .tex".split() + [""]
)
"""Endings of notes and other prose. Code and configuration say what the file says, whoever wrote it."""

SECRET_CHARS_MAX = 8_192
"""Longer than any secret (a key in PEM form): so much beyond a cut is looked through with what is kept."""

VERIFIED_FOR_SECONDS = 86_400
"""An unchanged file read again within a day says nothing new."""

_REST_BYTES_MAX = 64 << 20
_CUT = "\n[… {} characters left out …]\n"


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
    extra: str = "",
    read: FileRead | None = None,
) -> Stamp:
    """Archive one tool call as a channel saw it. ``tree`` is the work tree, ``""`` for none.

    ``extra`` is what else the channel told, as JSON. ``read`` is the file as the server read it for
    this call; else the file is hashed as it lies now.
    """
    output, whole_hash, truncated = call.output, "", call.truncated
    own = (
        call.own
        or _shows_database(tx.connection, call)
        or (bool(call.shell) and is_own_shell(tx.connection, author.workspace, call.shell))
    )
    if call.rest_in:
        rest = _rest_of(call.rest_in)
        if rest:
            whole_hash = hashlib.sha256(rest).hexdigest()
            output, truncated = rest.decode("utf-8", "replace"), False
    path = relative_path(tree, call.path) if tree and call.path else call.path
    sha256 = signature = ""
    if read is not None:
        path, sha256, signature = read.path, read.sha256, read.signature
    elif path and tree and not own:
        path, sha256, signature = _hashed(tree, path)
    wrote = tuple(w for w in (_place(tree, w) for w in call.wrote) if w)
    shown = {path, *(_place(tree, p) for p in (call.path, *call.shows))}
    written_by_agent = any(
        p in wrote or last_writer(tx.connection, author.workspace, p, tx.seq + 1) is not None
        for p in shown
        if is_prose(p)
    )
    known = KnownSecrets(tx.connection, key)
    args = redact_kept(clean(call.args), ARGS_CHARS_MAX, key, known)
    kept = redact_kept(clean(output), OUTPUT_CHARS_MAX, key, known)
    if kept.secrets:
        whole_hash = ""  # the hash of a text with a secret would let it be guessed
    elif kept.cut:
        whole_hash = whole_hash or hashlib.sha256(clean(output).encode()).hexdigest()
    entry = Capture(
        kind="call",
        channel=channel,
        level=level,
        tool=call.tool[:200],
        args=args.text,
        output=kept.text,
        output_sha256=whole_hash,
        is_error=call.is_error,
        truncated=truncated or args.cut or kept.cut,
        model_written=call.model_written or written_by_agent,
        own=own,
        outer_ref=outer_ref,
        seen_at=seen_at or stamp(tx.now),
        path=path,
        file_sha256=sha256,
        file_signature=signature,
        wrote=wrote,
        shell=call.shell if own else "",
        extra=redact_kept(clean(extra), ARGS_CHARS_MAX, key, known).text,
    )
    before = tx.seq
    made = append_entry(tx, author, entry)
    if tx.seq != before and sha256 and not call.is_error and not wrote:
        _verify_facts(tx, author, made, path, sha256, kept.text)
    return made


def _hashed(tree: str, path: str) -> tuple[str, str, str]:
    """Return (path, hash, signature) of a file as it lies in ``tree``.

    What cannot be read has no hash, and a folder or a place outside has no path either.
    """
    try:
        seen = read_file(tree, path, HASHED_BYTES_MAX)
    except FileRefused:
        inside = relative_path(tree, path) and not os.path.isdir(os.path.join(tree, path))
        return (path if inside else ""), "", ""
    return path, seen.sha256, seen.signature


def _place(tree: str, path: str) -> str:
    """Return ``path`` relative to ``tree`` where it lies inside, absolute elsewhere; ``""`` for a folder."""
    whole = os.path.normpath(os.path.join(tree, os.path.expanduser(path)))
    if not tree or not path or "\0" in path:
        return path
    return "" if os.path.isdir(whole) else relative_path(tree, whole) or whole


def _shows_database(connection: apsw.Connection, call: Call) -> bool:
    """True when a call reads our own database with a tool of the client."""
    writes_only = bool(call.wrote) and call.tool not in SHELL_TOOLS
    return not writes_only and connection.filename in call.args


def _verify_facts(
    tx: Transaction, author: Author, made: Stamp, path: str, sha256: str, text: str
) -> None:
    """A file read again verifies what rests on it, without the model's help, where the passages that
    are unchanged say it by themselves.

    That is an event where it says something new: the file is another one, the fact was doubted, or
    it was not looked at for a day.
    """
    found = facts_of_file(tx.connection, author.workspace, path, made.seq)
    if not found:
        return
    looks, doubted = last_looks(tx.connection, found, path), standing(tx.connection, found)
    for fact, passages in found.items():
        hash_then, then = looks.get(fact, ("", ""))
        known = hash_then == sha256 and tx.now - seconds(then) < VERIFIED_FOR_SECONDS
        if known and not (fact in doubted and doubted[fact].failures):
            continue
        kept = [p for p in passages if p.strip() in text]
        if len(kept) == len(passages) or _still_says(tx.connection, fact, path, kept):
            add_fact_event(tx, author, fact, "verified", source=made.seq)


def _still_says(connection: apsw.Connection, fact: int, path: str, passages: list[str]) -> bool:
    if not passages:
        return False
    # Grounding is more than a hook loads, and only a file that changed under a fact needs it.
    from keepthread.validators.evidence import Evidence  # noqa: PLC0415
    from keepthread.validators.grounding import ground  # noqa: PLC0415

    shown = Evidence(entry="", kind="capture", output="\n\n".join(passages), path=path)
    return ground(words_of(connection, fact)["text"], [shown]).grounded


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
    extra: str = "",
) -> Stamp:
    """Archive a message: ``msg`` of the user, ``say`` of the assistant, ``sys`` of a machine."""
    known = KnownSecrets(tx.connection, key)
    said = redact_kept(clean(text), OUTPUT_CHARS_MAX, key, known)
    about = redact_kept(clean(args), ARGS_CHARS_MAX, key, known)
    entry = Capture(
        kind=kind,
        channel=channel,
        level=1,
        tool=tool,
        args=about.text,
        output=said.text,
        truncated=said.cut or about.cut,
        model_written=kind == "say",
        outer_ref=outer_ref,
        seen_at=seen_at or stamp(tx.now),
        speaker=speaker,
        extra=redact_kept(clean(extra), ARGS_CHARS_MAX, key, known).text,
    )
    return append_entry(tx, author, entry)


class Kept(NamedTuple):
    """What is kept of a text, without its secrets; whether it was cut, and held a secret."""

    text: str
    cut: bool
    secrets: bool


def redact_kept(text: str, limit: int, key: bytes, known: KnownSecrets | None = None) -> Kept:
    """Return the head and tail of ``text`` that fit into ``limit`` characters, secrets removed.

    Only what is kept is looked through (a hook has no time for fifty megabytes), and a secret
    that reaches across the cut is seen whole.
    """
    if len(text) <= limit:
        redacted, kinds = redact(text, key, known)
        return Kept(redacted, False, bool(kinds))
    half = (limit - len(_CUT) - 20) // 2
    head, in_head = redact(text[: half + SECRET_CHARS_MAX], key, known)
    tail, in_tail = redact(text[-half - SECRET_CHARS_MAX :], key, known)
    mark = _CUT.format(len(text) - 2 * half)
    whole = head[:-SECRET_CHARS_MAX] + mark + tail[SECRET_CHARS_MAX:]
    return Kept(whole, True, bool(in_head or in_tail))


def is_prose(path: str) -> bool:
    """True for notes and other prose by ending."""
    return bool(path) and os.path.splitext(path)[1].lower() in PROSE


def clean(text: str) -> str:
    """Return ``text`` as SQLite can hold it: NUL visible, lone surrogates replaced."""
    if "\0" in text:
        text = text.replace("\0", "\N{SYMBOL FOR NULL}")
    return text.encode("utf-8", "replace").decode("utf-8")


def clean_value(value: Any) -> Any:
    """Return parsed JSON with every text in it as SQLite can hold it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): clean_value(inner) for key, inner in value.items()}
    return [clean_value(inner) for inner in value] if isinstance(value, list) else value


def _rest_of(path: str) -> bytes:
    """Read the file in which the client keeps a long output (it named it, we follow); ``b""`` for
    anything but a regular file of at most _REST_BYTES_MAX."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return b""
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _REST_BYTES_MAX:
            return b""
        return read_all(handle, _REST_BYTES_MAX)
    except OSError:
        return b""
    finally:
        os.close(handle)
