"""What a run says of one test, package or migration: the status on the lines that name it."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from keepthread.validators.sources import Source
from keepthread.validators.vocabulary import content_words, is_frame, is_generic, stem, synonyms

_LINES_MAX: Final = 24
_LINE_CHARS_MAX: Final = 400
_TALLY: Final = re.compile(r"\d+ (?:passed|failed)")
_PASSED: Final = re.compile(r"(?i)\b(?:passed|ok|pass|success\w*)\b|✓|✔")
_FAILED: Final = re.compile(r"(?i)\b(?:failed|fail|failure|error)\b|traceback|✗|✖|✘")
_CLAUSE: Final = re.compile(r"(?i)[;,:]\s|\b(?:but|while|whereas|since|because|although)\b")
_SAYS_PASS: Final = re.compile(
    r"(?i)\b(?:pass(?:es|ed)?|succeed(?:s|ed)?|green|(?:was|were|got|been) applied)\b"
)
_SAYS_FAIL: Final = re.compile(
    r"(?i)\b(?:fail(?:s|ed|ing)?|crash(?:es|ed)?|red|broken|breaks|(?:not|n't) (?:pass|applied))\b"
)
_NEGATED: Final = re.compile(r"(?i)\b(?:no|none|not|never|without)\b|n't\b")
_TOKEN: Final = re.compile(r"[\w./:-]*\w")


class Status(NamedTuple):
    """The status that a line gives, and whether the claim says the same."""

    source: int
    start: int
    stop: int
    passed: bool
    agrees: bool


def line_statuses(text: str, sources: Sequence[tuple[int, Source]]) -> list[Status]:
    """The status of each thing that a clause of ``text`` says to pass or to fail, where a line has one."""
    found = []
    for clause in _CLAUSE.split(text):
        passes, fails = _SAYS_PASS.search(clause), _SAYS_FAIL.search(clause)
        if bool(passes) == bool(fails) or (passes and _NEGATED.search(clause)):
            continue
        verb = passes or fails
        for subject in _subjects(clause[: verb.start() if verb else 0]):
            statuses = list(_of(subject, sources))
            alike = [s for s in statuses if s.passed == bool(passes)]
            chosen = (alike or statuses)[:1]
            found += [s._replace(agrees=bool(alike)) for s in chosen]
    return found


def _subjects(text: str) -> Iterator[str]:
    """What a verb is said of: identifiers before it, else its last telling words."""
    tokens = [m.group() for m in _TOKEN.finditer(text)]
    coded = [t for t in tokens if re.search(r"[_./:]|\d|[a-z][A-Z]", t) and not t.isdigit()]
    words = [
        w for w in tokens
        if w.isalpha() and len(w) > 2 and content_words(w) and not is_frame(stem(w)) and not is_generic(stem(w))
    ]  # fmt: skip
    yield from coded or words


def _of(subject: str, sources: Sequence[tuple[int, Source]]) -> Iterator[Status]:
    plain = subject.isalpha()
    for n, source in sources:
        name = subject.lower().rsplit("::", 1)[-1].removesuffix("()")
        places = source.find(name)
        if plain:
            places = places or [at for s in synonyms(stem(name)) for at in source.word_places(s)]
        for at in places[:_LINES_MAX]:
            first = max(0, at - _LINE_CHARS_MAX)
            start = source.low.rfind("\n", first, at) + 1 or first
            line = source.low[start : at + _LINE_CHARS_MAX].partition("\n")[0]
            if _TALLY.search(line):
                continue
            passed, failed = _PASSED.search(line), _FAILED.search(line)
            if bool(passed) != bool(failed):
                yield Status(n, start, start + len(line), passed is not None, False)
