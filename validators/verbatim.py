"""Whole sentences that the user said, taken over word for word."""

import re
from collections.abc import Iterable

from keepthread.validators.evidence import Evidence, Passage

_SPACE = re.compile(r"\s{1,9}")
_ENDS = ".!;:"


def said_by_user(claim: str, evidence: Iterable[Evidence]) -> Passage | None:
    """Return where a message of the user holds ``claim`` as whole sentences; None when none does.

    Part of a sentence is not enough: "deploy on Fridays" is not what "We never deploy on Fridays"
    says. Case and white space are folded.
    """
    words = _SPACE.sub(" ", claim.strip().rstrip(_ENDS))
    if not words:
        return None
    pattern = re.compile(
        r"(?:\A|[.!?:;]\s|\n)[\s>*-]{0,8}("
        + re.escape(words).replace(r"\ ", r"\s{1,9}")
        + r")(?=[.!;]|\s{0,9}(?:\n|\Z))",
        re.IGNORECASE,
    )
    for entry in evidence:
        if entry.kind == "message" and entry.role == "user":
            found = pattern.search(entry.output)
            if found is not None:
                return Passage(entry.entry, *found.span(1))
    return None
