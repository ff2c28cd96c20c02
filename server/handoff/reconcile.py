"""Reconciliation: the ledger against the world. Evidence wins over claims.

An item claimed done that its own checks refute goes back to in progress; one they merely do not
confirm stays claimed; one they confirm is verified. What looks done and was never claimed is
offered, not assumed. A command that was failing before the claim refutes nothing; one that turned
red reopens the newest claim that named it, never all of them. Everything is looked at first, then
written in one transaction: checks that changed something are archived at level ``checked``, and
each disagreement is a fact that cites its check.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from keepthread.server.capture.append import append_call
from keepthread.server.capture.events import Call
from keepthread.server.handoff.checks import FAIL, PASS, Checked, proof
from keepthread.server.handoff.commands import Ran, run_command
from keepthread.server.handoff.doubts import judge_run
from keepthread.server.handoff.look import Look, entered
from keepthread.stores.archive import entries
from keepthread.stores.facts import FactDraft, add_fact, add_fact_event
from keepthread.stores.journal import Journal, Transaction
from keepthread.stores.ledger import PlanState, add_item_event, item_history, plan_items
from keepthread.stores.query import fetch_all
from keepthread.stores.recent import recent_by_tool
from keepthread.stores.records import Author, Citation, Entry, PlanItem, Stamp
from keepthread.stores.windows import add_window_event, window_words
from keepthread.validators.confidence import CHECKED

NO_CHANGE = "no change needed"


class Finding(NamedTuple):
    """What the checks say about one item: verified, refuted, unconfirmed or offered."""

    item: PlanItem
    verdict: str
    checked: tuple[Checked, ...]


class Report(NamedTuple):
    """A reconciliation: findings, changed files since the task began, and what could not be looked at."""

    findings: tuple[Finding, ...]
    changed: tuple[str, ...]
    remarks: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return the FOUND lines, without stored text."""
        found = [_finding_line(f) for f in self.findings if f.verdict != "unconfirmed"]
        waiting = [f.item.id for f in self.findings if f.verdict == "unconfirmed"]
        if waiting:
            found.append(f"claimed done, not confirmed by a check: {', '.join(waiting)}")
        return [*found, *self.remarks]


def reconcile(
    journal: Journal,
    author: Author,
    tree: str,
    commands: Mapping[str, str],
    *,
    run_commands: bool,
    skip_verified: bool = False,
) -> Report:
    """Look, then write. With ``run_commands`` the user's commands that items name are run, each once."""
    items = plan_items(journal.connection, author.workspace, author.task)
    ran: dict[str, Ran] = {}

    def run(name: str) -> Ran | None:
        if not run_commands or name not in commands:
            return None
        if name not in ran:
            ran[name] = run_command(commands[name], tree)
        return ran[name]

    look = Look(journal, tree, run)
    findings: list[Finding] = []
    for item in items:
        wanted = item.status in ("in_progress", "done") and item.checks
        if wanted and not (skip_verified and item.verified):
            checked = look.at(item)
            verdict = _verdict(journal, author, item, checked)
            if verdict:
                findings.append(Finding(item, verdict, checked))
    findings = _narrow(journal, author, findings)
    remarks = (*look.remarks, *_red_lines(ran, items))
    report = Report(tuple(findings), look.changed_files(items), remarks)
    with journal.transaction() as tx:
        checker = author._replace(origin="check")
        for entry in _write(tx, checker, report, ran, tree, journal.anchor.key):
            judge_run(tx, checker, entry, commands)
    return report


def reconcile_at_opening(journal: Journal, author: Author, tree: str) -> None:
    """Run the cheap checks (git and paths, no command) once a window, where there is a plan to check."""
    if author.window is None or window_words(journal.connection, author.window, "reconciled")[1]:
        return
    items = plan_items(journal.connection, author.workspace, author.task)
    if any(i.status in ("in_progress", "done") and not i.verified for i in items):
        reconcile(journal, author, tree, {}, run_commands=False, skip_verified=True)


def _verdict(journal: Journal, author: Author, item: PlanItem, checked: tuple[Checked, ...]) -> str:
    failed = [c for c in checked if c.verdict == FAIL and not _excused(journal, author, item, c)]
    passed = all(c.verdict == PASS for c in checked)
    if item.status == "in_progress":
        return "offered" if passed else ""
    if failed:
        return "refuted"
    if passed:
        return "" if item.verified else "verified"
    return "" if item.verified else "unconfirmed"


def _narrow(journal: Journal, author: Author, findings: list[Finding]) -> list[Finding]:
    """Of the items that only one red command refutes, the newest claim goes back; the rest stay claimed.

    A command that was red before has sent one back already, unless one was claimed again since.
    """
    red: dict[str, list[Finding]] = {}
    for finding in findings:
        failed = [c.check for c in finding.checked if c.verdict == FAIL]
        if finding.verdict == "refuted" and all(c.startswith("command:") for c in failed):
            red.setdefault(failed[0], []).append(finding)
    spared: set[int] = set()
    for command, group in red.items():
        last = recent_by_tool(journal.connection, author.workspace, command, limit=1)
        known_red = last[0].seq if last and last[0].is_error else 0
        group = sorted(group, key=lambda f: entered(journal, f.item, "done").seq)
        newest = entered(journal, group[-1].item, "done").seq
        spared |= {f.item.item for f in (group if newest < known_red else group[:-1])}
    kept = []
    for finding in findings:
        if finding.item.item not in spared:
            kept.append(finding)
        elif not finding.item.verified:
            kept.append(finding._replace(verdict="unconfirmed"))
    return kept


