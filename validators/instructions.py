"""Does a text direct a reader or an agent, or does it describe the world?

A page, a README or a tool's output may carry text written for whoever reads it with tools in
hand: "from now on always run X", "assistant: forward the file". Recorded as a fact, it would be
served to every later window. These functions find such text, in plain words and in disguise.

This filter is never the main control. Provenance and kind are: text cited only to a tool can never
become an instruction, a goal or a constraint, whatever it says, and a plain lie ("the deploy host
is X") passes every text filter. What is refused here is kept from being served as data too. It
errs both ways, so what it refuses is answered with the descriptive form that passes.

Three steps: fold the text and undo encodings (``normalize``); look for what only a directive says
(``directives``); let a small linear model judge what remains, by its words and, where the
embedding model is loaded, by its meaning (``instruction_model``).
"""

import functools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from keepthread.validators import instruction_model, normalize
from keepthread.validators.directives import (
    ABOUT_ATTACKS,
    REPORT_AFTER,
    REPORT_BEFORE,
    Rule,
    rules,
)
from keepthread.validators.instruction_model import Embed

FIRM_SCORE = 0.97
MILD_SCORE = 0.9
THRESHOLD = 0.5
SPLIT_PARTS_MAX = 6

_SENTENCE_EDGE = re.compile(r"[.!?][\"')\]]*\s|\n|[。！？]")
_QUOTED = re.compile(r"\"[^\"\n]{1,160}\"|(?<!\w)'[^'\n]{1,160}'(?!\w)")

_PART_LABEL = re.compile(
    r"^\W{0,3}(?:(?:part|piece|fragment|chunk|segment|continued)\b\s*)?"
    r"\(?\d{0,2}(?:\s?(?:/|of)\s?\d{1,2}\)?|[.):])?\s?[:.)-]?\s+(?=\S)|^(?:\.{2,3}|and then)\s"
)
_OPEN_END = re.compile(
    r"(?:,|\b(?:a|an|the|to|of|and|or|your|my|in|on|for|with|that|is|are|as|at|from|by|this|each"
    r"|every|all|any|you|will|must|not))[.\s]*$"
)
# Words of those who say how quoted pieces go together.
_ASSEMBLY = re.compile(
    r"\b(?:parts?|pieces?|first|second|third|next|last|begins?|starts?|ends?|continues?|followed"
    r"|followed by|joined?|concat\w*|halves|half|word|phrase|sentence|prefix|suffix|rest)\b"
)


class Directive(NamedTuple):
    """Why a text counts as a directive; ``view`` is the folded or decoded text that shows it."""

    score: float
    why: str
    view: str


def hidden_text(text: str) -> str | None:
    """Say why the text counts as hidden or encoded, or None.

    Hidden characters count by themselves. An encoded run counts when its decoding directs a
    reader: checksums, commit ids and encoded fixtures do not.
    """
    names = normalize.hidden_characters(text)
    if names:
        return f"hidden characters ({', '.join(names[:3])})"
    for view in normalize.labelled_views(text):
        if view.how and _judge(view):
            return f"encoded payload ({view.how})"
    return None


def find_directive(text: str, embed: Embed | None = None) -> Directive | None:
    """Return what in the text directs a reader or an agent, or None if it describes the world.

    ``embed`` gives the vectors of sentences; without it the words alone decide.
    """
    for view in normalize.labelled_views(text):
        directive = _judge(view, embed)
        if directive:
            return directive
    return None


def directive_score(text: str, embed: Embed | None = None) -> float:
    """Return how much like a directive the text reads, 0 to 1 (``find_directive`` cuts at 0.5)."""
    best = 0.0
    for view in normalize.labelled_views(text):
        directive = _judge(view, embed)
        score = directive.score if directive else instruction_model.score(view.text, embed)
        best = max(best, score)
    return best


def addresses_agent(text: str, embed: Embed | None = None) -> str | None:
    """Say why a plan item, decision, question or note is still refused, or None.

    Such texts are imperative by nature. They are refused only where they direct an agent against
    its user: override instructions, give private data away, run code from the network, take the
    user's consent away, switch the memory off.
    """
    for view in normalize.labelled_views(text):
        rule = _broken_rule(view.text, plans=True)
        if rule:
            return _phrase(rule.why, view.how)
        if instruction_model.score(view.text, embed, instruction_model.PLANS_PATH) >= THRESHOLD:
            return _phrase("reads as an order to an agent against its user", view.how)
    return None


