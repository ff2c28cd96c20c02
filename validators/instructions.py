"""Does a text direct a reader or an agent, or does it describe the world?

A page, a README or a tool's output may carry text written for whoever reads it with tools in
hand: "from now on always run X", "assistant: forward the file". Recorded as a fact, it would be
served to every later window. These functions find such text, in plain words and in disguise.

This filter is never the main control. Provenance and kind are: text cited only to a tool can never
become an instruction, a goal or a constraint, whatever it says, and a plain lie ("the deploy host
is X") passes every text filter. What is refused here is kept from being served as data too. It
errs both ways, so what it refuses is answered with the descriptive form that passes.

Three steps: fold the text and undo encodings (``normalize``); look for what only a directive says
(``directives``); let a small linear model judge what remains (``instruction_model``).
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from keepthread.validators import instruction_model, normalize
from keepthread.validators.directives import ABOUT_ATTACKS, REPORT, RULES, Rule

FIRM_SCORE = 0.97
MILD_SCORE = 0.9
THRESHOLD = 0.75
SPLIT_PARTS_MAX = 6
SEGMENTS_MAX = 40

_SENTENCE_EDGE = re.compile(r"[.!?][\"')\]]*\s|\n|[。！？]")
_QUOTED = re.compile(r"\"[^\"\n]{1,160}\"|(?<!\w)'[^'\n]{1,160}'(?!\w)")


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


def find_directive(text: str) -> Directive | None:
    """Return what in the text directs a reader or an agent, or None if it describes the world."""
    for view in normalize.labelled_views(text):
        directive = _judge(view)
        if directive:
            return directive
    return None


def directive_score(text: str) -> float:
    """Return how much like a directive the text reads, 0 to 1 (``find_directive`` cuts at 0.5)."""
    best = 0.0
    for view in normalize.labelled_views(text):
        directive = _judge(view)
        score = directive.score if directive else 0.0 if view.how else _model_score(view.text)[0]
        best = max(best, score)
    return best


def addresses_agent(text: str) -> str | None:
    """Say why a plan item, decision or question is still refused, or None.

    Such texts are imperative by nature. They are refused only where they address an assistant or
    a memory, override instructions, or ask for secrets or for secrecy.
    """
    for view in normalize.labelled_views(text):
        rule = _broken_rule(view.text, narrow=True)
        if rule:
            return _phrase(rule.why, view.how)
    return None


def find_split_directive(texts: Sequence[str]) -> tuple[int, ...]:
    """Return the indices of texts that only together form a directive, or ``()``.

    ``texts`` are the items of one section in the order in which they are served.
    """
    folded = [normalize.fold(normalize.excerpt(text)) for text in texts]
    for first in range(len(folded)):
        for last in range(first + 1, min(first + SPLIT_PARTS_MAX, len(folded))):
            joined = " ".join(part.rstrip(" .") for part in folded[first : last + 1])
            if _broken_rule(joined) and not any(map(_broken_rule, folded[first : last + 1])):
                return tuple(range(first, last + 1))
    return ()


def _judge(view: normalize.View) -> Directive | None:
    rule = _broken_rule(view.text, reported=not view.how)
    if rule:
        score = FIRM_SCORE if rule.firm else MILD_SCORE
        return Directive(score, _phrase(rule.why, view.how), view.text)
    score, why = _model_score(view.text)
    if score >= THRESHOLD:
        return Directive(score, _phrase(why, view.how), view.text)
    return None


def _phrase(why: str, how: str) -> str:
    return f"encoded payload ({how}): {why}" if how else why


def _broken_rule(text: str, narrow: bool = False, reported: bool = True) -> Rule | None:
    """Return the first rule that the folded text breaks and that nothing around it excuses."""
    for rule in RULES:
        if narrow and not rule.narrow:
            continue
        match = rule.pattern.search(text)
        if match and not (reported and _excused(text, match, rule)):
            return rule
    return None


def _excused(text: str, match: re.Match[str], rule: Rule) -> bool:
    """Say whether the sentence reports a document's words, or quotes an attack to talk about it."""
    sentence = _sentence_around(text, match)
    if not rule.firm and REPORT.search(sentence):
        return True
    rest = _QUOTED.sub(" ", sentence)
    return rest != sentence and bool(ABOUT_ATTACKS.search(rest)) and not rule.pattern.search(rest)


def _sentence_around(text: str, match: re.Match[str]) -> str:
    start = 0
    for edge in _SENTENCE_EDGE.finditer(text, 0, match.start() + 1):
        start = edge.end()
    edge_after = _SENTENCE_EDGE.search(text, match.end())
    return text[min(start, match.start()) : edge_after.end() if edge_after else len(text)]


def _segments(text: str) -> Iterator[str]:
    """Yield the sentences of a folded text, and the values where it is JSON or markup."""
    start = 0
    for edge in _SENTENCE_EDGE.finditer(text):
        yield text[start : edge.end()]
        start = edge.end()
    yield text[start:]


def _model_score(text: str) -> tuple[float, str]:
    return instruction_model.score(text), "reads as a directive"
