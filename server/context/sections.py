"""The lines of pinned, plan and decisions. Facts and tail have modules of their own."""

import re
from collections.abc import Iterable, Sequence

from keepthread.server.context.frame import quote
from keepthread.server.context.moment import FINISHED, Moment, ready_items
from keepthread.server.context.packing import Item
from keepthread.server.context.staleness import check_soundness
from keepthread.server.handoff.checks import proof
from keepthread.stores.archive import entries
from keepthread.stores.decisions import active_decisions
from keepthread.stores.facts import load_facts, standing
from keepthread.stores.records import Decision, PlanItem, Question, Tags, Task, scope_agrees
from keepthread.stores.tasks import setter

DONE_SHOWN = 5
OTHER_TASKS_SHOWN = 5
_PLAIN_TAG = re.compile(r"[A-Za-z0-9_./:@+~*#-]+")


def pinned_items(moment: Moment) -> list[Item]:
    """Goal and constraints (required), then the user's standing instructions, newest last."""
    items: list[Item] = []
    task = moment.task
    if task is not None and task.state == "active":
        items.extend(goal_items(task.id, task.goal, task.constraints, task.task))
    elif task is not None:
        doubt = ", SUSPECT: its session's transcript does not know the message" if task.suspect else ""
        line = f"- proposed {task.id}, not confirmed by the user{doubt}: {quote(task.goal)}\n"
        items.append(Item(line, task.task))
    elif moment.last_goal is not None:
        goal = moment.last_goal
        items.append(
            Item(f"- no goal now; last goal {goal.id}, done: {quote(goal.goal)}\n", goal.task)
        )
    facts = moment.instructions
    sources = entries(moment.connection, [c.entry for f in facts for c in f.citations[:1]])
    broken = standing(moment.connection, [f.seq for f in facts])
    for fact in facts:
        entry = sources.get(fact.citations[0].entry) if fact.citations else None
        said = f", {entry.id}" if entry else ""
        by = broken[fact.seq].disputed_with if fact.seq in broken else ()
        against = load_facts(moment.connection, by).values()
        violated = f", VIOLATED by {', '.join(f.id for f in against)}" if by else ""
        scope = scope_text(fact.scope)
        items.append(
            Item(f"- instruction {fact.id}{said}{scope}{violated}: {quote(fact.text)}\n", fact.seq)
        )
    return items


def _other_tasks_line(tasks: Sequence[Task]) -> Item:
    """Return the tasks that are unfinished and not worked on here, in one line: who set each, and its goal."""
    shown = [
        f"{task.id} ({setter(task)}) {quote(task.goal, 80)}" for task in tasks[:OTHER_TASKS_SHOWN]
    ]
    rest = len(tasks) - len(shown)
    more = f"; and {rest} more" if rest else ""
    return Item(
        f"- unfinished, set aside: {'; '.join(shown)}{more} · start_task with its words comes back to one\n",
        tasks[0].task,
    )


def goal_items(task_id: str, goal: str, constraints: Sequence[str], ref: int) -> list[Item]:
    """Return the lines that pinned must always show whole."""
    first = Item(f"- goal {task_id}: {quote(goal)}\n", ref, required=True)
    return [first, *(Item(f"- constraint: {quote(c)}\n", ref, required=True) for c in constraints)]


def plan_section_items(moment: Moment) -> list[Item]:
    """Tasks set aside; focus in full; in progress; ready; blocked; the last five done; questions; counts of the rest.

    What the user dropped is not shown.
    """
    focus, plan = moment.focus, moment.plan
    lines = [_other_tasks_line(moment.other_tasks)] if moment.other_tasks else []
    shown: set[int] = set()

    def add(items: Iterable[PlanItem], *, full: bool = False) -> None:
        for item in items:
            if item.item not in shown:
                shown.add(item.item)
                lines.append(Item(_plan_line(item, moment, full=full), item.seq))

    blocked_by = {q.blocks for q in moment.questions if q.blocks is not None}
    if focus is not None:
        add([focus], full=True)
        lines.extend(_question_line(q) for q in moment.questions if q.blocks == focus.item)
    add(i for i in plan if i.status == "in_progress")
    add(i for i in ready_items(plan) if i.item not in blocked_by)
    add(
        i for i in plan if i.status == "blocked" or (i.item in blocked_by and i.status == "pending")
    )
    scope = focus.scope if focus is not None else ()
    lines.extend(
        _question_line(q)
        for q in moment.questions
        if (focus is None or q.blocks != focus.item) and scope_agrees(q.scope, scope)
    )
    done = [i for i in plan if i.status in FINISHED and not i.dropped]
    add(sorted(done, key=lambda i: i.seq)[-DONE_SHOWN:])
    add(i for i in plan if i.status == "pending")
    add(reversed(done))
    return lines


def question_items(moment: Moment) -> list[Item]:
    """Every open question of the workspace, oldest first."""
    return [_question_line(q) for q in moment.questions]


def decision_items(moment: Moment) -> list[Item]:
    """Active decisions whose scope agrees with the focus, oldest first (stable for prompt caches).

    Where not all fit, the newest are kept.
    """
    scope = moment.focus.scope if moment.focus else ()
    found = [
        d
        for d in active_decisions(moment.connection, moment.workspace)
        if scope_agrees(d.scope, scope)
    ]
    weak = check_soundness(moment.connection, [d.seq for d in found], moment.watch).weak
    return [Item(decision_line(d, d.seq in weak), d.seq, priority=-d.seq) for d in reversed(found)]


def decision_line(decision: Decision, weak: bool) -> str:
    """Return a decision with its reason, and what was rejected."""
    marks = ", WEAKENED: what it rests on no longer holds" if weak else ""
    rejected = (
        f" · not: {'; '.join(quote(a) for a in decision.alternatives)}"
        if decision.alternatives
        else ""
    )
    return (
        f"- {decision.id} [{decision.at[:16]}{scope_text(decision.scope)}{marks}]: {quote(decision.decision)} "
        f"· because {quote(decision.reason)}{rejected}\n"
    )


def scope_text(scope: Tags) -> str:
    """Return `` · path:a repo:b`` for a line's fields; tags are quoted when they could mislead."""
    if not scope:
        return ""
    tags = (f"{n}:{v}" for n, v in scope)
    return " · " + " ".join(t if _PLAIN_TAG.fullmatch(t) else quote(t) for t in tags)


def _plan_line(item: PlanItem, moment: Moment, *, full: bool) -> str:
    status = item.status
    if status == "done":
        status = f"done, verified by {proof(item.checks)}" if item.verified else "done (claimed)"
    head = "FOCUS " if full else ""
    fields = [f"{status}, v{item.version}"]
    if item.agent:
        fields.append(f"by {quote(item.agent, 40)}")
    waits = [i.id for i in moment.plan if i.item in item.depends_on and i.status not in FINISHED]
    if waits:
        fields.append(f"needs {' '.join(waits)}")
    line = f"- {head}{item.id} [{', '.join(fields)}{scope_text(item.scope)}]: {quote(item.title)}"
    if item.note:
        line += f" · note {quote(item.note, 0 if full else 200)}"
    if full and item.description:
        line += f" · {quote(item.description)}"
    if full and item.checks:
        line += f" · checks {quote('; '.join(item.checks))}"
    return line + "\n"


def _question_line(question: Question) -> Item:
    why = f" · because {quote(question.why, 300)}" if question.why else ""
    blocks = " blocking" if question.blocks is not None else ""
    return Item(
        f"- open {question.id}{blocks} [{question.at[:10]}]: {quote(question.question)}{why}\n",
        question.seq,
    )
