"""Finding and redacting secrets, before anything is stored or indexed.

Every rule has a literal hint that is searched first; its pattern is compiled only when the hint
occurs, so that a hook pays almost nothing for a clean text. All patterns are bounded: time is
linear in the text.
"""

import binascii
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING

from keepthread.validators import public_keys
from keepthread.validators import secret_rules as rules
from keepthread.validators.secret_labels import assigned_secrets
from keepthread.validators.secret_rules import Secret
from keepthread.validators.secret_values import (
    DOUBTFUL,
    REDACTED,
    compiled,
    is_placeholder,
    is_slug,
    is_stand_in,
    looks_issued,
    looks_random,
    positions,
)

if TYPE_CHECKING:
    from keepthread.validators.known_secrets import KnownSecrets

__all__ = ["Secret", "find_secrets", "redact"]

_PEM_MAX = 20_000
_BASE64_MAX = 16_000
_PREFIX_MAX = 32
_COMMAND_MAX = 300
_INFIX_MAX = 90
_MASKS = ("###", "***", "...")

# A line break in JSON, a percent code, a terminal colour.
_ESCAPE = r"(?:\\[nrt]|%[0-9A-Fa-f]{2}|(?:\x1b|\\u001b)\[[0-9;]*[mK])$"
_MARKER = r"\[redacted:[a-z0-9. ,]{2,48}:[0-9a-f]{8}\]"
_PEM_BEGIN = r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
_PEM_BODY = r"(?:[A-Za-z0-9+/=\s]|\\{1,8}[nr]|[\w-]{1,30}: [^\n\\]{0,100}(?=\n|\\))*"
_URL_USERINFO = r"://([^\s:/?#@,\"'`<>\[\]\\]{0,200}):([^\s/?#\"'`<>\\]{1,500})@(?=[\w\[$.{%-])"
_URL_TOKEN = r"(?<=http|ttps)://([A-Za-z0-9_-]{20,200})(?::x-oauth-basic)?@(?=\w)"
_SCHEME = (
    r"[\"'`\]]{0,3}[ \t]{0,3}[:=,][ \t]{0,3}(?:b|f|r)?[\"'`]?[ \t]?"
    r"(?:(?P<scheme>[a-z][a-z0-9-]{2,20})[ \t]+)?(?P<value>[^\s\"'`<>\\,;()]{8,2000})"
)
_BASIC = r"[A-Za-z0-9+/]{8,1000}={0,2}(?![\w+/=-])"
_BEARER = r"bearer[ \t]+([\w.~+/=:-]{16,2000})"
# Every token of rules.SHAPES has such a run, at most _PREFIX_MAX characters after its start.
_LONG_RUN = r"[A-Za-z0-9_+/-]{15,}={0,2}"
_AWS_PAIR = r"(?<![\w/+=])(?=[^\s]{0,39}\d)(?=[^\s]{0,39}[a-z])[A-Za-z0-9/+]{40}(?![\w/+=])"



def find_secrets(text: str) -> list[Secret]:
    """The secrets in ``text``: non-overlapping, in order; linear in its length.

    What :func:`redact` has replaced is not found again.
    """
    # One character more would shift every offset after it.
    lower = text.replace("\u0130", "i").lower()
    runs = [match.span() for match in compiled(_LONG_RUN).finditer(text)]
    found = [
        *_pem_keys(text),
        *(_shapes(text, runs) if runs else ()),
        *_infixes(text),
        *_jwts(text),
        *_url_credentials(text),
        *_authorizations(text, lower),
        *assigned_secrets(text, lower),
        *_encoded(text, runs),
    ]
    if public_keys.HINT in text:
        found = [s for s in found if not public_keys.is_public_key(text, s.start, s.stop)]
    return _merged(_outside_markers(text, found) if REDACTED in text else found)


def redact(
    text: str, key: bytes, known: "KnownSecrets | None" = None
) -> tuple[str, tuple[str, ...]]:
    """``text`` with each secret as ``[redacted:KIND:hmac8]``, and the kinds found, in order.

    hmac8 is the first 8 hex digits of HMAC-SHA256(key, secret in UTF-8): equal secrets stay
    recognisable, their values are gone. Redacting twice changes nothing more. ``known`` finds what was
    redacted before, and is told of what is redacted now.
    """
    kinds: dict[str, None] = {}
    # Once more after a change: a secret gone, its neighbour may read as another label.
    while secrets := _all_secrets(text, known):
        if known is not None:
            for kind, start, stop in secrets:
                known.add(kind, text[start:stop])
        text = _replaced(text, secrets, key)
        kinds |= dict.fromkeys(secret.kind for secret in secrets)
    return text, tuple(kinds)


