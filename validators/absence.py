"""Claims that something is not there: an empty search, a whole file without it, a denial."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from keepthread.validators.outcomes import OUTCOME_STEMS, SILENT, Outcome
from keepthread.validators.sources import Source, find_stem
from keepthread.validators.values import Claim
from keepthread.validators.vocabulary import is_generic, stem, synonyms

_EMPTY: Final = re.compile(
    r"(?i)(?:no (?:matches|results|files|match|occurrences|output|such)\b.*"
    r"|(?:found )?0(?: \w+.*)?|(?:no|empty) (?:output|result)s?|none|null|nothing found.*"
    r"|exit code:? ?1|your command ran successfully and did not produce any output)"
)
_WORD: Final = re.compile(r"\w")
_NONE: Final = re.compile(r"(?i)\b(?:no|not|none|nothing|never|0)\b")
_NOT_FOUND: Final = re.compile(r"[^\n]{0,120}\b(?:not found|no such|no \w+ in \()")
_LETTERS: Final = re.compile(r"[a-z]{2,}")
_SEARCHING: Final = frozenset("find name type grep which path file".split())
_LISTING: Final = re.compile(r"^(?:cd \S+ && )?(?:ls|tree|git ls-files)\b[^|;&]*$")
_DENIAL: Final = re.compile(
    r"(?i)\bno \w+|not\b|n't\b|missing|could not|undefined|unknown|unresolved|404|\bnone\b"
    r"|without|never|lacks|\bnull\b"
)


def is_denial(low: str, at: int) -> bool:
    """Whether the line around an offset denies something."""
    stop = low.find("\n", at)
    line = low[low.rfind("\n", 0, at) + 1 : stop if stop >= 0 else len(low)]
    return _DENIAL.search(line[:1000]) is not None


def _is_empty(text: str) -> bool:
    """Whether an output is blank, or one phrase that says that nothing was found."""
    first, last = _WORD.search(text), _WORD.search(text[::-1])
    if not first or not last:
        return True
    return _EMPTY.fullmatch(text, first.start(), len(text) - last.start()) is not None


# What a thing is not said to be; a search names the thing, not its state.
_STATES: Final = frozenset(
    stem(w)
    for w in (
        "installed found exists exist present available defined set configured running reachable known "
        "supported there used tracked ignored enabled"
    ).split()
)


def judge_absence(claim: Claim, sources: Sequence[Source]) -> Outcome:
    """Judge "no module imports X": an empty search for X, or a whole file without it."""
    denied = [name for name in claim.negated if len(name) > 2] + [
        v.text.lower() for v in claim.values if v.negated and v.kind != "number"
    ]
    if not denied:
        return SILENT
    paths = [v.text.lower() for v in claim.values if v.kind == "path" and not v.negated]
    specific = [word for word in denied if not is_generic(stem(word))] or denied
    unproven = SILENT
    for n, source in enumerate(sources):
        agreed = Outcome("agrees", "", n, 0, len(source.text))
        if not source.searches:
            if _is_whole_file_without(specific, paths, source) or _says_so(claim, specific, source):
                return agreed
            continue
        asked = [word for word in specific if _stands(word, source, in_args=True)]
        empty = _is_empty(source.text)
        if _LISTING.search(source.command) and not asked and not empty:
            if not any(_stands(word, source, in_args=False) for word in specific):
                return agreed
            return Outcome("contradicts", "the cited listing shows it", n)
        unasked = [w for w in specific if w not in asked and stem(w) not in _STATES]
        if not unasked and _is_reported_missing(claim, source, empty=empty):
            return agreed
        if 2 * len(asked) < len(specific):
            if empty or not any(_stands(word, source, in_args=False) for word in specific):
                unproven = Outcome("unproven", "the cited search did not look for that", n)
            continue
        if empty or (paths and not any(_speaks_of(path, source) for path in paths)):
            return agreed
        shown = any(_stands(word, source, in_args=False) for word in asked)
        if shown and not _DENIAL.search(source.low[:2000]):
            lines = sum(bool(line.strip()) for line in source.text.splitlines())
            plural = "s" * (lines != 1)
            return Outcome("contradicts", f"the cited search found {lines} line{plural}", n)
    return unproven


def _is_whole_file_without(denied: Sequence[str], paths: Sequence[str], source: Source) -> bool:
    """Whether a call read the file that the claim names, and it lacks what the claim denies."""
    if source.evidence.truncated or source.writes or not source.text.strip():
        return False
    return any(source.find(path, in_args=True) for path in paths) and not any(
        _stands(word, source, in_args=False) for word in denied
    )


def _is_reported_missing(claim: Claim, source: Source, *, empty: bool) -> bool:
    """Whether a search for what the claim speaks of came back empty or with "not found"."""
    if not (empty or _NOT_FOUND.match(source.low)):
        return False
    sought = [token for token in _LETTERS.findall(source.args_low) if token not in _SEARCHING]
    words = [stem(token) for token in sought]
    return any(w == s or (len(s) > 3 and w.startswith(s)) for w in claim.words for s in words)


def _says_so(claim: Claim, denied: Sequence[str], source: Source) -> bool:
    """Whether a short line denies what the claim denies: "nothing to commit"."""
    if all(stem(word) in OUTCOME_STEMS for word in denied):
        return False  # "no errors" is a matter of counts
    lines = [line for line in source.text.splitlines() if len(line) < 200]
    affirmed = {w for w in claim.words if w not in claim.negated}
    affirmed |= {name.lower() for name in claim.names} - claim.negated
    affirmed = {w for w in affirmed if source.find_word(stem(w), in_args=True) < 0}
    return any(
        _any_stands(map(stem, denied), line) and (not affirmed or _any_stands(affirmed, line))
        for line in lines
        if _NONE.search(line)
    )


def _any_stands(words: Iterable[str], line: str) -> bool:
    low = line.lower()
    return any(find_stem(low, line, s) >= 0 for word in words for s in synonyms(word))


def _speaks_of(path: str, source: Source) -> bool:
    base = path.rstrip("/").rsplit("/", 1)[-1]
    return bool(source.find(base)) or bool(source.find(base, in_args=True))


def _stands(word: str, source: Source, *, in_args: bool) -> bool:
    found = source.find(word, in_args=in_args)
    return bool(found) or source.find_word(stem(word), in_args=in_args) >= 0
