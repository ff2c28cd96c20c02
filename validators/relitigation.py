"""Relitigation: what was settled is settled, until a new reason says which decision it replaces."""

import re
from collections.abc import Callable

from keepthread.stores.records import Decision, scope_agrees
from keepthread.validators.contradictions import Judge
from keepthread.validators.duplicates import is_duplicate
from keepthread.validators.judges import lexicon
from keepthread.validators.judges.local import Statement
from keepthread.validators.values import NUMBER_WORDS
from keepthread.validators.verdict import Refusal, Write
from keepthread.validators.view import View
from keepthread.validators.vocabulary import stem
from keepthread.validators.words import content_stems

_UNDO = re.compile(
    r"\b(?:revert\w*|undo|undid|remov\w+|drop\w*|delet\w+|disabl\w+|stop\w*|abandon\w*|avoid\w*|reject\w*|"
    r"roll(?:ed)? back|get rid of|no longer|do not|don't|not|never|without|against|instead of|turn(?:ed)? off|"
    r"keep out)\b",
    re.I,
)
_MEASURED = re.compile(
    rf"(?i)\b(\d[\d.,]*|{'|'.join(NUMBER_WORDS)})[ -]?"
    r"(times|attempts?|retries|seconds?|minutes?|hours?|days?|weeks?|months?|years?|percent|%|[kmg]b)(?!\w)"
)
_TURN = re.compile(
    r"\b(?:split|break|turn|convert|port|rewrite|move|migrate|switch|change|replace)\w*\b.{1,80}?\s"
    r"(into|to|with|by|in|as)\s",
    re.I,
)
_SAME_MATTER_MIN = 0.6
_NEAR_IN_MEANING_MIN = 0.65
_SENTENCE_WORDS_MIN = 4  # "black does not like them" has one word that tells, "better" is no reason


def check_reason(write: Write, view: View) -> Refusal | None:
    """``missing_reason``: a decision without its reason will be relitigated."""
    reason = write.others.get("reason", "").strip()
    telling = len(content_stems(reason))
    if telling >= 2 or (telling and len(reason.split()) >= _SENTENCE_WORDS_MIN):
        return None
    return Refusal(
        "missing_reason",
        "a decision needs the reason that settles it."
        if not reason
        else f"{reason[:60]!r} is no reason.",
        "Say in `reason` why this and not the alternatives; the next window will read it.",
    )


def resolve_settled(judge: Judge) -> Callable[[Write, View], Refusal | Write | None]:
    """Return the rule ``settled_decision`` for one judge. Fills in ``supersedes`` or ``duplicate_of``."""

    def check_settled(write: Write, view: View) -> Refusal | Write | None:
        given = write.supersedes_given.strip()
        if given and given.lower() != "none":
            old = view.decision(given)
            if old is None or not old.active:
                return Refusal(
                    "unknown_record",
                    f"supersedes names {given[:40]!r}, which is no active decision here.",
                    "Name the active decision that this one replaces (memory://decisions lists them).",
                )
            write = write._replace(supersedes=(old.seq,))
        for fact, cosine in view.similar_facts(write.text, "", write.vector):
            standing = fact.kind == "instruction-from-user" and not fact.reported
            if not standing or given.lower() == "none" or not scope_agrees(write.scope, fact.scope):
                continue
            if view.is_weakened(fact):  # nobody knows that the user said it
                continue
            verdict = judge(Statement(fact.text), Statement(write.text), cosine)
            if verdict.label == "contradiction" or _undoes(fact.text, write.text, cosine):
                return Refusal(
                    "settled_decision",
                    f"the user's instruction {fact.id} says otherwise.",
                    'Keep to it, or ask the user. supersedes="none" states that both apply.',
                    ((fact.id, fact.text),),
                )
        for old, cosine in view.similar_decisions(write.text, write.vector):
            if old.seq in write.supersedes or not scope_agrees(write.scope, old.scope):
                continue
            if is_duplicate(old.decision, write.text, cosine):
                write = write._replace(duplicate_of=old.seq)
                continue
            if given.lower() != "none" and otherwise(old, write.text, cosine, judge):
                return Refusal(
                    "settled_decision",
                    f"{old.id} settles this otherwise.",
                    f'Keep to it. If its reason no longer holds, call again with supersedes="{old.id}" and '
                    "the new reason; "
                    'supersedes="none" states that both apply.',
                    ((old.id, old.decision), ("its reason", old.reason)),
                )
        return write

    return check_settled


