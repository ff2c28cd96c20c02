"""A statement as the judge reads it: clauses of typed tokens, what they deny and what they retract.

The reader is shallow on purpose: no parser, no model, linear in the text. It finds what decides
whether two statements meet: values with their units, names of things, polarity, tense, and the
parts a statement itself declares to be over ("instead of X", "used to be X", "from X to Y").
"""

import re
import unicodedata
from typing import Final, NamedTuple

from keepthread.validators.judges import lexicon
from keepthread.validators.judges.lexicon import stem

CHARACTERS_MAX: Final = 2_000
CLAUSES_MAX: Final = 24
TOKENS_MAX: Final = 64

_CLAUSE_END: Final = re.compile(
    r"(?<=[.!?])[\"')\]]*\s+(?=[^a-z\d])|[\n\r]+|;\s+|\s[–—]\s|\s--\s|\s#\s|, but "
    r"|, (?=(?:do|can|could|would) you\b|what |how |any (?:tips|idea))"
)
_PIECES: Final = re.compile(
    r"(>=|<=|==|~=|!=|=>|->|→|=|<|>|\^|,|\||\(|\)|\[|\]|\{|\}|\"|`|;|:(?=\s|$)|…)"
)
_NUMBER: Final = re.compile(
    r"([$€£~]?)([-+]?\d[\d_]*(?:,\d{3})*(?:\.\d+)?)(%|[a-zµ]{1,9}(?:/[a-z]{1,3})?)?$"
)
_ORDINAL: Final = re.compile(r"(\d+)(?:st|nd|rd|th)$")
_COMPOUND_TIME: Final = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?:in)?)?(?:(\d+(?:\.\d+)?)s)?$")
_VERSION: Final = re.compile(
    r"v?\d+(?:\.\d+)+(?:[-.]?(?:a|b|rc|alpha|beta|dev|post|pre)[-.]?\d*)*\+?$|v\d+$"
)
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:t[\d:.]+z?)?$")
_SCORE: Final = re.compile(r"\d+-\d+$")
_CODE: Final = re.compile(r"[/_@#$%\\.+]|\d|^--?[a-z]|[a-z][A-Z]")
_ABBREVIATION: Final = re.compile(
    r"(?:\b[A-Za-z]|e\.g|i\.e|etc|vs|inc|co|mr|mrs|dr|no|approx|dept|st)\.$", re.IGNORECASE
)
_AT_LEAST: Final = {">=": "atleast", "<=": "atmost"}


