"""Which rules hold for which kind of write, in their order: the whole admission policy in one table.

A rule is ``(write, view) -> Refusal | Write | None``: a refusal ends it, a Write is the same write
with more of it resolved, None lets it pass. Plans, decisions, questions and notes are imperative
by nature: for them the instruction check refuses only text that directs an agent against its user
or repeats orders from tool output.
"""

from collections.abc import Callable, Mapping

from keepthread.validators.budget import origin_budget, write_budget
from keepthread.validators.citations import resolve_source
from keepthread.validators.contradictions import Judge, resolve_contradiction
from keepthread.validators.limits import check_empty, check_length, check_times, parse_scope
from keepthread.validators.own_words import mark_own_words
from keepthread.validators.plan_rules import check_dropped, check_progress, check_version
from keepthread.validators.relitigation import check_reason, resolve_settled
from keepthread.validators.supports import check_circular, resolve_inference, resolve_supports
from keepthread.validators.transience import check_transient
from keepthread.validators.user_words import resolve_instruction
from keepthread.validators.verdict import Refusal, Write
from keepthread.validators.view import View
from keepthread.validators.wording import (
    check_addressing,
    check_hidden_text,
    check_instruction,
    check_secrets,
    check_split,
)

Rule = Callable[[Write, View], Refusal | Write | None]


def rules_table(
    judge: Judge, per_window: int, between_calls: int
) -> Mapping[str, tuple[Rule, ...]]:
    """Return the rules by kind of write, for a judge and the write budgets."""
    shape: tuple[Rule, ...] = (check_empty, check_length, parse_scope, check_times)
    budget = write_budget(per_window, between_calls)
    contradiction = resolve_contradiction(judge)
    words: tuple[Rule, ...] = (check_secrets, check_hidden_text)
    return {
        "observation": (
            *shape, budget, *words, check_instruction, resolve_source, check_split, mark_own_words,
            origin_budget(per_window), check_transient, contradiction,
        ),
        "inference": (
            *shape, budget, *words, check_instruction, resolve_inference, check_transient, contradiction,
            check_circular,
        ),
        "instruction": (*shape, *words, resolve_instruction, contradiction),
        "decision": (
            *shape, budget, check_reason, *words, check_addressing, resolve_supports, resolve_settled(judge),
        ),
        "plan": (*shape, *words, check_addressing, check_dropped, check_version, check_progress),
        "question": (*shape, *words, check_addressing),
        "answer": (*shape, *words, check_addressing),
        "retraction": (*shape, *words, check_addressing),
        "task": (*shape, *words, check_addressing),
        "handoff": (*shape, *words, check_addressing),
    }  # fmt: skip


def apply_rules(rules: tuple[Rule, ...], write: Write, view: View) -> Write | Refusal:
    """Run rules in order; return the resolved write or the first refusal."""
    for rule in rules:
        result = rule(write, view)
        if isinstance(result, Refusal):
            return result
        if result is not None:
            write = result
    return write
