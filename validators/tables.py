"""Rows of tables and listings: what a claim says of one row must not stand in another.

All words of "redis has 17 restarts" may stand in a table whose row of redis says 0. Each telling
token of a clause is held against its rivals, the cells of the same column in other rows and of
like content in the same row: where one of these has more of the clause in its row and heading, and
is not itself named by the claim, the table says it of the rival.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from keepthread.validators.locating import Hit
from keepthread.validators.sources import Source
from keepthread.validators.values import Claim, Value
from keepthread.validators.vocabulary import content_words, is_generic, stem, synonyms

_ROWS_MAX: Final = 300
_LINE_CHARS_MAX: Final = 400
_MARGIN: Final = 0.9
_MARGIN_VALUE: Final = 0.4  # of a number, a version or an id, which no paraphrase brings in
_GENERIC: Final = 0.5
_COLUMN: Final = re.compile(r"\s*\|\s*|\t+|[ ]{2,}")
_COMMIT: Final = re.compile(r"^[*|\\/ ]*([0-9a-f]{7,40}) (?:\([^)\n]*\) )?(.*)$")
_STATUS: Final = re.compile(r"^([ MADRCU?!]{2}) (\S+)$")
_RULE: Final = frozenset(" \t\r|+=:-")
_CODE: Final = re.compile(r"[{}();]\s*$|^\^?[0-9a-f]{7,40} \([^()]*\d\)|^\s*\d+[\t:\u2192]")
_CLAUSE: Final = re.compile(
    r"(?i)[,;&:]\s|\b(?:and|or|but|both|while|whereas|than|next to|beside|alongside|instead of"
    r"|rather than|after|before|since|because|from\b.*?\bto)\b"
)
_SUBJECT: Final = re.compile(r"((?:\S+ ){1,4}?)(?:is|are|was|were|has|have|[a-z]{2,}s)\b")
_VERB: Final = re.compile(r"\s*(?:is|are|was|were|has|have|[a-z]{2,}s|[a-z]{2,}ed)\b")
_TOKEN: Final = re.compile(r"[a-z0-9](?:[\w./-]*\w)?")

_CODES: Final = re.compile(r"(?<![\w.-])[A-Z]{2}(?![\w.-])")  # DE, UK
_JOINT: Final = re.compile(r"__|/|(?<=\d)-(?=\d)|(?<=[a-z_])\.(?=[a-z_]{3})")
_LIKE: Final = re.compile(r"\d[\d.:-]*(?:-\w+)?$")
_NOTHING: Final = frozenset({"-"})
_NONE: Final = frozenset(("-", "none", "<none>", "n/a", "null"))
_SUMS: Final = frozenset(stem(w) for w in ("total", "sum", "overall", "files"))
_KEYED: Final = re.compile(r"^\s*[A-Za-z][\w .-]*:\s")
_LISTED: Final = re.compile(r"^[-dlrwxst]{10}\S? +\d+ \S+ +\S+ +(\d+) (.{12}) (\S.*)$")
_LOGGED: Final = re.compile(r"^((?:[A-Z]\w\w +\d+ )?\S{0,16}\d\d:\d\d:\d\d\S*) (.+)$")
_PAIR: Final = re.compile(r"^\s*(\d+) (\S+)$")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NUMBER: Final = re.compile(r"(\d+(?:\.\d+)?)[a-z]{0,5}$")


class _Cell(NamedTuple):
    row: int
    column: int


class _Table(NamedTuple):
    """Cells as sets of tokens; ``heads`` are those above the columns, empty without a heading."""

    rows: list[list[frozenset[str]]]
    heads: list[frozenset[str]]
    whole: list[frozenset[str]]


def other_row(
    claim: Claim, placed: Sequence[tuple[Value, Sequence[Hit]]], sources: Sequence[Source]
) -> str:
    """Why a table says it of another row or column, or an empty text."""
    shown = _shown(placed, sources)
    clauses = [_as_shown(c, shown) for c in _clauses(claim.asserted)]
    clauses = [c for c in clauses if len(c) > 1]
    named = _as_shown(_tokens(claim.text), shown)
    for source in sources:
        for table in _tables(source.text):
            if any(_is_torn(clause, named, table) for clause in clauses):
                return "the cited entry says it of another row or column"
    return ""


def _clauses(text: str) -> Iterator[frozenset[str]]:
    """Tokens of each clause; one that begins with a verb has the subject of the first."""
    first = _SUBJECT.match(text)
    subject = _tokens(first.group(1)) if first else frozenset[str]()
    for n, clause in enumerate(_CLAUSE.split(text)):
        yield _tokens(clause) | (subject if n and _VERB.match(clause) else frozenset())


def _shown(
    placed: Sequence[tuple[Value, Sequence[Hit]]], sources: Sequence[Source]
) -> list[tuple[frozenset[str], frozenset[str]]]:
    """How the claim and the entries write a number or a day: 651 and "651.2"."""
    return [
        (_tokens(value.text), _tokens(_whole(sources[hit.source].low, hit)))
        for value, hits in placed
        for hit in hits[:1]
        if value.kind in ("number", "day") and not hit.in_args
    ]


def _whole(low: str, hit: Hit) -> str:
    """The text of a hit with the rest of its word: "6m12s"."""
    rest = _TOKEN.match(low, hit.start, hit.stop + 12)
    return low[hit.start : max(hit.stop, rest.end() if rest else 0)]


def _as_shown(
    clause: frozenset[str], shown: Sequence[tuple[frozenset[str], frozenset[str]]]
) -> frozenset[str]:
    for said, found in shown:
        if said and found and said <= clause:
            clause = (clause - said) | found
    return clause


def _is_torn(clause: frozenset[str], named: frozenset[str], table: _Table) -> bool:
    """Whether a token of the clause stands where a rival cell has more of the clause about it."""
    heads = frozenset[str]().union(*table.heads)
    for token in clause - heads:
        if is_generic(token):
            continue
        places = [
            _Cell(r, c)
            for r, row in enumerate(table.rows)
            if token in table.whole[r]
            for c, cell in enumerate(row)
            if token in cell
        ]
        common = 2 * len({p.row for p in places}) > len(table.rows)
        sums = any(not _SUMS.isdisjoint(table.whole[p.row]) for p in places)
        if not places or sums or (common and token.isalpha()):
            continue
        rest = frozenset(t for t in clause - {token} if not t.isdigit() or len(t) > 2)
        own = max(_support(rest, p, table) for p in places)
        margin = _MARGIN if token.isalpha() else _MARGIN_VALUE
        if any(
            _support(rest, rival, table) >= own + margin
            for rival in _rivals(token, places, table)
            if named.isdisjoint(_like(token, table.rows[rival.row][rival.column]))
        ):
            return True
    return False


def _rivals(token: str, places: Sequence[_Cell], table: _Table) -> Iterator[_Cell]:
    """Cells that could hold the token instead: of its columns, or with a number beside it."""
    number = token[0].isdigit()
    for r, row in enumerate(table.rows):
        for c, cell in enumerate(row):
            if (r, c) in places:
                continue
            if any(
                _like(token, cell) and number
                if p.row == r
                else p.column == c
                and abs(len(row) - len(table.rows[p.row])) < 2
                and (cell == _NOTHING or _like(token, cell))
                for p in places
            ):
                yield _Cell(r, c)


def _like(token: str, cell: frozenset[str]) -> frozenset[str]:
    """The tokens of a cell that could stand for the token: numbers for a number."""
    return frozenset(t for t in cell if _LIKE.match(t)) if token[0].isdigit() else cell


def _support(rest: frozenset[str], cell: _Cell, table: _Table) -> float:
    """The weight of the clause's other tokens in the row of a cell and above it."""
    around = table.whole[cell.row]
    if cell.column < len(table.heads):
        around = around | table.heads[cell.column]
    return sum(
        _GENERIC if is_generic(t) else 1.0
        for t in rest
        if t in around or not synonyms(t).isdisjoint(around)
    )


