"""Reading commands: context, search, plan, handoff, log, show, why, status."""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from keepthread.server.brief import brief_window
from keepthread.server.cli.common import open_memory
from keepthread.server.listings import list_text
from keepthread.server.memory import Memory
from keepthread.server.record_pages import read_record
from keepthread.server.search_answer import parse_filters, search_text
from keepthread.server.why import explain_record
from keepthread.stores import archive, recent, refusals
from keepthread.stores.database import open_database
from keepthread.stores.journal import head
from keepthread.stores.launch import command_line
from keepthread.stores.query import fetch_all, fetch_value
from keepthread.stores.vectors import count_unembedded, stored_model
from keepthread.stores.windows import windows

SEARCH_TOKENS = 4_000
PAGE_TOKENS = 4_000


def context(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread context``"""
    with open_memory(environ, create=False) as memory:
        if options.brief:
            caller = memory.onlooker()
            text = brief_window(
                memory.reader, caller.author, memory.clock(), memory.capture.anchor.key
            )
            print(
                json.dumps({"text": text, "characters": len(text)}) if options.json else text,
                end="",
            )
            return 0
        window = memory.context(
            item=options.item,
            stage=options.stage,
            max_tokens=options.max_tokens,
            explain=options.explain,
            caller=memory.onlooker(),
        )
        if options.json:
            sections = {s.name: {"tokens": s.size, "left_out": s.left_out} for s in window.sections}
            print(json.dumps({"text": window.text, "tokens": window.tokens, "sections": sections}))
        else:
            print(window.text, end="")
    return 0


def search(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread search QUERY``; exit 1 when nothing matches."""
    filters = parse_filters(options.tool, options.since, options.until, options.scope)
    if isinstance(filters, str):
        print(f"keepthread search: {filters}", file=sys.stderr)
        return 2
    with open_memory(environ, model=True, create=False) as memory:
        if options.json:
            hits, entries = memory.search(options.query, filters, options.limit)
            found = [
                {
                    "id": entries[h.entry].id,
                    "offset": h.start,
                    "field": h.field,
                    "text": h.text,
                    "also": [entries[e].id for e in h.also if e in entries],
                    "score": round(h.score, 4),
                    "tool": entries[h.entry].tool,
                    "seen_at": entries[h.entry].seen_at,
                    "output_sha256": entries[h.entry].output_sha256,
                }
                for h in hits
            ]
            status = [*memory.status_lines(), *_without_vectors(memory)]
            print(json.dumps({"hits": found, "status": status}, ensure_ascii=False))
            return 0 if found else 1
        text = search_text(memory, options.query, filters, options.limit, SEARCH_TOKENS)
        print(*(f"! {line}\n" for line in _without_vectors(memory)), text, sep="", end="")
        return 0 if "\n- " in f"\n{text}" and "nearest miss" not in text else 1


def _without_vectors(memory: Memory) -> list[str]:
    """Say how much cannot be found by meaning yet; no server may be there to change that."""
    waiting = count_unembedded(memory.reader) if memory.embedder.state == "ready" else 0
    if not waiting:
        return []
    return [
        f"degraded: {waiting} passages have no vectors yet and are found by their words only; a running "
        f"server makes them, or: {command_line('reindex')}"
    ]


def listing(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread plan``, ``handoff`` and ``log``: a store as the resource of that name shows it."""
    with open_memory(environ, create=False) as memory:
        text = list_text(memory, options.listing, memory.onlooker())
    print(json.dumps({"text": text}, ensure_ascii=False) if options.json else text, end="")
    return 0


def show(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread show ID``"""
    with open_memory(environ, create=False) as memory:
        page = read_record(memory, options.id, options.offset, PAGE_TOKENS)
        print(
            json.dumps({"id": options.id, "page": page}, ensure_ascii=False)
            if options.json
            else page,
            end="",
        )
    return 0


def why(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread why ID``"""
    with open_memory(environ, create=False) as memory:
        found = explain_record(memory, options.id)
    if options.json:
        told = found._asdict() | {
            "confidence": [step._asdict() for step in found.confidence],
            "served": [serving._asdict() for serving in found.served],
        }
        print(json.dumps(told, ensure_ascii=False))
    else:
        print(found.text(), end="")
    return 0


def status(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread status``"""
    with open_memory(environ, create=False) as memory:
        found = _status(memory)
    if options.json:
        print(json.dumps(found, ensure_ascii=False))
        return 0
    for name, value in found.items():
        shown = (
            ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
        )
        print(f"{name.replace('_', ' ')}: {shown if shown not in ('', None) else '-'}")
    return 0


def _status(memory: Memory) -> dict[str, Any]:
    path, reader = memory.settings.db, open_database(memory.settings.db, "reader")
    workspace = memory.onlooker().author.workspace
    kinds = fetch_all(
        reader,
        "SELECT kind, count(*) FROM journal WHERE workspace IN (?, 0) AND number IS NOT NULL "
        "GROUP BY kind ORDER BY kind",
        (workspace,),
    )
    log = os.path.join(os.path.dirname(path), "hook-errors.log")
    model = stored_model(reader)
    found = {
        "database": path,
        "size_bytes": os.path.getsize(path),
        "workspace": memory.place.workspace,
        "journal_head": head(reader)[0],
        "records": dict(kinds),
        "archive_entries": archive.count_entries(reader, workspace),
        "current_facts": fetch_value(
            reader, "SELECT count(*) FROM fact_current WHERE workspace IN (?, 0)", (workspace,)
        ),
        "open_windows": ", ".join(
            f"{w.id} ({w.client})" for w in windows(reader, workspace, open_only=True)
        ),
        "last_capture": recent.newest_capture(reader, workspace),
        "vectors_of": model[1] if model else "none yet",
        "passages_to_embed": count_unembedded(reader),
        "refusals": refusals.refusals_by_code(reader, workspace),
        "hook_errors": f"see {log}" if os.path.exists(log) else "none",
    }
    reader.close()
    return found
