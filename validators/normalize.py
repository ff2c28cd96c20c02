"""Fold Unicode tricks away and list the texts that a text may stand for.

``fold`` gives the one form that rules compare: what a reader would see, in plain lower-case
letters. ``views`` adds what a reader could decode from it (base64, reversed, rot13, ...), so that
a rule written for plain text also holds for sixteen and more ways of hiding the same words.
``hidden_characters`` names what a reader would *not* see.

Folding loses information on purpose. It is for judging text, never for storing or serving it.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from keepthread.validators import encodings

TEXT_MAX = 8_000  # characters that are scanned; longer text is judged by its head and tail
VIEWS_MAX = 12
DEPTH_MAX = 2

# Latin letters by the look-alikes that NFKD leaves alone (after Unicode TR39, cut to letters
# that are really used for this). Capitals are lower-cased before they are looked up.
_LOOKALIKES = {
    "a": "аαɑᴀⲁа",
    "b": "ьЬʙɓВв",
    "c": "сϲᴄⅽⲥ",
    "d": "ԁɗᴅժ",
    "e": "еєεᴇҽℯɛ",
    "f": "ғꜰƒϝ",
    "g": "ɡɢԍց",
    "h": "һհʜнη",
    "i": "іιıɪɩӏ1ἰ",
    "j": "јϳᴊյ",
    "k": "кκᴋқ",
    "l": "ʟⅼɭ",
    "m": "мᴍⅿ",
    "n": "ոɴпռи",
    "o": "оοσօᴏⲟ०০ө",
    "p": "рρᴘⲣþ",
    "q": "ԛզ",
    "r": "гʀᴦя",
    "s": "ѕꜱʂ",
    "t": "тτᴛţ",
    "u": "υսᴜц",
    "v": "νѵᴠⅴ",
    "w": "ԝωᴡш",
    "x": "хχⅹ×",
    "y": "уγʏүყ",
    "z": "ᴢʐ",
}
_TO_LATIN = {
    ord(mark): latin for latin, marks in _LOOKALIKES.items() for mark in marks if mark != "1"
}
# Letters so like a Latin one that a whole word of them reads as Latin.
_TWINS = frozenset("аеорсухіјѕԁԛԝһкмтвнαοριντυκχγεη")
_BOXED = {0x1F130: 26, 0x1F150: 26, 0x1F170: 26, 0x1F1E6: 26}  # letters in squares, discs, flags
_TO_LATIN |= {
    start + index: chr(97 + index) for start, count in _BOXED.items() for index in range(count)
}
_FOREIGN = re.compile(r"[\u0370-\u058f]")
_WORD = re.compile(r"[^\W\d_]+")
_MARKS = re.compile(r"[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
# Emphasis, code and strike marks of Markdown; an underscore only where it stands at a word's edge.
_MARKDOWN = re.compile(r"[*`]+|~~+|(?<![^\W_])_+|_+(?![^\W_])|^[ \t]{0,3}(?:#{1,6}|>+)[ \t]*", re.M)
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*")
_QUOTES = str.maketrans(
    dict.fromkeys("‘’‚‛‹›´′", "'") | dict.fromkeys("“”„‟«»″", '"') | dict.fromkeys("–—―−‐‑", "-")
)

_INVISIBLE_LETTERS = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0}
_SEPARATORS = {0x2028, 0x2029}
_BIDI = {0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
_JOINERS = {0x200C, 0x200D}
_JOINING_SCRIPTS = re.compile(
    r"[\u0600-\u08ff\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1800-\u18af\ufb50-\ufeff]"
)
_RIGHT_TO_LEFT = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_HAN = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_SUBDIVISION_FLAG = re.compile("\U0001f3f4(?:[\U000e0061-\U000e007a]{5})\U000e007f")
_SUSPECT = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


class View(NamedTuple):
    """A folded text and how it came about: ``""`` for the text itself, else the encoding."""

    text: str
    how: str


def fold(text: str) -> str:
    """Return the plain lower-case text that a reader sees, one space between words.

    Line breaks stay (one each). Tag characters are decoded to the ASCII they carry; format
    characters, variation selectors and combining marks go; compatibility forms and look-alike
    letters become plain ones; Markdown emphasis and code marks go.
    """
    if text.isascii():
        plain = _without_controls(text)
    else:
        plain = _latinised(without_marks(_without_controls(_visible(text))))
    plain = _MARKDOWN.sub("", plain.translate(_QUOTES))
    return _LINES.sub("\n", _SPACES.sub(" ", plain)).strip().lower()


def views(text: str) -> list[str]:
    """Return the folded text and its bounded decodings, the most likely first, no two alike."""
    return [view.text for view in labelled_views(text)]


def labelled_views(text: str) -> list[View]:
    """Return ``views`` with the name of the encoding that each one undoes."""
    return list(_labelled_views(excerpt(text)))


@lru_cache(maxsize=16)  # one write is judged by several rules, one after another
def _labelled_views(text: str) -> tuple[View, ...]:
    plain = fold(text)
    found = {plain: View(plain, "")}
    layer = [encodings.Decoded(_visible(text), "")]
    if any(character in _BIDI for character in map(ord, text)):
        layer.append(encodings.Decoded(_visible(text)[::-1], "bidirectional override"))
    for depth in range(DEPTH_MAX):
        layer = [
            encodings.Decoded(next_one.text, one.how or next_one.how)
            for one in layer
            for next_one in encodings.decodings(one.text if depth else _bare(one.text))
        ]
        for decoded in layer:
            folded = fold(decoded.text)
            if folded and len(found) < VIEWS_MAX:
                found.setdefault(folded, View(folded, decoded.how))
        if not layer:
            break
    return tuple(found.values())


def hidden_characters(text: str) -> list[str]:
    """Return the names of invisible, bidirectional, tag and control characters, each once.

    Emoji sequences, subdivision flags, the joiners that Arabic, Persian and Indic scripts need,
    direction marks beside right-to-left letters and a byte order mark at the start are fine.
    """
    if not _SUSPECT.search(text):
        return []
    text = _SUBDIVISION_FLAG.sub("", text.removeprefix("\ufeff"))
    names: dict[str, None] = {}
    for match in _SUSPECT.finditer(text):
        if not _belongs(text, match.start()):
            names[_name(match.group())] = None
    return list(names)


def excerpt(text: str) -> str:
    """Return the text, or its head and tail where it is longer than ``TEXT_MAX``."""
    if len(text) <= TEXT_MAX:
        return text
    return text[: TEXT_MAX // 2] + "\n" + text[-TEXT_MAX // 2 :]


def _visible(text: str) -> str:
    """Decode tag characters, drop what has no glyph, keep everything else as it is."""
    if text.isascii():
        return text
    out = []
    for character in text:
        code = ord(character)
        if 0xE0020 <= code <= 0xE007E:
            out.append(chr(code - 0xE0000))
        elif code in _INVISIBLE_LETTERS or unicodedata.category(character) in ("Cf", "Cs"):
            continue
        elif 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF or 0x180B <= code <= 0x180F:
            continue
        else:
            out.append("\n" if code in _SEPARATORS else character)
    return "".join(out)


def _without_controls(text: str) -> str:
    return "".join(" " if unicodedata.category(c) == "Cc" and c != "\n" else c for c in text)


def without_marks(text: str) -> str:
    """Compatibility-decompose, drop generic combining marks, recompose what scripts need."""
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFKD", text)))


def _bare(text: str) -> str:
    """Undo styled letters only, since encodings such as base64 depend on case."""
    return text if text.isascii() else without_marks(text)


def _latinised(text: str) -> str:
    """Replace look-alikes by Latin letters, but leave words of a real Cyrillic or Greek text.

    A word is foreign when it has no Latin letter; it is still replaced when every letter is a
    twin and the text has no foreign word with another letter in it.
    """
    text = text.lower()
    words = [word for word in _WORD.findall(text) if _FOREIGN.search(word)]
    native = any(
        not _TWINS.issuperset(word) and all(_FOREIGN.match(letter) for letter in word)
        for word in words
    )

    def replace(match: re.Match[str]) -> str:
        word = match.group()
        foreign = all(_FOREIGN.match(letter) for letter in word)
        return word if foreign and native else word.translate(_TO_LATIN)

    latin = _WORD.sub(replace, text) if words else text
    return latin.translate(_TO_LATIN) if not native else latin


def _belongs(text: str, at: int) -> bool:
    """Say whether the suspect character at this place is part of a sequence that needs it."""
    code = ord(text[at])
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if code in _JOINERS:
        emoji = _is_emoji(before) and _is_emoji(after)
        return emoji or bool(
            _JOINING_SCRIPTS.match(before) and _JOINING_SCRIPTS.match(after or before)
        )
    if 0xFE00 <= code <= 0xFE0F:
        return before in set("0123456789#*") or _is_emoji(before) or bool(_HAN.match(before))
    if 0xE0100 <= code <= 0xE01EF:
        return bool(_HAN.match(before))
    if 0x180B <= code <= 0x180F:
        return "\u1800" <= before <= "\u18af"
    if code in (0x061C, 0x200E, 0x200F):
        return bool(_RIGHT_TO_LEFT.search(text[max(0, at - 40) : at + 40]))
    return code in (0x17B4, 0x17B5) and "\u1780" <= before <= "\u17ff"


def _is_emoji(character: str) -> bool:
    """Symbols, skin tones and a preceding emoji presentation selector."""
    if not character:
        return False
    return unicodedata.category(character) in ("So", "Sk", "Sm") or character == "\ufe0f"


def _name(character: str) -> str:
    code = ord(character)
    if 0xE0000 <= code <= 0xE007F:
        return "tag character"
    if 0xD800 <= code <= 0xDFFF:
        return "lone surrogate"
    if 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
        return "variation selector"
    return unicodedata.name(character, f"control U+{code:04X}").lower()