def _tokens(text: str) -> frozenset[str]:
    """Numbers without their units, identifiers as such, and stems of words."""
    found = set()
    for token in _TOKEN.findall(_THOUSANDS.sub("", text.lower())):
        for part in {token, *_JOINT.split(token)}:
            number = _NUMBER.match(part)
            if number:
                found.add(number.group(1))
            elif part == token or not part.isalpha():
                found.add(stem(part) if part.isalpha() else part)
    words = {stem(w) for w in content_words(text) if len(w) > 2}
    words |= {code.lower() for code in _CODES.findall(text)}
    return frozenset(words | {t for t in found if len(t) > 2 or t[:1].isdigit()})


def _tables(text: str) -> Iterator[_Table]:
    """Runs of lines with cells, most of them with as many; rules between them are left out."""
    run: list[list[str]] = []
    ruled = False
    for line in (*text.split("\n", _ROWS_MAX)[:_ROWS_MAX], ""):
        if ("--" in line or "==" in line) and _RULE.issuperset(line):
            ruled = ruled or len(run) == 1
            continue
        cells = _cells(line[:_LINE_CHARS_MAX])
        if len(cells) > 1:
            run.append(cells)
            continue
        if len(run) > 1:
            counts = [len(c) for c in run]
            usual = max(set(counts), key=counts.count)
            told = sum(any(c[:1].isdigit() or len(c) == 2 for c in row) for row in run)
            if 3 * sum(abs(n - usual) < 2 for n in counts) >= 2 * len(counts) <= 4 * told:
                yield _table(run, ruled=ruled)
        run, ruled = [], False


def _table(run: Sequence[Sequence[str]], *, ruled: bool) -> _Table:
    rows = [[_NOTHING if c.lower() in _NONE else _tokens(c) for c in row] for row in run]
    numbers = [any(char.isdigit() for cell in row for char in cell) for row in run[:2]]
    heads = rows.pop(0) if ruled or (numbers == [False, True]) else []
    return _Table(rows, heads, [frozenset[str]().union(*row) for row in rows])


def _cells(line: str) -> list[str]:
    line = line.rstrip()
    bare = line.strip().strip("|").strip()
    cells = _COLUMN.split(bare)
    if _CODE.search(line) or (_KEYED.match(line) and len(cells) < 3):
        return []
    listed = _LISTED.match(line) or _LOGGED.match(line)
    match = listed or _COMMIT.match(line) or _STATUS.match(line) or _PAIR.match(line)
    if match and (listed or len(cells) < 3):
        return list(match.groups())
    if len(cells) == 1 and bare.count(",") > 1 and ", " not in bare:
        return bare.split(",")
    return cells
