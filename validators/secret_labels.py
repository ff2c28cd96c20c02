"""Secrets that a label announces: ``db_password: "..."``, ``--token ...``, ``API_KEY=...``."""

from collections.abc import Iterator

from keepthread.validators import secret_rules as rules
from keepthread.validators.secret_rules import Secret
from keepthread.validators.secret_values import (
    DOUBTFUL,
    TOKEN,
    compiled,
    is_slug,
    is_stand_in,
    looks_like_password,
    looks_random,
    positions,
)

# What a label may announce, beside values that must look generated (TOKEN, DOUBTFUL).
PASSWORD = "password"

_VALUE_MAX = 2_000

_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-zñ]+|\d+"
_LABEL_HEAD = r"(?i)(?:(?<![A-Za-z])(?:api|access|secret|private|auth|master) )?[\wñ.-]*$"
_SEPARATOR = (
    r"(?:\\{0,7}[\"'`]|\]|\)){0,3}"
    r"(?P<sep>[ \t]{0,20}:[ \t]{0,3}[A-Za-z_][\w.\[\]| ]{0,30}=[ \t]{0,3}(?=[\"'])"
    r"|[ \t]{0,20}(?:::|:=|=>|={1,3}|!={1,2}|->|:|\|\|:?|<=|\?=|,)[ \t]{0,8}"
    r"|(?:\.assign)?\([ \t]{0,3}(?=[\"'])"
    r"|>|,?(?:\s|\\{1,4}n){1,40}[\"']?value[\"']?[ \t]{0,3}[:=][ \t]{0,3}|,[\"']value[\"']:"
    r"|(?: (?:for|of|on|to) (?:the )?[\w.-]{1,30})?[ \t]{1,3}(?:is|was|\|)[ \t]{1,3}|[ \t]{1,4})"
    r"(?:[@bfru]{1,2}(?=[\"']))?(?P<quote>\\{0,7}[\"'`])?"
)
_COMPARED = r"[\"'`]([^\s\"'`\\]{6,150})[\"'`] ?[!=]==? ?$"


def assigned_secrets(text: str, lower: str) -> Iterator[Secret]:
    """The values in ``text`` under labels that announce a secret.

    ``lower`` is ``text`` in lower case, of the same length.
    """
    stems = sorted(at for stem in rules.LABEL_STEMS for at in positions(lower, stem))
    end = 0
    for position in stems:
        if position < end:
            continue
        label = compiled(r"[\wñ-]{0,40}").match(text, position)
        end = label.end() if label else position
        head = compiled(_LABEL_HEAD).search(text, max(0, position - 40), position)
        start = head.start() if head else position
        if text[start : start + 1] in ("n", "r", "t") and text[start - 1 : start] == "\\":
            start += 1  # the n of an escaped line break
        strength = label_strength(text[start:end])
        if strength:
            for secret in _assigned(text, start, end, strength):
                yield secret
                end = secret.stop
            yield from _compared(text, start, strength)


def label_strength(label: str) -> str:
    """How a value under ``label`` is judged: PASSWORD, TOKEN, DOUBTFUL, or ``""``: not at all."""
    words = [word.lower() for word in compiled(_WORD).findall(label)]
    while words and (words[-1] in rules.NEUTRAL_SUFFIXES or words[-1].isdigit()):
        words.pop()
    if not words or not rules.OTHER_TOKENS.isdisjoint(words[:-1]):
        return ""
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last.endswith(rules.PASSWORD_ENDINGS) or last in ("pass", "pw", "psk"):
        return PASSWORD
    if last.endswith(rules.TOKEN_ENDINGS + rules.KEY_ENDINGS) or (last == "pat" and before):
        return TOKEN
    if last == "key" and before:
        if before in rules.KEY_OWNERS:
            return TOKEN
        return "" if before in rules.KEY_NON_OWNERS else DOUBTFUL
    if last == "auth":
        return DOUBTFUL
    nouns = rules.PASSWORD_ENDINGS + rules.TOKEN_ENDINGS + rules.KEY_ENDINGS
    at = next((i for i, word in enumerate(words) if word.endswith(nouns)), len(words))
    return DOUBTFUL if at < len(words) and rules.ABOUT.isdisjoint(words[at:]) else ""


