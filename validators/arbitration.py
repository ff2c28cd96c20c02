"""Two facts of one passage that cannot both hold: which of them does the passage itself bear out?"""

import re
from collections.abc import Sequence
from typing import Final

from keepthread.stores.records import Entry, Fact
from keepthread.validators.judges.local import Statement, judge
from keepthread.validators.statements import read_statement
from keepthread.validators.verdict import Write

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_SENTENCES_MAX: Final = 40
_CLEARLY: Final = 0.3  # share of its words by which one must fit better


def share_passage(write: Write, old: Fact, before: Sequence[Entry]) -> bool:
    """Whether a write and a fact cite the same stretch of the same text, in one entry or two alike."""
    cited = {entry.seq: entry for entry in (*write.cited, *before)}
    return any(
        cited[one.entry].output == cited[two.entry].output
        and max(one.start, two.start) < min(one.stop, two.stop)
        for one in write.citations
        for two in old.citations
        if one.entry in cited and two.entry in cited
    )


def borne_out(old: str, new: str, passage: str) -> str:
    """Return which of two contradictory statements the passage says, as given; "" where unclear."""
    fits = _fit(old, passage), _fit(new, passage)
    if abs(fits[0] - fits[1]) < _CLEARLY:
        return ""
    return old if fits[0] > fits[1] else new


def _fit(text: str, passage: str) -> float:
    """Share of a statement's words in the sentence nearest to it; 0 where that says the contrary."""
    keys = read_statement(text).keys
    best, nearest = 0.0, ""
    for sentence in _SENTENCE_END.split(passage)[:_SENTENCES_MAX]:
        shared = len(keys & read_statement(sentence).keys) / max(1, len(keys))
        if shared > best:
            best, nearest = shared, sentence
    if nearest and judge(Statement(nearest), Statement(text)).label == "contradiction":
        return 0.0
    return best
