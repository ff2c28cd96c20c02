"""What in a message was pasted: fences, quoted and indented blocks, long quotations.

Pasted text is data, not the user's word. In doubt a text counts as pasted: the user can say it
again. Everything here reads a message once, line by line or mark by mark.
"""

import re

MASK = "\0"
QUOTE_CHARS_MIN = 200  # a shorter quotation is the user's own way of speaking
QUOTED_LINE_CHARS_MIN = 400
BLOCK_LINES_MIN = 2

_RUN = re.compile(r"`{3,}|~{3,}")
_QUOTED_LINE = re.compile(r"[ \t]*>")
_INDENTED = re.compile(r"(?: {4}|[ ]{0,3}\t)[ \t]*(?![-*+•][ \t]|\d{1,3}[.)][ \t])\S")
_MARKS = re.compile("[\"'“”„«»‹›‘’‚「」]")
_CLOSES = {
    "“": "„",
    "”": "“„",
    "»": "«",
    "«": "»",
    "›": "‹",
    "‹": "›",
    "’": "‘‚",
    "‘": "‚",
    "」": "「",
}
"""By closing mark, what it closes; a mark that closes nothing opens."""


def mask_pasted(message: str) -> str:
    """Return the message with every pasted character but line ends replaced by ``MASK``."""
    lines = message.replace(MASK, " ").split("\n")
    _mask_fences(lines)
    _mask_blocks(lines, _QUOTED_LINE, long_line=QUOTED_LINE_CHARS_MIN)
    if any(line.strip(" \t\r" + MASK) and not line[0].isspace() for line in lines):
        _mask_blocks(lines, _INDENTED, apart=True)
    return _mask_quotations("\n".join(lines))


def _mask_fences(lines: list[str]) -> None:
    """Mask from an opening run to the line that is at least as long a run of the same character.

    A run with a language opens a nested fence. Where a fence stays open, which runs opened and
    which closed is anyone's guess: everything from the first one on is masked.
    """
    open_runs: list[str] = []
    first: tuple[int, str] | None = None
    for number, line in enumerate(lines):
        if not open_runs:
            masked, run = _mask_inline(line)
            if run:
                open_runs.append(run)
                first = first or (number, masked)
            lines[number] = masked
            continue
        lines[number] = _mask(line)
        bare = line.strip(" \t\r>")
        match = _RUN.match(bare)
        if match and match[0].startswith(open_runs[-1]):
            info = bare[match.end() :]
            if not info:
                open_runs.pop()
            elif info.isascii() and not re.search(r"[\s`]", info):
                open_runs.append(match[0])
    if open_runs and first:
        lines[first[0]] = first[1]
        lines[first[0] + 1 :] = map(_mask, lines[first[0] + 1 :])


def _mask_inline(line: str) -> tuple[str, str]:
    """Mask the pairs of runs of one line; return it and the run that stays open, or ``""``."""
    runs = list(_RUN.finditer(line))
    parts, at, i = [], 0, 0
    while i < len(runs):
        run = runs[i]
        parts.append(line[at : run.start()])
        if i + 1 == len(runs) or runs[i + 1][0][0] != run[0][0]:
            return "".join(parts) + _mask(line[run.start() :]), run[0]
        at = runs[i + 1].end()
        parts.append(_mask(line[run.start() : at]))
        i += 2
    return "".join(parts) + line[at:], ""


def _mask_blocks(
    lines: list[str], pattern: re.Pattern[str], *, long_line: int = 0, apart: bool = False
) -> None:
    """Mask runs of lines that begin with ``pattern``, two or more of them or one very long.

    ``apart``: only such as stand after an empty line, a colon, or at the beginning.
    """
    start = 0
    while start < len(lines):
        stop = start
        while stop < len(lines) and pattern.match(lines[stop]):
            stop += 1
        before = lines[start - 1].strip() if start else ""
        block = stop - start >= BLOCK_LINES_MIN and (not apart or before[-1:] in ("", ":"))
        if block or (long_line and stop > start and len(lines[start]) > long_line):
            lines[start:stop] = map(_mask, lines[start:stop])
        start = max(stop, start + 1)


def _mask_quotations(text: str) -> str:
    """Mask long quotations, with the quotations inside them; an apostrophe opens and closes none."""
    spans: list[tuple[int, int]] = []
    opened: list[tuple[str, int]] = []
    previous = -1
    for match in _MARKS.finditer(text):
        mark, at = match[0], match.start()
        if mark in '"“”' and previous >= 0 and at - previous > QUOTE_CHARS_MIN:
            spans.append((previous, at))
        previous = at if mark in '"“”' else previous
        depth = _closed_by(mark, text, at, opened)
        if depth is None:
            continue
        if depth < 0:
            opened.append((mark, at))
            continue
        start = opened[depth][1]
        del opened[depth:]
        if at - start > QUOTE_CHARS_MIN:
            spans.append((start, at))
    parts, done = [], 0
    for start, stop in sorted(spans):
        start = max(start, done)
        if stop >= start:
            parts += [text[done:start], _mask(text[start : stop + 1])]
            done = stop + 1
    return "".join(parts) + text[done:]


def _closed_by(mark: str, text: str, at: int, opened: list[tuple[str, int]]) -> int | None:
    """Return the place in ``opened`` of what a mark closes, -1 where it opens, None for neither."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if mark in "'’" and before.isalnum() and after.isalnum():
        return None
    opens = bool(after.strip()) and not before.isalnum() and before not in tuple(".!?…)")
    if mark not in "\"'" or not opens:
        closes = _CLOSES.get(mark, mark)
        recent = range(len(opened) - 1, max(-1, len(opened) - 9), -1)
        found = next((i for i in recent if opened[i][0] in closes), None)
        if found is not None:
            return found
    return None if mark in "”’」" or (mark in "\"'" and not opens) else -1


def _mask(text: str) -> str:
    return re.sub(r"[^\n]", MASK, text)
