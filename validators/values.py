"""What a claim asserts: its values, its names, its words, and which of them it negates.

A *value* (number, version, command, quoted text, path, commit id) must occur in the evidence.
Of *names* one suffices. The *words* tell what the claim is about.
"""

import re
from typing import Final, NamedTuple

from keepthread.validators.dates import CLOCK, DAY
from keepthread.validators.vocabulary import content_words, is_frame, stem


class Value(NamedTuple):
    """One asserted value: where it stands in the claim, and as a number where it is one.

    ``kind`` is quoted | code | path | url | hash | date | day | version | number. ``number`` is
    in the base unit of ``unit`` ("s" for durations, "B" for sizes, "%"), or plain where it is "".
    """

    text: str
    kind: str
    start: int
    number: float | None = None
    unit: str = ""
    scale: float = 1.0
    about: str = ""  # "" | about | over | under
    noun: str = ""  # lower case: what is counted
    negated: bool = False
    of_line: bool = False  # the claim speaks of line numbers
    before: str = ""  # the word before it, lower case: "postgres" of "Postgres 15"


class Claim(NamedTuple):
    """A claim taken apart. ``names`` are code-like or proper names; ``words`` are stems."""

    text: str
    values: tuple[Value, ...]
    names: tuple[str, ...]
    words: tuple[str, ...]
    negated: frozenset[str]  # lower-case names and stems that stand under a negation
    absence: bool  # the claim says that something is not there
    asserted: str = ""  # the text without what it only contrasts: "X, not Y" is X


UNITS: Final[dict[str, tuple[str, float]]] = {}
for _spellings, _dimension, _scale in (
    ("ns nanosecond nanoseconds", "s", 1e-9),
    ("us µs μs microsecond microseconds", "s", 1e-6),
    ("ms msec msecs millis millisecond milliseconds", "s", 1e-3),
    ("s sec secs second seconds", "s", 1.0),
    ("m min mins minute minutes", "s", 60.0),
    ("h hr hrs hour hours", "s", 3600.0),
    ("d day days", "s", 86400.0),
    ("w week weeks", "s", 604800.0),
    ("b byte bytes", "B", 1.0),
    ("k kb kib ki kilobyte kilobytes", "B", 1e3),
    ("mb mib mi megabyte megabytes", "B", 1e6),
    ("g gb gib gi gigabyte gigabytes", "B", 1e9),
    ("tb tib terabyte terabytes", "B", 1e12),
    ("% percent pct", "%", 1.0),
):
    for _spelling in _spellings.split():
        UNITS[_spelling] = (_dimension, _scale)
# One letter is a unit only when it touches its number: "5 m" is rarely five minutes.
_GLUED_ONLY: Final = frozenset({"m", "h", "d", "w", "b", "k", "g"})

_MAGNITUDES: Final = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "k": 1e3, "K": 1e3}
_ONES: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
).split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
NUMBER_WORDS: Final[dict[str, int]] = {word: n for n, word in enumerate(_ONES)}
NUMBER_WORDS.update({word: 20 + 10 * n for n, word in enumerate(_TENS)})
NUMBER_WORDS.update({"dozen": 12, "hundred": 100, "thousand": 1000, "twice": 2, "thrice": 3})

