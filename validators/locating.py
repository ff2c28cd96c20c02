"""Where a value of a claim stands in the cited entries, after normalisation.

Numbers compare as numbers (units, durations, rounding), paths and addresses may be joined from
their parts, quoted text may be wrapped differently. A value inside a longer number or identifier
is not found: "60" is not in "600".
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from keepthread.validators.dates import clock_pattern, day_pattern
from keepthread.validators.quantities import measured, unit_agrees
from keepthread.validators.sources import Source
from keepthread.validators.values import NUMBER_WORDS, Value
from keepthread.validators.vocabulary import aliases


class Hit(NamedTuple):
    """A place in ``sources[source]``: of its output, or of its arguments."""

    source: int
    start: int
    stop: int
    in_args: bool = False


_HITS_MAX: Final = 64
_SAME: Final = {"none": ("nonetype", "null", "nil"), "null": ("nil", "none"), "http/2": ("http2",)}
_LOCAL: Final = re.compile(r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0):(\d{2,5})")
_STATUS_CLASS: Final = re.compile(r"[1-5]xx")
_SWITCH: Final = re.compile(r"(\w+)=(true|false|none|null)")
_GREPPED_PATH: Final = re.compile(r"[\w./@+-]+:$")
_LIST: Final = re.compile(r"[\d.,]+")
_WORD_OF: Final = {number: word for word, number in reversed(NUMBER_WORDS.items())}


def locate(value: Value, sources: Sequence[Source]) -> list[Hit]:
    """All places where ``value`` stands, outputs before arguments; empty if it does not occur."""
    finder = {
        "number": _find_number,
        "version": _find_version,
        "path": _find_path,
        "url": _find_url,
        "hash": _find_hash,
        "date": _find_date,
    }.get(value.kind, _find_text)
    hits = [Hit(n, *span) for n, source in enumerate(sources) for span in finder(value, source)]
    if not hits and value.kind == "number" and (value.unit or value.about):
        hits = [
            Hit(n, start, stop)
            for n, source in enumerate(sources)
            for start, stop in measured(value, source.low, source.text)
        ]
    return sorted(hits, key=lambda hit: hit.in_args)


Span = tuple[int, int, bool]


def _spans(source: Source, needle: str, *, loose: bool = False) -> Iterator[Span]:
    for in_args in (False, True):
        for at in source.find(needle, in_args=in_args, loose=loose):
            yield at, at + len(needle), in_args


def _find_text(value: Value, source: Source) -> Iterator[Span]:
    needle = value.text.lower().removesuffix("()").strip()
    ways = (_as_it_is, _respelled) if value.kind != "day" else (_find_day,)
    for way in (*ways, *_WAYS.get(value.kind, ())):
        spans = list(way(needle, source))
        if spans:
            yield from spans
            return


def _as_it_is(needle: str, source: Source) -> Iterator[Span]:
    yield from _spans(source, needle)
    if _STATUS_CLASS.fullmatch(needle):  # "5xx" of 503
        codes = re.compile(rf"(?<![\w.]){needle[0]}\d\d(?![\w.])")
        yield from ((*m.span(), False) for m in codes.finditer(source.low))
    if needle.isdigit():  # "0011" of 0011_add_index.sql
        yield from ((at, at + len(needle), False) for at in source.find_within(needle))


def _find_day(needle: str, source: Source) -> Iterator[Span]:
    """"2 October 2024" of 2024-10-02, "Fridays" of friday, "March" of Mar."""
    pattern = day_pattern(needle)
    if pattern:
        for low, in_args in ((source.low, False), (source.args_low, True)):
            yield from ((*m.span(), in_args) for m in islice(pattern.finditer(low), _HITS_MAX))
        return
    needle = needle.removesuffix("s")
    for spelled in (needle, f"{needle}s", needle[:3]):
        spans = list(_spans(source, spelled))
        if spans:
            yield from spans
            return


def _respelled(needle: str, source: Source) -> Iterator[Span]:
    """The same with other white space or quotes, another word for nothing, another local host."""
    for spelled in _SAME.get(needle, ()):
        yield from _spans(source, spelled)
    pattern = _wrapped(needle)
    longest = max(re.findall(r"\w+", needle), key=len, default="")
    if pattern and (longest in source.low or longest in source.args_low):
        for text, in_args in ((source.low, False), (source.args_low, True)):
            yield from ((*m.span(), in_args) for m in pattern.finditer(text))
    if port := _LOCAL.fullmatch(needle):
        yield from _spans(source, port[1])


def _find_switch(needle: str, source: Source) -> Iterator[Span]:
    """``corner=True`` of "corner : bool, if True, ..."."""
    if flag := _SWITCH.fullmatch(needle):
        said = re.compile(rf"(?<!\w){flag[1]}\b[^=]{{1,80}}?\b{flag[2]}\b")
        yield from ((*m.span(), False) for m in said.finditer(source.low))


def _find_date(value: Value, source: Source) -> Iterator[Span]:
    """A date or time of day as such; "2:30" also of a line ``30 2 * * *`` of a crontab."""
    yield from _find_text(value, source)
    pattern = clock_pattern(value.text)
    if pattern:
        yield from ((*m.span(), False) for m in islice(pattern.finditer(source.low), _HITS_MAX))
    clock = re.fullmatch(r"(\d{1,2}):(\d\d)", value.text)
    if clock:
        hour, minute = map(int, clock.groups())
        cron = re.compile(rf"(?<![\d*/]){minute}[ \t]+{hour}(?=(?:[ \t]+[\d*/,a-z-]+){{3}})")
        yield from ((*m.span(), False) for m in cron.finditer(source.low))


def _wrapped(needle: str) -> re.Pattern[str] | None:
    """The same tokens with other white space, quotes, or ``=`` for ``:``; "..." skips some text."""
    tokens = re.findall(r"\w+|\.\.\.|…|[=:]+|[^\w\s]", needle)
    if not tokens or (len(tokens) == 1 and tokens[0].isalnum()):
        return None
    parts = []
    for token in tokens[:80]:
        if token in ("...", "…"):
            parts.append(r"[^\n]{0,200}?")
        elif token in "\"'`":
            parts.append(r"[\"'`]?")
        elif token in (":", "="):
            parts.append(r"[\"']?\s?(?:[=:]{1,2}|,)\s?[\"']?")
        else:
            parts.append(re.escape(token))
    return re.compile(r"(?<![\w])" * tokens[0][0].isalnum() + r"\s*".join(parts)
                      + r"(?![\w]|-\w)" * tokens[-1][-1].isalnum())  # fmt: skip


_TARGET: Final = re.compile(r"(?:(make|just|task)|(?:npm|yarn|pnpm|bun)(?: run)?) ([a-z][\w:-]*)")


def _find_target(command: str, source: Source) -> Iterator[Span]:
    """``make lint`` in a Makefile, ``npm run lint`` in a package.json: where it is defined."""
    match = _TARGET.fullmatch(command)
    if not match:
        return
    named = re.escape(match.group(2))
    made = bool(match.group(1)) and re.search(r"makefile|justfile|taskfile|\.mk\b", source.args_low)
    pattern = rf"(?m)^{named}\s*:(?!=)" if made else rf'"{named}"\s*:'
    if made or "package.json" in source.args_low:
        for found in re.finditer(pattern, source.low):
            yield found.start(), found.end(), False


def _find_flag(command: str, source: Source) -> Iterator[Span]:
    """``rclone copy -n`` where the call asked about ``rclone copy`` and its output tells of ``-n``."""
    words = command.split()
    flags = [word for word in words if word.startswith("-")]
    plain = " ".join(words[: words.index(flags[0])]) if flags else ""
    if plain and source.find(plain, in_args=True):
        for at in source.find(flags[-1]) if all(map(source.find, flags)) else ():
            yield at, at + len(flags[-1]), False


def _find_parts(name: str, source: Source) -> Iterator[Span]:
    """``Class.method`` from its class line and its def line; the last part must be in output."""
    parts = [p for p in re.split(r"\.|::|->|#|\(|\)", name) if p]
    if len(parts) < 2:
        return
    for part in parts[:-1]:
        if not (source.find(part) or source.find(part, in_args=True)):
            return
    for at in source.find(parts[-1])[:8]:
        yield at, at + len(parts[-1]), False


_WAYS: Final = {
    "quoted": (_find_target, _find_flag, _find_switch),
    "code": (_find_switch, _find_parts),
}


def _find_path(value: Value, source: Source) -> Iterator[Span]:
    given = value.text.lower().strip("`")
    path = given.removeprefix("./").rstrip("/")
    path, _, line = path.partition(":")
    if line:
        yield from _find_line(path, line.partition(":")[0], source)
        return
    parts = [part for part in path.split("/") if part and part not in ("~", ".", "..")]
    if not parts:  # "/", "./" or "../": no name to look for
        for at in source.find(given, loose=True) if given else ():
            yield at, at + len(given), False
        return
    spans = list(_spans(source, path))
    if not spans and value.text[:1].isupper() and path.endswith(".js"):  # "Next.js" of next 14
        spans = list(_spans(source, path.removesuffix(".js")))
    if spans:
        yield from spans
        return
    *folders, base = parts
    hits = list(_spans(source, base))
    around = source.low + "\n" + source.args_low
    if hits and folders and all(_stands_in(around, folder) for folder in folders[-3:]):
        yield from hits[:8]


def _find_line(path: str, number: str, source: Source) -> Iterator[Span]:
    """``path:number`` as such, as a traceback has it, or in the one file that the call read."""
    base = re.escape(path.rsplit("/", 1)[-1])
    found = re.compile(rf"(?<![\w.-]){base}(?::|\"?, line |\(){number}(?!\d)")
    if "/" not in path or _stands_in(source.low + source.args_low, path.rsplit("/", 1)[0]):
        for match in found.finditer(source.low):
            yield match.start(), match.end(), False
    if source.find(path, in_args=True):
        for at in source.find(number):
            yield at, at + len(number), False


def _stands_in(text: str, part: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(part)}(?![\w-])", text) is not None


def _find_url(value: Value, source: Source) -> Iterator[Span]:
    url = value.text.lower().rstrip("/.")
    bare = url.split("://", 1)[-1]
    for needle in (url, bare):
        hits = list(_spans(source, needle))
        if hits:
            yield from hits
            return


def locate_joined(value: Value, sources: Sequence[Source]) -> list[Hit]:
    """A URL or path whose parts stand in different entries: host in one, base path in another."""
    if value.kind not in ("url", "path", "code"):
        return []
    text = value.text.lower().split("://", 1)[-1].rstrip("/")
    begins_with_host = value.kind == "url" or "." in text.partition("/")[0].strip(".")
    head, _, tail = text.partition("/") if begins_with_host else text.rpartition("/")
    if value.kind == "code":
        head, _, tail = text.removesuffix("()").rpartition(".")
    if not head or not tail:
        return []
    hits = []
    for part in (head, tail):
        places = [
            Hit(n, *span) for n, source in enumerate(sources) for span in _spans(source, part)
        ]
        if not any(not hit.in_args for hit in places):
            return []
        hits += [hit for hit in places if not hit.in_args][:4]
    return hits


def _find_hash(value: Value, source: Source) -> Iterator[Span]:
    claimed = value.text.lower()
    for low, in_args in ((source.low, False), (source.args_low, True)):
        at, tries = low.find(claimed[:7]), 0
        while at >= 0 and tries < 32:
            stop = at
            while stop < len(low) and low[stop] in "0123456789abcdef":
                stop += 1
            run = low[at:stop]
            whole = (at == 0 or not low[at - 1].isalnum()) and (
                stop == len(low) or not low[stop].isalnum()
            )
            if whole and (run.startswith(claimed) or claimed.startswith(run)):
                yield at, stop, in_args
            at, tries = low.find(claimed[:7], at + 1), tries + 1


def _find_version(value: Value, source: Source) -> Iterator[Span]:
    yield from _find_digits(value.text.lower(), source, version=True)


def _find_digits(digits: str, source: Source, *, version: bool) -> Iterator[Span]:
    pattern = re.compile(re.escape(digits) + r"(?![\d_])")
    for low, in_args in ((source.low, False), (source.args_low, True)):
        hits = 0
        for match in pattern.finditer(low):
            if _whole_number(low, match.start(), match.end(), version=version):
                hits += 1
                yield match.start(), match.end(), in_args
            if hits >= _HITS_MAX:
                break


def _whole_number(low: str, start: int, stop: int, *, version: bool) -> bool:
    if _is_listed(low, start, stop):
        return True
    before, two_before = low[start - 1 : start], low[max(0, start - 2) : start - 1]
    after, beyond = low[stop : stop + 1], low[stop + 1 : stop + 2]
    dotted = version or "." in low[start:stop]
    if before.isdigit() or after.isdigit() or before == "_":
        return False
    if before.isalpha() and not (dotted or before == "v"):
        return False
    if before == "." and two_before.isdigit():
        return False
    if before == "," and two_before.isdigit() and stop - start == 3:
        return False
    if before == ":" and two_before.isdigit() and stop - start == 2:
        return False
    if after == "." and beyond.isdigit() and not re.match(r"\.0+(?!\d)", low[stop : stop + 8]):
        # "Python 3.11" is said of 3.11.4, but 3 is not said of 3.11
        return (
            dotted and low[start:stop].count(".") == 1 and low[stop + 1 : stop + 5].count(".") == 0
        )
    if after == "," and stop - start <= 3 and re.match(r"\d{3}(?!\d)", low[stop + 1 : stop + 5]):
        return False
    return not (
        after.isalpha() and not re.match(r"[a-zµ%]{1,5}(?![\w])|[hm]\d", low[stop : stop + 7])
    )


def _is_listed(low: str, start: int, stop: int) -> bool:
    """Whether digits are one of several in a list such as ``420,399,95.0``, which is no number."""
    if "," not in (low[start - 1 : start], low[stop : stop + 1]):
        return False
    first = len(low[max(0, start - 40) : start].rstrip("0123456789.,"))
    rest = _LIST.match(low, max(0, start - 40) + first, stop + 40)
    parts = rest.group().strip(",").split(",") if rest else []
    grouped = all(len(part.partition(".")[0]) == 3 for part in parts[1:])
    return low[start:stop] in parts and (len(parts) > 1 and not grouped)


def _find_number(value: Value, source: Source) -> Iterator[Span]:
    number = value.number or 0.0
    shown = re.sub(r"[,_ ]", "", value.text)
    if not re.fullmatch(r"-?\d+(?:\.\d+)?", shown):
        shown = f"{number / value.scale:g}"
    spellings = {shown}
    if shown.lstrip("-").isdigit():
        spellings |= {f"{int(shown):,}", f"{int(shown):_}"}
    word = _WORD_OF.get(int(number / value.scale)) if float(shown).is_integer() else None
    spans = [span for text in spellings for span in _find_digits(text, source, version=False)]
    spelled = {word or "", value.text.lower() if value.text.isalpha() else ""}  # "two", "twice"
    spans += [span for one in spelled if one for span in _spans(source, one)]
    fitting = [
        span
        for span in spans
        if (value.unit or not _in_duration(source, span))
        and unit_agrees(value, source.args if span[2] else source.text, span[0], span[1])
        and (value.of_line or span[2] or not _in_gutter(source, span[0], span[1]))
    ]
    yield from fitting
    if not fitting and value.before and shown.isdigit():
        # "Postgres 15" is said of postgres:15.4
        named = re.compile(rf"{re.escape(value.before)}[\W_v]{{0,4}}{shown}(?=\.\d)")
        words = (value.before, *aliases(value.before))
        if any(word in source.args_low for word in words):  # "Node 20" of ``cat .nvmrc``
            named = re.compile(rf"(?<![\w.]){shown}(?=\.\d+\.\d)")
        fitting = [(*m.span(), False) for m in named.finditer(source.low)]
        yield from fitting


def _in_duration(source: Source, span: Span) -> bool:
    """Whether a number without a unit is the first part of ``3m47s``."""
    return not span[2] and bool(re.match(r"[hm]\d", source.low[span[1] : span[1] + 2]))


def _in_gutter(source: Source, start: int, stop: int) -> bool:
    """Whether a number is only the line number that a viewer or ``grep -n`` put before a line."""
    low = source.low
    after = low[stop : stop + 1]
    first = low.rfind("\n", max(0, start - 200), start) + 1
    if source.searches and after == ":" and _GREPPED_PATH.match(low[first:start]):
        return True
    if after not in ("\t", "\u2192", ":", "-") or low[first:start].strip() or not after:
        return False
    if source.searches and after in ":-":
        return True
    last = low.find("\n", stop)
    following = re.match(r"[ ]*(\d+)", low[last + 1 : last + 12]) if last >= 0 else None
    return after in "\t\u2192:" and (
        following is None or int(following.group(1)) == int(low[start:stop].replace(",", "")) + 1
    )
