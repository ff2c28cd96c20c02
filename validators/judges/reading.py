"""A statement as the judge reads it: its clauses, what they deny and what they declare over.

The reader is shallow on purpose: no parser, no model, linear in the text. It finds what decides
whether two statements meet: the subject, the main verb, polarity, tense, scope, and the parts a
statement itself retracts ("instead of X", "used to be X", "from X to Y").
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final, NamedTuple

from keepthread.validators.judges import grammar, lexicon, quantities
from keepthread.validators.judges.tokens import (
    Token,
    Word,
    has_content,
    is_code,
    read_token,
    read_tokens,
    split_words,
)

CHARACTERS_MAX: Final = 1_200
CLAUSES_MAX: Final = 24
READINGS_KEPT: Final = 1_024

_CLAUSE_END: Final = re.compile(
    r"(?<=[.!?])[\"')\]]*\s+(?=[^a-z\d])|[\n\r]+|;\s+|\s[–—]\s|\s--\s|\s#\s|, but "
    r"|, (?=(?:do|can|could|would) you\b|what |how |which |any (?:tips|idea))"
)
_ABBREVIATION: Final = re.compile(
    r"(?:\b[A-Za-z]|e\.g|i\.e|etc|vs|inc|co|mr|mrs|dr|no|approx|dept|st)\.$", re.IGNORECASE
)
_ATTRIBUTION: Final = re.compile(
    r".{0,60}?\b(?:said|says|say|stated|reported|noted|confirmed|mentioned|announced)"
    r"(?: (?:on )?(?:today|yesterday|\w{1,12}day))? that\b[\s,]*",
    re.IGNORECASE,
)
_ATTRIBUTION_END: Final = re.compile(
    r", (?:according to [^,]{1,60}|[^,]{1,40} (?:said|says)(?: (?:on )?\w{1,12})?)\.?$",
    re.IGNORECASE,
)
_AS_OF: Final = re.compile(
    r"\s*as of (?:(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*(?: \d{1,4})?"
    r"|v?\d[\w./-]*|now|today|version \S+|this \w+|last \w+),? ",
    re.IGNORECASE,
)
_REPLACED_BY: Final = re.compile(
    r" (?:is|was|were|has been|got) (?:now )?"
    r"(?:renamed (?:to|as)|replaced (?:by|with)|superseded by|called|named) "
)
_SPAN_STOPS: Final = frozenset(", ) for in on when because since as now until".split())
_HISTORY_STOPS: Final = frozenset("now but , today )".split())
_BEING: Final = frozenset("is are was were be been being gets isn't aren't wasn't weren't".split())
_COPULAS: Final = frozenset({":", "=", "==", "->"})
_SUBORDINATE: Final = frozenset("that which who if when because before until so and , or".split())
_FIRST_PERSON: Final = frozenset("i my me we our i'm i've we've we're mine us i'll i'd".split())
_INDEFINITE: Final = frozenset(
    "a an some someone somebody nobody people children kids men women several".split()
)
_NOT_NEGATING: Final = frozenset(
    {("not", "only"), ("no", "later"), ("no", "more"), ("not", "just")}
)
_PAST: Final = frozenset({"was", "were", "had", "did"}) | grammar.PAST_VERBS
_DEFINITE: Final = frozenset(
    (being, article) for being in ("is", "are") for article in ("the", "our", "my", "his", "her")
)
_WIDE: Final = frozenset("all any anyone everyone every anybody".split())


class Clause(NamedTuple):
    """One clause: its content tokens, and the flags read from the words that are left out.

    ``subject`` is how many of ``tokens`` stand before the first finite verb (or ``:``/``=``),
    ``verb`` the key of the main verb or participle, "" for a plain "is". ``retracted`` are keys
    the clause itself declares to be over. ``denied`` are the content words right after its
    negations, ``denials`` its verbs that deny ("stopped", "dropped support"). ``episodic``:
    something is going on with anyone of a kind; ``personal``: about the speaker, ``possessive``:
    its subject is something of the speaker's. ``definite``: "... is the ...". ``scope`` is
    "only", "all" or "", ``adds``: "also" is said.
    """

    tokens: tuple[Token, ...]
    retracted: frozenset[str] = frozenset()
    negated: bool = False
    denied: frozenset[str] = frozenset()
    denials: frozenset[str] = frozenset()
    past: bool = False
    passive: bool = False
    episodic: bool = False
    personal: bool = False
    possessive: bool = False
    definite: bool = False
    subject: int = 0
    verb: str = ""
    scope: str = ""
    adds: bool = False


@lru_cache(maxsize=READINGS_KEPT)
def read(text: str) -> tuple[Clause, ...]:
    """Read ``text`` (its first 1,200 characters) into clauses.

    Questions are read only when there is nothing else. Remembered: a new statement is judged
    against dozens of old ones, and most of those again at the next write.
    """
    folded = unicodedata.normalize("NFKC", text[:CHARACTERS_MAX]).replace("’", "'")
    parts = _split(folded)
    stated = [part for part in parts if not part.rstrip(" \"')").endswith("?")]
    clauses = map(_clause, stated or parts)
    return tuple(clause for clause in clauses if clause.tokens or clause.retracted)


def _split(text: str) -> list[str]:
    parts: list[str] = []
    for part in _CLAUSE_END.split(text):
        if parts and _ABBREVIATION.search(parts[-1]):
            parts[-1] += " " + part
        elif part and part.strip():
            parts.append(part)
    return parts[:CLAUSES_MAX]


def _clause(text: str) -> Clause:
    words = split_words(_AS_OF.sub("", _without_attribution(text), count=1))
    lows = [word.low for word in words if not word.quoted]
    kept, retracted, past = _drop_retracted(words)
    placed = read_tokens(kept)
    tokens = [token for _, token in placed]
    subject = _subject(kept, placed)
    kept_lows = [word.low for word in kept if not word.quoted]
    negations = sum(low in grammar.NEGATORS for low in kept_lows)
    negations -= sum(pair in _NOT_NEGATING for pair in zip(kept_lows, kept_lows[1:], strict=False))
    return Clause(
        tokens=tuple(tokens),
        retracted=frozenset(token.key for _, token in read_tokens(retracted)),
        negated=negations % 2 == 1,
        denied=_denied(kept),
        denials=_denials(kept_lows),
        past=past or ("now" not in lows and bool(_PAST & set(lows))),
        passive=_is_passive(lows),
        episodic=bool(lows) and _is_episodic(lows),
        personal=bool(_FIRST_PERSON & set(lows)),
        possessive=bool(lows) and lows[0] in ("my", "our"),
        definite=any(pair in _DEFINITE for pair in zip(lows, lows[1:], strict=False)),
        subject=subject,
        verb=_verb(tokens, subject),
        adds="also" in lows or "additionally" in lows,
        scope="only" if "only" in lows else "all" if _WIDE & set(lows) else "",
    )


def _without_attribution(text: str) -> str:
    """Leave out who said it: "the user said that X" states X."""
    found = _ATTRIBUTION.match(text)
    text = text[found.end() :] if found and found.end() < len(text) else text
    found = _ATTRIBUTION_END.search(text[-80:])
    return text[: len(text) - len(found[0])] if found else text


def _drop_retracted(words: list[Word]) -> tuple[list[Word], list[Word], bool]:
    """Split off what the clause declares to be over: (kept, retracted, it speaks of a past)."""
    lows = [word.low for word in words]
    text = " ".join(lows)
    over: set[int] = set()
    past = False
    for phrase in (*grammar.REPLACERS, ", not", "and not"):
        over |= _span_after(lows, text, phrase, _SPAN_STOPS)
    for phrase in ("used to", "formerly", "previously", "once was", "was originally"):
        if phrase == "used to" and _BEING & set(_before(lows, "used")):
            continue  # "is used to run"
        if found := _span_after(lows, text, phrase, _HISTORY_STOPS):
            over, past = over | found, True
    if "now" in lows and ("was" in lows or "were" in lows):
        start = max(lows.index(word) for word in ("was", "were") if word in lows)
        over |= set(range(start + 1, lows.index("now")))
    over |= _moved_from(lows) | _replaced(words, text)
    kept = [word for place, word in enumerate(words) if place not in over]
    return kept, [words[place] for place in sorted(over)], past


def _before(lows: list[str], word: str) -> list[str]:
    place = lows.index(word) if word in lows else 0
    return lows[max(0, place - 1) : place]


def _span_after(lows: list[str], text: str, phrase: str, stops: frozenset[str]) -> set[int]:
    if phrase not in text:
        return set()
    parts = phrase.split()
    for start in range(len(lows) - len(parts)):
        if lows[start : start + len(parts)] == parts:
            first = last = start + len(parts)
            while last < len(lows) and (lows[last] not in stops or last == first):
                last += 1
            return set(range(first, last))
    return set()


def _moved_from(lows: list[str]) -> set[int]:
    """The ``A`` of "changed from A to B" and "took it over from A"."""
    if "from" not in lows:
        return set()
    start = lows.index("from")
    if "over" in lows[:start] and {"took", "taken", "takes"} & set(lows[:start]):
        return set(range(start + 1, len(lows)))  # "took it over from A"
    stops = [place for place in range(start + 2, len(lows)) if lows[place] == "to"]
    if not stops or not any(
        lexicon.key(low) in grammar.TRANSITIONS for low in lows[:start] + lows[stops[0] :]
    ):
        return set()
    return set(range(start + 1, stops[0]))


def _replaced(words: list[Word], text: str) -> set[int]:
    """The ``A`` of "A was replaced by B", and the name of a thing ``A`` in "A was renamed to B"."""
    found = _REPLACED_BY.search(text)
    if not found or "from" in text[: found.start()].split():
        return set()
    before = len(text[: found.start()].split())
    over = "replaced" in found[0] or "superseded" in found[0]  # a new name leaves the rest
    return {place for place in range(before) if over or is_code(words[place])}


def _subject(words: list[Word], placed: list[tuple[int, Token]]) -> int:
    """How many of the tokens stand before the first finite verb."""
    if not placed or _has_no_subject(words):
        return 0
    guessed = -1
    for place in range(placed[0][0] + 1, len(words)):
        if _is_verb(words, place):
            return sum(at < place for at, _ in placed)
        if guessed < 0 and _looks_like_verb(words, place):
            guessed = place
    return sum(at < guessed for at, _ in placed)


def _has_no_subject(words: list[Word]) -> bool:
    """An instruction, or a clause about a pronoun."""
    for word in words[:4]:
        if word.low in grammar.PRONOUNS:
            return True
        if word.low not in grammar.STOP:
            break
    if not grammar.is_base_verb(words[0].low):
        return False
    lows = [word.low for word in words[1:6]]
    ends = [place for place, low in enumerate(lows) if low in _SUBORDINATE]
    lows = lows[: ends[0] if ends else 5]
    if words[0].low in grammar.NOUN_VERBS and "to" not in lows:
        around = zip(["", *lows], lows, [*lows[1:], ""], strict=False)
        if any(grammar.is_finite(low, after, before) for before, low, after in list(around)[1:4]):
            return False  # "cache entries expire": a noun
    return not any(map(_is_inflected, lows))


def _is_inflected(low: str) -> bool:
    if low.endswith("ed") or low in grammar.AUXILIARIES:
        return True
    return low not in grammar.CLEAR_VERBS and grammar.is_finite(low, "", "")


def _is_verb(words: list[Word], place: int) -> bool:
    word = words[place]
    if word.low in _COPULAS:
        return place + 1 < len(words)
    if word.quoted:
        return False
    after = words[place + 1].low if place + 1 < len(words) else ""
    before = words[place - 1]
    return grammar.is_finite(word.low, after, "" if before.text.isupper() else before.low)


def _looks_like_verb(words: list[Word], place: int) -> bool:
    """A form in -ed or -s right after a noun, with more to follow: a verb that is on no list."""
    word, before = words[place].low, words[place - 1].low
    if not words[place].text.islower() or not word.isalpha() or not has_content(words[place - 1]):
        return False
    if word.endswith("ed"):
        return True
    more = place + 1 < len(words)
    return more and word.endswith("s") and _is_plural(word) and not _is_plural(before)


def _is_plural(word: str) -> bool:
    return word.endswith("s") and word[-2:] not in ("ss", "us", "is")


def _verb(tokens: list[Token], subject: int) -> str:
    if not 0 < subject < len(tokens) or tokens[subject].kind != "word":
        return ""
    token = tokens[subject]
    inflected = token.text.endswith(("s", "ed")) and token.text.islower()
    return token.key if inflected or grammar.is_verbal(token.text.lower()) else ""


def _denied(words: list[Word]) -> frozenset[str]:
    keys: set[str] = set()
    for place, word in enumerate(words):
        if word.low in grammar.NEGATORS and not word.quoted:
            after = [one for one in words[place + 1 : place + 6] if has_content(one)]
            keys |= {read_token(one, opening=True).key for one in after[:3]}
    return frozenset(keys)


def _denials(lows: list[str]) -> frozenset[str]:
    stems = {lexicon.stem(low): lexicon.key(low) for low in lows}
    denying = grammar.NEGATIVE_VERBS | ({"drop"} if "support" in stems else set())
    return frozenset(key for stem, key in stems.items() if stem in denying)


def _is_passive(lows: list[str]) -> bool:
    lows = [low for low in lows if low not in ("not", "also", "now", "often", "always")]
    return any(
        first in _BEING
        and second[-3:] != "ing"
        and (second.endswith(("ed", "en")) or lexicon.stem(second) != second)
        for first, second in zip(lows, lows[1:], strict=False)
    )


def _is_episodic(lows: list[str]) -> bool:
    """Something is going on with anyone of a kind ("a man is...-ing", "there is no dog")."""
    if lows[0] == "there":
        counts = any(low in quantities.NUMBER_WORDS or low[0].isdigit() for low in lows)
        return not counts and any(low.endswith("ing") for low in lows)
    counted = lows[0] in quantities.NUMBER_WORDS and lows[0] != "first"
    return (lows[0] in _INDEFINITE or counted) and any(
        first in ("is", "are") and (second.endswith("ing") or second in ("not", "being"))
        for first, second in zip(lows, lows[1:], strict=False)
    )
