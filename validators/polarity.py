"""Contraries that can be decided on one passage: negation, opposites, comparison, order."""

import itertools
import re
from collections.abc import Sequence
from typing import Final

from keepthread.validators.locating import Hit
from keepthread.validators.outcomes import SILENT, Outcome
from keepthread.validators.sources import Source, find_stem
from keepthread.validators.values import Claim, Value
from keepthread.validators.vocabulary import (
    content_words,
    is_frame,
    is_generic,
    opposites,
    stem,
    synonyms,
)

_ORDER: Final = re.compile(
    r"(?i)^(.{2,120}?)\b(before|after|prior to|followed by|precedes?|and then|then)\s+(.{2,120})$"
)
_SPAN: Final = re.compile(
    r"(?i)(?:about |around |at least |at most )?(?:\d|an? (?:second|minute|hour|day|week)"
    r"|\w+ (?:second|minute|hour|day|week|attempt|retri)\w*)"
)
_STEP: Final = re.compile(r"(?m)^[ \t]*(?:-[ \t]+)?(?:name|run|uses|step|stage|\d+[.)])[: \t].*$")
_CHAINED: Final = re.compile(r"[^\n\"&]{2,200}(?= && )|(?<= && )[^\n\"&]{2,200}")
_HAPPENS: Final = re.compile(
    r"(?i)\b(?:runs?|ran|execut\w+|happens?|comes?|goes|starts?|appl\w+|builds?|deploys?|perform\w*"
    r"|checks?|checked|type-checks|published|replayed|precedes?|follow\w*|then|done|lints?|tests?|migrat\w+)\b"
)
_NEGATOR: Final = re.compile(
    r"(?i)\b(?:not|never|no longer|cannot|without|[a-z]+n['’]t|not[a-z]+error)\b"
)
_NEGATOR_OR_FAILURE: Final = re.compile(rf"{_NEGATOR.pattern}|(?:fail|expected)")
_EXCEPTED: Final = re.compile(
    r"(?i)\b(?:except|excluding|false|off|disabled|none|null|no|nobody|nothing|neither|only|or|otherwise|unless)\b"
)
_ANY_NEGATION: Final = re.compile(
    r"(?i)\b(?:no|not|none|never|nothing|without|cannot|lacks?|missing|fail\w*|avoid\w*|stop|forbid\w*|refus\w*|against|opposed|[a-z]+n['’]t)\b"
)
_SWITCHED_ON: Final = re.compile(r"(?i)[\w\"']\s*[:=]\s*[\"']?(?:true|yes|on|enabled)[\"',;]?\s*$")
_SWITCH: Final = re.compile(
    r"(?i)(en|dis)abled?[\"']?\s*[:=]\s*[\"']?(true|false|on|off|yes|no|0|1)\b[\"']?"
)
_REJECTS: Final = re.compile(r"(?i)\b(?:fail|reject|refus|block|den)\w*")
_NOT_IT: Final = re.compile(r", not (?:the |in |on )?[\"'`]?$")
_PATHS: Final = re.compile(r"[\w.-]*/[\w./-]+")
_STATE: Final = re.compile(
    r"(?m)(?:^\W{0,8}|[{,]\s?\")(?:state|status|active|phase|health|conclusion)\W{1,4}([a-z]+(?:[ _-][a-z]+)?)"
)
_SAID_TO_BE: Final = re.compile(r"(?i)\b(?:is|are|was|were|stays?|remains?|became|has) (?:[\w-]+ ?){1,4}|[\w-]+\W*$")
_PREDICATE: Final = re.compile(r"(?i)\b(?:is|are|was|were) (?:now |currently |already |still )?([a-z]+)$")
_STATES: Final = frozenset(
    stem(word)
    for word in "done open closed merged approved rejected healthy degraded running stopped pending blocked active"
    " archived deprecated published failed ready available queued cancelled completed resolved paused"
    " successful finished green yellow red".split()
)
_CHOICE: Final = re.compile(
    r"(?i)\b(?:instead of|rather than|as opposed to"
    r"|(?<!is )(?<!are )(?<!must )(?<!should )(?<!may )(?<!can )(?<!do )(?<!does )not)\b"
    r"|\b(?:chose|choose|prefers?|picked|favou?rs?)\b[^.;]{1,30}?\bover\b"
)
_LINES: Final = re.compile(r"\r?\n|,\s*(?=\"\w+\"\s*:)")  # also the members of a JSON object
_SENTENCES: Final = re.compile(r"[.!?]\s|\n")
_CLAUSES: Final = re.compile(r"[.;,!?:]\s|\n| but | and ")
_DENIED: Final = re.compile(
    r"(?i)\b(?:not|never|no longer|cannot|[a-z]+n['’]t)\s+"
    r"(?:be |been |yet |currently |ever |\w+ly )?([a-z]{3,})"
)
_NEIGHBOURS: Final = re.compile(r"(?i)\b(?=([a-z]{2,}) ([a-z]{2,})\b)")
_AT_LEAST: Final = re.compile(
    r"(?i)>=|≥|at least|or newer|or later|or higher|minimum|and above|newer than|more than"
)
_AT_MOST: Final = re.compile(
    r"(?i)<=|≤|at most|or older|or lower|maximum|below|up to|no more than|less than|<(?![a-z/])"
)


