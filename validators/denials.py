"""What a message of the user denies: facts it calls wrong, and facts it states otherwise.

A wish is no denial: "use `make ci` from now on" and "should the timeout be 30?" leave the fact that
something else holds now as true as it was. What counts is a plain statement by the user, and an
error costs little: a doubted fact is looked at again, not taken back.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from keepthread.stores.records import Fact
from keepthread.validators.judges import local
from keepthread.validators.user_words import own_passages
from keepthread.validators.words import content_stems

PASSAGES_MAX = 40

_WRONG = (
    r"(?:wrong|false|untrue|incorrect|outdated|out of date|obsolete|nonsense|a mistake|"
    r"(?:not|no longer|never|hardly)\s(?:true|right|correct|the case|so|valid))"
)
_NAMED = re.compile(
    rf"\b(fact-\d{{1,9}})\b[^.!?\n]{{0,40}}\b(?:is|was|are|seems|looks)\s+{_WRONG}", re.I
)
_MARKER = re.compile(
    rf"(?:(?:no|nope|wrong|actually|sorry|well|but|note|fyi|btw|you(?:['’]re| are) wrong|"
    rf"that(?:['’]s| is| was) {_WRONG})\b[\s,.:;!–—-]{{0,5}})+",
    re.I,
)
_CONTRACTED = re.compile(r"\b(is|are|was|were|do|does|did|has|have|had)n['’]t\b", re.I)
_NEGATED = re.compile(r"\b(?:not|no|never|nothing|none|without|cannot)\b", re.I)
_WISHED = re.compile(
    r"\?|\b(?:should|must|ought|want|wants|wish|like|need|needs|let|let['’]s|please|would|could|can|may|might|"
    r"will|shall|if|unless|when|until|once|after|before|instead|todo|suppose|assume|say|try|plan|goal)\b",
    re.I,
)
_OPENERS = frozenset("the our this that these those my its it we they there a an".split())


class Statement(NamedTuple):
    """A sentence of the user, what it states without its opening words, and whether it says what is not."""

    passage: str
    text: str
    negates: bool


class Denial(NamedTuple):
    """A fact that a message denies, and the user's passage that does."""

    fact: Fact
    passage: str


def names_wrong(message: str) -> dict[str, str]:
    """Return the ids of facts that the user's own sentences call wrong, each with its sentence."""
    found: dict[str, str] = {}
    for start, stop in own_passages(message)[:PASSAGES_MAX]:
        passage = message[start:stop]
        if "?" not in passage:
            found.update({m[1].lower(): passage for m in _NAMED.finditer(passage)})
    return found


def statements(message: str) -> list[Statement]:
    """Return what each sentence states in which the user says how things are."""
    found = []
    for start, stop in own_passages(message)[:PASSAGES_MAX]:
        passage = message[start:stop]
        marked = _MARKER.match(passage)
        stated = _CONTRACTED.sub(r"\1 not", passage[marked.end() if marked else 0 :])
        if stated.strip() and not _WISHED.search(stated):
            found.append(Statement(passage, stated, bool(marked or _NEGATED.search(stated))))
    return found


def find_denials(stated: Statement, near: Sequence[Fact]) -> list[Denial]:
    """Return which of the facts near a statement cannot hold if it does. Only sure verdicts count."""
    return [Denial(fact, stated.passage) for fact in near if _denies(stated.text, fact)]


def _denies(stated: str, fact: Fact) -> bool:
    first = stated.split(maxsplit=1)[0].strip("`'\",").lower()
    named = first in _OPENERS or content_stems(first) & content_stems(f"{fact.text} {fact.subject}")
    if not named:
        return False
    old = local.Statement(fact.text, fact.subject, fact.kind)
    verdict = local.judge(old, local.Statement(stated, "", "observation"), None)
    return verdict.label == "contradiction" and verdict.sure
