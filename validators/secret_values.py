"""Judging one value: is it a secret, or a word, a name, a placeholder?"""

import re
from collections.abc import Iterator
from functools import cache

from keepthread.validators import secret_rules as rules

REDACTED = "[redacted:"
# How generated a value must look.
TOKEN = "token"
DOUBTFUL = "doubtful"  # at length

_FILLER_RUN = r"([xX*.\-_#?aA01])\1{5}"
_REFERENCE = (
    r"[a-z][a-z0-9+.-]{1,9}://|arn:|[$%@{<&]|\[[\w -]*\]$|(?P<path>(?:[a-z]:|\.{0,2}|~)[\\/])"
)
_DOTTED_NAME = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$"
_SLUG_PART = r"[A-Za-z]*\d{0,4}[A-Za-z]?\d{0,2}$"
_CONSONANTS = r"[bcdfghjklmnpqrstvwxyz]{5}|[BCDFGHJKLMNPQRSTVWXYZ]{6}"
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
    return (
        REDACTED in value
        or any(part in lower for part in rules.PLACEHOLDER_PARTS)
        or compiled(_FILLER_RUN).search(value) is not None
        or _counts_up(value)
    )


def is_reference(value: str) -> bool:
    """Whether ``value`` names where the secret is: a variable, an attribute, a path, a URL."""
    if compiled(_DOTTED_NAME).match(value):
        return not any(looks_random(part, DOUBTFUL) for part in value.split("."))
    reference = compiled(_REFERENCE).match(value)
    if reference and reference["path"]:  # or Base64 that begins with a slash
        return not looks_random(value.replace("/", ""), DOUBTFUL)
    return reference is not None


def looks_random(value: str, strength: str) -> bool:
    """Whether ``value`` looks generated rather than written.

    Written text keeps to one class of letters for a while (``access_token_2``, ``userName``);
    in generated text the class changes often (base 36: 0.4 changes a character, base 64: 0.6),
    or consonants pile up. Numbers count from 16 digits on.
    """
    value = value[:_JUDGED_MAX]
    core = compiled(r"[^A-Za-z0-9]+").sub("", value)
    if len(core) < _RANDOM_MIN[strength]:
        return False
    if core.isdigit():
        return len(core) >= 16
    cluttered = compiled(_CONSONANTS).search(value) is not None
    if not cluttered and is_slug(value):
        return False
    if not any(map(str.isdigit, core)):
        return (cluttered and len(core) >= 16) or _changes(core) >= 0.3 * len(core)
    return cluttered or len(core) == len(value) >= 32 or _changes(core) >= 0.2 * len(core)


def is_slug(value: str) -> bool:
    """Whether ``value`` is made of words and small numbers (``sha256``, ``my-app-v2``)."""
    parts = compiled(r"[-_.:/+*]").split(value)
    return all(compiled(_SLUG_PART).match(part) for part in parts)


def looks_issued(tail: str) -> bool:
    """Whether ``tail``, after the fixed prefix of a token, is more than filler or a name."""
    letters = tail.replace("_", "")
    capitals = sum(map(str.isupper, letters))
    written = letters.isalpha() and capitals < 0.3 * len(letters)
    if written and compiled(_CONSONANTS).search(letters) is None:
        return False
    return not is_filler(tail)


def looks_like_password(value: str, quoted: bool) -> bool:
    """Whether ``value``, written after a password label, is a password rather than code or prose.

    Without quotes, letters alone are a word (``password: required``) or a name.
    """
    if len(value) < 4 or value.isspace():
        return False
    wordlike = compiled(r"[A-Za-z_.-]+:?$").match(value) is not None
    if wordlike and ("pass" in value.lower() or "secret" in value.lower() or "test" in value):
        return False
    if wordlike:
        return quoted and len(value) >= 8 or looks_random(value, DOUBTFUL)
    if value.isdigit() and len(value) < 6:
        return False
    return quoted or any(map(str.isdigit, value)) or len(value) >= 8


def _changes(core: str) -> int:
    """Changes of class (lower, upper, digit) in ``core``; a capital before its word is none."""
    classes = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in core]
    return sum(a != b and (a, b) != ("u", "l") for a, b in zip(classes, classes[1:], strict=False))


def _counts_up(value: str) -> bool:
    """Whether twelve digits in a row of ``value`` count up (123456789012)."""
    run = 1
    for a, b in zip(value, value[1:], strict=False):
        if a.isdigit() and b.isdigit() and (int(b) - int(a)) % 10 == 1:
            run += 1
            if run >= 12:
                return True
        else:
            run = 1
    return False
