"""A newer run of the same command: what it came to replaces what an older run came to.

"2 tests fail" is over once the same command printed "19 passed". What names its run or its day
("run 7 failed", "on 2026-11-30 …") is history, and stays.
"""

import re
from typing import Final

from keepthread.stores.records import Entry, Fact
from keepthread.validators.citations import as_evidence
from keepthread.validators.outcomes import judge_outcome, states_outcome
from keepthread.validators.shell_origin import run_of
from keepthread.validators.sources import Source
from keepthread.validators.values import parse_claim
from keepthread.validators.verdict import Write
from keepthread.validators.view import View

_HISTORY: Final = re.compile(
    r"(?i)\b(?:(?:run|build|job|attempt|try|pipeline|iteration) (?:#|no\.? ?|number )?\d+"
    r"|(?:first|second|third|last|previous|earlier|\d+(?:st|nd|rd|th)) (?:run|build|attempt|try)"
    r"|\d{4}-\d\d-\d\d|yesterday|last (?:night|week|month|\w+day)|at \d{1,2}:\d\d|used to|previously"
    r"|(?:before|until|after) (?!all\b)\w+|on (?:mon|tues|wednes|thurs|fri|satur|sun)day)\b"
)


def outdated_by_run(write: Write, view: View) -> list[Fact]:
    """Current facts on what a run of the cited command came to, which a newer run of it contradicts.

    Facts of a newer run that contradicts the write itself are among them.
    """
    if write.kind != "observation" or not _is_standing_outcome(write.text):
        return []
    cited = {run_of(e): e for e in write.cited if not e.role}
    found = []
    for fact in view.facts_of_calls(write.cited):
        runs = view.entries_by_seq([c.entry for c in fact.citations]).values()
        pairs = [(cited[run_of(e)], e) for e in runs if not e.role and run_of(e) in cited]
        if len(pairs) == 1 and _is_standing_outcome(fact.text) and _differs(write, fact, *pairs[0]):
            found.append(fact)
    return found


def _is_standing_outcome(text: str) -> bool:
    return states_outcome(text) and not _HISTORY.search(text)


def _differs(write: Write, fact: Fact, new: Entry, old: Entry) -> bool:
    """Whether the newer of two runs contradicts what was said of the older."""
    if new.seq == old.seq:
        return False
    newest, claim = (new, fact.text) if new.seq > old.seq else (old, write.text)
    shown = [Source(as_evidence(newest))]
    return judge_outcome(parse_claim(claim), shown).verdict == "contradicts"