def judge_order(claim: Claim, sources: Sequence[Source]) -> Outcome:
    """Judge "A before B" by the order in which both stand among the steps of one entry."""
    match = _ORDER.match(claim.text.strip().rstrip("."))
    if not match or len(claim.text) > 140 or not _HAPPENS.search(claim.text):
        return SILENT
    first, link, second = match.groups()
    if _SPAN.match(second):
        return SILENT  # "times out after 30 minutes"
    if link.lower() == "after":
        first, second = second, first
    ahead = {w for w in map(stem, content_words(first)) if not is_frame(w)}
    behind = {w for w in map(stem, content_words(second)) if not is_frame(w)}
    ahead, behind = ahead - behind, behind - ahead
    unproven = SILENT
    for n, source in enumerate(sources):
        steps = [m.span() for m in _STEP.finditer(source.text)]
        steps = steps if len(steps) > 1 else [m.span() for m in _CHAINED.finditer(source.text)]
        if len(steps) < 2:
            continue
        one = _first_step(source, steps, ahead)
        two = _first_step(source, steps, behind)
        if (one is None) != (two is None):
            unproven = Outcome("unproven", "the cited steps show only one of the two", n)
        if one is None or two is None or one == two:
            continue
        if one < two:
            return Outcome("agrees", "", n, steps[one][0], steps[two][1])
        return Outcome("contradicts", "the cited steps stand in the other order", n)
    return unproven


def _first_step(source: Source, steps: Sequence[tuple[int, int]], words: set[str]) -> int | None:
    """The step that has most of the words, the first of those; None where none has any."""
    held = [
        sum(find_stem(source.low, source.text, w, start, stop) >= 0 for w in words)
        for start, stop in steps
    ]
    return held.index(max(held)) if any(held) else None


def judge_polarity(claim: Claim, passages: Sequence[str], *, prose: bool = False) -> str:
    """Why the passages say the contrary of the claim, or "" if not, or if it cannot be told.

    Only the lines (of a message: the clauses) that share most words with the claim are compared.
    """
    against = _other_choice(claim, passages)
    if against is not None or not _may_differ(claim, passages):
        return against or ""
    split = _CLAUSES.split if prose else _LINES.split
    lines = [
        _SWITCH.sub(_switched, line)
        for passage in passages
        for line in split(passage)
        if line and line.strip() and not (line.startswith("-") and "\n+" in passage)
    ]
    if not prose:  # "ingress:" and the deeper line below it, "enabled: false"
        pairs = list(itertools.pairwise(lines))
        lines += [f"{a} {b.strip()}" for a, b in pairs if _indent(a) < _indent(b)]
    shares = [_shared(claim, line) for line in lines]
    best = max(shares, default=0.0)
    if best < 0.5:
        return ""
    nearest = [line for line, share in zip(lines, shares, strict=True) if share >= best - 0.05]
    against = _opposite_word(claim, nearest)
    if against and not (prose and _says_both(claim, passages)):
        return against
    bounds = [_comparison(claim.text, line) for line in nearest]
    if all(bounds):
        return bounds[0]
    if best >= 0.6 and prose:
        near = [line for line, share in zip(lines, shares, strict=True) if share >= 0.5 * best]
        denied = {bool(_ANY_NEGATION.search(line)) for line in near}
        contrasts = claim.asserted != claim.text  # "X instead of Y" denies Y in its own way
        if denied == {not _ANY_NEGATION.search(claim.asserted)} and not contrasts:
            return "the cited message says the contrary"
    if best >= 0.6 and len(nearest[0]) < 300:
        return _negation(claim, nearest[0], passages)
    return ""


