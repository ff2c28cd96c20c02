"""Words as typed tokens: quantities with their units, versions, dates, names of things.

Two tokens with one ``key`` mean the same: "60 seconds" and "1 minute", "configuration" and
"config". Linear in the text.
"""

import re
from typing import Final, NamedTuple

from keepthread.validators.judges import grammar, lexicon, quantities

TOKENS_MAX: Final = 64

_PIECES: Final = re.compile(
    r"(>=|<=|==|~=|!=|=>|->|→|=|<|>|\^|(?<!\d),|,(?!\d{3}(?!\d))|\||\(|\)|\[|\]|\{|\}|\"|`|;|:(?=\s|$)|…)"
)
_NUMBER: Final = re.compile(
    r"([$€£~]?)([-+]?\d[\d_]*(?:,\d{3})*(?:\.\d+)?)(%|[a-zµ]{1,9}(?:/[a-z]{1,3})?)?$"
)
_ORDINAL: Final = re.compile(r"(\d+)(?:st|nd|rd|th)$")
_COMPOUND_TIME: Final = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?:in)?)?(?:(\d+(?:\.\d+)?)s)?$")
_CLOCK: Final = re.compile(r"(\d{1,2}):(\d{2})(?::\d{2})?([ap]m)?$")
_VERSION: Final = re.compile(
    r"v?\d+(?:\.\d+)+(?:[-.]?(?:a|b|rc|alpha|beta|dev|post|pre)[-.]?\d*)*\+?$|v\d+$"
)
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:t[\d:.]+z?)?$")
_SCORE: Final = re.compile(r"\d+-\d+$")
_CODE: Final = re.compile(r"[/_@#$%\\.+]|\d|^--?[a-z]|[a-z][A-Z]")
_AT_LEAST: Final = {">=": "atleast", "<=": "atmost"}
_ROUGH: Final = frozenset("about around roughly approximately nearly almost circa".split())
_CALL: Final = re.compile(r"(?<![\w.@])([A-Za-z_][\w.]*)\(\)")
_RUNNERS: Final = frozenset("make npm yarn pnpm bun just tox nox rake invoke poe".split())
_BEFORE_COMMAND: Final = frozenset("is run runs ran with via by using use uses called : = -> \"".split())
_BOUNDS: Final = frozenset(
    {"up to", "at most", "at least", "more than", "less than", "fewer than", "no more than"}
)
_LINKS: Final = frozenset("and or , & for in on at by with from to of as via over per".split())
_ARTICLES: Final = frozenset("the a an its my our their".split())
_CONSTANTS: Final = frozenset({"None", "True", "False", "NULL", "null", "nil"})
_PERIODS: Final = {"night": "day", "morning": "day"} | {
    period: period for period in ("second", "minute", "hour", "day", "week", "month", "year")
}
_BEING: Final = frozenset("is are was were be been stays now isn't not currently".split())
_TURNED: Final = frozenset(
    "turned turn turns turning switched switch switches switching goes went put puts putting take "
    "takes taking took taken".split()
)
_STATE_FOLLOWERS: Final = frozenset(", . ; ) by in for at since until again now and but".split())


_ANY_NOUN: Final = frozenset("new tim cod on one them more".split())


class Token(NamedTuple):
    """One content word. Two tokens with one ``key`` mean the same.

    ``kind`` is word, number, version, score, date, code or name. ``value`` is in the base unit of
    ``dimension`` ("time" in seconds, "bytes"...). ``near`` holds the keys of the nouns that a
    number counts or names, ``rough`` that it was given as about so much. ``link`` is the
    conjunction or preposition right before it, "bound" for a number that is only a limit.
    """

    text: str
    key: str
    kind: str = "word"
    weight: float = 1.0
    value: float = 0.0
    dimension: str = ""
    near: tuple[str, ...] = ()
    rough: bool = False
    link: str = ""


class Word(NamedTuple):
    """A word or separator as written, in lower case, and whether it was quoted as code."""

    text: str
    low: str
    quoted: bool


def split_words(text: str) -> list[Word]:
    """Words and separators, with markup taken off."""
    found: list[Word] = []
    quoted = False
    if "`" not in text:
        text = _CALL.sub(r"`\1`", text)
    for piece in _PIECES.split(text):
        if piece == "`":
            quoted = not quoted
            continue
        for chunk in piece.split():
            word = chunk if is_separator(chunk) else _bare(chunk)
            if word:
                code = quoted or (bool(found) and word in _CONSTANTS) or _is_target(found)
                found.append(Word(word, word.lower(), code))
            if chunk.endswith(":") and word != ":" and len(chunk) > 1:
                found.append(Word(":", ":", False))
    return found[: 3 * TOKENS_MAX]


