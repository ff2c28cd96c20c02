"""What of an output only repeats the call's own arguments, which prove only what was run.

``echo``, here-documents and printed literals repeat them, and so does any other program that was
given a sentence: blanked is each line made of the arguments' own words, and each longer run of
them. Searches and reads of files are left out: they are given what they look for.
"""

import re
from typing import Final, NamedTuple

_ARGS_CHARS_MAX: Final = 40_000
_RUN_WORDS: Final = 4  # so many words in a row are no coincidence
_VARIABLES_MAX: Final = 20
_SEGMENT: Final = re.compile(r"(?:\"[^\"\n]*\"|'[^'\n]*'|[^;&|\n()`])+")
_WRAPPER: Final = (
    r"(?:(?:command|builtin|exec|eval|env|sudo|time|nohup|then|else|do|if|while|until|for|!|[({])\s+"
    r"|xargs\s+(?:-\S+\s+)*|[({\\]|\w+=\S*\s+)*"
)
_ECHO: Final = re.compile(
    rf"^\s*{_WRAPPER}(?:/\S*/)?(?:echo|printf|print|yes|Write-Output|Write-Host)\b"
)
_LOOKS: Final = re.compile(
    rf"^\s*{_WRAPPER}(?:/\S*/)?(?:(?:git\s+)?(?:grep|ls-files|show|diff|blame)|[ef]grep|rg|ag|ack|find|fd|ls"
    r"|pgrep|locate|which|cat|bat|head|tail|less|more|nl|sed|wc|tree|stat|file|cut|sort|uniq)\b"
)
_WRITES_OWN: Final = re.compile(  # text of its own among what a search or a read shows
    r"\bsed\b[^\n]{0,200}?['\"/ \d$][aics](?=[/|#,\\ ])|\s--?(?:printf|format|pretty|exec|label)\b"
    r"|\bstat\s+-c|\brg\b[^\n]{0,200}?\s(?:-r|--replace)\b"
)
_QUERIES: Final = re.compile(r"(?i)\bselect\b[^\n]{1,400}?\bfrom\b")
_INTERPRETER: Final = re.compile(r"\b(?:python[\d.]*|node|perl|ruby|php|bash|sh|deno|bun)\b")
_INLINE: Final = re.compile(r"\s-[a-z]*[cepr]\b|\s--(?:eval|print|run)\b")
_DECODER: Final = re.compile(
    r"\bbase64\b[^\n|]{0,40}-(?:d|D|-decode)\b|\bxxd\b[^\n|]{0,40}-r|\brev\b"
)
_TYPED: Final = re.compile(r"<<|\b(?:echo|printf)\b")
_TOKEN: Final = re.compile(r"[^\W_]+")
_ASSIGNED: Final = re.compile(
    r"(?:^|[\s;&(])([A-Za-z_]\w{0,40})=(\"[^\"\n]*\"|'[^'\n]*'|[^\s;&|]*)"
)
_JOINT: Final = re.compile(r"(?<=\w)(?:\"\"|'')(?=\w)")
_SUM: Final = re.compile(r"(?<![\w.])(\d{1,9})\s{0,3}([-+*])\s{0,3}(\d{1,9})(?![\w.])")
_WORD: Final = re.compile(r"\S+")
_STRING: Final = re.compile(r"\"([^\"\n]{3,2000})\"")
_READER: Final = re.compile(
    r"(?i)(?:^|_)(?:read|get|fetch|view|open|grep|glob|search|find|list|show|describe|look_?up|query|"
    r"select|web_?fetch|web_?search)"
)


class _Given(NamedTuple):
    """What a call was given: ``said`` by echoes, ``literal`` text of scripts, words of the rest."""

    said: frozenset[str]
    literal: str
    tokens: frozenset[str]
    runs: frozenset[tuple[str, ...]]
    lines: frozenset[str]


def is_echo(segment: str) -> bool:
    """Whether a segment of a command only prints what it is given."""
    return _ECHO.match(segment) is not None


