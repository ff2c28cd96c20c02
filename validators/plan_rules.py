"""The ledger's rules: versions, dependencies, reasons and checks of plan items."""

import re

from keepthread.stores.records import PlanItem, parse_id
from keepthread.validators.verdict import Refusal, Write
from keepthread.validators.view import View

STATUSES = ("pending", "in_progress", "blocked", "done", "skipped")
FINISHED = ("done", "skipped")

_CHECK = re.compile(
    r"(?:path_exists|path_changed|file_contains|commit_mentions|command):\S.{0,300}"
)
_STATUS_WORDS = {
    "todo": "pending", "open": "pending", "doing": "in_progress", "started": "in_progress", "active": "in_progress",
    "wip": "in_progress", "in progress": "in_progress", "completed": "done", "complete": "done", "finished": "done",
    "closed": "done", "cancelled": "skipped", "canceled": "skipped",
}  # fmt: skip


def read_status(given: str) -> str | Refusal:
    """Return the status meant; the common synonyms of plan tools are taken too."""
    word = given.strip().lower()
    word = _STATUS_WORDS.get(word, word.replace("-", "_").replace(" ", "_"))
    if word in STATUSES:
        return word
    return Refusal(
        "bad_status", f"status {given[:40]!r} is unknown.", f"One of: {', '.join(STATUSES)}."
    )


def check_checks(checks: tuple[str, ...]) -> Refusal | None:
    """``bad_check``: checks are declarative; shell text from a model is never run."""
    for check in checks:
        if not _CHECK.fullmatch(check.strip()):
            return Refusal(
                "bad_check",
                f"check {check[:80]!r} is not understood.",
                "Write path_exists:PATH, path_changed:PATH, file_contains:PATH:TEXT, commit_mentions:TEXT, or "
                "command:NAME for a command that the user named in keepthread.toml.",
            )
    return None


def check_dropped(write: Write, view: View) -> Refusal | None:
    """``declined_by_user``: what the user dropped is not taken up again by a model."""
    if write.item is None or not write.item.dropped:
        return None
    return Refusal(
        "declined_by_user",
        f"the user dropped {write.item.id}.",
        "Leave it. If it is needed after all, ask the user.",
    )


def resolve_dependencies(
    given: tuple[str, ...], item: PlanItem | None, view: View
) -> tuple[int, ...] | Refusal:
    """Return the items depended on; refuse unknown ones and cycles (``unmet_dependency``)."""
    found: list[int] = []
    for name in given:
        record = parse_id(name)
        other = view.item(name) if record is not None and record.kind == "plan" else None
        if other is None:
            return Refusal(
                "unmet_dependency",
                f"depends_on names {name[:40]!r}, which is no plan item here.",
                "Name ids: plan-3.",
            )
        found.append(other.item)
    if item is not None:
        needs = {i.item: i.depends_on for i in view.items()}
        seen: set[int] = set()
        todo = list(found)
        while todo:
            at = todo.pop()
            if at == item.item:
                return Refusal(
                    "unmet_dependency",
                    f"{item.id} would depend on itself, through the items it depends on.",
                    "Leave out the dependency that closes the circle.",
                )
            if at not in seen:
                seen.add(at)
                todo.extend(needs.get(at, ()))
    return tuple(found)


def check_version(write: Write, view: View) -> Refusal | None:
    """``stale_version``: an item is changed only by who has seen its current state."""
    item = write.item
    if item is None:
        return None
    expected = write.expected_version or view.last_served_version(item) or item.version
    if expected == item.version:
        return None
    note = f" Its note: {item.note}." if item.note else ""
    return Refusal(
        "stale_version",
        f"{item.id} is at version {item.version} ({item.status}), not {expected}: it changed since you saw it.",
        f"Look at its state, then call again with expected_version={item.version}.",
        ((item.id, f"{item.title} [{item.status}]{note}"),),
    )


def check_progress(write: Write, view: View) -> Refusal | None:
    """``unmet_dependency`` and ``reason_required``: an item starts when what it needs is finished."""
    note = write.others.get("note", "").strip()
    if write.status in ("blocked", "skipped") and not note and not (write.item and write.item.note):
        return Refusal(
            "reason_required",
            f"an item that is {write.status} needs its reason.",
            "Say why in `note`; for a missing answer, open a question that blocks the item.",
        )
    needs = write.depends_on or (write.item.depends_on if write.item else ())
    if write.status in ("in_progress", "done") and needs:
        unfinished = [i for i in view.items() if i.item in needs and i.status not in FINISHED]
        if unfinished:
            return Refusal(
                "unmet_dependency",
                f"it depends on {', '.join(i.id for i in unfinished)}, not finished yet.",
                "Finish these first, or change depends_on.",
                tuple((i.id, f"{i.title} [{i.status}]") for i in unfinished[:5]),
            )
    return None
