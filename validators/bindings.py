"""What belongs to what: a value to its key, a deed to its commit.

The parts of a claim may stand in different places, but a key that is given another value, or a
deed that stands at another commit, speaks against it.
"""

import re
from collections.abc import Sequence
from typing import Final

from keepthread.validators.locating import Hit
from keepthread.validators.sources import Source, find_stem
from keepthread.validators.values import Claim, Value
from keepthread.validators.vocabulary import content_words, stem, synonyms

_KEY: Final = re.compile(
    r"(\w+)[\"']?\s*(?::\s*[\w.|]{1,24}\s*=|[:=]{1,2}|=>|->|\b(?:is|to|of)\b)?\s*[\"'(\[^~<>=]*$"
)
_CREATED: Final = re.compile(r"(?i)\b(?:was|were|been|is now|now) (?:\w+ly )?(?:created|written)\b")
_CREATES: Final = re.compile(r"(?i)creat|\bwr(?:ite|ote|itten)|new file|\bmkdir|\btouch\b|>|\binit")
_JOINED: Final = re.compile(
    r"(?i)[,;/&]|\b(?:and|or|both|next to|beside|alongside|with|than|while|but|from|to)\b"
)
_CELLS: Final = re.compile(r"\S(?:\t|\s{2,}|\s*\|\s*)\S|^\s*\d+ \S+$")
_GUTTER: Final = re.compile(r"\s*\d+(?:\t|\u2192)")
_TOKEN: Final = re.compile(r"[a-z0-9][\w.]*\w|\d")
_COMMIT: Final = re.compile(r"(?m)^[*|\\/ ]*(?:commit )?[0-9a-f]{7,40}\b")


def is_assigned(claim: Claim, value: Value, source: Source, hit: Hit) -> bool:
    """Whether a short value stands right behind one of the claim's words: ``aspect=1``."""
    if hit.in_args or value.kind not in ("number", "code", "version"):
        return False
    key = _KEY.search(source.text[max(0, hit.start - 48) : hit.start])
    if not key:
        return False
    stems = {stem(word) for word in content_words(key.group(1))}
    return bool(stems) and any(stems & synonyms(word) for word in claim.words)


def created_elsewhere(claim: Claim, sources: Sequence[Source]) -> str:
    """Why "X was created" is not said by calls that only ran, read or edited X, or ""."""
    if not _CREATED.search(claim.text) or not any(v.kind == "path" for v in claim.values):
        return ""
    for source in sources:
        asked = [source.evidence.tool, *source.arg_values.values()]
        if any(_CREATES.search(text) for text in asked if len(text) < 40):
            return ""
        if _CREATES.search(source.runs) or _CREATES.search(source.text[:200]):
            return ""
    return "the cited call did not create it"


def commit_agrees(claim: Claim, sources: Sequence[Source], hits: Sequence[Hit]) -> bool:
    """Whether the entry of a commit id speaks of the claim's words, not another commit's."""
    ids = [v for v in claim.values if v.kind == "hash" and not v.negated]
    words = [w for w in claim.words if w not in ("commit", "hash", "sha")]
    if len(ids) != 1 or not words:
        return True
    best = here = 0.0
    for hit in hits:
        source = sources[hit.source]
        if hit.in_args or not ids[0].text[:7].lower() == source.low[hit.start : hit.start + 7]:
            continue
        following = _COMMIT.search(source.low, hit.stop)
        stop = following.start() if following else len(source.low)
        here = max(here, sum(_stands(source, w, hit.start, stop) for w in words))
        best = max(best, sum(_stands(source, w, 0, -1) for w in words))
    return here >= 0.5 * best


def _stands(source: Source, word: str, start: int, stop: int) -> bool:
    return any(find_stem(source.low, source.text, w, start, stop) >= 0 for w in synonyms(word))
