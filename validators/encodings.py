"""Undo the encodings in which readable text is commonly hidden.

Every decoder replaces in place what it can decode and keeps the rest, so that a payload is read
together with its surroundings. A run is decoded only where the result is readable text: digests,
commit ids, lock-file hashes and binary dumps stay as they are. Ciphers on letters (rotations,
reversal, digits for letters) are undone only where that turns strange words into common ones.
"""

import base64
import binascii
import html
import os
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}(?:\r?\n[A-Za-z0-9+/_-]{4,})*={0,2}")
_BASE32 = re.compile(r"\b[A-Z2-7]{24,}={0,6}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:0x)?(?:[0-9A-Fa-f]{2}[ :,-]?){10,}(?![0-9A-Za-z])")
_BINARY = re.compile(r"(?:[01]{8}[ ,]?){6,}")
_DECIMAL = re.compile(r"(?:\b\d{2,3}[ ,]{1,2}){7,}\d{2,3}\b")
_ESCAPE = re.compile(
    r"\\u\{([0-9A-Fa-f]{1,6})\}|(?:\\u|%u|U\+|\\U0000)([0-9A-Fa-f]{4})|\\x([0-9A-Fa-f]{2})"
    r"|\\([0-3][0-7]{2})(?![0-9])"
)
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_QUOTED_PRINTABLE = re.compile(r"(?:=[0-9A-Fa-f]{2}){4,}")
_ENTITY = re.compile(r"&(?:#\d{2,6}|#[xX][0-9A-Fa-f]{2,6}|[A-Za-z]{2,8});")
_TAG_IN_WORD = re.compile(r"(?<=\w)(?:</?[a-z!][^<>]{0,60}>){1,4}(?=\w)", re.I)
_TOKEN = re.compile(r"[^\W\d_]{2,}")
_LEET_TOKEN = re.compile(r"[a-z0-9@$!|+]+", re.I)
_LEET = str.maketrans("0134578@$!|+9", "oieastbasiltg")
_LEET_L = str.maketrans("0134578@$!|+9", "oleastbasiltg")
_SPACED = re.compile(r"(?<!\S)[^\W\d_](?: [^\W_](?!\S)){4,}")
_SPACED_WORD = re.compile(r"(?<!\S)[^\W\d_](?: [^\W_](?!\S))+")
_LETTER_GAP = r"(?:[^\w\s]{1,2}|_)"
_SEPARATED = re.compile(
    rf"(?<![^\W_])[^\W_]{_LETTER_GAP}(?:[^\W_]{_LETTER_GAP}){{2,}}[^\W_](?![^\W_])"
)
_SEPARATED_WORD = re.compile(
    rf"(?<![^\W_])[^\W_]{_LETTER_GAP}(?:[^\W_]{_LETTER_GAP})*[^\W_](?![^\W_])"
)
_SYLLABLES = re.compile(r"[^\W\d_]{1,6}(?:[-._*|~/+][^\W\d_]{1,6}){1,6}")
_RUN_ON = re.compile(r"[^\W\d_]{16,}")
_WORD_GAP = re.compile(r"(?<=\w)[^\w\s]{2,3}(?=\w)")
_WIDE_GAP = re.compile(r" {2,}|\s[/|_]\s")

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_CIPHERS = [("rot13", _LETTERS[13:] + _LETTERS[:13])]
_CIPHERS += [("letter cipher", _LETTERS[n:] + _LETTERS[:n]) for n in range(1, 26) if n != 13]
_CIPHERS += [("letter cipher", _LETTERS[::-1])]
_TABLES = [
    (how, str.maketrans(_LETTERS + _LETTERS.upper(), key + key.upper())) for how, key in _CIPHERS
]
_WORD_MAX = 16
RUN_MAX = 2_000  # letters without spaces that are split into words
WORDS_PATH = os.path.join(os.path.dirname(__file__), "data", "words.txt")


class Decoded(NamedTuple):
    """What a text reads as once one encoding is undone, and that encoding's name."""

    text: str
    how: str


def decodings(text: str) -> list[Decoded]:
    """Return the texts that differ from ``text`` once one encoding is undone, likeliest first."""
    found = []
    for how, decode in _DECODERS:
        decoded = decode(text)
        if decoded != text:
            found.append(Decoded(decoded, how))
    return found + _substitutions(text)


def _readable(raw: bytes) -> str | None:
    """Return the bytes as text where all of it is printable, else None."""
    for codec in ("utf-16-le",) if raw[1::2].count(0) * 2 > len(raw) * 0.9 else ("utf-8",):
        try:
            text = raw.decode(codec)
        except UnicodeDecodeError:
            return None
        printable = text.replace("\n", " ").replace("\t", " ").replace("\r", " ")
        if len(text) >= 8 and printable.isprintable() and len(set(text)) > 4:
            return text
    return None


