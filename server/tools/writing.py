"""The writing tools: thin doors to the gate. Arguments are those of the contract, flat and defaulted."""

from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, InputRequiredResult

from keepthread.server.handoff.git_truth import head_commit
from keepthread.server.memory import Memory
from keepthread.server.proposals import propose_instruction, propose_task
from keepthread.server.schemas import Answer, FactAnswer, Flag, Kind, Number, Text, Texts
from keepthread.server.tools.asking import with_the_user
from keepthread.server.tools.base import Run, make_tool, outcome_text, success, tool_use_id
from keepthread.validators.citations import REPORTED
from keepthread.validators.quoting import quote
from keepthread.validators.verdict import Outcome
from keepthread.validators.writes.decisions import record_decision as decide
from keepthread.validators.writes.facts import record_fact as record
from keepthread.validators.writes.facts import retract_fact as retract
from keepthread.validators.writes.plan import update_plan_item as plan
from keepthread.validators.writes.questions import add_open_question as ask
from keepthread.validators.writes.questions import answer_question as settle
from keepthread.validators.writes.tasks import hand_off as close_window
from keepthread.validators.writes.tasks import start_task as begin


def fact_tools(memory: Memory, run: Run) -> list[Tool]:
    """record_fact and retract_fact."""

    async def record_fact(
        ctx: Context,
        text: str,
        kind: Kind,
        source: Text = "",
        scope: Texts = [],  # noqa: B006  (pydantic copies defaults)
        subject: Text = "",
        supports: Texts = [],  # noqa: B006
        observed_at: Text = "",
        expires_when: Text = "",
        supersedes: Text = "",
    ) -> CallToolResult | InputRequiredResult:
        """Remember one conclusion with its evidence; the server finds the passage that shows it.
        observation: source = "tool:NAME", "file:PATH", "user" or ids ("call-12"), up to 5, comma-separated.
        inference: supports = ids it rests on. instruction-from-user: the user's own words, source "user"
        ("user:reported" only where the client captures no messages). scope: "path:src/", "service:api"; none =
        the whole workspace. subject: short key by which a newer value is known ("build command | how to build").
        observed_at: only to make it earlier. expires_when: changed:PATH, task_end, a time, or words.
        supersedes: a fact id, or "none" if both hold."""
        call = tool_use_id(ctx)
        given: dict[str, Any] = {
            "text": text, "scope": scope, "subject": subject, "supports": supports,
            "observed_at": observed_at, "expires_when": expires_when, "supersedes": supersedes,
        }  # fmt: skip

        def write() -> Outcome:
            return record(memory.gate, memory.caller(call), kind=kind, source=source, **given)

        if kind == "instruction-from-user" and source.strip() == REPORTED:
            outcome = await with_the_user(
                ctx, run, lambda: propose_instruction(memory, memory.caller(call), **given), write
            )
        else:
            outcome = await run(write)
        if isinstance(outcome, InputRequiredResult):
            return outcome
        return success(fact_text(outcome), _fact_answer(outcome))

    async def retract_fact(
        ctx: Context, fact: str, reason: str, source: Text = ""
    ) -> CallToolResult:
        """Take back a fact that is wrong; history keeps it, and what it superseded is current again.
        An instruction of the user is taken back by the user only: source="user"."""
        call = tool_use_id(ctx)
        outcome = await run(
            lambda: retract(
                memory.gate, memory.caller(call), fact=fact, reason=reason, source=source
            )
        )
        return _answer(outcome)

    return [
        make_tool(record_fact, title="Record fact", read_only=False, always_loaded=True),
        make_tool(retract_fact, title="Retract fact", read_only=False),
    ]


def decision_tools(memory: Memory, run: Run) -> list[Tool]:
    """record_decision."""

    async def record_decision(
        ctx: Context,
        decision: str,
        reason: str,
        scope: Texts = [],  # noqa: B006
        alternatives: Texts = [],  # noqa: B006
        supports: Texts = [],  # noqa: B006
        supersedes: Text = "",
    ) -> CallToolResult:
        """Remember a choice with its reason and the rejected alternatives, so that it is not reopened. supports:
        ids it rests on. Reversing a decision needs supersedes = its id and a new reason; "none": both apply."""
        call = tool_use_id(ctx)
        outcome = await run(
            lambda: decide(
                memory.gate,
                memory.caller(call),
                decision=decision,
                reason=reason,
                scope=scope,
                alternatives=alternatives,
                supports=supports,
                supersedes=supersedes,
            )
        )
        return _answer(outcome)

    return [make_tool(record_decision, title="Record decision", read_only=False)]