def _all_secrets(text: str, known: "KnownSecrets | None") -> list[Secret]:
    secrets = find_secrets(text)
    again = known.find(text) if known is not None else []
    if not again:
        return secrets
    return _merged(secrets + (_outside_markers(text, again) if REDACTED in text else again))


def _replaced(text: str, secrets: list[Secret], key: bytes) -> str:
    import hmac  # noqa: PLC0415  5 ms that a clean text on the hook path does not pay

    parts: list[str] = []
    end = 0
    for kind, start, stop in secrets:
        digest = hmac.digest(key, text[start:stop].encode("utf-8", "surrogatepass"), "sha256")
        parts += text[end:start], f"{REDACTED}{kind}:{digest.hex()[:8]}]"
        end = stop
    return "".join((*parts, text[end:]))


def _merged(found: list[Secret]) -> list[Secret]:
    """Overlapping finds as one: the union of the spans, the kind of the earliest rule."""
    merged: list[tuple[int, Secret]] = []
    for rank, secret in sorted(enumerate(found), key=lambda item: item[1].start):
        if merged and secret.start < merged[-1][1].stop:
            old_rank, old = merged[-1]
            kind = old.kind if old_rank < rank else secret.kind
            span = Secret(kind, old.start, max(old.stop, secret.stop))
            merged[-1] = (min(old_rank, rank), span)
        else:
            merged.append((rank, secret))
    return [secret for _, secret in merged]


def _outside_markers(text: str, found: list[Secret]) -> list[Secret]:
    """The finds that touch nothing which :func:`redact` wrote."""
    markers = [match.span() for match in compiled(_MARKER).finditer(text)]
    stops = [stop for _, stop in markers] + [len(text)]
    starts = [start for start, _ in markers] + [len(text)]
    return [s for s in found if s.stop <= starts[bisect_right(stops, s.start)]]


def _starts_word(text: str, position: int) -> bool:
    """Whether a token can begin here: no letter or digit before, escapes aside."""
    before = text[max(0, position - 16) : position]
    if not before or not before[-1].isalnum():
        return True
    return compiled(_ESCAPE).search(before) is not None


def _pem_keys(text: str) -> Iterator[Secret]:
    end = 0
    for position in positions(text, "PRIVATE KEY"):
        begin = compiled(_PEM_BEGIN).search(text, max(end, position - 60), position + 30)
        if begin is None or begin.start() > position:
            continue
        start = begin.end()
        closes = (text.find(dash, start, start + _PEM_MAX) for dash in ("-END ", "- END "))
        close = min((at for at in closes if at >= 0), default=-1)
        if close >= 0:
            end = start + len(text[start:close].rstrip("-"))
        else:
            body = compiled(_PEM_BODY).match(text, start, start + _PEM_MAX)
            end = body.end() if body else start
        yield from _trimmed(text, start, end)
    for position in positions(text, "Private-Lines:"):
        lines = compiled(r"Private-Lines: \d+\s+([A-Za-z0-9+/=\s]{20,8000})").match(text, position)
        if lines:
            yield from _trimmed(text, *lines.span(1))


def _trimmed(text: str, start: int, stop: int) -> Iterator[Secret]:
    """The key without the white space (escaped too) and quotes around it, if there is a key."""
    body = text[start:stop]
    lead = compiled(r"(?:\s|\\+[nr]|[\"',+])*").match(body)
    trail = compiled(r"(?:\s|\\+[nr]|[\"',+])*$").search(body, len(body) - 20)
    if REDACTED not in body and compiled(r"[A-Za-z0-9+/=]{16}").search(body) and lead and trail:
        yield Secret("private key", start + lead.end(), start + trail.start())


def _shapes(text: str, runs: list[tuple[int, int]]) -> Iterator[Secret]:
    long_words = "\n".join(text[max(0, start - _PREFIX_MAX) : stop] for start, stop in runs)
    for kind, prefixes, tail in rules.SHAPES:
        for prefix in prefixes.split():
            if prefix not in long_words:
                continue
            end = 0
            for position in positions(text, prefix):
                if position < end or not _starts_word(text, position):
                    continue
                if prefix.isalnum() and text[position - 1 : position] in ("+", "/"):
                    continue  # within Base64
                pattern = compiled(f"(?>{tail})(?![A-Za-z0-9])")
                match = pattern.match(text, position + len(prefix))
                masked = match and text[match.end() : match.end() + 3] in _MASKS
                if match and not masked and looks_issued(match[0]):
                    end = match.end()
                    yield Secret(kind, position, end)
                    if kind == "aws access key":
                        yield from _aws_pair(text, end)


def _aws_pair(text: str, start: int) -> Iterator[Secret]:
    """The secret key that is written next to an access key id (CSV, tables)."""
    match = compiled(_AWS_PAIR).search(text, start, start + 200)
    if match and not is_placeholder(match[0]) and any(map(str.isupper, match[0])):
        yield Secret("aws secret key", *match.span())