def _replaced(pattern: re.Pattern[str], decode: Callable[[str], bytes], text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        try:
            readable = _readable(decode(match.group()))
        except (binascii.Error, ValueError):
            return match.group()
        return match.group() if readable is None else f"\n{readable}\n"

    return pattern.sub(replace, text)


def _base64_bytes(run: str) -> bytes:
    run = re.sub(r"[\s=]", "", run).translate(str.maketrans("-_", "+/"))
    return base64.b64decode(run[: len(run) - (len(run) % 4 == 1)] + "=" * (-len(run) % 4))


def _from_base64(text: str) -> str:
    decoded = _replaced(_BASE64, _base64_bytes, text)
    joined = "".join(text.split())
    if decoded != text or len(joined) == len(text) or not _BASE64.fullmatch(joined):
        return decoded
    whole = _replaced(_BASE64, _base64_bytes, joined)  # one run that was broken by spaces
    return text if whole == joined else whole


def _from_hex(text: str) -> str:
    return _replaced(_HEX, lambda run: bytes.fromhex(re.sub(r"0x|[ :,-]", "", run)), text)


def _from_base32(text: str) -> str:
    return _replaced(
        _BASE32,
        lambda run: base64.b32decode(run.rstrip("=") + "=" * (-len(run.rstrip("=")) % 8)),
        text,
    )


def _from_numbers(text: str) -> str:
    text = _replaced(
        _BINARY, lambda run: bytes(int(bits, 2) for bits in re.findall(r"[01]{8}", run)), text
    )
    return _replaced(_DECIMAL, lambda run: bytes(map(int, re.findall(r"\d+", run))), text)


def _from_escapes(text: str) -> str:
    if len(_ESCAPE.findall(text)) < 3:
        return text

    def character(match: re.Match[str]) -> str:
        code = int(match[1] or match[2] or match[3] or "0", 16) or int(match[4] or "0", 8)
        return chr(code) if 9 <= code <= 0x10FFFF else match.group()

    return _ESCAPE.sub(character, text).replace("\ud83d", "")


def _from_percent(text: str) -> str:
    text = _QUOTED_PRINTABLE.sub(lambda match: match.group().replace("=", "%"), text)
    if text.count("%") < 2:
        return text

    def decode(match: re.Match[str]) -> str:
        return bytes.fromhex(match.group().replace("%", "")).decode(errors="replace")

    return _PERCENT.sub(decode, text)


def _from_entities(text: str) -> str:
    return html.unescape(text) if _ENTITY.search(text) else text


def _without_inner_tags(text: str) -> str:
    return _TAG_IN_WORD.sub("", text)


def _from_interleaved(text: str) -> str:
    """Drop a character that stands after every other one: ``r-u-n---i-t``, ``r u n  i t``."""
    marks = Counter(re.findall(r"[^\w\n]|_", text)).most_common(2)
    for mark, count in marks:
        if count * 3 < len(text):
            break
        gaps = re.escape(mark) + r"{2,}" + ("" if mark == " " else r"|\s+")
        chunks = re.split(gaps, text)
        loose = [len(chunk) > 2 and set(chunk[1::2]) == {mark} for chunk in chunks]
        covered = sum(len(chunk) for chunk, is_loose in zip(chunks, loose, strict=True) if is_loose)
        if covered >= max(12, len(text) // 2):
            kept = (c[::2] if is_loose else c for c, is_loose in zip(chunks, loose, strict=True))
            return _RUN_ON.sub(lambda match: f" {_segmented(match.group())} ", " ".join(kept))
    return text


def _from_spaced_letters(text: str) -> str:
    """Join letters set apart by spaces; split the words again where they ran on."""
    if not _SPACED.search(text):
        return text

    def join(match: re.Match[str]) -> str:
        return _segmented(match.group().replace(" ", ""))

    return " ".join(_SPACED_WORD.sub(join, part) for part in _WIDE_GAP.split(text))


def _from_separated_letters(text: str) -> str:
    """Join letters set apart by punctuation: ``i.g.n.o.r.e``."""
    if not _SEPARATED.search(text):
        return text
    joined = _SEPARATED_WORD.sub(
        lambda match: _segmented(re.sub(r"[\W_]+", "", match.group())), text
    )
    return _WORD_GAP.sub(" ", joined)


def _from_syllables(text: str) -> str:
    """Join words that were cut inside: ``ig-nore pre-vious``, two or more of them."""
    found = [
        match.group()
        for match in _SYLLABLES.finditer(text)
        if _known(re.sub(r"[\W_]", "", match.group()))
    ]
    if len(found) < 2:
        return text
    for cut in found:
        text = text.replace(cut, re.sub(r"[\W_]", "", cut))
    return text


def _from_leet(text: str) -> str:
    """Read digits and signs as letters, where two or more strange words become common ones."""
    changed = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal changed
        token = match.group().lower()
        if token.isalpha():
            return match.group()
        readings = [token.translate(_LEET), token.translate(_LEET_L)]
        known = [reading for reading in readings if _known(reading)]
        changed += bool(known) and len(token) > 2 and not token.isdigit()
        return (known or [match.group() if token.isdigit() else readings[0]])[0]

    plain = _LEET_TOKEN.sub(replace, text)
    return plain if changed >= 2 else text


@cache
def common_words() -> frozenset[str]:
    """Return the words (folded, several languages) by which decoded text is told from noise."""
    with open(WORDS_PATH, encoding="utf-8") as file:
        return frozenset(file.read().split())


def _known(word: str) -> bool:
    return word.lower() in common_words()


def _substitutions(text: str) -> list[Decoded]:
    """Undo letter ciphers and reversal where at least three strange words become common ones."""
    words = _TOKEN.findall(text)
    strange = [word for word in words if not _known(word)]
    if len(strange) < 2:
        return []
    needed = max(2, len(strange) // 4)
    found = []
    if _gain([word[::-1] for word in strange]) >= needed:
        found.append(Decoded(text[::-1], "reversed"))
        found.append(Decoded(_TOKEN.sub(_reversed_if_strange, text), "reversed"))
        found.append(Decoded(" ".join(word[::-1] for word in text.split(" ")), "reversed"))
        found.append(Decoded(_reversed_stretch(text), "reversed"))
    line = " ".join(strange)
    for how, table in _TABLES:
        gain = _gain(line.translate(table).split(" "))
        if gain >= (needed if how == "rot13" else max(needed, 3, len(strange) * 2 // 5)):
            plain = _TOKEN.sub(
                lambda match, table=table: (
                    match.group()  # type: ignore[misc]
                    if _known(match.group())
                    else match.group().translate(table)
                ),
                text,
            )
            found += [Decoded(plain, how), Decoded(text.translate(table), how)]
            break
    return found


def _gain(decoded: list[str]) -> int:
    return sum(_known(word) and len(word) > 2 for word in decoded)


def _reversed_if_strange(match: re.Match[str]) -> str:
    return match.group() if _known(match.group()) else match.group()[::-1]


def _reversed_stretch(text: str) -> str:
    """Reverse from the first to the last word that is common only when read backwards."""
    places = [
        match.span()
        for match in _TOKEN.finditer(text)
        if not _known(match.group()) and _known(match.group()[::-1])
    ]
    if not places:
        return text
    start, stop = places[0][0], places[-1][1]
    return text[:start] + text[start:stop][::-1] + text[stop:]


def _segmented(letters: str) -> str:
    """Split letters without spaces into common words (fewest unknown letters, longest words)."""
    letters, words_known = letters.lower(), common_words()
    if len(letters) > RUN_MAX or letters in words_known:
        return letters
    best = [(0.0, 0)]  # cost of the best split that ends here, and where its last word starts
    for stop in range(1, len(letters) + 1):
        cost, start = best[stop - 1][0] + 1.5, stop - 1
        for size in range(2, min(stop, _WORD_MAX) + 1):
            if letters[stop - size : stop] in words_known:
                total = best[stop - size][0] + 1.0
                if total < cost:
                    cost, start = total, stop - size
        best.append((cost, start))
    words: list[str] = []
    stop = len(letters)
    while stop:
        start = best[stop][1]
        word = letters[start:stop]
        if len(word) == 1 and words and words[-1].startswith("\0"):
            words[-1] = "\0" + word + words[-1][1:]
        else:
            words.append("\0" + word if len(word) == 1 else word)
        stop = start
    return " ".join(reversed(words)).replace("\0", "")


_DECODERS: list[tuple[str, Callable[[str], str]]] = [
    ("base64", _from_base64),
    ("hex", _from_hex),
    ("html entities", _from_entities),
    ("percent encoding", _from_percent),
    ("unicode escapes", _from_escapes),
    ("markup inside words", _without_inner_tags),
    ("separated letters", _from_interleaved),
    ("spaced letters", _from_spaced_letters),
    ("separated letters", _from_separated_letters),
    ("split words", _from_syllables),
    ("digits for letters", _from_leet),
    ("base32", _from_base32),
    ("character codes", _from_numbers),
]
