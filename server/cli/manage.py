"""Commands that run or keep the database: serve, hook, verify, reindex, reconcile, demo."""

import argparse
import json
import os
import time
from collections.abc import Mapping

from keepthread.server.cli.common import open_memory, require_database
from keepthread.server.embedding_worker import embed_batch
from keepthread.server.settings import SettingsError, read_settings
from keepthread.stores.anchor import Anchor
from keepthread.stores.database import open_database
from keepthread.stores.embeddings import load_embedder
from keepthread.stores.errors import HistoryRolledBack
from keepthread.stores.journal import Journal, head, verify_chain
from keepthread.stores.query import fetch_value
from keepthread.stores.vectors import count_unembedded, drop_vectors
from keepthread.stores.writer_lock import writer_lock


def serve(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread serve``: stdio for one client, or ``--http`` for several."""
    if options.http:
        return _serve_http(options, environ)
    if options.name or options.folder or options.host or options.port is not None:
        raise SettingsError("--host, --port, --name and --folder belong to: serve --http")
    from keepthread.server.app import serve as run_server  # noqa: PLC0415  (half a second of SDK)

    return run_server(environ, os.getcwd())


def _serve_http(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    from keepthread.server.http.serve import Address, parse_folders, serve_http  # noqa: PLC0415

    if options.workspace:
        raise SettingsError("over HTTP the workspace is in each client's URL; leave --workspace out")
    default = Address()
    port = default.port if options.port is None else options.port
    address = Address(options.host or default.host, port, tuple(options.name))
    return serve_http(read_settings(environ), address, parse_folders(options.folder))


def hook(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread hook CLIENT`` (the console script takes a shorter way to the same place)."""
    from keepthread.server.capture.hook import main as run_hook  # noqa: PLC0415

    return run_hook(options.client, environ)


def guard(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread guard CLIENT`` (the console script takes a shorter way to the same place)."""
    from keepthread.server.capture.guard import main as run_guard  # noqa: PLC0415

    return run_guard(environ)


def verify(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread verify``: exit 1 when anything does not hold."""
    settings = read_settings(environ)
    require_database(settings)
    reader = open_database(settings.db, "reader")
    faults = [{"seq": seq, "fault": fault} for seq, fault in verify_chain(reader)]
    integrity = str(fetch_value(reader, "PRAGMA integrity_check"))
    if integrity != "ok":
        faults.append({"seq": 0, "fault": f"SQLite: {integrity}"})
    anchor = Anchor(settings.db)
    if options.accept:
        with writer_lock(settings.db):
            anchor.write(head(reader), head(reader))
    try:
        anchor.check(reader, head(reader))
    except HistoryRolledBack as error:
        faults.append({"seq": head(reader)[0], "fault": str(error)})
    records = head(reader)[0]
    reader.close()
    if options.json:
        print(json.dumps({"records": records, "faults": faults}))
    else:
        for fault in faults:
            print(f"record {fault['seq']}: {fault['fault']}")
        print(f"{records} records, {len(faults)} faults")
    return 1 if faults else 0


def reindex(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread reindex``: drop all vectors and make them anew."""
    settings = read_settings(environ)
    require_database(settings)
    journal = Journal(settings.db, open_database(settings.db, "trusted", vectors=True), time.time)
    with journal.transaction() as tx:
        drop_vectors(tx.connection)
    if options.later:
        print("vectors dropped; the server makes them anew")
        return 0
    model = load_embedder(settings.embedder)
    done = 0
    while count := embed_batch(journal, model, f"reindex-{os.getpid()}"):
        done += count
        print(
            f"\r{done} texts embedded, {count_unembedded(journal.connection)} to go",
            end="",
            flush=True,
        )
    print(f"\r{done} texts embedded with {model.model_id}" + " " * 20)
    journal.connection.close()
    return 0


def reconcile(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread reconcile``: exit 1 when something claimed was refuted."""
    with open_memory(environ, create=False) as memory:
        report = memory.reconcile(run_commands=not options.no_commands)
    refuted = [f.item.id for f in report.findings if f.verdict == "refuted"]
    if options.json:
        found = {"lines": report.lines(), "changed": report.changed, "refuted": refuted}
        print(json.dumps(found, ensure_ascii=False))
    else:
        print("\n".join([*report.lines(), *(f"changed: {c}" for c in report.changed)]) or "nothing to check")
    return 1 if refuted else 0


def demo(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread demo``"""
    from keepthread.server.cli.demo import run  # noqa: PLC0415  (brings the SDK's client)

    return run()
