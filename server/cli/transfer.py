"""Commands that bring memory in and take it out: import, export."""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from keepthread.server.capture.corpus import (
    CorpusFault,
    CorpusImported,
    count_corpus,
    import_corpus,
    is_corpus,
)
from keepthread.server.capture.imports import Imported, import_file, import_lines
from keepthread.server.capture.sessions import (
    Count,
    Session,
    count_session,
    find_sessions,
    import_sessions,
    new_sessions,
)
from keepthread.server.cli.common import open_memory
from keepthread.server.cli.user import NoAuthority, check_authority
from keepthread.server.places import Place, find_place
from keepthread.server.settings import Settings, read_settings
from keepthread.stores.database import open_database
from keepthread.stores.journal import Journal, head
from keepthread.stores.launch import command_line
from keepthread.stores.transfer import export_lines, is_export_line, restore_lines
from keepthread.validators.quoting import quote

_FAULTS_SHOWN = 20


def bring(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread import FILE`` or ``--sessions``; exit 1 when a line was bad or left out, 2 without a file."""
    if bool(options.file) == options.sessions:
        print("keepthread import: name a file, or --sessions", file=sys.stderr)
        return 2
    settings = read_settings(environ)
    place = find_place(os.getcwd(), settings.workspace)
    if options.sessions:
        return _bring_sessions(options, environ, settings, place)
    try:
        documents = is_corpus(options.file)
        if options.dry_run and not documents:
            said = "counts --sessions and documents only; what is imported twice is stored once"
            print(f"keepthread import: --dry-run {said}", file=sys.stderr)
            return 2
        if documents:
            return _bring_corpus(options, settings, place)
        with _journal(settings) as journal:
            if _may_restore(options.file, journal, environ):
                return _restore(options, journal, place)
            done = (
                import_lines(journal, place.workspace, sys.stdin, _progress())
                if options.file == "-"
                else import_file(journal, place.workspace, options.file, _progress())
            )
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        print(f"keepthread: cannot read {options.file}: {error.strerror}", file=sys.stderr)
        return 2
    except UnicodeDecodeError as error:
        print(f"keepthread: {options.file} is not as it was exported: {error}", file=sys.stderr)
        return 1
    return _tell(done, place, options)


def import_past(settings: Settings, place: Place, sessions: Sequence[Session]) -> Imported:
    """Import past sessions of this repository, with the count of entries at a terminal."""
    with _journal(settings) as journal:
        return import_sessions(journal, place.workspace, sessions, _progress())


def unknown_sessions(environ: Mapping[str, str], settings: Settings, place: Place) -> list[Session]:
    """Return the past sessions of this repository of which nothing is archived yet."""
    found = find_sessions(place.tree, environ)
    if not found or not os.path.exists(settings.db):
        return found
    reader = open_database(settings.db, "reader")
    try:
        return new_sessions(reader, place.workspace, found)
    finally:
        reader.close()


def export(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread export``"""
    with open_memory(environ, create=False) as memory:
        for line in export_lines(memory.reader, memory.onlooker().author.workspace):
            print(line)
    return 0


def _may_restore(file: str, journal: Journal, environ: Mapping[str, str]) -> bool:
    """True for an export that a person brings into an empty database: it holds the user's authority."""
    if file == "-" or head(journal.connection)[0]:
        return False
    with open(file, encoding="utf-8", errors="replace") as lines:
        first = next((line for line in lines if line.strip()), "")
    try:
        row = json.loads(first)
        check_authority(environ)
    except (ValueError, RecursionError, NoAuthority):
        return False
    return isinstance(row, dict) and is_export_line(row)


def _restore(options: argparse.Namespace, journal: Journal, place: Place) -> int:
    with open(options.file, encoding="utf-8") as lines:
        restored = restore_lines(journal, place.workspace, lines)
    if options.json:
        print(json.dumps({"restored": restored}))
    else:
        print(f"{restored} records restored into {place.workspace}, under their own ids")
    return 0


def _bring_corpus(options: argparse.Namespace, settings: Settings, place: Place) -> int:
    try:
        if options.dry_run:
            done = _count_corpus(options.file, settings, place)
        else:
            with _journal(settings) as journal:
                done = import_corpus(journal, place, options.file, _progress())
    except CorpusFault as fault:
        print(f"keepthread: {fault}", file=sys.stderr)
        return 2
    if options.json:
        skipped = [s._asdict() for s in done.skipped]
        print(json.dumps({**done._asdict(), "skipped": skipped}, ensure_ascii=False))
        return 0
    verb = "would be imported" if options.dry_run else "imported"
    print(
        f"{done.files} files {verb} into {place.workspace} as {done.entries} entries, "
        f"{done.unchanged} unchanged, {len(done.skipped)} left out"
    )
    for path, why in done.skipped[:_FAULTS_SHOWN]:
        print(f"left out: {quote(path)}: {why}")
    if len(done.skipped) > _FAULTS_SHOWN:
        print(f"and {len(done.skipped) - _FAULTS_SHOWN} more; --json lists them")
    return 0


def _count_corpus(path: str, settings: Settings, place: Place) -> CorpusImported:
    reader = open_database(settings.db, "reader") if os.path.exists(settings.db) else None
    try:
        return count_corpus(reader, place, path)
    finally:
        if reader is not None:
            reader.close()


def _bring_sessions(
    options: argparse.Namespace, environ: Mapping[str, str], settings: Settings, place: Place
) -> int:
    sessions = find_sessions(os.getcwd(), environ)
    if options.dry_run:
        return _count(sessions, settings, place, options)
    if not sessions:
        print(f"no past session of {place.workspace} on this machine")
        return 0
    return _tell(import_past(settings, place, sessions), place, options)


def _count(
    sessions: list[Session], settings: Settings, place: Place, options: argparse.Namespace
) -> int:
    there = os.path.exists(settings.db)
    reader = open_database(settings.db, "reader") if there else None
    counts = [(s, count_session(reader, place.workspace, s)) for s in sessions]
    if reader:
        reader.close()
    if options.json:
        print(json.dumps([{**s._asdict(), **c._asdict()} for s, c in counts], ensure_ascii=False))
        return 0
    for session, count in counts:
        print(
            f"{session.begun[:16].replace('T', ' ')} {session.client} {session.id}: {_counted(count)}"
        )
    calls, messages = sum(c.calls for _, c in counts), sum(c.messages for _, c in counts)
    print(
        f"{len(counts)} sessions: would import {calls} calls and {messages} messages into {place.workspace}"
    )
    return 0


def _counted(count: Count) -> str:
    return f"{count.calls} calls, {count.messages} messages, {count.known} known already"


@contextmanager
def _journal(settings: Settings) -> Iterator[Journal]:
    journal = Journal(settings.db, open_database(settings.db, "trusted"), time.time)
    try:
        yield journal
    finally:
        journal.connection.close()


def _progress() -> Callable[[int], None]:
    if not sys.stderr.isatty():
        return lambda done: None
    # The cursor goes back each time, so that what is printed next begins where this did.
    return lambda done: print(f"{done} entries\r", end="", file=sys.stderr, flush=True)


def _tell(done: Imported, place: Place, options: argparse.Namespace) -> int:
    if options.json:
        faults = [{"line": line, "why": why} for line, why in done.faults]
        print(
            json.dumps(
                {
                    "imported": done.entries,
                    "known": done.known,
                    "faults": faults,
                    "left_out": done.left_out,
                    "ids": done.ids,
                }
            )
        )
    else:
        print(f"{done.entries} entries imported into {place.workspace}, already here: {done.known}")
    if done.left_out:
        print(
            f"keepthread: {done.left_out} records that are no entries (facts, decisions, plan and so on) were left "
            "out: they carry the user's authority, so only a person at a terminal restores them, with all the "
            "rest, into an empty database. To do that, at a terminal, with a file that is not there yet: "
            f"KEEPTHREAD_DB=NEW.db {command_line('import', options.file)}",
            file=sys.stderr,
        )
    for line, why in done.faults[:_FAULTS_SHOWN]:
        print(f"keepthread: line {line}: {why}", file=sys.stderr)
    if len(done.faults) > _FAULTS_SHOWN:
        print(f"keepthread: and {len(done.faults) - _FAULTS_SHOWN} more bad lines", file=sys.stderr)
    return 1 if done.faults or done.left_out else 0