def _infixes(text: str) -> Iterator[Secret]:
    for kind, hint, before, pattern, command in rules.INFIXES:
        for position in positions(text, hint):
            if command and command not in text[max(0, position - _COMMAND_MAX) : position]:
                continue
            if before:
                start, stop = max(0, position - before), position + _INFIX_MAX
                match = compiled(pattern).search(text, start, stop)
            else:
                match = compiled(pattern).match(text, position)
            if match and match.start() <= position:
                value = match[match.re.groups]
                if not is_stand_in(value) and not value.isdigit():
                    yield Secret(kind, *match.span(match.re.groups))


def _jwts(text: str) -> Iterator[Secret]:
    for position in positions(text, "eyJ"):
        if _starts_word(text, position) and text[position - 1 : position] not in (".", "-", "_"):
            match = compiled(r"([\w-]{10,4000})=*\.([\w-]{4,8000})=*(?:\.[\w.=-]{0,8000})?").match(
                text, position
            )
            if match and _is_json(match[1]):
                yield Secret("json web token", *match.span())


def _is_json(segment: str) -> bool:
    """Whether a base64url segment holds a JSON object, without the cost of parsing it."""
    data = _decoded(segment.replace("-", "+").replace("_", "/"))
    return data.startswith("{") and data.rstrip().endswith("}") and '"' in data


def _decoded(base64: str) -> str:
    """The ASCII text in ``base64``, or ``""``."""
    try:
        data = binascii.a2b_base64(base64 + "=" * (-len(base64) % 4), strict_mode=True)
    except binascii.Error:
        return ""
    return data.decode("ascii") if data.isascii() else ""


def _url_credentials(text: str) -> Iterator[Secret]:
    for position in positions(text, "://"):
        match = compiled(_URL_USERINFO).match(text, position)
        if match and not _is_stock_login(match):
            yield Secret("password in url", *match.span(2))
        match = compiled(_URL_TOKEN).match(text, position)
        if match and looks_random(match[1], DOUBTFUL) and not is_placeholder(match[1]):
            yield Secret("token in url", *match.span(1))


def _is_stock_login(url: re.Match[str]) -> bool:
    """Whether a URL shows a placeholder, or a stock password on a host that is no real one."""
    user, password = url[1].lower(), url[2].lower()
    if user == "anonymous":
        return True
    if password not in rules.PLACEHOLDER_WORDS and password != user:
        return is_placeholder(url[2])
    host = compiled(r"[\w.-]*").match(url.string, url.end())
    name = host[0] if host else ""
    return "." not in name or "example" in name or name.startswith(("127.", "0.0.0.0"))


def _authorizations(text: str, lower: str) -> Iterator[Secret]:
    end = 0
    for position in positions(lower, "authorization"):
        if position < end:
            continue
        match = compiled(_SCHEME).match(lower, position + len("authorization"))
        if match:
            end = match.end()
            value = text[match.start("value") : match.end("value")]
            generated = any(map(str.isdigit, value)) and not is_slug(value)
            login = match["scheme"] == "basic" and ":" in _decoded(value)
            if (generated or login) and not is_stand_in(value):
                yield Secret("authorization header", *match.span("value"))
    for position in positions(lower, "basic "):
        match = compiled(_BASIC).match(text, position + len("basic "))
        if match and ":" in _decoded(match[0]) and not is_placeholder(_decoded(match[0])):
            yield Secret("authorization header", *match.span())
    for position in positions(lower, "bearer "):
        match = compiled(_BEARER).match(lower, position)
        if match:
            value = text[match.start(1) : match.end(1)]
            if looks_random(value, DOUBTFUL) and not is_stand_in(value):
                yield Secret("bearer token", *match.span(1))


def _encoded(text: str, runs: list[tuple[int, int]]) -> Iterator[Secret]:
    """Base64 of a text that holds a secret (kubernetes secrets, Basic credentials)."""
    for start, stop in runs:
        sixths = text[start:stop:4]  # the first six bits of every third byte: below 32 in ASCII
        if 24 <= stop - start <= _BASE64_MAX and "A" <= min(sixths) and max(sixths) <= "f":
            inner = _decoded(text[start:stop])
            if inner and _holds_secret(inner):
                yield Secret("encoded secret", start, stop)


def _holds_secret(inner: str) -> bool:
    whole = [(0, len(inner))]
    return any(
        next(found, None)
        for found in (
            _pem_keys(inner),
            _shapes(inner, whole),
            _infixes(inner),
            _url_credentials(inner),
            _authorizations(inner, inner.lower()),
            assigned_secrets(inner, inner.lower()),
        )
    )