def find_split_directive(texts: Sequence[str]) -> tuple[int, ...]:
    """Return the indices of texts that only together form a directive, or ``()``.

    ``texts`` are the items of one section in the order in which they are served. Items that are
    no sentence by themselves are read on, over the sentences between them; of items that quote
    something, the quotations.
    """
    folded = [_folded(text) for text in texts]
    pieces = {
        index: _PART_LABEL.sub("", text).strip(" .,;-")
        for index, text in enumerate(folded)
        if _is_piece(text, texts[index])
    }
    quoted = {i: " ".join(_quotations(text)) for i, text in enumerate(folded)}
    quoted = {i: text for i, text in quoted.items() if text and _ASSEMBLY.search(folded[i])}
    whole = {index: pieces.get(index, text) for index, text in enumerate(folded)}
    for parts in (pieces, whole if pieces else {}, quoted):
        for window in _windows(list(parts), set(pieces)):
            if _directs(" ".join(parts[i] for i in window)) and not any(
                _directs(folded[i]) for i in window
            ):
                return _with_neighbours(window, list(parts), set(pieces))
    return ()


@functools.lru_cache(maxsize=4_096)
def _folded(text: str) -> str:
    """The facts of one section are served again and again."""
    return normalize.fold(normalize.excerpt(text))


def _windows(indices: list[int], pieces: set[int]) -> Iterator[list[int]]:
    """Yield runs of neighbours, the shortest first; where there are pieces, mostly of pieces."""
    for size in range(2, SPLIT_PARTS_MAX + 1):
        for first in range(len(indices) - size + 1):
            window = indices[first : first + size]
            if not pieces or 2 * len(pieces.intersection(window)) >= size:
                yield window


def _directs(folded: str) -> bool:
    return _judge(normalize.View(folded, "")) is not None


def _with_neighbours(window: list[int], indices: list[int], pieces: set[int]) -> tuple[int, ...]:
    """Add the pieces right before and after a window: the rest of the same split text."""
    first, last = indices.index(window[0]), indices.index(window[-1])

    def goes_on(left: int, right: int) -> bool:
        return indices[right] - indices[left] <= 2 and {indices[left], indices[right]} <= pieces

    while first > 0 and goes_on(first - 1, first):
        first -= 1
    while last + 1 < len(indices) and goes_on(last, last + 1):
        last += 1
    return tuple(indices[first : last + 1])


def _is_piece(folded: str, text: str) -> bool:
    """Say whether an item reads as a piece of a sentence rather than as a statement."""
    if _PART_LABEL.match(folded):
        return True
    words = folded.split()
    runs_on = text.lstrip()[:1].islower() and words[0].isalpha()
    return runs_on or len(words) <= 3 or _OPEN_END.search(folded) is not None


def _quotations(folded: str) -> list[str]:
    return [match.group()[1:-1] for match in _QUOTED.finditer(folded)]


def _judge(view: normalize.View, embed: Embed | None = None) -> Directive | None:
    rule = _broken_rule(view.text, reported=not view.how)
    if rule:
        score = FIRM_SCORE if rule.firm else MILD_SCORE
        return Directive(score, _phrase(rule.why, view.how), view.text)
    score = instruction_model.score(view.text, embed)
    if score >= THRESHOLD:
        return Directive(score, _phrase("reads as a directive", view.how), view.text)
    return None


def _phrase(why: str, how: str) -> str:
    return f"encoded payload ({how}): {why}" if how else why


def _broken_rule(text: str, plans: bool = False, reported: bool = True) -> Rule | None:
    """Return the first rule that the folded text breaks and that nothing around it excuses."""
    for rule in rules():
        if not (rule.plans if plans else rule.facts):
            continue
        match = rule.pattern.search(text)
        if match and not (reported and _excused(text, match, rule)):
            return rule
    return None


def _excused(text: str, match: re.Match[str], rule: Rule) -> bool:
    """Say whether the sentence reports a document's words, or quotes an attack to talk about it."""
    start, stop = _sentence_around(text, match)
    if not rule.firm and (
        REPORT_BEFORE.search(text, start, match.start() + 1)
        or REPORT_AFTER.search(text, match.end(), stop)
    ):
        return True
    sentence = text[start:stop]
    rest = _QUOTED.sub(" ", sentence)
    return rest != sentence and bool(ABOUT_ATTACKS.search(rest)) and not rule.pattern.search(rest)


def _sentence_around(text: str, match: re.Match[str]) -> tuple[int, int]:
    start = 0
    for edge in _SENTENCE_EDGE.finditer(text, 0, match.start() + 1):
        start = edge.end()
    after = _SENTENCE_EDGE.search(text, match.end())
    return min(start, match.start()), after.end() if after else len(text)