def _is_target(before: list[Word]) -> bool:
    """Whether the next word is what a command runs ("run make check", "is npm run build")."""
    lows = [word.low for word in before[-3:]]
    if lows[-2:] in (["npm", "run"], ["pnpm", "run"], ["yarn", "run"], ["bun", "run"]):
        return True
    return len(lows) > 1 and lows[-1] in _RUNNERS and lows[-2] in _BEFORE_COMMAND


def is_separator(word: str) -> bool:
    """Whether a word is punctuation or an operator."""
    return _PIECES.fullmatch(word) is not None


def _bare(chunk: str) -> str:
    word = chunk.strip("*_'\"‘’“”.,;:!?")
    if chunk[0] == "." and chunk[1:2].isalnum():
        word = "." + word  # .env, .github
    return word.removesuffix("'s")


def read_tokens(words: list[Word]) -> list[tuple[int, Token]]:
    """The content tokens of the words, each with its place among them."""
    tokens: list[tuple[int, Token]] = []
    place = 0
    while place < len(words) and len(tokens) < TOKENS_MAX:
        word = words[place]
        following = words[place + 1] if place + 1 < len(words) else None
        numbered = None
        if not (word.quoted and following):
            numbered = (
                _day(words[place : place + 3])
                or _frequency(words[place : place + 4])
                or _number(word, following)
            )
        taken = 1
        if numbered:
            token, taken = numbered
            rough = (place > 0 and words[place - 1].low in _ROUGH) or word.low.startswith("~")
            near = _near(words, place, place + taken)
            bound = " ".join(one.low for one in words[max(0, place - 2) : place])
            link = "bound" if bound in _BOUNDS else ""
            text = " ".join(one.text for one in words[place : place + taken])
            tokens.append((place, token._replace(text=text, rough=rough, near=near, link=link)))
        elif word.low in _AT_LEAST:
            tokens.append((place, Token(word.low, _AT_LEAST[word.low], "word", 0.3)))
        elif not (word.low in _TURNED and following and following.low in ("on", "off")) and (
            (has_content(word) and not _is_past_habit(words, place))
            or _is_state(words, place)
            or (place and _is_label(word))
        ):
            token = read_token(word, opening=place == 0)
            tokens.append((place, token._replace(link=_link(words, place))))
        place += taken
    return tokens


def has_content(word: Word) -> bool:
    """Whether a word says something of its own."""
    low = word.low
    if not any(character.isalnum() for character in low):
        return False
    return word.quoted or not (
        low in grammar.STOP or low in grammar.NEGATORS or low in ("longer", "ago")
    )


def is_code(word: Word) -> bool:
    """Whether a word names a thing: a path, a flag, an identifier."""
    if word.quoted or (_CODE.search(word.text) is not None and len(word.low) > 1):
        return True
    parts = word.text.split("-")
    return len(parts) > 1 and word.text.islower() and not set(parts) & lexicon.COMPOUND_PARTS


def read_token(word: Word, opening: bool = False) -> Token:
    """Type one word that is no number. The first word of a clause is upper case anyway."""
    low = word.low.removesuffix("()")
    if _DATE.match(low):
        return Token(word.text, low, "date", 0.6)
    if _VERSION.match(low):
        return Token(word.text, low.lstrip("v").rstrip("+"), "version", 1.3)
    if _SCORE.match(low):
        return Token(word.text, low, "score", 1.3)
    if low in lexicon.TYPE_NAMES or (low in quantities.UNITS and len(low) > 4 and low[-1] == "s"):
        return Token(word.text, lexicon.key(low), "code", 1.4)
    if is_code(word):
        name = low.rstrip("/")
        return Token(word.text, lexicon.SYNONYMS.get(name, name), "code", 1.4)
    key = lexicon.key(low)
    if word.text[:1].isupper() and not opening:
        return Token(word.text, key, "name", 1.3)
    return Token(word.text, key, "word", 0.5 if key in lexicon.LIGHT else 1.0)


