"""What a run came to: counts, exit status, and claims about all or none.

"All tests pass" must agree with the counts that are there; a status hidden behind a pipe proves
nothing. "2 of 5 runs failed" is counted over the cited runs.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from keepthread.validators.runs import (
    BAD,
    GOOD,
    HIDDEN,
    KINDS,
    NOTHING_RAN,
    RUNNER,
    RUNS,
    STATE_WORD,
    failures,
    lines_with,
    passed,
    place_of,
    tally,
)
from keepthread.validators.sources import Source
from keepthread.validators.statuses import line_statuses
from keepthread.validators.values import NUMBER_WORDS, Claim
from keepthread.validators.vocabulary import content_words, is_generic, stem


class Outcome(NamedTuple):
    """``verdict`` is agrees | contradicts | unproven | silent; ``source`` the deciding entry."""

    verdict: str
    why: str = ""
    source: int = 0
    start: int = 0
    stop: int = 0
    accounts: bool = False  # it also accounts for the numbers of the claim


SILENT: Final = Outcome("silent")

_COUNT_WORDS: Final = {word: n for word, n in NUMBER_WORDS.items() if n < 100} | {"no": 0}
_COUNT: Final = rf"(\d+|{'|'.join(sorted(_COUNT_WORDS, key=len, reverse=True))})"
_SUBJECT: Final = (
    r"(?:tests?|[\w./-]*(?:test|spec)[_.][\w./-]+|\w+_test|suite|specs?|checks?|ci|builds?|compilation|lint(?:er|ing)?"
    r"|type[- ]?check(?:er|ing)?|mypy|ruff|eslint|tsc|pipeline|jobs?|pytest|pre-commit|hooks?)"
)
_PASS: Final = (
    r"(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?"
    r"|(?:is|are|was|were|runs?|ran|comes? back) (?:all )?(?:green|clean|ok|successful))"
)
_FAIL: Final = r"(?:fail(?:s|ed|ing|ures?)?|broken|breaks?|broke|(?:is|are|was|were) red)"
_WORKED: Final = (
    r"\b(?:went|ran|goes|runs) through(?=[.,;:]|$| (?:with|after|in|now)\b)|\bcame up\b|\b(?:finished|completed)\.?$"
    r"|\bstarted successfully\b|\b(?:complet|finish)(?:es|ed) (?:without|successfully|cleanly)\b"
)
_PERSISTS: Final = (
    r"\b(?:errors?|exceptions?|problem|issue|bug|crash|failure)\b[^.;]{0,20}?\b"
    r"(?:persists?|persisted|remains?|still (?:there|occurs?|happens?|appears?)|unchanged)\b"
)
_NONE_FAIL: Final = r"\bno (?:\w+ )?tests? fail|\b(?:nothing|none)\b[^.;]{0,30}\bfail"
_NONE_FAILS: Final = re.compile(rf"(?i){_NONE_FAIL}")
_LASTS: Final = re.compile(rf"(?i){_PERSISTS}")
_CRASHED: Final = re.compile(r"traceback|exception|panic|error:|fatal")
_RESULT: Final = re.compile(rf"(?i){_WORKED}|{_PERSISTS}")
_ALL: Final = r"\b(?:all|every\w*|each|whole|entire)\b"
_PASS_CLAIM: Final = re.compile(
    rf"(?i)\b{_SUBJECT}\b(?:\s+(?!not\b|n't|of\b|fail)[\w./`-]+){{0,5}}?\s+{_PASS}(?!\s+(?:an?|the)\b)"
    rf"|{_WORKED}|{_ALL}[^.;]{{0,60}}\b(?:{_PASS}|green|applied)\b|{_NONE_FAIL}"
)
_FAIL_CLAIM: Final = re.compile(
    rf"(?i)\b{_SUBJECT}\b(?:\s+(?!pass)[\w./`-]+){{0,5}}?\s+"
    rf"(?:{_FAIL}|(?:do|does|did) ?(?:not|n't) pass)\b|{_PERSISTS}|^`?[\w.:]*_\w+`? {_FAIL}\b"
)
_ALL_CLAIM: Final = re.compile(rf"(?i){_ALL}")
_NONE_CLAIM: Final = re.compile(
    r"(?i)\b(?:no|zero|0|without(?: any)?|free of|not any)\s+(?:\w+\s+){0,2}?"
    r"(warnings?|errors?|failures?|failing tests|failed tests|problems?|violations?"
    r"|vulnerabilities|issues)\b"
)
_COUNT_CLAIM: Final = re.compile(  # not the end of a version: "3.1.8 fails with"
    r"(?i)(?<!revision )(?<!build )(?<!step )(?<!case )(?<!job )(?<!run )(?<!test )(?<!#)"
    rf"(?<![\w.]){_COUNT}\s+(?:(?:unit|integration|new|of the|of them|type|lint|other|test)\s+)?"
    r"(?:(?:tests?|specs?|checks?|cases?|assertions?|suites?)\s+)?"
    rf"(?:have |has |are |is |were |was |that )?{STATE_WORD}\b"
)
_SHARE_CLAIM: Final = re.compile(
    rf"(?i)\b{_COUNT}\s+(?:out )?of (?:the )?(?:last )?{_COUNT}\s+(?:[\w/.-]+\s+){{0,4}}?"
    r"(pass|fail|succe|time|crash|error|hang|hung)\w*"
)
_CONDITION: Final = re.compile(
    r"(?i)\b(?:if|when|unless|until|once|should|must|whether|expects?)\b"
)

_DONE_CLAIM: Final = re.compile(
    r"(?i)\b(?:was|were|is|are|got|been)\s+(?:\w+ly )?"
    r"(?:installed|created|built|deployed|applied|published|pushed|uploaded)\b"
    r"|\b(?:succeeds?|succeeded|works|worked|is reachable)\.?$"
)
_SUCCESS: Final = frozenset(map(stem, "succeeded succeeds works worked reachable".split()))
_DONE: Final = re.compile(r"already|successfully [a-z]+ed|\bok\b|\bcreated\b|\bapplied\b")
_NOT: Final = re.compile(r"(?i)\b(?:not|never|no|could|cannot|fail\w*|[a-z]+n['’]t)\b")

# Stems that an outcome which agrees accounts for.
OUTCOME_STEMS: Final = frozenset(
    stem(word)
    for word in "persist remain unchanged test suite spec check build compile lint type pass fail"
    " succeed succeeded green clean error warning failure issue problem vulnerability violation"
    " result status exit all".split()
)


_Counted = Sequence[tuple[int, Source, dict[str, int]]]


_SOME_OF: Final = re.compile(r"(?i)^(?:\w+ )?(?:half|some|most|part|several|many) of\b")


def judge_outcome(claim: Claim, sources: Sequence[Source]) -> Outcome:
    """Compare what a claim says of runs with the counts, states and exit status that the entries show."""
    judged = _judge_result(claim, sources)
    return _judge_done(claim.text, sources) if judged is SILENT else judged


def _judge_result(claim: Claim, sources: Sequence[Source]) -> Outcome:
    text = claim.text
    share = _SHARE_CLAIM.search(text)
    if share:
        return _judge_share(share, sources)
    undone = _undone(text, sources)
    if undone:
        return undone
    if _CONDITION.search(text) or _SOME_OF.search(text):
        return SILENT  # conditions and rules say nothing of a run, "half of the tests" nothing of it whole
    passes, none = bool(_PASS_CLAIM.search(text)), _NONE_CLAIM.search(text)
    fails = bool(_FAIL_CLAIM.search(text)) and not _NONE_FAILS.search(text)
    counted = any(_number(match.group(1)) for match in _COUNT_CLAIM.finditer(text))
    counts = [
        (n, s, tally(s.low))
        for n, s in enumerate(sources)
        if s.evidence.kind != "message" and not s.writes
    ]
    lines = SILENT if counted or none else _judge_lines(text, counts)
    if not (passes or none or fails or counted):
        return lines
    wrong = lines if lines is not SILENT else _wrong_count(text, counts)
    if wrong or (passes and fails and not none):
        return wrong or SILENT  # "X fails while Y passes" is left to the words
    if none and none.group(1) == "issues" and not any(named.search(text) for named, _ in RUNS):
        return SILENT  # "no open issues" is said of a tracker
    if none:
        return _judge_none(KINDS[none.group(1)[:4].lower()], _runs_of_kind(text, counts))
    judged = SILENT
    if fails and not passes:
        judged = _judge_failure(claim, counts)
    elif passes and (_ALL_CLAIM.search(text) or not counted):
        judged = _judge_success(claim, counts)
    if judged.verdict == "agrees" and _LASTS.search(text):
        shown = sources[judged.source]
        judged = judged if shown.command and _CRASHED.search(shown.low) else SILENT
    if judged is SILENT and _RESULT.search(text):
        return Outcome("unproven", "the cited entries show no result of such a run")
    return judged


def states_outcome(text: str) -> bool:
    """Whether a claim says what a run came to: passed, failed, how many, or without warnings."""
    if _CONDITION.search(text):
        return False
    patterns = (_PASS_CLAIM, _FAIL_CLAIM, _NONE_CLAIM, _COUNT_CLAIM, _SHARE_CLAIM)
    return any(pattern.search(text) for pattern in patterns)


def _undone(text: str, sources: Sequence[Source]) -> Outcome | None:
    """Why something was not "installed" or "created": the call that should have done it failed."""
    if _DONE_CLAIM.search(text) and not _NOT.search(text):
        for n, source in enumerate(sources):
            failed = source.evidence.is_error or source.low.lstrip().startswith("error")
            if failed and not (_DONE.search(source.low) or _is_complete(text, source)):
                return Outcome("contradicts", "the cited call failed", n)
    return None


def _judge_done(text: str, sources: Sequence[Source]) -> Outcome:
    """Whether a command that names what "succeeded" or "was deployed" ended well."""
    if not _DONE_CLAIM.search(text) or _NOT.search(text) or _CONDITION.search(text):
        return SILENT
    words = {stem(w) for w in content_words(text)} - _SUCCESS
    for n, source in enumerate(sources):
        ran = source.command and RUNNER.search(source.runs) and not source.searches
        failed = source.evidence.is_error or place_of(BAD, source.low) >= 0
        if ran and not (failed or failures(tally(source.low)) or HIDDEN.search(source.command)):
            if any(source.find_word(word, in_args=True) >= 0 for word in words):
                return Outcome("agrees", "", n, 0, 80)
    return SILENT


def _is_complete(text: str, source: Source) -> bool:
    """Whether a line of a failed call says that what the claim names was completed."""
    words = {stem(w) for w in content_words(text) if not is_generic(stem(w))}
    lines = lines_with(("complete",), source.low).values()
    return any(words & {stem(w) for w in content_words(line)} for line in lines)


def _wrong_count(text: str, counts: _Counted) -> Outcome | None:
    """A count of the claim that the entries give otherwise: 3 tests failed, not 2."""
    for match in _COUNT_CLAIM.finditer(text):
        said = _number(match.group(1))
        kind = KINDS[match.group(2)[:4].lower()]
        shown = [(n, count[kind]) for n, _, count in counts if kind in count]
        reported = {count for _, count in shown} | {sum(count for _, count in shown)}
        if said and shown and said not in reported:
            why = f"the cited call says {shown[0][1]} {kind}, not {said}"
            return Outcome("contradicts", why, shown[0][0])
    return None


def _number(word: str) -> int:
    return int(word) if word.isdigit() else _COUNT_WORDS[word.lower()]


def _runs_of_kind(text: str, counts: _Counted) -> _Counted:
    """The entries that are runs of the kind that the claim names; all where it names none."""
    for named, shows in RUNS:
        if named.search(text):
            return [c for c in counts if any(w in c[1].args_low or w in c[1].low for w in shows)]
    return counts


def _judge_success(claim: Claim, counts: _Counted) -> Outcome:
    agreed = SILENT
    for n, source, count in _runs_of_kind(claim.text, counts):
        bad = failures(count)
        if bad:
            return Outcome("contradicts", f"the cited call reports {bad} failed or in error", n)
        good, wrong = place_of(GOOD, source.low), place_of(BAD, source.low) >= 0
        nothing = good < 0 and any(words in source.low for words in NOTHING_RAN)
        if nothing or count.get("passed", 1) == 0:
            return Outcome("contradicts", "no test ran in the cited call", n)
        if "passed" in count or count.get("failed") == 0 or (good >= 0 and not wrong):
            agreed = Outcome("agrees", "", n, max(0, good), max(0, good) + 80)
        elif source.evidence.is_error or (wrong and source.command):
            return Outcome("contradicts", "the cited call failed", n)
        elif HIDDEN.search(source.command):
            return Outcome("unproven", "a pipe or `||` hides the exit status of the cited call", n)
        elif source.command and RUNNER.search(source.runs) and agreed is SILENT:
            agreed = Outcome("agrees", "", n, 0, 80)
    if agreed is SILENT and counts and _ALL_CLAIM.search(claim.text):
        return Outcome("unproven", "the cited entries show no result of such a run")
    return agreed


def _judge_failure(claim: Claim, counts: _Counted) -> Outcome:
    for n, source, count in _runs_of_kind(claim.text, counts):
        bad = place_of(BAD, source.low)
        if failures(count) or source.evidence.is_error or bad >= 0:
            return Outcome("agrees", "", n, max(0, bad), max(0, bad) + 80)
        if count.get("passed") or "failed" in count or (source.command and source.runs):
            return Outcome("contradicts", "the cited call reports no failure", n)
    return SILENT


def _judge_lines(text: str, counts: _Counted) -> Outcome:
    """Judge what is said of one test or package by the status on its own line."""
    statuses = line_statuses(text, [(n, source) for n, source, _ in counts])
    for status in statuses:
        if not status.agrees:
            did = "passing" if status.passed else "failing"
            return Outcome("contradicts", f"the cited call shows it {did}", status.source)
    if statuses:
        return Outcome("agrees", "", *statuses[0][:3])
    return SILENT


def _judge_none(kind: str, counts: _Counted) -> Outcome:
    agreed = SILENT
    shows = (kind[:4],), re.compile(rf"^\W*(?:\S+:\s?)?{kind[:4]}\w*[\s:\[]")
    for n, source, count in counts:
        shown = count.get(kind)
        if shown is None and kind != "warnings":
            shown = failures(count) or None
        failed = kind != "warnings" and shown != 0 and place_of(BAD, source.low) >= 0
        if shown:
            return Outcome("contradicts", f"the cited call reports {shown} {kind}", n)
        if failed or (shown is None and place_of(shows, source.low) >= 0):
            return Outcome("contradicts", f"the cited output shows {kind}", n)
        if shown == 0 or "passed" in count or place_of(GOOD, source.low) >= 0:
            agreed = Outcome("agrees", "", n, 0, 80)
        elif HIDDEN.search(source.command):
            return Outcome("unproven", "a pipe hides part of the cited call's output", n)
        elif source.command and RUNNER.search(source.runs):
            agreed = Outcome("agrees", "", n, 0, 80)
    return agreed


def _judge_share(share: re.Match[str], sources: Sequence[Source]) -> Outcome:
    """Judge "2 of 5 runs failed" over five cited runs, over lines of one, or from its totals."""
    part, whole = _number(share.group(1)), _number(share.group(2))
    passing = share.group(3)[:4].lower() in ("pass", "succ")
    states = [passed(source) for source in sources]
    known = [state for state in states if state is not None]
    if len(known) > 1:
        hits = known.count(passing)
        if (hits, len(known)) == (part, whole):
            return Outcome("agrees", "", states.index(passing), accounts=True)
        did = "passed" if passing else "failed"
        why = f"{hits} of the {len(known)} cited runs {did}, not {part} of {whole}"
        return Outcome("contradicts", why)
    for n, source in enumerate(sources):
        lines = [line for line in source.low.splitlines() if re.search(r"pass|fail|\bok\b", line)]
        failed = sum(
            bool(re.search(r"fail(?!ed=0|ures?[:=] ?0)|[1-9]\d* failed", line)) for line in lines
        )
        count = tally(source.low)
        bad = failures(count)
        totals = {(failed, len(lines)), (bad, bad + count.get("passed", 0))}
        if passing:
            totals = {(total - hit, total) for hit, total in totals}
        if (part, whole) in totals:
            return Outcome("agrees", "", n, 0, 80, accounts=True)
        others = [hit for hit, total in totals if total == whole]
        if others:
            why = f"the cited call says {others[0]} of {whole}, not {part}"
            return Outcome("contradicts", why, n)
    return SILENT