def without_echo(text: str, command: str, args: str, tool: str, *, failed: bool) -> str:
    """``text`` with what repeats the arguments blanked, offsets kept. Linear in both lengths.

    ``command`` is ``""`` for a call of a tool that takes none.
    """
    given = (command or args)[:_ARGS_CHARS_MAX]
    if command and _DECODER.search(given) and _TYPED.search(given):
        return _blank(text)
    reads = not command and _READER.search(tool.rsplit("__", 1)[-1]) is not None
    known = _given(given, reads=reads, failed=failed)
    kept = []
    for line in text.splitlines(keepends=True):
        bare = line.strip().removeprefix("> ").removeprefix("$ ").removeprefix("+ ").strip()
        if bare and (bare in known.lines or _repeats(bare, known)):
            line = _blank(line)
        elif bare and known.runs:
            line = _without_runs(line, known)
        if not command and not reads and '"' in line:
            line = _STRING.sub(lambda m: _blank_if_given(m, known), line)
        kept.append(line)
    return "".join(kept)


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)


def _given(command: str, *, reads: bool, failed: bool) -> _Given:
    expanded = _expand(command)
    said: set[str] = set()
    literal = ""
    if "<<" in command or _runs_inline_script(command):
        literal = " " + " ".join(_tokens(command)) + " "
    own: list[str] = []
    for segment in _SEGMENT.findall(expanded):
        if is_echo(segment):
            said.update(_tokens(segment))
        looks = _LOOKS.match(segment) and "<<" not in segment and not _WRITES_OWN.search(segment)
        if not looks and not (_QUERIES.search(segment) and "<<" not in segment):
            own.append(segment)
    words = _words("\n".join(own)) if not reads else []
    spoken = _words(expanded) if failed else words
    runs = zip(*(spoken[n:] for n in range(_RUN_WORDS)), strict=False)
    tokens = frozenset(t for segment in own for t in _tokens(segment)) if not reads else frozenset()
    lines = frozenset(bare for line in command.splitlines() if len(bare := line.strip()) > 3)
    return _Given(frozenset(said), literal, tokens, frozenset(runs), lines)


def _expand(command: str) -> str:
    """The command with simple variables, sums of literals and joined quotes worked out."""
    values = {m[1]: m[2].strip("\"'") for m in _ASSIGNED.finditer(command)}
    if "$" in command and 0 < len(values) <= _VARIABLES_MAX:
        names = "|".join(sorted(values, key=len, reverse=True))
        command = re.sub(
            rf"\$(?:\{{({names})\}}|({names})\b)",
            lambda m: values[m[1] or m[2]][:200],
            command,
        )
    command = _JOINT.sub("", command)
    sums = [str(_calculate(int(m[1]), m[2], int(m[3]))) for m in _SUM.finditer(command)]
    return command + (" \n" + " ".join(sums) if sums else "")


def _calculate(a: int, sign: str, b: int) -> int:
    return a + b if sign == "+" else a - b if sign == "-" else a * b


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.replace("\\n", "\n").replace("\\t", " ").lower())


def _words(text: str) -> list[str]:
    """Words as a run compares them: between blanks, without punctuation around them."""
    return [w for raw in text.replace("\\n", "\n").lower().split() if (w := _trim(raw))]


def _trim(word: str) -> str:
    return word.strip("\"'`()[]{}<>,;:.!?\\=")


def _runs_inline_script(command: str) -> bool:
    return any(
        (called := _INTERPRETER.search(line)) and _INLINE.search(line, called.end())
        for line in command.splitlines()
    )


def _repeats(line: str, known: _Given) -> bool:
    tokens = _TOKEN.findall(line.lower())
    if not tokens:
        return False
    if known.said.issuperset(tokens):
        return True
    if known.literal and len(line) < 2000 and f" {' '.join(tokens)} " in known.literal:
        return True
    telling = sum(token.isalpha() for token in tokens)
    return telling > 0 and len(_words(line)) > 1 and known.tokens.issuperset(tokens)


def _without_runs(line: str, known: _Given) -> str:
    """The line with runs of the arguments' words blanked."""
    found = [(m.start(), m.end(), w) for m in _WORD.finditer(line) if (w := _trim(m[0].lower()))]
    if len(found) < _RUN_WORDS:
        return line
    chars = list(line)
    done = 0
    for n in range(len(found) - _RUN_WORDS + 1):
        if tuple(w for _, _, w in found[n : n + _RUN_WORDS]) in known.runs:
            start, stop = max(done, found[n][0]), found[n + _RUN_WORDS - 1][1]
            chars[start:stop] = " " * (stop - start)
            done = stop
    return "".join(chars) if done else line


def _blank_if_given(match: re.Match[str], known: _Given) -> str:
    tokens = _tokens(match[1])
    repeated = len(tokens) > 1 and known.tokens.issuperset(tokens)
    return f'"{" " * len(match[1])}"' if repeated else match[0]