def _number(word: Word, following: Word | None) -> tuple[Token, int] | None:
    """A number with its unit, and how many words it took."""
    low = word.low
    if low in quantities.NUMBER_WORDS or low in quantities.FREQUENCIES:
        return _number_word(low, following)
    if not any(character.isdigit() for character in low[:3]):
        return None
    if match := _ORDINAL.match(low):
        return _measure(float(match[1]), ""), 1
    if match := _CLOCK.match(low):
        return _clock(match, following)
    if (match := _COMPOUND_TIME.match(low)) and match.groups().count(None) < 2:
        hours, minutes, seconds = (float(part or 0) for part in match.groups())
        return _measure(hours * 3600 + minutes * 60 + seconds, "time"), 1
    match = _NUMBER.match(low)
    if not match:
        count, dash, unit = low.partition("-")
        unit = unit.removesuffix("-old")
        if dash and count.isdigit() and unit in quantities.UNITS:
            return _measured(float(count), "", unit, None)  # 34-year-old, 30-minute
        return None
    if "." in match[2] and not match[3] and not match[1].strip("~"):
        units = (quantities.UNITS, quantities.MAGNITUDES, quantities.MONEY)
        if following is None or not any(following.low in unit for unit in units):
            return None  # "3.11" names a version, and a ratio compares like one
    value = float(match[2].replace(",", "").replace("_", ""))
    return _measured(value, match[1].strip("~"), match[3] or "", following)


def _measure(value: float, dimension: str) -> Token:
    return Token("", f"{value:.6g}{dimension}", "number", 1.2, value, dimension)


def _clock(match: re.Match[str], following: Word | None) -> tuple[Token, int]:
    half = match[3] or (following.low if following and following.low in ("am", "pm") else "")
    value = int(match[1]) * 60.0 + int(match[2]) + (720.0 if half == "pm" else 0.0)
    return _measure(value, "clock"), 2 if half and not match[3] else 1


def _number_word(low: str, following: Word | None) -> tuple[Token, int] | None:
    if low in quantities.FREQUENCIES:
        return _measure(quantities.FREQUENCIES[low], "frequency")._replace(
            key=f"{quantities.FREQUENCIES[low]:.4g}frequency"
        ), 1
    if low in ("once", "twice", "thrice"):
        return _measure(quantities.NUMBER_WORDS[low], "times"), 1
    return _measured(quantities.NUMBER_WORDS[low], "", "", following)


def _frequency(words: list[Word]) -> tuple[Token, int] | None:
    """ "every night", "each 15 minutes", "per week" as a frequency, and how many words it took."""
    if len(words) < 2 or words[0].low not in ("every", "each", "per"):
        return _repeated(words)
    if words[1].low in _PERIODS:
        value, taken = 86400.0 / quantities.UNITS[_PERIODS[words[1].low]][1], 2
    else:
        measured = _number(words[1], words[2] if len(words) > 2 else None)
        if not measured or measured[0].dimension != "time" or not measured[0].value:
            return None
        value, taken = 86400.0 / measured[0].value, measured[1] + 1
    return _measure(value, "frequency")._replace(key=f"{value:.4g}frequency"), taken


def _repeated(words: list[Word]) -> tuple[Token, int] | None:
    """ "twice a week", "3 times per day" as a frequency; "an hour", a closing "a day" as a time."""
    lows = [word.low for word in words]
    if lows[0] == "half" and lows[1:2] in (["an"], ["a"]) and lows[2:] in (["hour"], ["minute"], ["second"], ["day"]):
        return _measure(quantities.UNITS[lows[2]][1] / 2, "time"), 3
    if lows[0] in ("a", "an") and lows[1:2] in (["hour"], ["minute"], ["second"]):
        return _measure(quantities.UNITS[lows[1]][1], "time"), 2
    if lows[0] == "a" and lows[1:] in (["day"], ["week"], ["month"], ["year"]):
        return _measure(quantities.UNITS[lows[1]][1], "time"), 2
    counted = _COUNTS.get(lows[0])
    taken = 1
    if counted is None and lows[1:2] == ["times"]:
        value = quantities.NUMBER_WORDS.get(lows[0])
        counted = float(lows[0]) if value is None and lows[0].isdigit() else value
        taken = 2
    if counted is None or len(lows) < taken + 2 or lows[taken] not in ("a", "per", "each", "every"):
        return None
    if lows[taken + 1] not in _PERIODS:
        return None
    value = counted * 86400.0 / quantities.UNITS[_PERIODS[lows[taken + 1]]][1]
    return _measure(value, "frequency")._replace(key=f"{value:.4g}frequency"), taken + 2