def _red_lines(ran: Mapping[str, Ran], items: Sequence[PlanItem]) -> list[str]:
    """Say which commands fail now: the items that they once verified stay done."""
    lines = []
    for name, run in ran.items():
        named = [i.id for i in items if i.status == "done" and f"command:{name}" in i.checks]
        if run.status and named:
            lines.append(f"command {name} fails now; done items that name it: {len(named)}")
    return lines


def _excused(journal: Journal, author: Author, item: PlanItem, check: Checked) -> bool:
    """A change that was declared unnecessary, and a command that failed before the item was claimed.

    Not excused is the command that sent this very item back before.
    """
    if check.check.startswith("path_changed:"):
        return NO_CHANGE in item.note.lower()
    if check.check.startswith("command:"):
        history = item_history(journal.connection, item.item)
        if any(h.note.startswith(_refuted_by(check.check)) for h in history):
            return False
        claimed = entered(journal, item, "done").seq
        runs = recent_by_tool(journal.connection, author.workspace, check.check, limit=50)
        before = next((e for e in runs if e.seq < claimed), None)
        return before is not None and before.is_error
    return False


def _refuted_by(check: str) -> str:
    return f"claimed done, refuted by {check}: "


def _write(
    tx: Transaction,
    author: Author,
    report: Report,
    ran: Mapping[str, Ran],
    tree: str,
    key: bytes,
) -> list[int]:
    """Write what was found; return the archived runs of checks."""
    evidence = {
        f"command:{name}": _archive(
            tx, author, f"command:{name}", {"name": name}, r.output, r.status != 0, tree, key
        )
        for name, r in ran.items()
    }
    runs = {stamp.seq for stamp in evidence.values()}
    for finding in report.findings:
        now = plan_items(tx.connection, author.workspace, items=[finding.item.item])[0]
        if finding.verdict == "unconfirmed" or now.version != finding.item.version:
            continue  # nothing was shown, or another session moved the item on while we looked
        if finding.verdict == "offered" and not _disagreements(tx, author, finding.item):
            continue
        decisive = next((c for c in finding.checked if c.verdict == FAIL), finding.checked[-1])
        stamp = evidence.get(decisive.check) or _archive(
            tx, author, "check", {"item": finding.item.id, "check": decisive.check}, decisive.seen,
            finding.verdict == "refuted", tree, key,
        )  # fmt: skip
        runs.add(stamp.seq)
        _settle_facts(tx, author, finding.item, stamp)
        if finding.verdict == "verified":
            _change(tx, author, finding.item, verified=True, evidence=stamp.seq)
        elif finding.verdict == "refuted":
            note = _refuted_by(decisive.check) + decisive.seen
            _change(
                tx,
                author,
                finding.item,
                status="in_progress",
                verified=False,
                evidence=None,
                note=note,
            )
            _disagree(tx, author, finding.item, decisive, stamp)
    if author.window is not None:
        words = json.dumps({"lines": report.lines(), "changed": report.changed}, ensure_ascii=False)
        add_window_event(tx, author, author.window, "reconciled", found=words)
    return sorted(runs)


def _change(tx: Transaction, author: Author, item: PlanItem, **change: object) -> None:
    state = PlanState(
        item.title, item.description, item.status, item.scope, item.depends_on, item.checks, item.note,
        item.verified, item.evidence, item.started_head,
    )  # fmt: skip
    add_item_event(tx, author, item, state._replace(**change))  # type: ignore[arg-type]


def _disagree(
    tx: Transaction, author: Author, item: PlanItem, check: Checked, stamp: Stamp
) -> None:
    """Record the disagreement as a fact that cites the archived check."""
    text = f"{item.id} was claimed done, but {check.check} fails: {check.seen}"[:1_000]
    add_fact(
        tx,
        author,
        FactDraft(
            text=text,
            kind="observation",
            subject=_subject(item),
            scope=item.scope,
            citations=(_last_line(entries(tx.connection, [stamp.seq])[stamp.seq]),),
            observed_at=tx.at,
            expires_when="task_end",
            confidence=CHECKED,
            level=4,
        ),
    )


def _last_line(entry: Entry) -> Citation:
    """What a check saw is the last line of its output that is not blank, as ``seen`` tells it."""
    output = entry.output.rstrip()
    return Citation(entry.seq, len(output) - len(output.rpartition("\n")[2]), len(output))


def _settle_facts(tx: Transaction, author: Author, item: PlanItem, stamp: Stamp) -> None:
    """What an earlier reconciliation said about this item holds no longer: it was looked at again."""
    for seq in _disagreements(tx, author, item):
        add_fact_event(tx, author, seq, "retracted", source=stamp.seq, reason="checked again")


def _disagreements(tx: Transaction, author: Author, item: PlanItem) -> list[int]:
    rows = fetch_all(
        tx.connection,
        "SELECT f.seq FROM fact_current f JOIN body b ON b.seq = f.seq AND b.field = 'subject' "
        "WHERE f.workspace = ? AND b.text = ?",
        (author.workspace, _subject(item)),
    )
    return [seq for (seq,) in rows]


def _archive(
    tx: Transaction,
    author: Author,
    tool: str,
    args: Mapping[str, str],
    output: str,
    is_error: bool,
    tree: str,
    key: bytes,
) -> Stamp:
    call = Call(
        tool=tool, args=json.dumps(args, ensure_ascii=False), output=output, is_error=is_error
    )
    return append_call(tx, author, call, channel="check", level=4, tree=tree, key=key)


def _subject(item: PlanItem) -> str:
    return f"reconciliation of {item.id}"


def _finding_line(finding: Finding) -> str:
    item, shown = finding.item.id, proof(finding.item.checks)
    if finding.verdict == "verified":
        return f"{item} is done: verified by {shown}"
    if finding.verdict == "offered":
        return f"{item} looks done ({shown}) but was not claimed"
    return f"{item} was claimed done and is not: back in progress, see its note"
