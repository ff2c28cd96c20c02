"""Judging one value: is it a secret, or a word, a name, a placeholder?"""

import re
from collections.abc import Iterator
from functools import cache

from keepthread.validators import secret_rules as rules

REDACTED = "[redacted:"
# How generated a value must look.
TOKEN = "token"
DOUBTFUL = "doubtful"  # at length

_FILLER_RUN = r"([xX*.\-_#?])\1{5}|([aA01])\2{5,}"
_REFERENCE = (
    r"[a-z][a-z0-9+.-]{1,9}://|arn:|[$%@{<&]|\[[\w -]*\]$|(?P<path>(?:[a-z]:|\.{0,2}|~)[\\/])"
)
_DOTTED_NAME = r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+(?:-|->|::)?$"
_SLUG_PART = r"[A-Za-z]*\d{0,4}[A-Za-z]?\d{0,2}$"
_COUNT = "0123456789" * 3
_JUDGED_MAX = 256
_RANDOM_MIN = {TOKEN: 12, DOUBTFUL: 16}


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The compiled pattern, at its first use: a hook pays only for what its text needs."""
    return re.compile(pattern)


def positions(text: str, hint: str) -> Iterator[int]:
    """Where ``hint`` begins in ``text``, overlaps included."""
    position = text.find(hint)
    while position >= 0:
        yield position
        position = text.find(hint, position + 1)


def is_stand_in(value: str) -> bool:
    """Whether ``value`` is written in place of a secret."""
    return is_placeholder(value) or is_reference(value)


def is_placeholder(value: str) -> bool:
    """Whether ``value`` stands for a secret: filler, a reference to one, or a word like "none"."""
    value = value[:_JUDGED_MAX]
    lower = value.lower()
    return lower in rules.PLACEHOLDER_WORDS or len(set(lower)) < 4 or is_filler(value)


def is_filler(value: str) -> bool:
    """Whether ``value`` is visibly made up: ``xxxx``, ``...EXAMPLE``, ``123456789012``."""
    value = value[:_JUDGED_MAX]
    lower = value.lower()
    if REDACTED in value or any(part in lower for part in rules.PLACEHOLDER_PARTS):
        return True
    runs = list(compiled(_FILLER_RUN).finditer(value))
    mostly = sum(len(run[0]) for run in runs) * 2 >= len(value)
    return mostly or any(run[1] for run in runs) or _counts_up(value)


def _counts_up(value: str) -> bool:
    """Whether twelve digits in a row of ``value`` count up: 123456789012."""
    return any(value[at : at + 12] in _COUNT for at in range(len(value) - 11))


def is_reference(value: str) -> bool:
    """Whether ``value`` names where the secret is: a variable, an attribute, a path, a URL."""
    value = value[:_JUDGED_MAX]
    if compiled(_DOTTED_NAME).match(value):
        return not any(looks_random(part, DOUBTFUL) for part in compiled(r"\W+").split(value))
    reference = compiled(_REFERENCE).match(value)
    if reference and reference["path"]:  # or Base64 that begins with a slash
        return not looks_random(value.replace("/", ""), DOUBTFUL)
    return reference is not None


def looks_random(value: str, strength: str) -> bool:
    """Whether ``value`` looks generated rather than written.

    In written text most pairs of letters are frequent ones (``access_token_2``, ``userName``);
    in generated text few are, and the class (lower, upper, digit) changes often: 0.4 times a
    character in base 36, 0.6 in base 64. Numbers count from 16 digits on.
    """
    value = value[:_JUDGED_MAX]
    core = compiled(r"[^A-Za-z0-9]+").sub("", value)
    if len(value) < _RANDOM_MIN[strength] or len(core) < 8:
        return False
    if core.isdigit():
        return len(core) >= 16
    share, pairs = _written_share(value)
    if not any(map(str.isdigit, core)):
        return len(core) >= 16 and pairs >= 8 and share < 0.5
    if compiled(r"[0-9a-f]+$|[0-9A-F]+$").match(core) or (pairs >= 4 and share < 0.55):
        return True
    if is_slug(value) or _words(value) >= 0.4 * len(core) or (share >= 0.9 and pairs >= 6):
        return False
    return _changes(core) >= 0.3 * len(core)


def is_slug(value: str) -> bool:
    """Whether ``value`` is made of words and small numbers (``sha256``, ``my-app-v2``)."""
    value = value[:_JUDGED_MAX]
    parts = compiled(r"[-_.:/+*]").split(value)
    return all(compiled(_SLUG_PART).match(part) for part in parts)


def looks_issued(tail: str) -> bool:
    """Whether ``tail``, after the fixed prefix of a token, is more than filler or a name."""
    tail = tail[:_JUDGED_MAX]
    written = tail.replace("_", "").isalpha() and _written_share(tail)[0] >= 0.6
    return not written and not is_filler(tail)


def looks_like_password(value: str, quoted: bool) -> bool:
    """Whether ``value``, written after a password label, is a password rather than code or prose.

    Without quotes, letters alone are a word (``password: required``) or a name.
    """
    if len(value) < 4 or value.isspace():
        return False
    wordlike = compiled(r"[_.:-]").sub("", value).isalpha()
    stock = ("pass" in value.lower(), "secret" in value.lower(), "test" in value, value.istitle())
    if wordlike and any(stock):
        return False
    if wordlike:
        return quoted and len(value) >= 8 or looks_random(value, DOUBTFUL)
    if value.replace(".", "").isdigit() and ("." in value or len(value) < 6):
        return False  # a version, a small number
    return quoted or any(map(str.isdigit, value)) or len(value) >= 8


def _written_share(value: str) -> tuple[float, int]:
    """The share of pairs of letters in ``value`` that are frequent in names, and their number."""
    pairs = [
        (a + b).lower()
        for a, b in zip(value, value[1:], strict=False)
        if a.isalpha() and b.isalpha() and not (a.islower() and b.isupper())
    ]
    return sum(pair in rules.LETTER_PAIRS for pair in pairs) / max(1, len(pairs)), len(pairs)


def _words(value: str) -> int:
    """How many characters of ``value`` belong to words between separators."""
    parts = compiled(r"[^A-Za-z0-9]+").split(value)
    return sum(len(p) for p in parts if p.isalpha() and _written_share(p)[0] >= 0.6)


def _changes(core: str) -> int:
    """Changes of class (lower, upper, digit) in ``core``; a capital before its word is none."""
    classes = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in core]
    return sum(a != b and (a, b) != ("u", "l") for a, b in zip(classes, classes[1:], strict=False))
