"""The write budget: memory is for conclusions, not for a running commentary."""

from collections import Counter
from collections.abc import Callable

from keepthread.validators.confidence import origin_of
from keepthread.validators.verdict import Refusal, Write
from keepthread.validators.view import View


def write_budget(per_window: int, between_calls: int) -> Callable[[Write, View], Refusal | None]:
    """Return the rule ``write_budget_spent`` for these limits (0 = no limit)."""

    def check_budget(write: Write, view: View) -> Refusal | None:
        if per_window and view.writes_in_window() >= per_window:
            return Refusal(
                "write_budget_spent",
                f"this window already recorded {per_window} facts and decisions.",
                "Act on the plan; hand_off when the window is done. Corrections go on in the next window.",
            )
        since = view.writes_since_call()
        if between_calls and since is not None and since >= between_calls:
            return Refusal(
                "write_budget_spent",
                f"{since} facts and decisions were recorded since the last tool call.",
                "Act on the plan first: facts come from what happens, and the next captured call frees the budget.",
            )
        return None

    return check_budget


def origin_budget(per_window: int) -> Callable[[Write, View], Refusal | None]:
    """Return the rule ``write_budget_spent`` for one origin: two thirds of what a window may hold.

    One talkative tool or page is not to fill a window's memory. The user may.
    """
    per_origin = -(-per_window * 2 // 3)  # rounded up

    def check_origin(write: Write, view: View) -> Refusal | None:
        if not per_origin or not write.cited or view.writes_in_window() < per_origin:
            return None
        origins = {origin_of(entry) for entry in write.cited}
        spent = Counter(origin_of(entry) for entry in view.cited_in_window())
        if "user" in origins or any(spent[origin] < per_origin for origin in origins):
            return None
        return Refusal(
            "write_budget_spent",
            f"{per_origin} facts of this window already rest on what {write.cited[0].id} shows.",
            "Record what other evidence says. The rest stays in the archive, where search_archive finds it.",
        )

    return check_origin