_QUOTED: Final = re.compile(
    r"`([^`\n]{1,400})`|\"([^\"\n]{1,400})\"|“([^”\n]{1,400})”|«([^»\n]{1,400})»"
    r"|(?<![\w])'([^'\n]{1,200})'(?!\w)|‘([^’\n]{1,200})’"
)
_URL: Final = re.compile(r"(?<![\w.+-])[a-z][a-z0-9+.-]{1,20}://[^\s)>\]\"'`,]+")
_CALLED: Final = re.compile(
    r"(?<![\w.`])[A-Za-z_][\w.]{0,80}\([\w.]{1,80}(?:, ?[\w.]{1,80}){0,8}\)"
)
_EXTENSIONS: Final = (
    "py|pyi|pyx|ipynb|js|jsx|mjs|cjs|ts|tsx|vue|json|jsonl|ya?ml|toml|ini|cfg|conf|md|rst|txt|lock|"
    "go|rs|rb|php|java|kt|swift|c|h|cc|cpp|hpp|cs|sh|bash|zsh|sql|html?|css|scss|xml|csv|tsv|log|"
    "env|mod|sum|gradle|properties|tf|proto|graphql|svg|png|jpe?g|gif|pdf|db|sqlite3?|whl|zip|gz|"
    "tar|so|exe|pem|key|crt|service|patch|diff|po|mo|in|out|bak|example|j2|tmpl|ex|exs|lua|r|scala"
)
_PATH: Final = re.compile(
    r"(?<![\w/.@-])(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+*-]*(?::\d+){0,2}|(?<![\w/.])/[\w.@+-]+"
    rf"|(?<![\w/.-])\.?[\w-]{{1,80}}(?:\.[\w-]{{1,40}}){{0,6}}\.(?:{_EXTENSIONS})(?::\d+){{0,2}}(?![\w/])"
    r"|(?<![\w/.])(?:Makefile|Dockerfile|Rakefile|Gemfile|Procfile|Jenkinsfile)(?!\w)"
)
_HASH: Final = re.compile(r"(?<![\w.-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}(?![\w-])")
_DATE: Final = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?(?!\d)")
_ADDRESS: Final = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?![\w.])")
_DURATION: Final = re.compile(
    r"(?<![\w.])(?:(\d+)\s?h(?:ours?|rs?)?\s?)?(?:(\d+)\s?m(?:in(?:utes?|s)?)?\s?(?:and\s)?)?"
    r"(\d+(?:\.\d+)?)\s?s(?:ec(?:onds?|s)?)?(?!\w)"
)
_NUMBER: Final = re.compile(
    r"(?<![\w.])(?:[vV](?!0\d))?(-?\d+(?:[,_ ]\d{3}(?!\d))*(?:\.\d+)*"
    r"(?:[-.]?(?:rc|alpha|beta|dev|post|a|b)\.?\d+)?)(?:\s?(%|[a-zA-Zµμ]+))?"
)
_NUMBER_WORD: Final = re.compile(
    r"(?i)(?<![\w-])(?:(twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)[- ])?"
    rf"({'|'.join(NUMBER_WORDS)})(?![\w])(?:[\s-]([a-z]+))?"
)
_IDENTIFIER: Final = re.compile(
    r"--?[A-Za-z][\w-]*(?:=[\w./-]+)?(?![\w])|@?[A-Za-z_$][\w$]*(?:(?:\.|::|->|#)[A-Za-z_$][\w$]*)*(?:\(\))?"
    r"(?:-[A-Za-z0-9]+)*"
)
_ABOUT: Final = re.compile(
    r"(?i)(?:(about|around|approximately|approx\.?|roughly|nearly|almost|circa|some|~|≈|just over|"
    r"just under|close to)|(over|more than|above|exceeds|[^=]>)"
    r"|(under|less than|fewer than|below|within))\s*(?:an? |of )?$"
)
_CLAUSE_END: Final = re.compile(
    r"[;:(),]|\.\s|\.$| but | because | since | so (?:that )?| while | although | and then | - | — "
    r"| unless | which | when | (?:in|within|under|inside) (?=[`\"]?[\w-]*[./_])"
)
_CONTRAST: Final = re.compile(
    r"(?i)\b(?:instead of|rather than|as opposed to|unlike|no longer|and not|but not"
    r"|not\b(?=[^.;]{1,60}\bbut))\b|,\s*not\b"
)
_NEGATION: Final = re.compile(
    r"(?i)\b(?:not|no|none of|nothing|nowhere|without|lacks?|neither|nor|cannot|zero"
    r"|[a-z]+n['’]t)\b"
)
_DENIED_VERBS: Final = (
    r"(?:us|contain|import|exist|have|has|defin|includ|referenc|mention|call|occur|appear|depend|list"
    r"|found|present|installed|available|need|requir|support|any)"
)
_EXISTENCE: Final = re.compile(
    r"(?i)\b(?:no|none|nothing|nowhere|without|lacks?)\b"
    rf"|\b(?:not|(?:do|does|did|is|are|was|were)n['’]t)\s+(?:\w+ly )?{_DENIED_VERBS}\w*"
)
_PASSIVELY_ABSENT: Final = re.compile(
    r"(?i)(?:not|[a-z]+n['’]t)\s+(?:\w+ly )?(?:occur|exist|appear|found|present|mentioned|referenced|imported|defined"
    r"|used|called)\b"
)
# A prohibition mentions what it forbids: "never format gen/" needs a source for gen/.
_PROHIBITION: Final = re.compile(
    r"(?i)\b(?:must|should|may|shall|can|to|do|please|asks?|asked|wants?|says?)\s+(?:never|not)\b"
    r"|\b(?:never|don['’]t|mustn['’]t|shouldn['’]t|can['’]t|cannot|not only|not just"
    r"|whether or not)\b"
)
_ASSIGNMENT: Final = re.compile(r"(?<![\w.-])[A-Za-z_-][\w.-]*(?:==|=|:)(?!//)[\w.\"'/@-]*\w")
_SYMBOLIC: Final = re.compile(r"(?<!\S)(?=\S*\w)(?=\S*[\[\]{}$^\\<>|*])[^\s\"`]{4,120}(?!\S)")
_DAY: Final = re.compile(
    r"(?<![\w./-])(?:January|February|March|April|June|July|August|September|October|November"
    r"|December|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?)(?![\w./-])"
)
_CONSTANT: Final = re.compile(
    r"(?<![\w./-])(?:True|False|None|null|undefined|NaN|PUT|PATCH|DELETE"
    r"|[A-Z]\w*(?:Error|Exception)|E[A-Z]{4,20})(?![\w./])"
)
# A token with a digit behind a hyphen (utf-8, gpt-4o) or in front of a name (0011_add_index).
_HYPHENED: Final = re.compile(
    r"(?<![\w.,/@-])(?:0\d{2,}|(?=[A-Za-z][\w.-]{0,60}-\d)[A-Za-z]\w{0,40}(?:-[\w.]{0,40}\w){1,8}"
    r"|\d+_\d*[A-Za-z]\w*)(?![\w/@-]|\.\w)"
)
_FOLLOWING: Final = re.compile(r"(?:[ -][A-Za-z_]+){1,3}")
_OF_MANY: Final = re.compile(
    r"(?i)(?:^|\b(?:the|these|those|its|our|their|all|for|in)\s)(?:first|last|other) $"
)
_OF_LINE: Final = re.compile(r"(?i)\blines?\b|\b(?:at|from|on) \d+\b|:\d")
_PROPER_STOP: Final = frozenset(
    "I A The OK No Yes It And In URL URLs API CI HTTP JSON YAML SQL ID IDs CLI UI DB OS PR CPU RAM"
    " GET Python TODO True False None Null On Off".split()
)
_WEAK_SLASH: Final = re.compile(r"[A-Za-z]+/[A-Za-z]+")


