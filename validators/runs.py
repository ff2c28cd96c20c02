"""What the output of a run shows: its counts, and the lines that tell success or failure."""

import re
from collections.abc import Sequence
from typing import Final

from keepthread.validators.sources import Source

STATE_WORD: Final = (
    r"(pass(?:ed|es|ing)?|fail(?:ed|s|ing|ures?)?|errors?|warnings?|skipped|problems?"
    r"|vulnerabilit(?:y|ies)|violations?|issues?)"
)
_TALLY: Final = re.compile(
    rf"(?i)(?<![\w.:])(\d+)[ \t]{{1,2}}(?:[a-z]+\s{{1,2}}){{0,2}}?{STATE_WORD}\b"
    r"|\b(failures|errors|warnings|passed|failed|fail|pass|skipped)\s{0,2}[=:]\s{0,8}(\d+)"
    r"|^#\s(fail|pass)\s(\d+)"
)
KINDS: Final = {
    "pass": "passed",
    "fail": "failed",
    "erro": "errors",
    "warn": "warnings",
    "skip": "skipped",
    "prob": "problems",
    "vuln": "problems",
    "viol": "problems",
    "issu": "problems",
}
_EXIT: Final = r"exit(?:ed)?(?: code| status| with)*:? "
# Patterns are tried only on lines that have one of the words before them.
GOOD: Final = (
    (
        "pass",
        "succe",
        "\nok",
        "finished",
        "completed",
        "compiled",
        "built in",
        "done in",
        "✓",
        "exit",
    )
    + ("no issues", "no errors", "no problems", "no warnings", "0 errors", "0 problems")
    + ("up to date", "found 0 ", ": ok"),
    re.compile(
        r"all checks passed|no issues found|build succe|success(?:ful|fully)?\b|^ok\b|^pass\b"
        r"|\bpassed\b|^\s*finished\b|test result: ok|\bcompleted\b|compiled\b|built in|done in|✓"
        rf"|{_EXIT}0\b|no (?:errors|problems|warnings) |0 (?:errors|problems)|\bup to date\b"
        r"|found 0 "
    ),
)
BAD: Final = (
    ("traceback", "error", "npm err", "panic", "fail", "not ok", "exit", "fatal:", "✖", "✗")
    + ("killed", "not found", "no such file", "segmentation", "\nx "),
    re.compile(
        r"traceback \(most|^\s*error\b|\berror:|error\[|npm err!|panicked|\bpanic:|build failed"
        rf"|\bfailed\b|^fail\b|--- fail|not ok \d|{_EXIT}[1-9]|\*\*\* .*error|fatal:|✖|✗|^x\s{{2,}}|killed"
        r"|command not found|no such file or directory|error ts\d|segmentation fault|\bfailure\b"
    ),
)
NOTHING_RAN: Final = ("no tests ran", "collected 0 items", "ran 0 tests", "running 0 tests",
                       "no test files", "no tests found", "no tests were found")  # fmt: skip
HIDDEN: Final = re.compile(
    r"\|\s*(?:tail|head|tee|grep|cat|less|wc|sed|awk|sort)\b|\|\|\s*(?:true|:|echo)"
    r"|;\s*(?:true|echo|exit 0)|>\s*/dev/null|&>\s*\S+|&\s*$"
)
# Kinds of runs: how a claim names one, and words that show that a call is one.
RUNS: Final = (
    (
        re.compile(r"(?i)\btype[- ]?check|\bmypy\b|\btsc\b|\bpyright\b"),
        ("mypy", "pyright", "tsc", "typecheck", "type-check", "type check", "cargo check"),
    ),
    (
        re.compile(r"(?i)\blint|\bruff\b|\beslint\b|\bflake8\b|\bclippy\b"),
        ("lint", "ruff", "flake8", "clippy", "golangci", "biome", "checkstyle", "rubocop"),
    ),
    (
        re.compile(r"(?i)\btests?\b|\bsuite\b|\bspecs?\b|\bpytest\b"),
        ("test", "spec", "jest", "mocha", "tox", "nox", "cypress", "playwright", " passed"),
    ),
    (
        re.compile(r"(?i)\bbuild|\bcompil"),
        (
            "build",
            "compil",
            "make",
            "cargo",
            "gradle",
            "mvn",
            "webpack",
            "vite",
            "tsc",
            "gcc",
            "bazel",
        ),
    ),
)
RUNNER: Final = re.compile(
    r"(?i)test|jest|mocha|tox|nox|make|cargo|go\s|npm|yarn|pnpm|gradle|mvn|tsc|mypy|ruff|lint|flake8"
    r"|build|docker|compile|check|black|prettier|pip|migrate|deploy|terraform|helm|\bnode\b|python"
)
_STATES: Final = ("pass", "fail", "error", "warning", "skipped", "problem", "vulnerab", "violation",
                  "issue")  # fmt: skip
_STATE_LINES_MAX: Final = 60  # of each word


def tally(low: str) -> dict[str, int]:
    """Counts that an output reports, by kind: passed, failed, errors, warnings, skipped."""
    counts: dict[str, int] = {}
    for line in lines_with(_STATES, low).values():
        for match in _TALLY.finditer(line):
            number = match.group(1) or match.group(4) or match.group(6)
            word = match.group(2) or match.group(3) or match.group(5)
            kind = KINDS[word[:4]]
            counts[kind] = max(counts.get(kind, 0), int(number))
    return counts


def place_of(state: tuple[tuple[str, ...], re.Pattern[str]], low: str) -> int:
    """Where ``low`` shows a state, or -1."""
    words, pattern = state
    lines = lines_with(words, low)
    return next((at for at, line in lines.items() if pattern.search(line)), -1)


def lines_with(words: Sequence[str], low: str) -> dict[int, str]:
    """Lines with one of the words, by offset; the last of many: summaries stand at the end."""
    lines: dict[int, str] = {}
    for word in words:
        at = low.rfind(word)
        for _ in range(_STATE_LINES_MAX):
            if at < 0:
                break
            shown = at + (word[0] == "\n")
            start = low.rfind("\n", 0, shown) + 1
            stop = low.find("\n", shown)
            lines[start] = low[start : min(start + 400, stop if stop >= 0 else len(low))]
            at = low.rfind(word, 0, start) if start else -1
    return lines


def failures(count: dict[str, int]) -> int:
    """Failed tests and errors; problems where the output does not tell errors from warnings."""
    if "failed" in count or "errors" in count:
        return count.get("failed", 0) + count.get("errors", 0)
    return count.get("problems", 0)


def passed(source: Source) -> bool | None:
    """True for a run that passed, False for one that failed, None where the entry tells neither."""
    count = tally(source.low)
    if failures(count) or source.evidence.is_error:
        return False
    if "passed" in count or place_of(GOOD, source.low) >= 0:
        return True
    return False if place_of(BAD, source.low) >= 0 else None
