"""Judging one label and one value: does the label announce a secret, is the value one?"""

import re
from functools import lru_cache

from keepthread.validators import secret_rules as rules

REDACTED = "[redacted:"
# How hard a value must look like a secret, from the label that announces it.
PASSWORD = "password"  # nearly any value counts
TOKEN = "token"  # the value must look generated
DOUBTFUL = "doubtful"  # the value must be long and look generated

_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-zñ]+|\d+"
_FILLER_RUN = r"([xX*.\-_#?aA01])\1{5}"
_REFERENCE = r"[$%@{<&]|(?:[a-z]:|\.{0,2}|~)[\\/]|[a-z+]{2,9}://"
_DOTTED_NAME = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$"
_SLUG_PART = r"[A-Za-z]*\d{0,4}[A-Za-z]?$"
_CONSONANTS = r"[bcdfghjklmnpqrstvwxyzBCDFGHJKLMNPQRSTVWXYZ]{5}"
_JUDGED_MAX = 256
_RANDOM_MIN = {TOKEN: 12, DOUBTFUL: 16}


@lru_cache(maxsize=64)
def compiled(pattern: str) -> re.Pattern[str]:
    """The compiled pattern, at its first use: a hook pays only for what its text needs."""
    return re.compile(pattern)


def label_strength(label: str) -> str:
    """How a value under ``label`` is judged: PASSWORD, TOKEN, DOUBTFUL, or ``""`` (not at all)."""
    words = [word.lower() for word in compiled(_WORD).findall(label)]
    while words and (words[-1] in rules.NEUTRAL_SUFFIXES or words[-1].isdigit()):
        words.pop()
    if not words or not rules.ABOUT.isdisjoint(words):
        return ""
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last.endswith(rules.PASSWORD_ENDINGS) or (last in ("pass", "pw") and before):
        return PASSWORD
    if last.endswith(rules.TOKEN_ENDINGS) or last.endswith(rules.KEY_ENDINGS):
        return TOKEN
    if last == "key" and before:
        if before in rules.KEY_OWNERS:
            return TOKEN
        return "" if before in rules.KEY_NON_OWNERS else DOUBTFUL
    if last in ("auth", "pass") or any(
        word.endswith(rules.PASSWORD_ENDINGS + rules.TOKEN_ENDINGS + rules.KEY_ENDINGS)
        for word in words
    ):
        return DOUBTFUL
    return ""


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
    return compiled(_REFERENCE).match(value) is not None and not looks_random(
        value.replace("/", ""), DOUBTFUL
    )


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
    parts = compiled(r"[^A-Za-z0-9]+").split(value)
    cluttered = compiled(_CONSONANTS).search(value) is not None
    if not cluttered and all(compiled(_SLUG_PART).match(part) for part in parts):
        return False
    if not any(map(str.isdigit, core)):
        return (cluttered and len(core) >= 16) or _changes(core) >= 0.3 * len(core)
    return cluttered or len(core) == len(value) >= 32 or _changes(core) >= 0.2 * len(core)


def looks_issued(tail: str) -> bool:
    """Whether ``tail``, after the fixed prefix of a token, is more than filler or a name."""
    written = tail.replace("_", "").isalpha() and not tail.isupper() and _changes(tail) < 5
    return not written and not is_filler(tail)


def looks_like_password(value: str, quoted: bool) -> bool:
    """Whether ``value``, written after a password label, is a password rather than code or prose.

    Without quotes, letters alone are a word (``password: required``) or a name.
    """
    if len(value) < 4 or value.isspace():
        return False
    wordlike = compiled(r"[A-Za-z_.-]+$").match(value) is not None
    if wordlike and ("pass" in value.lower() or "secret" in value.lower() or "test" in value):
        return False
    if wordlike:
        return quoted and len(value) >= 8 or looks_random(value, DOUBTFUL)
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
