"""The plan through the gate: create items, and move one on."""

from collections.abc import Sequence

from keepthread.stores.journal import Transaction
from keepthread.stores.ledger import PlanState, add_item, add_item_event, plan_items
from keepthread.stores.records import Author, PlanItem
from keepthread.validators.gate import Gate
from keepthread.validators.gate_view import Caller, GateView
from keepthread.validators.limits import LIST_MAX, TITLES_MAX
from keepthread.validators.plan_rules import check_checks, read_status, resolve_dependencies
from keepthread.validators.verdict import Outcome, Refusal, Write


def update_plan_item(
    gate: Gate,
    caller: Caller,
    *,
    item: str = "",
    title: str = "",
    titles: Sequence[str] = (),
    description: str = "",
    status: str = "",
    scope: Sequence[str] = (),
    depends_on: Sequence[str] = (),
    checks: Sequence[str] = (),
    note: str = "",
    expected_version: int = 0,
    started_head: str = "",
) -> Outcome:
    """Create items (``item`` empty) or update one; empty arguments leave a field as it is.

    A title that the task already has answers with that item and its state. Raises Refused.
    """
    wanted = [t.strip() for t in (title, *titles) if t.strip()]
    first = wanted[0] if wanted else ""
    others = {"title": first, "description": description.strip(), "note": note.strip()}
    others.update({f"titles[{i}]": t for i, t in enumerate(wanted[1:])})
    others.update({f"checks[{i}]": c for i, c in enumerate(checks)})
    write = Write(
        tool="update_plan_item",
        kind="plan",
        text=first or item,
        others=others,
        scope_given=tuple(scope),
        expected_version=expected_version,
    )

    def prepare(write: Write, view: GateView) -> Write | Refusal:
        found = view.item(item) if item.strip() else None
        refusal = _shape(item, found, wanted, tuple(checks))
        if refusal is not None:
            return refusal
        state = read_status(status) if status.strip() else ""
        if isinstance(state, Refusal):
            return state
        needs = resolve_dependencies(tuple(depends_on), found, view)
        if isinstance(needs, Refusal):
            return needs
        return write._replace(
            item=found, status=state, depends_on=needs, text=first or (found.title if found else "")
        )

    def commit(tx: Transaction, author: Author, write: Write) -> tuple[Outcome, int | None]:
        if write.item is not None:
            return _update(tx, author, write.item, write, tuple(checks), started_head)
        return _create(tx, author, write, wanted, tuple(checks), started_head)

    arguments = {
        "item": item, "titles": wanted, "description": description, "status": status, "scope": list(scope),
        "depends_on": list(depends_on), "checks": list(checks), "note": note, "expected_version": expected_version,
    }  # fmt: skip
    return gate.admit(caller, write, commit, arguments=arguments, prepare=prepare, repeatable=True)


def _shape(
    item: str, found: PlanItem | None, wanted: list[str], checks: tuple[str, ...]
) -> Refusal | None:
    if item.strip() and found is None:
        return Refusal(
            "unknown_record", f"{item[:40]!r} is no plan item here.", "memory://plan lists them."
        )
    if not item.strip() and not wanted:
        return Refusal(
            "too_long",
            "neither `item` nor `title` was given.",
            "Pass title to create, item to update.",
        )
    if len(wanted) > TITLES_MAX or len(checks) > LIST_MAX:
        return Refusal(
            "too_long",
            f"at most {TITLES_MAX} titles and {LIST_MAX} checks.",
            "Plan in coarser steps.",
        )
    long = next((t for t in wanted if len(t) > 200), None)
    if long is not None:
        return Refusal(
            "too_long",
            f"the title {long[:40]!r}… has {len(long)} characters, at most 200.",
            "Put detail in description.",
        )
    return check_checks(checks)


def _create(
    tx: Transaction,
    author: Author,
    write: Write,
    wanted: list[str],
    checks: tuple[str, ...],
    started_head: str,
) -> tuple[Outcome, int | None]:
    known = {
        i.title.casefold(): i for i in plan_items(tx.connection, author.workspace, author.task)
    }
    made: list[dict[str, object]] = []
    seq: int | None = None
    for title in wanted:
        old = known.get(title.casefold())
        if old is not None:
            made.append(_brief(old, created=False))
            continue
        state = PlanState(
            title=title,
            description=write.others.get("description", ""),
            status=write.status or "pending",
            scope=write.scope,
            depends_on=write.depends_on,
            checks=checks or tuple(f"path_changed:{v}" for n, v in write.scope if n == "path"),
            note=write.others.get("note", ""),
            started_head=started_head if write.status == "in_progress" else "",
        )
        stamp = add_item(tx, author, state)
        seq = stamp.seq
        item = plan_items(tx.connection, author.workspace, items=[stamp.seq])[0]
        known[title.casefold()] = item
        made.append(_brief(item, created=True))
    action = "added" if seq is not None else "merged"
    remarks = tuple(f"{m['id']} exists already: {m['status']}" for m in made if not m["created"])
    remarks += tuple(
        f"{item.id} was dropped by the user: leave it"
        for item in known.values()
        if item.dropped and any(m["id"] == item.id for m in made)
    )
    return Outcome(action, str(made[0]["id"]), remarks, {"items": made}), seq


def _update(
    tx: Transaction,
    author: Author,
    item: PlanItem,
    write: Write,
    checks: tuple[str, ...],
    started_head: str,
) -> tuple[Outcome, int | None]:
    starts = write.status == "in_progress" and item.status != "in_progress"
    holds = item.verified and write.status in ("", "done") and checks in ((), item.checks)
    state = PlanState(
        title=write.others.get("title") or item.title,
        description=write.others.get("description") or item.description,
        status=write.status or item.status,
        scope=write.scope or item.scope,
        depends_on=write.depends_on or item.depends_on,
        checks=checks or item.checks,
        note=write.others.get("note") or item.note,
        verified=holds,
        evidence=item.evidence if holds else None,
        started_head=started_head if starts else item.started_head,
    )
    before = PlanState(
        item.title, item.description, item.status, item.scope, item.depends_on, item.checks, item.note,
        item.verified, item.evidence, item.started_head,
    )  # fmt: skip
    if state == before:
        return Outcome(
            "merged", item.id, ("nothing changed",), {"items": [_brief(item, created=False)]}
        ), None
    stamp = add_item_event(tx, author, item, state)
    now = plan_items(tx.connection, author.workspace, items=[item.item])[0]
    remarks = ("done is your claim until a check confirms it",) if write.status == "done" else ()
    return Outcome("updated", item.id, remarks, {"items": [_brief(now, created=False)]}), stamp.seq


def _brief(item: PlanItem, *, created: bool) -> dict[str, object]:
    return {
        "id": item.id, "title": item.title, "status": item.status, "version": item.version, "created": created,
    }  # fmt: skip
