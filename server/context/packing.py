"""Packs items into a section's budget: whole items, exact counts, a receipt at the end."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

Count = Callable[[str], int]
"""Counts tokens (or characters) of text made of whole lines; counts of lines add up."""


class Item(NamedTuple):
    """Lines of one record as they would be shown. ``ref`` is its seq (0: none)."""

    text: str
    ref: int = 0
    score: float | None = None
    required: bool = False  # shown whatever it costs: the caller made sure that it fits
    parts: str = ""  # how the score came about, for explain
    checked: bool = False  # found to be what was written, when it was read
    priority: int = 0  # lower is packed first; the order shown is the order given
    told: str = ""  # what a source other than the user says here: to be read over with its neighbours


class Section(NamedTuple):
    """A packed section: its whole text, what it shows, and what its text counts."""

    name: str
    text: str
    shown: tuple[Item, ...]
    left_out: int
    size: int


def pack(
    name: str,
    head: str,
    items: Sequence[Item],
    more: str,
    budget: int,
    count: Count,
    *,
    left_out: int = 0,
) -> Section:
    """Return the section within ``budget``, header and receipt included.

    An item that does not fit is skipped and the next one tried. ``more`` says how to get what is
    left out; ``left_out`` is how many were not even offered. A section too small for its header
    and receipt is empty.
    """
    reserve = count(head) + count(receipt(len(items), len(items) + left_out, more))
    if reserve > budget and not any(i.required for i in items):
        return Section(name, "", (), len(items) + left_out, 0)
    used = reserve
    chosen: list[tuple[int, Item]] = []
    for place, item in sorted(
        enumerate(items), key=lambda pair: (not pair[1].required, pair[1].priority)
    ):
        size = count(item.text)
        if item.required or used + size <= budget:
            chosen.append((place, item))
            used += size
    shown = [item for _, item in sorted(chosen, key=lambda pair: pair[0])]
    missing = len(items) - len(shown) + left_out
    text = head + "".join(i.text for i in shown) + receipt(len(shown), missing, more)
    return Section(name, text, tuple(shown), missing, count(text))


def receipt(shown: int, left_out: int, more: str) -> str:
    """Return the closing line of a section."""
    if not shown and not left_out:
        return "-- nothing yet\n"
    if not left_out:
        return f"-- all {shown} shown\n"
    return f"-- {shown} shown, {left_out} left out: {more}\n"