def _assigned(text: str, start: int, end: int, strength: str) -> Iterator[Secret]:
    """The value that follows the label ``text[start:end]``."""
    separator = compiled(_SEPARATOR).match(text, end, end + 200)
    if separator is None:
        return
    label, sep, quote = text[start:end], separator["sep"], separator["quote"] or ""
    delimited = bool(quote) or (sep == "=" and label.replace("_", "").isupper())
    match = compiled(_value_pattern(delimited, sep)).match(text, separator.end())
    if match is None:
        return
    value = match[0] if delimited else match[0].rstrip(".,:;?")
    following = text[match.end() : match.end() + 1]
    if not delimited and (following in ("(", "[") or (value.isalpha() and not value.islower())):
        return  # a call, a subscript, a type
    if is_stand_in(value) or (not delimited and _is_label(value)):
        return
    if quote and sep != "=" and following != quote[0]:
        known = _is_mentioned(value, strength, "")  # more words follow
    elif sep.isspace() and label[:1] == "-":
        known = value[0] != "-" and _is_announced(value, strength, not value.isalpha())
    elif sep.strip() in ("", ",") or sep.rstrip().endswith(("|", " is", " was")):
        known = label.lower() != "pass" and _is_mentioned(value, strength, sep.strip())
    elif sep == ":" == text[start - 1 : start]:
        known = False  # a part of a name (arn:aws:...:secret:x)
    elif label.lower() == "pass" and not delimited:
        known = False  # the outcome of a test
    else:
        setting = sep == "=" and text[start - 1 : start] in ("", "\n", ";", "&", "?")
        alone = setting and following in ("", "\n", ";", "&", "'", '"', "\\")
        known = _is_announced(value, strength, delimited or alone or sep == ">")
    if known:
        yield _labelled(strength, match.start(), match.start() + len(value))


def _is_label(value: str) -> bool:
    """Whether ``value`` is a name for another secret: ``password1 != password2``."""
    return compiled(r"[A-Za-z_]\w*$").match(value) is not None and label_strength(value) != ""


def _value_pattern(delimited: bool, sep: str) -> str:
    if delimited:
        return rf"[^\s\"'`\\]{{1,{_VALUE_MAX}}}"
    if sep == ">":
        return rf"[^\s\"'`\\<>]{{1,{_VALUE_MAX}}}(?=</)"
    return rf"[^\s\"'`\\<>,;()\[\]{{}}&|]{{1,{_VALUE_MAX}}}"


def _is_announced(value: str, strength: str, delimited: bool) -> bool:
    """Whether ``value`` is a secret after ``label =`` or ``label:``."""
    if strength == PASSWORD:
        return looks_like_password(value, delimited)
    return looks_random(value, strength)


def _is_mentioned(value: str, strength: str, link: str) -> bool:
    """Whether ``value`` is a secret although only a word, a comma or a space links it."""
    if not any(map(str.isdigit, value)) or is_slug(value):
        return False
    if link == "," and (value.isupper() or compiled(r"\w+=\w").match(value)):
        return False  # a list of constants or of arguments
    if strength == PASSWORD and link and len(value) >= 6:
        return looks_like_password(value, True)
    return looks_random(value, DOUBTFUL)


def _compared(text: str, start: int, strength: str) -> Iterator[Secret]:
    """The quoted value that is compared with the label at ``start``: ``"..." == password``."""
    if text[max(0, start - 3) : start].rstrip().endswith("="):
        match = compiled(_COMPARED).search(text, max(0, start - 200), start)
        if match and not is_stand_in(match[1]):
            if looks_random(match[1], TOKEN) or (strength == PASSWORD and len(match[1]) > 5):
                yield _labelled(strength, *match.span(1))


def _labelled(strength: str, start: int, stop: int) -> Secret:
    return Secret("password" if strength == PASSWORD else "secret", start, stop)
