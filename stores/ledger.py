"""The ledger: plan items, exactly right.

Contract: every change is an event that carries the item's full state; the current state is the
newest event. Versions are gapless per item (the schema refuses a second event of one version,
so of two writers one is refused and nothing is lost). ``done`` is a claim; ``verified``
is set only with an archive entry as evidence.
"""

import json
from collections.abc import Iterable
from typing import NamedTuple

import apsw

from keepthread.stores.journal import Transaction
from keepthread.stores.parts import words_and_tags
from keepthread.stores.query import fetch_all, fetch_one
from keepthread.stores.records import Author, Draft, PlanItem, RecordId, Stamp, Tags


class PlanState(NamedTuple):
    """The full state of an item that an event carries."""

    title: str
    description: str = ""
    status: str = "pending"
    scope: Tags = ()
    depends_on: tuple[int, ...] = ()
    checks: tuple[str, ...] = ()
    note: str = ""
    verified: bool = False
    evidence: int | None = None
    started_head: str = ""


def add_item(tx: Transaction, author: Author, state: PlanState) -> Stamp:
    """Append the first event of a new item; its stamp carries the item's id."""
    item = tx.seq + 1
    return tx.append(author, _draft("plan", item, 1, author.task, state))


def add_item_event(tx: Transaction, author: Author, item: PlanItem, state: PlanState) -> Stamp:
    """Append the next event of ``item``. A concurrent one makes the schema refuse it."""
    return tx.append(author, _draft("plan_event", item.item, item.version + 1, item.task, state))


def skip_item(tx: Transaction, author: Author, item: PlanItem, note: str) -> Stamp:
    """Append that ``item`` is skipped as it stands, with a reason."""
    state = PlanState(
        item.title, item.description, "skipped", item.scope, item.depends_on, item.checks, note,
        started_head=item.started_head,
    )  # fmt: skip
    return add_item_event(tx, author, item, state)


def find_item(connection: apsw.Connection, workspace: int, record: RecordId) -> int | None:
    """Return the item (seq of its first event) with this id in this workspace."""
    row = fetch_one(
        connection,
        "SELECT seq FROM journal WHERE kind = 'plan' AND number = ? AND workspace = ?",
        (record.number, workspace),
    )
    return None if row is None else row[0]


def plan_items(
    connection: apsw.Connection,
    workspace: int,
    task: int | None = None,
    *,
    items: Iterable[int] = (),
) -> list[PlanItem]:
    """Return the current items of a task (None: those of no task), oldest first; or just ``items``."""
    wanted = list(items)
    if wanted:
        rows = fetch_all(
            connection,
            "SELECT seq FROM plan_item WHERE workspace = ? AND item IN (SELECT value FROM json_each(?)) ORDER BY item",
            (workspace, json.dumps(wanted)),
        )
    else:
        rows = fetch_all(
            connection,
            "SELECT seq FROM plan_item WHERE workspace = ? AND task IS ? ORDER BY item",
            (workspace, task),
        )
    return _load(connection, [r[0] for r in rows])


def item_history(connection: apsw.Connection, item: int) -> list[PlanItem]:
    """Return every event of an item as the state it left, oldest first."""
    rows = fetch_all(
        connection, "SELECT seq FROM plan_event WHERE item = ? ORDER BY version", (item,)
    )
    return _load(connection, [r[0] for r in rows])


def moved_in(connection: apsw.Connection, window: int) -> list[PlanItem]:
    """Return the items that changed in a window, each as it stood after its last change there."""
    rows = fetch_all(
        connection,
        "SELECT max(p.seq) FROM plan_event p JOIN journal j USING(seq) WHERE j.window = ? GROUP BY p.item",
        (window,),
    )
    return _load(connection, [r[0] for r in rows])


def _load(connection: apsw.Connection, seqs: list[int]) -> list[PlanItem]:
    wanted = json.dumps(seqs)
    words, tags = words_and_tags(connection, seqs)
    needs: dict[int, list[int]] = {}
    for event, need in fetch_all(
        connection,
        "SELECT event, needs FROM plan_dep WHERE event IN (SELECT value FROM json_each(?)) ORDER BY 1, 2",
        (wanted,),
    ):
        needs.setdefault(event, []).append(need)
    rows = fetch_all(
        connection,
        "SELECT p.seq, p.item, f.number, p.version, p.task, p.status, p.verified, p.evidence, "
        "coalesce(p.started_head, ''), j.agent, j.at, j.origin FROM plan_event p JOIN journal j USING(seq) "
        "JOIN journal f ON f.seq = p.item WHERE p.seq IN (SELECT value FROM json_each(?)) ORDER BY p.item, p.version",
        (wanted,),
    )
    found = []
    for row in rows:
        seq = row[0]
        text = words.get(seq, {})
        found.append(
            PlanItem(
                item=row[1],
                id=f"plan-{row[2]}",
                seq=seq,
                version=row[3],
                task=row[4],
                title=text.get("title", ""),
                description=text.get("description", ""),
                status=str(row[5]),
                scope=tags.get(seq, ()),
                depends_on=tuple(needs.get(seq, ())),
                checks=tuple(json.loads(text.get("checks", "[]"))),
                note=text.get("note", ""),
                verified=bool(row[6]),
                evidence=row[7],
                started_head=str(row[8]),
                agent=str(row[9]),
                at=str(row[10]),
                dropped=row[5] == "skipped" and row[11] == "user",
            )
        )
    return found


def _draft(kind: str, item: int, version: int, task: int | None, state: PlanState) -> Draft:
    row = {
        "item": item,
        "version": version,
        "task": task,
        "status": state.status,
        "verified": int(state.verified),
        "evidence": state.evidence,
        "started_head": state.started_head or None,
    }
    bodies = {
        "title": state.title,
        "description": state.description,
        "note": state.note,
        "checks": json.dumps(state.checks, ensure_ascii=False) if state.checks else "",
    }
    children = {"plan_dep": [{"needs": n} for n in sorted(set(state.depends_on))]}
    return Draft(kind, "plan_event", row, bodies, state.scope, children, numbered=kind == "plan")