class Token(NamedTuple):
    """One content word. Two tokens with one ``key`` mean the same.

    ``kind`` is word, number, version, date, code or name. ``value`` is in the base unit of
    ``dimension`` ("time" in seconds, "bytes"...). ``near`` holds the keys of the nouns that a
    number counts or names, ``rough`` that it was given as about so much. ``link`` is the
    conjunction or preposition right before it.
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


class Clause(NamedTuple):
    """One clause: its content tokens, and the flags read from the words that are left out.

    ``subject`` is how many of ``tokens`` stand before the first finite verb (or ``:``/``=``).
    ``retracted`` are keys the clause itself declares to be over.
    """

    tokens: tuple[Token, ...]
    retracted: frozenset[str] = frozenset()
    negated: bool = False
    denied: frozenset[str] = frozenset()  # the content words right after the negations
    denials: frozenset[str] = frozenset()  # verbs that deny, "stopped", "dropped"
    past: bool = False
    passive: bool = False
    episodic: bool = False
    personal: bool = False
    subject: int = 0
    verb: str = ""  # key of the main verb or participle; "" for a plain "is"
    possessive: bool = False  # it opens with "my", "our"
    scope: str = ""  # "only", "all" or ""


class Reading(NamedTuple):
    """The clauses that state something; questions are kept only when there is nothing else."""

    clauses: tuple[Clause, ...]


class _Raw(NamedTuple):
    text: str
    low: str
    quoted: bool


def _split(text: str) -> list[str]:
    parts: list[str] = []
    for part in _CLAUSE_END.split(text):
        if parts and _ABBREVIATION.search(parts[-1]):
            parts[-1] += " " + part
        elif part and part.strip():
            parts.append(part)
    return parts[:CLAUSES_MAX]


def _raw(text: str) -> list[_Raw]:
    """Words and separators, with markup taken off; inside backticks a word is quoted."""
    found: list[_Raw] = []
    quoted = False
    for piece in _PIECES.split(text):
        if piece == "`":
            quoted = not quoted
            continue
        for chunk in piece.split():
            word = chunk if _PIECES.fullmatch(chunk) else _bare(chunk)
            if word:
                found.append(_Raw(word, word.lower(), quoted))
            if chunk.endswith(":") and word != ":" and len(chunk) > 1:
                found.append(_Raw(":", ":", False))
    return found[: 3 * TOKENS_MAX]


def _bare(chunk: str) -> str:
    word = chunk.strip("*_'\"‘’“”.,;:!?")
    if chunk.startswith((".", "_", "*")) and len(chunk) > 1 and chunk[1:2].isalnum():
        word = chunk[0].replace("*", "") + word if chunk[0] == "." else word
    return word[:-2] if word.endswith("'s") or word.endswith("’s") else word


def _number(raw: _Raw, following: _Raw | None) -> tuple[Token, int] | None:
    """A number with its unit, and how many words it took."""
    low = raw.low
    if low in lexicon.NUMBER_WORDS or low in lexicon.FREQUENCIES:
        return _number_word(low, following)
    if match := _ORDINAL.match(low):
        return Token(low, low, "number", 1.2, float(match[1]), ""), 1
    if re.match(r"\d", low) and (match := _COMPOUND_TIME.match(low)) and len(low) > 2:
        hours, minutes, seconds = (float(part or 0) for part in match.groups())
        if sum(part is not None for part in match.groups()) > 1:
            total = hours * 3600 + minutes * 60 + seconds
            return Token(low, f"{total:g}time", "number", 1.2, total, "time"), 1
    match = _NUMBER.match(low)
    if not match:
        return None
    if "." in match[2] and not match[3] and not match[1].strip("~"):
        followed = following is not None and (
            following.low in lexicon.UNITS or following.low in lexicon.MAGNITUDES
        )
        if not followed:
            return None  # "3.11" names a version, and a ratio compares like one
    value = float(match[2].replace(",", "").replace("_", ""))
    return _measured(low, value, match[1].strip("~"), match[3] or "", following)


def _frequency(words: list[_Raw]) -> tuple[Token, int] | None:
    """ "every night", "each 15 minutes", "per week" as a frequency, and how many words it took."""
    if words[0].low not in ("every", "each", "per") or len(words) < 2:
        return None
    low = words[1].low
    if low in _PERIODS:
        value, taken = 86400.0 / lexicon.UNITS[_PERIODS[low]][1], 2
    else:
        measured = _number(words[1], words[2] if len(words) > 2 else None)
        if not measured or measured[0].dimension != "time" or not measured[0].value:
            return None
        value, taken = 86400.0 / measured[0].value, measured[1] + 1
    text = " ".join(word.text for word in words[:taken])
    return Token(text, f"{value:.4g}frequency", "number", 1.2, value, "frequency"), taken


_PERIODS: Final = {"night": "day", "morning": "day"} | {
    period: period for period in ("second", "minute", "hour", "day", "week", "month", "year")
}


def _number_word(low: str, following: _Raw | None) -> tuple[Token, int] | None:
    if low in lexicon.FREQUENCIES:
        value = lexicon.FREQUENCIES[low]
        return Token(low, f"{value:.4g}frequency", "number", 1.2, value, "frequency"), 1
    if low in ("once", "twice", "thrice"):
        return Token(low, low, "number", 1.2, lexicon.NUMBER_WORDS[low], "times"), 1
    return _measured(low, float(lexicon.NUMBER_WORDS[low]), "", "", following)


def _measured(
    low: str, value: float, sign: str, suffix: str, following: _Raw | None
) -> tuple[Token, int] | None:
    taken, dimension = 1, "money" if sign else ""
    if suffix in ("k", "m") and (suffix == "k" or dimension):
        value, suffix = value * (1e3 if suffix == "k" else 1e6), ""
    word = suffix
    if not suffix and following is not None:
        if following.low in lexicon.MAGNITUDES:
            value, taken = value * lexicon.MAGNITUDES[following.low], 2
        else:
            word = following.low.lstrip("-")
    if word in lexicon.UNITS and not (word in ("m", "d", "s", "h") and not suffix):
        dimension, factor = lexicon.UNITS[word]
        value, taken = value * factor, taken + (not suffix)
    elif word in lexicon.MONEY:
        dimension, taken = "money", taken + (not suffix)
    elif word == "times":
        dimension, taken = "times", 2
    elif suffix:
        return None
    return Token(low, f"{value:g}{dimension}", "number", 1.2, value, dimension), taken


def _token(raw: _Raw, opening: bool) -> Token:
    low = raw.low.removesuffix("()")
    if _DATE.match(low):
        return Token(raw.text, low, "date", 0.6)
    if _VERSION.match(low):
        return Token(raw.text, low.lstrip("v").rstrip("+"), "version", 1.3)
    if _SCORE.match(low):
        return Token(raw.text, low, "score", 1.3)
    if _is_code(raw) or low in lexicon.TYPE_NAMES:
        key = lexicon.SYNONYMS.get(low.rstrip("/"), low.rstrip("/"))
        key = lexicon.key(low) if low in lexicon.TYPE_NAMES else key
        return Token(raw.text, key, "code", 1.4)
    key = lexicon.key(low)
    if raw.text[:1].isupper() and not opening:
        return Token(raw.text, key, "name", 1.3)
    return Token(raw.text, key, "word", 0.5 if key in lexicon.LIGHT else 1.0)


def _drop_retracted(words: list[_Raw]) -> tuple[list[_Raw], list[_Raw], bool]:
    """Split off what the clause declares to be over: (kept, retracted, it speaks of a past)."""
    lows = [word.low for word in words]
    text = " ".join(lows)
    over: set[int] = set()
    past = False
    for phrase in (*lexicon.REPLACERS, ", not", "and not"):
        over |= _span_after(lows, text, phrase)
    for phrase in ("used to", "formerly", "previously", "once was", "was originally"):
        if phrase == "used to" and _BEING & set(_before(lows, "used")):
            continue  # "is used to run"
        if found := _span_after(lows, text, phrase, ("now", "but", ",", "today", ")")):
            over, past = over | found, True
    if "now" in lows and ("was" in lows or "were" in lows):
        start = max(lows.index(word) for word in ("was", "were") if word in lows)
        if start < lows.index("now"):
            over |= set(range(start + 1, lows.index("now")))
    over |= _moved_from(lows) | _replaced(words, text)
    kept = [word for place, word in enumerate(words) if place not in over]
    return kept, [words[place] for place in sorted(over)], past


_SPAN_STOPS: Final = frozenset(
    {",", ")", "for", "in", "on", "when", "because", "since", "as", "now", "until"}
)


def _before(lows: list[str], word: str) -> list[str]:
    place = lows.index(word) if word in lows else 0
    return lows[max(0, place - 1) : place]


def _span_after(lows: list[str], text: str, phrase: str, stops: tuple[str, ...] = ()) -> set[int]:
    if phrase not in text:
        return set()
    parts = phrase.split()
    for start in range(len(lows) - len(parts)):
        if lows[start : start + len(parts)] == parts:
            first = start + len(parts)
            last = first
            ends = stops or _SPAN_STOPS
            while last < len(lows) and (lows[last] not in ends or last == first):
                last += 1
            return set(range(first, last))
    return set()


def _moved_from(lows: list[str]) -> set[int]:
    """The ``A`` of "changed from A to B"."""
    if "from" not in lows or "to" not in lows:
        return set()
    start = lows.index("from")
    stops = [place for place in range(start + 2, len(lows)) if lows[place] == "to"]
    if not stops or not any(
        lexicon.key(low) in lexicon.TRANSITIONS for low in lows[:start] + lows[stops[0] :]
    ):
        return set()
    return set(range(start + 1, stops[0]))


def _replaced(words: list[_Raw], text: str) -> set[int]:
    """The name of a thing ``A`` in "A was renamed to B", "A was replaced by B"."""
    found = _REPLACED_BY.search(text)
    if not found or "from" in text[: found.start()].split():
        return set()
    before = len(text[: found.start()].split())
    return {place for place in range(before) if _is_code(words[place])}


_REPLACED_BY: Final = re.compile(
    r" (?:is|was|were|has been|got) (?:now )?"
    r"(?:renamed (?:to|as)|replaced (?:by|with)|superseded by|called|named) "
)


def _is_code(raw: _Raw) -> bool:
    if raw.quoted or (bool(_CODE.search(raw.text)) and len(raw.low) > 1):
        return True
    parts = raw.text.split("-")
    return len(parts) > 1 and raw.text.islower() and not set(parts) & lexicon.COMPOUND_PARTS


def _content(words: list[_Raw]) -> tuple[list[Token], int]:
    """Content tokens, and how many of them stand before the first finite verb."""
    tokens: list[Token] = []
    subject = 0 if _has_no_subject(words) else -1
    guessed = -1
    place = 0
    while place < len(words):
        raw = words[place]
        following = words[place + 1] if place + 1 < len(words) else None
        if subject < 0 and tokens and _is_verb(words, place):
            subject = len(tokens)
        if guessed < 0 and tokens and _looks_like_verb(words, place):
            guessed = len(tokens)
        taken = 1
        numbered = None if raw.quoted and following else _number(raw, following)
        numbered = numbered or _frequency(words[place : place + 3])
        if numbered:
            token, taken = numbered
            rough = (place > 0 and words[place - 1].low in _ROUGH) or raw.low.startswith("~")
            tokens.append(token._replace(rough=rough, near=_near(words, place, place + taken)))
        elif raw.low in _AT_LEAST:
            tokens.append(Token(raw.low, _AT_LEAST[raw.low], "word", 0.3))
        elif raw.low in _TURNED and following and following.low in ("on", "off"):
            pass
        elif _says_something(raw) or _is_state(words, place):
            tokens.append(_token(raw, opening=place == 0)._replace(link=_link(words, place)))
        place += taken
    return tokens[:TOKENS_MAX], max(guessed if subject < 0 else subject, 0)


def _link(words: list[_Raw], place: int) -> str:
    for raw in reversed(words[max(0, place - 2) : place]):
        if raw.low in _LINKS:
            return raw.low
        if raw.low not in ("the", "a", "an", "its", "my", "our", "their"):
            return ""
    return ""


_LINKS: Final = frozenset("and or , & for in on at by with from to of as via over per".split())


def _looks_like_verb(words: list[_Raw], place: int) -> bool:
    """A form in -ed or -s right after a noun, with more to follow: a verb that is on no list."""
    word, before = words[place].low, words[place - 1].low
    if not word.isalpha() or not _says_something(words[place - 1]):
        return False
    if word.endswith("ed"):
        return True
    return (
        place + 1 < len(words)
        and word.endswith("s")
        and word[-2:] not in ("ss", "us")
        and not before.endswith("s")
    )


def _is_state(words: list[_Raw], place: int) -> bool:
    """ "on", "off", "up", "down" as what something is, not as a preposition."""
    if words[place].low not in ("on", "off", "up", "down") or not place:
        return False
    before = words[place - 1].low
    after = words[place + 1].low if place + 1 < len(words) else ""
    return before in _TURNED or (before in _BEING and (not after or after in _STATE_FOLLOWERS))


_BEING: Final = frozenset("is are was were be been stays now isn't not currently".split())
_TURNED: Final = frozenset("turned turn switched switch turns switches goes went".split())
_STATE_FOLLOWERS: Final = frozenset(", . ; ) by in for at since until again now and but".split())


def _has_no_subject(words: list[_Raw]) -> bool:
    """An instruction, or a clause about a pronoun."""
    for raw in words[:4]:
        if raw.low in lexicon.PRONOUNS:
            return True
        if raw.low not in lexicon.STOP:
            break
    if not words or not lexicon.is_base_verb(words[0].low):
        return False
    lows = [raw.low for raw in words[1:6]]
    ends = [place for place, low in enumerate(lows) if low in _SUBORDINATE]
    return not any(map(_inflected, lows[: ends[0] if ends else 5]))


_SUBORDINATE: Final = frozenset("that which who if when because before until so and , or".split())


def _inflected(low: str) -> bool:
    if low.endswith("ed") or low in lexicon.AUXILIARIES:
        return True
    return low not in lexicon.CLEAR_VERBS and lexicon.is_finite(low, "", "")


_COPULAS: Final = frozenset({":", "=", "==", "->"})
_ROUGH: Final = frozenset(
    {"about", "around", "roughly", "approximately", "nearly", "almost", "circa"}
)


def _is_verb(words: list[_Raw], place: int) -> bool:
    raw = words[place]
    if raw.low in _COPULAS:
        return place + 1 < len(words)
    if raw.quoted:
        return False
    after = words[place + 1].low if place + 1 < len(words) else ""
    before = words[place - 1].low if place else ""
    return lexicon.is_finite(raw.low, after, before)


def _says_something(raw: _Raw) -> bool:
    low = raw.low
    if not any(character.isalnum() for character in low):
        return False
    return raw.quoted or not (
        low in lexicon.STOP or low in lexicon.NEGATORS or low in ("longer", "used", "ago")
    )


def _near(words: list[_Raw], start: int, stop: int) -> tuple[str, ...]:
    """Keys of what a number counts: nouns after it, or the ones before ("port 80", "of them")."""
    keys = _nouns(words[stop : stop + 4])
    if start and words[start - 1].low not in lexicon.STOP:
        keys.append(lexicon.key(words[start - 1].low))
    if not keys or (stop < len(words) and words[stop].low in lexicon.STOP):
        keys += _nouns(words[max(0, start - 5) : start][::-1], through=True)[: 1 if keys else 3]
    return tuple(dict.fromkeys(keys))[:4]


def _nouns(words: list[_Raw], through: bool = False) -> list[str]:
    keys: list[str] = []
    for raw in words:
        low = raw.low
        skipped = low in lexicon.STOP or bool(_PIECES.fullmatch(low))
        if skipped and not through and low not in ("of", "my", "the", "her", "his", "our"):
            break
        if not skipped and _says_something(raw) and not lexicon.is_finite(low, "", ""):
            keys.append(lexicon.key(low))
    return [key for key in keys if key not in ("new", "tim", "cod") and not key[:1].isdigit()]


def _clause(text: str) -> Clause:
    words = _raw(_without_attribution(text))
    lows = [word.low for word in words if not word.quoted]
    kept, retracted, past = _drop_retracted(words)
    tokens, subject = _content(kept)
    kept_lows = [word.low for word in kept if not word.quoted]
    negations = sum(low in lexicon.NEGATORS for low in kept_lows)
    negations -= sum(pair in _NOT_NEGATING for pair in zip(kept_lows, kept_lows[1:], strict=False))
    old, _ = _content(retracted)
    return Clause(
        tokens=tuple(tokens),
        retracted=frozenset(token.key for token in old),
        negated=negations % 2 == 1,
        denied=_denied(kept),
        denials=frozenset(map(lexicon.key, kept_lows)) & lexicon.NEGATIVE_VERBS,
        past=past or _is_past(lows),
        passive=_is_passive(lows),
        episodic=bool(lows) and _is_episodic(lows),
        personal=bool(_FIRST_PERSON & set(lows)),
        subject=subject,
        verb=_verb(tokens, subject),
        possessive=bool(lows) and lows[0] in ("my", "our"),
        scope=_scope(lows),
    )


def _verb(tokens: list[Token], subject: int) -> str:
    if not 0 < subject < len(tokens) or tokens[subject].kind != "word":
        return ""
    token = tokens[subject]
    guessed = token.text.endswith(("s", "ed")) and token.text.islower()
    return token.key if guessed or lexicon.is_verbal(token.text.lower()) else ""


def _scope(lows: list[str]) -> str:
    if "only" in lows:
        return "only"
    return "all" if {"all", "any", "anyone", "everyone", "every", "anybody"} & set(lows) else ""


_ATTRIBUTION: Final = re.compile(
    r".{0,60}?\b(?:said|says|say|stated|reported|noted|confirmed|mentioned|announced)"
    r"(?: (?:today|yesterday|\w+day))? that\b[\s,]*",
    re.IGNORECASE,
)


def _without_attribution(text: str) -> str:
    """Leave out who said it: "the user said that X" states X."""
    found = _ATTRIBUTION.match(text)
    return text[found.end() :] if found and found.end() < len(text) else text


_FIRST_PERSON: Final = frozenset("i my me we our i'm i've we've we're mine us i'll i'd".split())
_NOT_NEGATING: Final = frozenset(
    {("not", "only"), ("no", "later"), ("no", "more"), ("not", "just")}
)


def _denied(words: list[_Raw]) -> frozenset[str]:
    keys: set[str] = set()
    for place, raw in enumerate(words):
        if raw.low in lexicon.NEGATORS and not raw.quoted:
            after = [word for word in words[place + 1 : place + 6] if _says_something(word)]
            keys |= {_token(word, opening=True).key for word in after[:3]}
    return frozenset(keys)


def _is_past(lows: list[str]) -> bool:
    return "now" not in lows and bool({"was", "were", "had", "did"} & set(lows))


def _is_passive(lows: list[str]) -> bool:
    lows = [low for low in lows if low not in ("not", "also", "now", "often", "always")]
    return any(
        first in _PASSIVE_BEING
        and (second.endswith(("ed", "en")) or stem(second) != second and second[-3:] != "ing")
        for first, second in zip(lows, lows[1:], strict=False)
    )


_PASSIVE_BEING: Final = frozenset(
    "is are was were be been being gets isn't aren't wasn't weren't".split()
)


def _is_episodic(lows: list[str]) -> bool:
    """Something is going on with anyone of a kind ("a man is...-ing", "there is no dog")."""
    if lows[0] == "there":
        going_on = any(low.endswith("ing") for low in lows)
        return going_on and not any(low in lexicon.NUMBER_WORDS or low[0].isdigit() for low in lows)
    counted = lows[0] in lexicon.NUMBER_WORDS and lows[0] != "first"
    return (lows[0] in _INDEFINITE or counted) and any(
        first in ("is", "are") and (second.endswith("ing") or second in ("not", "being"))
        for first, second in zip(lows, lows[1:], strict=False)
    )


_INDEFINITE: Final = frozenset(
    "a an some someone somebody nobody people children kids men women several".split()
)


def read(text: str) -> Reading:
    """Read ``text`` (its first 2,000 characters) into clauses."""
    folded = unicodedata.normalize("NFKC", text[:CHARACTERS_MAX]).replace("’", "'")
    parts = _split(folded)
    stated = [part for part in parts if not part.rstrip(" \"')").endswith("?")]
    clauses = map(_clause, stated or parts)
    return Reading(tuple(one for one in clauses if one.tokens or one.retracted))