def plan_tools(memory: Memory, run: Run) -> list[Tool]:
    """update_plan_item."""

    async def update_plan_item(
        ctx: Context,
        item: Text = "",
        title: Text = "",
        titles: Texts = [],  # noqa: B006
        description: Text = "",
        status: Text = "",
        scope: Texts = [],  # noqa: B006
        depends_on: Texts = [],  # noqa: B006
        checks: Texts = [],  # noqa: B006
        note: Text = "",
        expected_version: Number = 0,
    ) -> CallToolResult:
        """Keep the plan (todo list): create items (item empty; title, or titles for several) or update one
        (item = "plan-3"; what is left empty stays). status: pending, in_progress, blocked, done, skipped (blocked
        and skipped need note). checks that confirm done: "path_exists:FILE", "path_changed:src/",
        "file_contains:FILE:TEXT", "commit_mentions:TEXT", "command:tests". expected_version: 0 = as last shown."""
        call = tool_use_id(ctx)

        def work() -> Outcome:
            caller = memory.caller(call)
            return plan(
                memory.gate,
                caller,
                item=item,
                title=title,
                titles=titles,
                description=description,
                status=status,
                scope=scope,
                depends_on=depends_on,
                checks=checks,
                note=note,
                expected_version=expected_version,
                started_head=head_commit(caller.tree) if status else "",
            )

        return _answer(await run(work), _plan_lines)

    return [
        make_tool(
            update_plan_item,
            title="Update plan item",
            read_only=False,
            always_loaded=True,
        )
    ]


def question_tools(memory: Memory, run: Run) -> list[Tool]:
    """add_open_question and answer_question."""

    async def add_open_question(
        ctx: Context,
        question: str,
        why: Text = "",
        scope: Texts = [],  # noqa: B006
        blocks: Text = "",
    ) -> CallToolResult:
        """Keep a question that is open: what cannot be cited yet or must be asked. blocks: a plan item."""
        call = tool_use_id(ctx)
        outcome = await run(
            lambda: ask(
                memory.gate,
                memory.caller(call),
                question=question,
                why=why,
                scope=scope,
                blocks=blocks,
            )
        )
        return _answer(outcome)

    async def answer_question(
        ctx: Context, question: str, answer: str, source: Text = ""
    ) -> CallToolResult:
        """Answer an open question; with source, the cited entry must contain the answer."""
        call = tool_use_id(ctx)
        outcome = await run(
            lambda: settle(
                memory.gate, memory.caller(call), question=question, answer=answer, source=source
            )
        )
        return _answer(outcome)

    return [
        make_tool(add_open_question, title="Add open question", read_only=False),
        make_tool(answer_question, title="Answer question", read_only=False),
    ]


def task_tools(memory: Memory, run: Run) -> list[Tool]:
    """start_task and hand_off."""

    async def start_task(
        ctx: Context,
        goal: str,
        constraints: Texts = [],  # noqa: B006
        source: Text = "",
    ) -> CallToolResult | InputRequiredResult:
        """Begin a task. source="user": goal and constraints are passages of the user's message; without a
        source they are proposed until the user confirms."""
        call = tool_use_id(ctx)

        def write() -> Outcome:
            caller = memory.caller(call)
            return begin(memory.gate, caller, goal=goal, constraints=constraints, source=source)

        if source.strip():
            return _answer(await run(write))
        outcome = await with_the_user(
            ctx, run, lambda: propose_task(memory, memory.caller(call), goal, constraints), write
        )
        return outcome if isinstance(outcome, InputRequiredResult) else _answer(outcome)

    async def hand_off(
        ctx: Context, doing: str, next: str, noticed: Text = "", task_done: Flag = False
    ) -> CallToolResult:
        """Close this window with a note for the next one: what you were doing, the next step, what you
        noticed. Call before the context ends. task_done ends the task."""
        call = tool_use_id(ctx)

        def work() -> str:
            caller = memory.caller(call)
            outcome = close_window(
                memory.gate,
                caller,
                doing=doing,
                next_step=next,
                noticed=noticed,
                task_done=task_done,
            )
            found = memory.reconcile(caller, run_commands=True).lines()
            lines = [outcome_text(outcome), *(f"FOUND {line}" for line in found)]
            return "\n".join(filter(None, [*lines, memory.summarise(caller)]))

        return success(await run(work))

    return [
        make_tool(start_task, title="Start task", read_only=False),
        make_tool(hand_off, title="Hand off", read_only=False, idempotent=False),
    ]


def fact_text(outcome: Outcome) -> str:
    """Return what record_fact says: the record, its evidence, and what it did to others."""
    lines = [outcome_text(outcome)]
    answer = _fact_answer(outcome)
    if answer.source:
        lines.append(f"source {answer.source}")
    if answer.passage:
        lines.append(f"passage {answer.passage}")
    lines.append(f"confidence {answer.confidence}")
    return "\n".join(lines)


def _fact_answer(outcome: Outcome) -> FactAnswer:
    fields = {k: v for k, v in outcome.fields.items() if k in FactAnswer.model_fields}
    if fields.get("passage"):
        fields["passage"] = quote(str(fields["passage"]))
    return FactAnswer.model_validate(
        {"action": outcome.action, "id": outcome.id, "message": outcome_text(outcome), **fields}
    )


def _answer(outcome: Outcome, text: Callable[[Outcome], str] = outcome_text) -> CallToolResult:
    message = text(outcome)
    return success(message, Answer(action=outcome.action, id=outcome.id, message=message))


def _plan_lines(outcome: Outcome) -> str:
    items = outcome.fields.get("items")
    lines = [outcome_text(outcome)]
    if isinstance(items, list):
        lines += [f"{i['id']} [{i['status']}, v{i['version']}] {quote(i['title'])}" for i in items]
    return "\n".join(lines)