def is_question(claim: str) -> bool:
    """Whether a claim asks instead of asserting."""
    return claim.rstrip().rstrip("\"'”)").endswith("?")


def parse_claim(text: str) -> Claim:
    """Take a claim apart into values, names and words (linear in its length)."""
    scopes, absence = _negation_scopes(text)
    rest, values, names = _take_values(text)
    rest = _take_numbers(text, rest, values)
    code, plain = _take_names(text, rest, values)
    names += code
    negated_names = {
        name.lower() for name, at in names if any(start <= at < stop for start, stop in scopes)
    }
    placed = [
        v._replace(
            negated=any(start <= v.start < stop for start, stop in scopes),
            of_line=bool(_OF_LINE.search(text)),
            before=_word_before(text, v.start),
        )
        for v in values
    ]
    words: dict[str, bool] = {}
    freed = scopes if absence else [s for s in scopes if _CONTRAST.match(text, s[0])]
    for match in re.finditer(r"\S+", plain):
        under = any(start <= match.start() < stop for start, stop in freed)
        for word in content_words(match.group()):
            stemmed = stem(word)
            if not is_frame(stemmed):
                words[stemmed] = words.get(stemmed, True) and under
    return Claim(
        text=text,
        values=tuple(placed),
        names=tuple(dict.fromkeys(name for name, _ in names)),
        words=tuple(words),
        negated=frozenset(negated_names | {word for word, under in words.items() if under}),
        absence=absence,
        asserted=_without_contrast(text),
    )