def otherwise(old: Decision, text: str, cosine: float | None, judge: Judge) -> bool:
    """True when ``text`` decides otherwise than ``old``: a contradiction, its reversal, or what it rejected."""
    if judge(Statement(old.decision), Statement(text), cosine).label == "contradiction":
        return True
    if _undoes(old.decision, text, cosine) or _other_number(old.decision, text):
        return True
    return any(
        _turns_into(old.decision, a, text)
        or ((is_duplicate(a, text, None) or _covers(a, text)) and not _covers(old.decision, text))
        for a in old.alternatives
    )


def _other_number(a: str, b: str) -> bool:
    """True when two texts of at least two content words differ in one quantity only ("three times", "5 times")."""
    told = [(_MEASURED.sub(" ", text), _MEASURED.findall(text.lower())) for text in (a, b)]
    (rest, given), (other_rest, other) = told
    words = content_stems(rest)
    if len(words) < 2 or words != content_stems(other_rest) or len(given) != 1 or len(other) != 1:
        return False
    ((count, unit),), ((other_count, other_unit),) = given, other
    values = [NUMBER_WORDS.get(c, c) for c in (count, other_count)]
    return (str(values[0]), stem(unit)) != (str(values[1]), stem(other_unit))


def _undoes(a: str, b: str, cosine: float | None) -> bool:
    """True when one text does what the other undoes, on the same matter."""
    return bool(_UNDO.search(a)) != bool(_UNDO.search(b)) and _same_matter(a, b, cosine)


def _same_matter(a: str, b: str, cosine: float | None) -> bool:
    """True when the shorter text's content words, verbs of doing and undoing aside, are in the longer.

    Where each text has words of its own, it may be about another thing of the kind ("vendor the
    protobuf files", "vendor the licence files"): then they must be near in meaning too.
    """
    x, y = (content_stems(_UNDO.sub(" ", t)) - _DOING for t in (a, b))
    if not x or not y or len(x & y) / min(len(x), len(y)) < _SAME_MATTER_MIN:
        return False
    own = x - y, y - x
    if not all(own):
        return True
    numbered = all(any(c.isdigit() for word in words for c in word) for words in own)
    return not (numbered or _contrast(a, b)) and (cosine or 0.0) >= _NEAR_IN_MEANING_MIN


def _contrast(a: str, b: str) -> bool:
    """True when the texts name two things of one kind ("old", "new"; "staging", "production")."""
    x, y = ({lexicon.key(word.lower()) for word in t.split()} for t in (a, b))
    return any(lexicon.CONTRASTS.get(word, frozenset()) & (y - x) for word in x - y)


def _turns_into(settled: str, alternative: str, text: str) -> bool:
    """True when ``text`` turns what was settled into what was rejected ("split A into B")."""
    turn = _TURN.search(text)
    if turn is None:
        return False
    before, after = text[: turn.start(1)], text[turn.end(1) :]
    return bool((content_stems(settled) - _DOING) & content_stems(before)) and _covers(
        alternative, after
    )


def _covers(alternative: str, text: str) -> bool:
    """True when every content word of a rejected alternative is in ``text``, without undoing it."""
    words = content_stems(alternative) - _DOING
    return bool(words) and words <= content_stems(text) and not _UNDO.search(text)


_DOING = content_stems(
    "add use using adopt introduce introduced enable keep apply make switch move migrate change replace set put "
    "implement go back again to change commit per each every own now until"
)
