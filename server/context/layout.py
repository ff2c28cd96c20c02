"""The window's layout as data: which sections, in which order, with which budgets."""

from typing import NamedTuple

SECTIONS = ("pinned", "plan", "decisions", "facts", "tail")

STAGES = {
    "plan": {"pinned": 1_500, "plan": 3_000, "decisions": 3_000, "facts": 2_500, "tail": 2_000},
    "execute": {"pinned": 1_500, "plan": 2_000, "decisions": 1_500, "facts": 3_000, "tail": 4_000},
    "review": {"pinned": 1_500, "plan": 2_000, "decisions": 1_000, "facts": 1_500, "tail": 6_000},
}
"""Tokens by section. plan: goals and decisions; execute: facts and recent failures; review: tail."""

WINDOW_TOKENS = sum(STAGES["execute"].values())
REST_TOKENS_MIN = 600
"""What must be left for the other sections once pinned is shown whole."""

WINDOW_TOKENS_MAX = 200_000


class Budgets(NamedTuple):
    """Tokens by section, in the window's order."""

    pinned: int
    plan: int
    decisions: int
    facts: int
    tail: int


def budgets(stage: str, max_tokens: int, frame_tokens: int, pinned_tokens: int) -> Budgets:
    """Scale a stage's budgets to ``max_tokens`` (0: the default) less the frame around the sections.

    ``pinned_tokens`` is what goal and constraints need: pinned never gets less. The rest is
    shared in the stage's proportion. The caller made sure that ``max_tokens`` is enough.
    """
    shares = STAGES[stage]
    total = (max_tokens or WINDOW_TOKENS + frame_tokens) - frame_tokens
    pinned = max(pinned_tokens, total * shares["pinned"] // sum(shares.values()))
    if max_tokens == 0:
        pinned = max(pinned_tokens, shares["pinned"])
    left = total - pinned
    weight = sum(v for k, v in shares.items() if k != "pinned")
    others = [left * shares[k] // weight for k in SECTIONS[1:]]
    return Budgets(pinned, *others)