def _without_contrast(text: str) -> str:
    for match in _CONTRAST.finditer(text):
        end = _CLAUSE_END.search(text, match.end())
        text = _blank(text, match.start(), end.start() if end else len(text))
    return text


def _word_before(text: str, at: int) -> str:
    match = re.search(r"([A-Za-z][\w+#-]*)[ -]$", text[max(0, at - 32) : at])
    return match.group(1).lower() if match else ""


def _negation_scopes(text: str) -> tuple[list[tuple[int, int]], bool]:
    """Stretches whose mentions need no source, and whether the claim denies existence."""
    prohibited = [m.span() for m in _PROHIBITION.finditer(text)]
    scopes: list[tuple[int, int]] = []
    for pattern in (_CONTRAST, _NEGATION):
        for match in pattern.finditer(text):
            if any(start <= match.start() < stop for start, stop in prohibited):
                continue
            end = _CLAUSE_END.search(text, match.end())
            stop = end.start() if end else len(text)
            scopes.append((match.start(), stop))
            if _PASSIVELY_ABSENT.match(text, match.start()) and not _CLAUSE_END.search(
                text, 0, match.start()
            ):
                scopes[-1] = (0, stop)  # "X does not occur in Y" denies X
    return scopes, bool(scopes) and bool(_EXISTENCE.search(text))


def _blank(text: str, start: int, stop: int) -> str:
    return text[:start] + " " * (stop - start) + text[stop:]


def _take_values(text: str) -> tuple[str, list[Value], list[tuple[str, int]]]:
    """Cut quoted text, addresses, paths, ids and dates out of a claim."""
    values: list[Value] = []
    names: list[tuple[str, int]] = []
    rest = text
    for match in _QUOTED.finditer(text):
        inner = next(group for group in match.groups() if group is not None).strip()
        rest = _blank(rest, match.start(), match.end())
        if inner:
            values.append(Value(inner, _quoted_kind(inner), match.start()))
    for pattern, kind in (
        (_URL, "url"),
        (_CALLED, "code"),
        (_ADDRESS, "version"),
        (_DATE, "date"),
        (DAY, "day"),
        (CLOCK, "date"),
        (_SYMBOLIC, "code"),
        (_HASH, "hash"),
        (_PATH, "path"),
        (_ASSIGNMENT, "code"),
        (_CONSTANT, "code"),
        (_DAY, "day"),
        (_HYPHENED, "code"),
    ):
        for match in pattern.finditer(rest):
            found = match.group().rstrip(".,;:")
            if kind == "path" and _WEAK_SLASH.fullmatch(found):
                continue
            values.append(Value(found, kind, match.start()))
            rest = _blank(rest, match.start(), match.start() + len(found))
    return rest, values, names


def _quoted_kind(inner: str) -> str:
    if _URL.fullmatch(inner):
        return "url"
    if _HASH.fullmatch(inner):
        return "hash"
    if re.fullmatch(r"[~./]*[\w.@+-]+(?:/[\w.@+-]+)*/?", inner) and (
        "/" in inner or _PATH.fullmatch(inner)
    ):
        return "path"
    if re.fullmatch(r"\d+(?:\.\d+)*", inner):
        return "version"
    return "quoted" if re.search(r"\s", inner) else "code"