def denies_name(
    placed: Sequence[tuple[Value, Sequence[Hit]]], sources: Sequence[Source]
) -> str:
    """Why the entries name something only to deny it: "Tobias owns it, not Karla"; or ""."""
    for value, hits in placed:
        shown = [h for h in hits if not h.in_args]
        if value.negated or value.kind == "number" or not shown:
            continue
        if all(_NOT_IT.search(sources[h.source].low, max(0, h.start - 12), h.start) for h in shown):
            return f'the cited entry says "not {value.text}"'
    return ""


def judge_state(claim: Claim, sources: Sequence[Source]) -> str:
    """Why the one state that the entries give is not the claim's, or ""."""
    states = {m[1].strip() for s in sources for m in itertools.islice(_STATE.finditer(s.low), 20)}
    if len(states) != 1:
        return ""
    (state,) = states
    given = {stem(w) for w in re.findall(r"[a-z]+", state)}
    alike = {alias for word in given for alias in synonyms(word)}
    said = {stem(w) for m in _SAID_TO_BE.finditer(claim.text) for w in content_words(m.group())}
    if not given & said and any(opposites(word) & said for word in given):
        return f'the cited entry says "{state}"'
    told = _PREDICATE.search(claim.asserted.rstrip("."))
    if told and stem(told[1].lower()) in _STATES - alike:
        if not any(source.find_word(stem(told[1].lower())) >= 0 for source in sources):
            return f'the cited entry says "{state}"'
    return ""


def _other_choice(claim: Claim, passages: Sequence[str]) -> str | None:
    """Judge "X instead of Y" against "Y, not X"; None where not both make a choice."""
    chosen, left = _choice(claim.text)
    for passage in passages if left else ():
        for line in passage.splitlines():
            taken, dropped = _choice(line)
            if left & dropped and not left & taken:
                return ""
            if left & taken and chosen & dropped:
                return "the cited entry chooses the other"
    return None


def _choice(text: str) -> tuple[set[str], set[str]]:
    """Stems of what is preferred, and of the first words of what it is preferred to."""
    dropped: set[str] = set()
    for match in _CHOICE.finditer(text):
        dropped |= {stem(w) for w in content_words(text[match.end() : match.end() + 40])[:2]}
    return {stem(w) for w in content_words(text)} - dropped, dropped