def _day(words: list[Word]) -> tuple[Token, int] | None:
    """ "3 May", "3rd of May", "May 3" as a date, and how many words it took."""
    lows = [word.low for word in words]
    of = lows[1:2] == ["of"]
    day, month = lows[0], lows[2 if of else 1 :][:1]
    if day.isalpha() and not of:
        day, month = (month or [""])[0], [day]
    number = day.rstrip("stndrh")
    written = any(word.text[0].isupper() and word.low in _MONTHS for word in words)
    if not (written and number.isdigit() and 1 <= int(number) <= 31 and month[0] in _MONTHS):
        return None
    return Token("", f"{month[0][:3]}-{number}", "date", 0.6), 3 if of else 2


_MONTHS: Final = frozenset(
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep oct nov dec".split()
)
_COUNTS: Final = {"once": 1.0, "twice": 2.0, "thrice": 3.0}


def _measured(
    value: float, sign: str, suffix: str, following: Word | None
) -> tuple[Token, int] | None:
    taken, dimension = 1, "money" if sign else ""
    if suffix in ("k", "m") and (suffix == "k" or dimension):
        value, suffix = value * (1e3 if suffix == "k" else 1e6), ""
    unit = suffix
    if not suffix and following is not None:
        if following.low in quantities.MAGNITUDES:
            value, taken = value * quantities.MAGNITUDES[following.low], 2
        else:
            unit = following.low.lstrip("-")
    if unit in quantities.UNITS and not (unit in ("m", "d") and not suffix):
        dimension, factor = quantities.UNITS[unit]
        value, taken = value * factor, taken + (not suffix)
    elif unit in quantities.MONEY:
        dimension, taken = "money", taken + (not suffix)
    elif unit in ("am", "pm"):
        value, dimension = value * 60.0 + (720.0 if unit == "pm" else 0.0), "clock"
        taken += not suffix
    elif unit == "times":
        dimension, taken = "times", 2
    elif suffix:
        return None
    return _measure(value, dimension), taken


def _near(words: list[Word], start: int, stop: int) -> tuple[str, ...]:
    """Keys of what a number counts: nouns after it, or the ones before ("port 80", "of them")."""
    keys = _nouns(words[stop : stop + 4])
    if stop < len(words) and has_content(words[stop]) and not is_code(words[stop]):
        keys.insert(
            0, lexicon.key(words[stop].low)
        )  # what is counted, also if it looks like a verb
    if not keys or (stop < len(words) and words[stop].low in grammar.STOP):
        keys += _nouns(words[max(0, start - 5) : start][::-1], through=True)[: 1 if keys else 3]
    return tuple(key for key in dict.fromkeys(keys) if key not in _ANY_NOUN)[:4]


def _nouns(words: list[Word], through: bool = False) -> list[str]:
    keys: list[str] = []
    for word in words:
        low = word.low
        skipped = low in grammar.STOP or is_separator(low)
        if skipped and not through and low not in ("of", "my", "the", "her", "his", "our"):
            break
        if not skipped and has_content(word) and not grammar.is_finite(low, "", ""):
            keys.append(lexicon.key(low))
    return [key for key in keys if not key[:1].isdigit()]


def _is_past_habit(words: list[Word], place: int) -> bool:
    return words[place].low == "used" and [one.low for one in words[place + 1 : place + 2]] == [
        "to"
    ]


def _is_label(word: Word) -> bool:
    """ "US", "team A": upper case, though the word in lower case says nothing."""
    return word.text.isupper() and word.text.isalpha() and word.low != "i"


def _link(words: list[Word], place: int) -> str:
    for word in reversed(words[max(0, place - 2) : place]):
        if word.low in _LINKS:
            return word.low
        if word.low not in _ARTICLES:
            return ""
    return ""


def _is_state(words: list[Word], place: int) -> bool:
    """ "on", "off", "up", "down" as what something is, not as a preposition."""
    if words[place].low not in ("on", "off", "up", "down") or not place:
        return False
    before = words[place - 1].low
    after = words[place + 1].low if place + 1 < len(words) else ""
    return before in _TURNED or (before in _BEING and (not after or after in _STATE_FOLLOWERS))