def _take_numbers(text: str, rest: str, values: list[Value]) -> str:
    for match in _DURATION.finditer(rest):
        hours, minutes, seconds = match.groups()
        if hours or minutes:
            total = int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds)
            values.append(_number(text, match, match.group(), total, "s", 1.0))
            rest = _blank(rest, match.start(), match.end())
    for match in _NUMBER.finditer(rest):
        digits, after = match.group(1), (match.group(2) or "")
        stop = match.end(1)
        if re.search(r"\.\d+\.|[a-z]", digits):
            values.append(Value(digits, "version", match.start(1)))
        else:
            unit, scale, glued = _unit(rest, match.start(2), after)
            if after and glued and not unit and not re.fullmatch(r"(?i)st|nd|rd|th|x", after):
                values.append(Value(digits + after, "code", match.start(1)))  # "2to3", "4xx"
                rest = _blank(rest, match.start(), match.end(2))
                continue
            if after in ("k", "K") and glued and re.match(r" [a-z]{3,}s\b", rest[match.end(2) :]):
                unit, scale = "", 1.0  # "184k documents"
            number = float(re.sub(r"[,_ ]", "", digits)) * scale
            noun = "" if unit else _noun(rest, match.end(1))
            found = _number(text, match, digits, number, unit, scale, noun)
            if after in _MAGNITUDES and not unit:  # "1.2 million" is said of 1,204,332
                found = found._replace(number=number * _MAGNITUDES[after], about="about")
            values.append(found)
            stop = match.end(2) if unit or glued else stop
        rest = _blank(rest, match.start(), stop)
    for match in _NUMBER_WORD.finditer(rest):
        tens, ones, after = match.groups()
        number = float(NUMBER_WORDS[(tens or "zero").lower()] + NUMBER_WORDS[ones.lower()])
        unit, scale, _ = _unit(rest, match.start(3), after or "")
        if ones.lower() == "one" and not tens and not unit:
            continue  # "one" is mostly a pronoun
        if _OF_MANY.search(rest[max(0, match.start() - 14) : match.start()]):
            continue  # "the first two" counts nothing
        values.append(
            _number(
                text,
                match,
                match.group(2),
                number * scale,
                unit,
                scale,
                "times" if ones.lower() in ("twice", "thrice") else _noun(rest, match.end(2)),
            )  # fmt: skip
        )
        rest = _blank(rest, match.start(), match.end(3) if unit else match.end(2))
    return rest


def _noun(text: str, at: int) -> str:
    """What is counted: the first plural among the next words, else the next word."""
    words = _FOLLOWING.match(text, at)
    following = words.group().lower().split() if words else []
    return next((w for w in following if w.endswith("s")), following[0] if following else "")


def _unit(text: str, at: int, word: str) -> tuple[str, float, bool]:
    glued = bool(word) and text[at - 1] != " "
    key = word if word in UNITS else word.lower()
    if key not in UNITS or (key in _GLUED_ONLY and not glued):
        return "", 1.0, glued
    return (*UNITS[key], glued)


def _number(
    text: str,
    match: re.Match[str],
    shown: str,
    number: float,
    unit: str,
    scale: float,
    noun: str = "",
) -> Value:
    found = _ABOUT.search(" " + text[max(0, match.start() - 24) : match.start()])
    about = ("about", "over", "under")[(found.lastindex or 1) - 1] if found else ""
    return Value(shown, "number", match.start(), number, unit, scale, about, noun)


def _take_names(text: str, rest: str, values: list[Value]) -> tuple[list[tuple[str, int]], str]:
    """Code-like identifiers and proper names; the rest of the claim is plain words."""
    names: list[tuple[str, int]] = []
    plain = rest
    for match in _IDENTIFIER.finditer(rest):
        token = match.group()
        bare = token.removesuffix("()")
        if "." in bare and re.search(r"\d", bare):  # "db.t3.large" says as much as a version
            values.append(Value(bare, "code", match.start()))
            plain = _blank(plain, match.start(), match.end())
        elif is_code_name(token) or _is_proper(text, match.start(), bare):
            names.append((bare, match.start()))
            plain = _blank(plain, match.start(), match.end())
    names.extend((match.group(), match.start()) for match in _WEAK_SLASH.finditer(rest))
    return names, plain


def is_code_name(token: str) -> bool:
    """Whether a token reads as code: ``snake_case``, ``camelCase``, ``a.b``, ``call()``, ``-x``."""
    return bool(
        token.startswith(("-", "@", "$"))
        or token.endswith("()")
        or re.search(r"_|[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z]\d|\d[A-Za-z]|\w\.\w|::|->|#", token)
    )


def _is_proper(text: str, at: int, token: str) -> bool:
    if token in _PROPER_STOP or not token[:1].isupper():
        return False
    if len(token) >= 2 and token.isupper():
        return True
    before = text[:at].rstrip()
    return bool(before) and before[-1] not in ".!?:;"