def _may_differ(claim: Claim, passages: Sequence[str]) -> bool:
    """Whether claim or passages have a word that could make them contraries, at little cost."""
    return (
        any(opposites(stem(word)) for word in re.findall(r"[a-z]+", claim.text.lower()))
        or any(p.search(claim.text) for p in (_ANY_NEGATION, _AT_LEAST, _AT_MOST))
        or any(_ANY_NEGATION.search(passage) for passage in passages)
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _switched(match: re.Match[str]) -> str:
    """``SENTRY_ENABLED=false`` says that it is disabled."""
    on = match.group(1).lower() == "en"
    return "enabled" if on == (match.group(2).lower() in ("true", "on", "yes", "1")) else "disabled"


def _shared(claim: Claim, line: str) -> float:
    low = line.lower()
    stems = {stem(w) for w in content_words(line)}
    wanted = list(claim.words)
    wanted += [n.lower() for n in claim.names] + [v.text.lower() for v in claim.values]
    if not wanted:
        return 0.0
    return sum(
        w in stems or bool((synonyms(w) | opposites(w)) & stems) or (len(w) > 2 and w in low) for w in wanted
    ) / len(wanted)


def _opposite_word(claim: Claim, lines: Sequence[str]) -> str:
    """The contrary of one of the claim's words, where no line has the word itself."""
    said = {stem(w): w for w in re.findall(r"[a-z]+", claim.text.lower())}
    denied = bool(_NEGATOR.search(claim.asserted))
    shown: dict[str, str] = {}
    for line in lines:
        if bool(_NEGATOR.search(line)) == denied:
            plain = _PATHS.sub(" ", line.lower())  # "old/app.py" is not old
            shown.update((stem(w), w) for w in re.findall(r"[a-z]+", plain))
        elif denied and (on := _SWITCHED_ON.search(line)):
            return f'the cited entry says "{on.group()[1:].strip()}"'
    for stemmed, word in said.items():
        contrary = opposites(stemmed) & shown.keys()
        if contrary and not synonyms(stemmed) & shown.keys() and not contrary & said.keys():
            return f'the cited entry says "{shown[sorted(contrary)[0]]}", not "{word}"'
    return ""


def _says_both(claim: Claim, passages: Sequence[str]) -> bool:
    """Whether a sentence has a word of the claim and its contrary: "optional on docs, required on code"."""
    said = {stem(word) for word in re.findall(r"[a-z]+", claim.text.lower())}
    sentences = [s for passage in passages for s in _SENTENCES.split(passage)]
    for sentence in sentences:
        shown = {stem(word) for word in re.findall(r"[a-z]+", sentence.lower())}
        if any(opposites(word) & shown for word in said & shown):
            return True
    return False


def judge_substitution(claim: Claim, passage: str, *, prose: bool = False) -> str:
    """Why the passage says it of another thing: "platform team", not "search team"; else ""."""
    said = [stem(w) for w in content_words(claim.text)]
    shown = [tuple(map(stem, pair)) for pair in _NEIGHBOURS.findall(passage)]
    have = {stem(w) for w in content_words(passage)}
    for first, second in zip(said, said[1:], strict=False):
        if second not in have or synonyms(first) & have or is_frame(first) or is_frame(second):
            continue
        instead = [a for a, b in shown if b == second and a not in said and not is_frame(a)]
        if instead and not is_generic(second) and any(content_words(a) for a in instead):
            return "the cited entry says it of something else"
    subject = re.match(r"[A-Z][a-z]+", claim.text) if prose else None
    if subject and content_words(subject.group()) and not synonyms(stem(subject.group())) & have:
        others = {stem(w) for w in content_words(passage) if w[0].isupper()}
        if any(not is_frame(other) and not is_generic(other) for other in others - set(said)):
            return "the cited entry says it of something else"
    return ""


def _comparison(claim: str, line: str) -> str:
    if _REJECTS.search(line):
        return ""  # "coverage below 80 % fails": what is below is what is turned away
    least, most = bool(_AT_LEAST.search(claim)), bool(_AT_MOST.search(claim))
    lower, upper = bool(_AT_LEAST.search(line)), bool(_AT_MOST.search(line))
    if (least, most, lower, upper) == (True, False, False, True):
        return "the cited entry gives an upper bound, not a lower one"
    if (least, most, lower, upper) == (False, True, True, False):
        return "the cited entry gives a lower bound, not an upper one"
    return ""


def _negation(claim: Claim, line: str, passages: Sequence[str]) -> str:
    said, shown = _denied(claim.asserted), _denied(line)
    affirmed = {stem(w) for w in content_words(line)}
    if said & affirmed and not (
        _EXCEPTED.search(line) or any(_NEGATOR_OR_FAILURE.search(p) for p in passages)
    ):
        return "the cited entry affirms what the claim denies"
    wanted = {stem(w) for w in content_words(claim.text)}
    for word in shown & wanted:
        twice = sum(stem(w) == word for w in content_words(line)) > 1
        contrasts = claim.asserted != claim.text
        both = len(_ANY_NEGATION.findall(line)) > 1  # "without X cannot" says that X is needed
        if not (twice or contrasts or both) and not _ANY_NEGATION.search(claim.text):
            return "the cited entry denies what the claim affirms"
    return ""


def _denied(text: str) -> set[str]:
    """Stems of the words right after each negation, adverbs skipped."""
    return {stem(match.group(1)) for match in _DENIED.finditer(text)}
