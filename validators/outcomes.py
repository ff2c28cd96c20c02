"""What a run came to: counts, exit status, empty searches, and claims about all or none.

"All tests pass" must agree with the counts that are there; a status hidden behind a pipe proves
nothing. "2 of 5 runs failed" is counted over the cited runs, "38 modules" over listed lines.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from keepthread.validators.sources import Source
from keepthread.validators.values import Claim, Value
from keepthread.validators.vocabulary import is_generic, stem


class Outcome(NamedTuple):
    """``verdict`` is agrees | contradicts | unproven | silent; ``source`` the deciding entry."""

    verdict: str
    why: str = ""
    source: int = 0
    start: int = 0
    stop: int = 0
    accounts: bool = False  # it also accounts for the numbers of the claim


SILENT: Final = Outcome("silent")

_NUMBER: Final = r"(\d+|no|zero|one|two|three|four|five|six|seven|eight|nine|ten)"
_SMALL: Final = {w: n for n, w in enumerate(
    "zero one two three four five six seven eight nine ten".split())} | {"no": 0}  # fmt: skip
_TALLY: Final = re.compile(
    r"(?i)(?<![\w.])(\d+)\s+(?:\w+\s+){0,2}?(pass(?:ed|ing|es)?|fail(?:ed|ing|ures?|s)?|errors?|"
    r"warnings?|skipped|problems?|vulnerabilit(?:y|ies)|violations?|issues?)\b"
    r"|\b(failures|errors|warnings|passed|failed|fail|pass|skipped)\s?[=:]\s?(\d+)"
    r"|^#\s(fail|pass)\s(\d+)"
)
_GOOD: Final = re.compile(
    r"(?m)all checks passed|no issues found|build succe|success(?:ful|fully)?\b|^ok\b|^pass\b|\bpassed\b"
    r"|^\s*finished\b|test result: ok|\bcompleted\b|compiled\b|built in|exit(?:ed)?(?: code| status| with)*:? 0\b"
    r"|no (?:errors|problems|warnings) |0 (?:errors|problems)|done in|✓|\bup to date\b|found 0 "
)
_BAD: Final = re.compile(
    r"(?m)traceback \(most|^\s*error\b|\berror:|error\[|npm err!|panicked|\bpanic:|build failed|\bfailed\b|"
    r"^fail\b|--- fail|not ok \d|exit(?:ed)?(?: code| status| with)*:? [1-9]|\*\*\* .*error|fatal:|✖|✗|"
    r"command not found|no such file or directory|error ts\d|segmentation fault|\bfailure\b|killed"
)
_NOTHING_RAN: Final = re.compile(
    r"(?im)no tests ran|collected 0 items|\bran 0 tests|running 0 tests|no tests? (?:were )?found|no test files"
)
_HIDDEN: Final = re.compile(
    r"\|\s*(?:tail|head|tee|grep|cat|less|wc|sed|awk|sort)\b|\|\|\s*(?:true|:|echo)|;\s*(?:true|echo|exit 0)"
    r"|>\s*/dev/null|&>\s*\S+|&\s*$"
)
_RUNNER: Final = re.compile(
    r"(?i)test|pytest|jest|vitest|mocha|tox|nox|make|cargo|go\s|npm|yarn|pnpm|gradle|mvn|tsc|mypy|ruff|eslint|"
    r"lint|flake8|pylint|build|docker|compile|check|black|prettier|pip|migrate|deploy|terraform|helm|\bnode\b|python"
)
_SUBJECT: Final = (
    r"(?:tests?|test_\w+|\w+_test|test suite|suite|specs?|checks?|ci|build|builds|compilation|lint(?:er|ing)?|type[- ]?check(?:er|ing)?|"
    r"mypy|ruff|eslint|tsc|pipeline|jobs?|pytest|unit tests|integration tests|pre-commit|hooks?)"
)
_PASS: Final = r"(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?|(?:is|are|was|were|runs?|ran|comes? back) (?:all )?(?:green|clean|ok|successful))"
_FAIL: Final = r"(?:fail(?:s|ed|ing|ures?)?|broken|breaks?|broke|(?:is|are|was|were) red)"
_PASS_CLAIM: Final = re.compile(
    rf"(?i)\b{_SUBJECT}\b(?:\s+(?!not\b|n't|of\b|fail)[\w./`-]+){{0,5}}?\s+{_PASS}\b"
    rf"|\b(?:all|every\w*|each|whole|entire)\b[^.;]{{0,60}}\b(?:{_PASS}|green)\b|\bno (?:\w+ )?tests? fail"
    r"|\b(?:nothing|none)\b[^.;]{0,30}\bfail"
)
_FAIL_CLAIM: Final = re.compile(
    rf"(?i)\b{_SUBJECT}\b(?:\s+(?!pass)[\w./`-]+){{0,5}}?\s+(?:{_FAIL}|(?:do|does|did) ?(?:not|n't) pass)\b"
)
_NONE_CLAIM: Final = re.compile(
    r"(?i)\b(?:no|zero|0|without(?: any)?|free of|not any)\s+(?:\w+\s+){0,2}?"
    r"(warnings?|errors?|failures?|failing tests|failed tests|problems?|issues|violations?|vulnerabilities)\b"
)
_COUNT_CLAIM: Final = re.compile(
    rf"(?i)\b{_NUMBER}\s+(?:(?:unit|integration|new|of the|of them|type|lint|other|test)\s+)?"
    r"(?:(?:tests?|specs?|checks?|cases?|assertions?|suites?)\s+)?(?:have |has |are |is |were |was |that )?"
    r"(pass(?:ed|es|ing)?|fail(?:ed|s|ing|ures?)?|errors?|warnings?|skipped|problems?|vulnerabilities|violations?)\b"
)
_SHARE_CLAIM: Final = re.compile(
    rf"(?i)\b{_NUMBER}\s+(?:out )?of (?:the )?(?:last )?{_NUMBER}\s+(?:[\w-]+\s+){{0,3}}?"
    r"(pass|fail|succe|time|crash|error|hang|hung)\w*"
)
_KINDS: Final = {"pass": "passed", "fail": "failed", "erro": "errors", "warn": "warnings",
                 "skip": "skipped", "prob": "errors", "vuln": "errors", "viol": "errors",
                 "issu": "errors"}  # fmt: skip


def tally(low: str) -> dict[str, int]:
    """Counts that an output reports, by kind: passed, failed, errors, warnings, skipped."""
    counts: dict[str, int] = {}
    for match in _TALLY.finditer(low):
        number = match.group(1) or match.group(4) or match.group(6)
        word = match.group(2) or match.group(3) or match.group(5)
        kind = _KINDS[word[:4].lower()]
        counts[kind] = max(counts.get(kind, 0), int(number))
    return counts


def judge_outcome(claim: Claim, sources: Sequence[Source]) -> Outcome:
    """Compare what a claim says of runs with the counts and states that the entries show."""
    text = claim.text
    share = _SHARE_CLAIM.search(text)
    if share:
        return _judge_share(share, sources)
    if re.search(r"(?i)\b(?:if|when|unless|until|once|should|must|whether|expects?)\b", text):
        return SILENT  # conditions and rules say nothing of a run
    calls = [(n, s) for n, s in enumerate(sources) if s.evidence.kind != "message"]
    counts = [(n, s, tally(s.low)) for n, s in calls]
    for match in _COUNT_CLAIM.finditer(text):
        said = _SMALL.get(match.group(1).lower(), -1)
        said = int(match.group(1)) if said < 0 else said
        kind = _KINDS[match.group(2)[:4].lower()]
        shown = [(n, c[kind]) for n, _, c in counts if kind in c]
        if said and shown and all(c != said for _, c in shown) and sum(c for _, c in shown) != said:
            return Outcome("contradicts", f"the cited call says {shown[0][1]} {kind}, not {said}",
                           shown[0][0])  # fmt: skip
    none = _NONE_CLAIM.search(text)
    if none:
        return _judge_none(_KINDS[none.group(1)[:4].lower()], counts)
    if _FAIL_CLAIM.search(text) and not _PASS_CLAIM.search(text):
        return _judge_failure(claim, counts)
    if _PASS_CLAIM.search(text) and not _COUNT_CLAIM.search(text.replace("All ", "")):
        return _judge_success(claim, counts)
    if _PASS_CLAIM.search(text) and re.search(r"(?i)\b(?:all|every|whole|entire)\b", text):
        return _judge_success(claim, counts)
    return SILENT


Counted = Sequence[tuple[int, Source, dict[str, int]]]


def _judge_success(claim: Claim, counts: Counted) -> Outcome:
    named = _named_status(claim, counts)
    if named:
        return named[0] if named[1] else Outcome("contradicts", "the cited call shows it failing",
                                                 named[0].source)  # fmt: skip
    agreed = SILENT
    for n, source, count in counts:
        bad = count.get("failed", 0) + count.get("errors", 0)
        if bad:
            return Outcome("contradicts", f"the cited call reports {bad} failed or in error", n)
        if _NOTHING_RAN.search(source.low) or count.get("passed", 1) == 0:
            return Outcome("contradicts", "no test ran in the cited call", n)
        good = _GOOD.search(source.low)
        if "passed" in count or (good and not _BAD.search(source.low)):
            at = good.start() if good else 0
            agreed = Outcome("agrees", "", n, at, at + 80)
        elif source.evidence.is_error or _BAD.search(source.low):
            return Outcome("contradicts", "the cited call failed", n)
        elif _HIDDEN.search(source.command):
            return Outcome("unproven", "a pipe or `||` hides the exit status of the cited call", n)
        elif source.command and _RUNNER.search(source.runs) and agreed is SILENT:
            agreed = Outcome("agrees", "", n, 0, 80)
    return agreed if agreed is not SILENT or not counts else Outcome(
        "unproven", "the cited entries show no result of a run")  # fmt: skip


def _judge_failure(claim: Claim, counts: Counted) -> Outcome:
    named = _named_status(claim, counts)
    if named:
        return Outcome("contradicts", "the cited call shows it passing", named[0].source) if named[
            1] else named[0]  # fmt: skip
    for n, source, count in counts:
        bad = _BAD.search(source.low)
        if count.get("failed") or count.get("errors") or source.evidence.is_error or bad:
            at = bad.start() if bad else 0
            return Outcome("agrees", "", n, at, at + 80)
    for n, _, count in counts:
        if count.get("passed") or "failed" in count:
            return Outcome("contradicts", "the cited call reports no failure", n)
    return SILENT


def _named_status(claim: Claim, counts: Counted) -> tuple[Outcome, bool] | None:
    """The status on the line that names the one test that the claim is about."""
    names = [v.text for v in claim.values if v.kind in ("code", "path")] + list(claim.names)
    for name in names:
        for n, source, _ in counts:
            for at in source.find(name.lower().rsplit("::", 1)[-1]):
                stop = source.low.find("\n", at)
                start = source.low.rfind("\n", 0, at) + 1
                line = source.low[start : stop if stop >= 0 else len(source.low)]
                state = re.search(r"\b(passed|ok|pass|✓)\b|\b(failed|fail|error)\b", line)
                if state and not re.search(r"\d+ (?:passed|failed)", line):
                    return Outcome("agrees", "", n, start, start + len(line)), bool(state.group(1))
    return None


def _judge_none(kind: str, counts: Counted) -> Outcome:
    agreed = SILENT
    for n, source, count in counts:
        shown = count.get(kind)
        if shown is None and kind != "warnings":
            shown = sum(v for k, v in count.items() if k in ("failed", "errors")) or None
        if shown:
            return Outcome("contradicts", f"the cited call reports {shown} {kind}", n)
        if re.search(
            rf"(?m)^\W*(?:\S+:\s?)?{kind[:-1] if kind != 'failed' else 'fail'}\w*[\s:\[]",
            source.low,
        ):
            return Outcome("contradicts", f"the cited output shows {kind}", n)
        if (
            kind != "warnings"
            and _BAD.search(source.low)
            and not re.search(r"\b0 (?:fail|err)", source.low)
        ):
            return Outcome("contradicts", "the cited call failed", n)
        if shown == 0 or _GOOD.search(source.low) or "passed" in count:
            agreed = Outcome("agrees", "", n, 0, 80)
        elif _HIDDEN.search(source.command):
            return Outcome("unproven", "a pipe hides part of the cited call's output", n)
        elif source.command and _RUNNER.search(source.runs):
            agreed = Outcome("agrees", "", n, 0, 80)
    return agreed


def _judge_share(share: re.Match[str], sources: Sequence[Source]) -> Outcome:
    """ "2 of 5 runs failed": over five cited runs, over lines of one, or from its totals."""
    part, whole = (_SMALL[g.lower()] if g.lower() in _SMALL else int(g) for g in share.group(1, 2))
    passing = share.group(3)[:4].lower() in ("pass", "succ")
    states = [_state(source) for source in sources]
    known = [state for state in states if state is not None]
    if len(known) > 1:
        hit = sum(known) if passing else len(known) - sum(known)
        if (hit, len(known)) == (part, whole):
            return Outcome(
                "agrees", "", next(n for n, s in enumerate(states) if s is passing), accounts=True
            )
        return Outcome("contradicts", f"{hit} of the {len(known)} cited runs "
                       f"{'passed' if passing else 'failed'}, not {part} of {whole}")  # fmt: skip
    for n, source in enumerate(sources):
        lines = [line for line in source.low.splitlines() if re.search(r"pass|fail|\bok\b", line)]
        failed = sum(
            bool(re.search(r"fail(?!ed=0|ures?[:=] ?0)|[1-9]\d* failed", line)) for line in lines
        )
        count = tally(source.low)
        bad = count.get("failed", 0) + count.get("errors", 0)
        totals = {(failed, len(lines)), (bad, bad + count.get("passed", 0))}
        if passing:
            totals = {(total - hit, total) for hit, total in totals}
        if (part, whole) in totals:
            return Outcome("agrees", "", n, 0, 80, accounts=True)
    return SILENT


def _state(source: Source) -> bool | None:
    """True for a run that passed, False for one that failed, None where the entry tells neither."""
    count = tally(source.low)
    if count.get("failed") or count.get("errors") or source.evidence.is_error:
        return False
    if "passed" in count or _GOOD.search(source.low):
        return True
    return False if _BAD.search(source.low) else None


_EMPTY: Final = re.compile(
    r"(?i)^\W*(?:no (?:matches|results|files|match|occurrences|output|such)\b.*|0 (?:matches|results)\b.*|"
    r"(?:found )?0 \w+.*|\(?(?:no|empty) (?:output|result)s?\)?|none|null|\[\]|\{\}|exit code:? ?1|nothing found.*|"
    r"your command ran successfully and did not produce any output\W*|\(0 rows\))?\W*$"
)
_DENIAL: Final = re.compile(
    r"(?i)no such|not found|does(?: not|n't) exist|no module named|missing|cannot find|could not find|undefined|"
    r"unknown|not (?:installed|defined|available|recognized|present|configured|set)|unresolved|\bno \w+|404|isn't|\bnone\b"
    r"|has no|not in\b|without|never|n't\b|\bnot\b|lacks|\bnull\b"
)


def judge_absence(claim: Claim, sources: Sequence[Source]) -> Outcome:
    """ "No module imports X": an empty search for X, or a whole file that does not have it."""
    denied = [name for name in claim.negated if len(name) > 2] + [
        v.text.lower() for v in claim.values if v.negated and v.kind != "number"
    ]
    if not denied:
        return SILENT
    specific = [word for word in denied if not is_generic(stem(word))] or denied
    unproven = SILENT
    for n, source in enumerate(sources):
        if not source.searches:
            if _is_whole_file_without(specific, claim, source):
                return Outcome("agrees", "", n, 0, len(source.text))
            continue
        asked = [word for word in specific if _stands(word, source, in_args=True)]
        empty = bool(_EMPTY.match(source.text.strip()))
        if 2 * len(asked) < len(specific):
            if empty or not any(_stands(word, source, in_args=False) for word in specific):
                unproven = Outcome("unproven", "the cited search did not look for that", n)
            continue
        places = [v.text.lower() for v in claim.values if v.kind == "path" and not v.negated]
        if places and not any(_shows_path(path, source) for path in places):
            return Outcome("agrees", "", n, 0, len(source.text))
        if empty:
            return Outcome("agrees", "", n, 0, len(source.text))
        shown = [word for word in asked if _stands(word, source, in_args=False)]
        if shown and not _DENIAL.search(source.low[:2000]):
            lines = len([line for line in source.text.splitlines() if line.strip()])
            plural = "s" * (lines != 1)
            return Outcome("contradicts", f"the cited search found {lines} line{plural}", n)
    return unproven


def _is_whole_file_without(denied: Sequence[str], claim: Claim, source: Source) -> bool:
    """Whether a call read the file that the claim names, and it lacks what the claim denies."""
    if source.evidence.truncated or source.writes or not source.text.strip():
        return False
    paths = [v.text.lower() for v in claim.values if v.kind == "path" and not v.negated]
    return any(source.find(path, in_args=True) for path in paths) and not any(
        _stands(word, source, in_args=False) for word in denied
    )


def _shows_path(path: str, source: Source) -> bool:
    """Whether output names a path that the call itself did not ask for."""
    base = path.rstrip("/").rsplit("/", 1)[-1]
    return bool(source.find(base)) or bool(source.find(base, in_args=True))


def denies(line: str) -> bool:
    """Whether a line of output says that something is not there."""
    return bool(_DENIAL.search(line))


def _stands(word: str, source: Source, *, in_args: bool) -> bool:
    return (
        bool(source.find(word, in_args=in_args))
        or source.find_word(stem(word), in_args=in_args) >= 0
    )


_LISTED_KINDS: Final = frozenset({"modul", "dir", "migr", "imag", "fil"})
_OCCURRENCE: Final = frozenset(
    stem(w) for w in "matches occurrences hits places usages references lines results times".split()
)
_GREPPED: Final = re.compile(r"[\w./-]+(?=:)")
_KIND_OF_LINE: Final = {
    "modul": r"\.pyx?\b|\.[jt]sx?\b|\.go\b|\.rs\b", "dir": r"^d[rwx-]{9}|/:?\s*$", "class": r"\bclass\s+\w",
    "func": r"\b(?:def|func|fn|function)\s+\w", "function": r"\b(?:def|func|fn|function)\s+\w",
    "method": r"\bdef\s+\w", "test": r"\btest_\w+|\bdef test|::test|\bit\(|#\[test\]|\bfunc Test",
    "migr": r"\d{4}_\w+|\.sql\b", "imag": r"\.(?:png|jpe?g|svg)\b", "fil": r"\S",
}  # fmt: skip


def counts_of(value: Value, claim: Claim, sources: Sequence[Source]) -> Iterable[tuple[int, int]]:
    """Counts that a number may stand for, each with its entry: listed lines, matches, items."""
    if not value.number:
        return
    noun = stem(value.noun) if value.noun else ""
    pattern = re.compile(_KIND_OF_LINE.get(noun, r"(?!)"))
    totals = [0, 0]
    for n, source in enumerate(sources):
        lines = _listed(source.text)
        of_kind = [line for line in lines if pattern.search(line)]
        if source.searches or noun not in _LISTED_KINDS:
            items = [item for line in of_kind for item in line.split() if pattern.search(item)]
            yield n, len(of_kind)
            yield n, len(items)
            yield n, sum("__init__" not in item for item in items)
            totals[1] += len(of_kind)
        yield from ((n, count) for count in _blocks(source.text, claim.words))
        counted = value.noun.endswith("s") or value.number == 1
        if (source.searches and counted and value.noun not in ("in", "")) or noun in _OCCURRENCE:
            totals[0] += len(lines)
            yield n, len(lines)
            yield n, len({m.group() for line in lines if (m := _GREPPED.match(line))})
            for term in [name.lower() for name in claim.names] + [
                v.text.lower() for v in claim.values if v.kind in ("code", "quoted")
            ]:
                yield n, sum(term in line.lower() for line in lines)
                yield n, source.low.count(term)
    yield 0, totals[0]
    yield 0, totals[1]


def _blocks(text: str, words: Sequence[str]) -> Iterable[int]:
    """Lengths of the lists that stand under a heading with one of the words: "Steps:"."""
    lines = text.splitlines()
    for n, line in enumerate(lines):
        if line.rstrip().endswith(":") and any(w in line.lower() for w in words if len(w) > 3):
            rest = lines[n + 1 :]
            yield next((k for k, after in enumerate(rest) if not after.strip()), len(rest))


def _listed(text: str) -> list[str]:
    return [
        line for line in text.splitlines()
        if line.strip() and not re.match(r"total \d+\s*$|\S*[rwx-]{9}.* \.\.?/?\s*$|\.\.?/?\s*$", line)
    ]  # fmt: skip
