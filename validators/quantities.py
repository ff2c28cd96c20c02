"""Measured quantities: durations, sizes and percentages, compared at the precision of a claim."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from keepthread.validators.sources import line_at
from keepthread.validators.values import UNITS, Value

_TIME_KEY: Final = re.compile(
    r"(?i)time|\*/|ttl|interval|delay|limit|wait|expir|max_?age|duration|period|grace|backoff|elapsed"
    r"|deadline|sleep|retry.?after|second|minute|hour|lifetime|poll|refresh|retention|real|took|age"
)
_KEY_UNIT: Final = (
    (re.compile(r"(?:_|\b)(?i:ms|millis\w*|milliseconds?)\b|[a-z]Ms\b|Millis"), 1e-3),
    (re.compile(r"(?i)sec(?:ond)?s?\b"), 1.0),
    (re.compile(r"(?i)min(?:ute)?s?\b"), 60.0),
    (re.compile(r"(?i)hours?\b"), 3600.0),
    (re.compile(r"(?i)days?\b"), 86400.0),
)
_PERCENT: Final = re.compile(r"(?i)(?:^|\s)%[ \w]|\w%(?:\s|$)|percent|pct")
_SIZE_KEY: Final = {1e3: "kb", 1e6: "mb", 1e9: "gb"}
# Each pattern begins with a digit, so that the search for it is fast.
_CANDIDATE: Final = re.compile(r"\d[\d.,_]{0,18}(?: ?[a-zµ%]|:\d\d)")
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0}
_COMPOSITE: Final = re.compile(
    r"\d{1,5}(?:h(?:ours?|rs?)?|m(?:in(?:utes?|s)?)?)[ ,]{0,2}\d[\d.]{0,8}"
    r"(?:m(?:in(?:utes?|s)?)?[ ,]{0,2}\d[\d.]{0,8})?s(?:ec(?:onds?|s)?)?(?![a-z])"
)
_COMPOSITE_PART: Final = re.compile(r"(\d+(?:\.\d+)?)([hms])[a-z]*")
_CLOCK: Final = re.compile(r"\d{1,2}:\d\d(?::\d\d)?(?:\.\d{1,6})?(?![\d:])")
_WITH_UNIT: Final = {
    "s": re.compile(
        r"(\d[\d,_]{0,18}(?:\.\d{1,9})?)\s?(ns|us|µs|ms|msecs?|s|secs?|m|mins?|h|hrs?|d|[a-z]{0,5}seconds?"
        r"|minutes?|hours?|days?|weeks?)\b"
    ),
    "B": re.compile(
        r"(\d[\d,_]{0,18}(?:\.\d{1,9})?)\s?([kmgt]i?b?|b|bytes?|(?:kilo|mega|giga)bytes?)\b"
    ),
    "%": re.compile(r"(\d[\d,_]{0,18}(?:\.\d{1,9})?)\s?(%|percent|pct)"),
}
_BARE: Final = re.compile(r"(\d[\d,_]{0,18}(?:\.\d{1,9})?)(?!%)")
_BYTES: Final = re.compile(r"\d{4,15}(?![\d.])")
_LINE_MAX: Final = 200
_FOUND_MAX: Final = 8
_TRIED_MAX: Final = 6000

Place = tuple[int, int]


def unit_agrees(value: Value, text: str, start: int, stop: int) -> bool:
    """Whether the number at ``text[start:stop]`` has the unit of ``value``, or may have it.

    A number without a unit has it where its line speaks of time, in bytes, or of percent where
    a heading does.
    """
    if not value.unit:
        return True
    after = re.match(r"[ *-]{0,3}(?:time\.)?([a-zµ%]+)", text[stop : stop + 24].lower())
    unit = _unit_of(after.group(1), value) if after else None
    if unit:
        return unit == (value.unit, value.scale)
    line = line_at(text, start, stop, _LINE_MAX)
    if value.unit == "B":
        return value.scale == 1 or _SIZE_KEY.get(value.scale, " ") in line.lower()
    if value.unit == "%" and not unit:
        return _PERCENT.search(text) is not None
    if value.unit != "s":
        return False
    scale = _key_scale(line[: line.find(text[start:stop])]) or _key_scale(line)
    return scale in (None, value.scale) and bool(scale or _TIME_KEY.search(line))


def _unit_of(word: str, value: Value) -> tuple[str, float] | None:
    """The dimension and scale of a unit; "25m" is megabytes where the claim speaks of bytes."""
    if value.unit == "B" and word in ("m", "t"):
        return "B", 1e6 if word == "m" else 1e12
    return UNITS.get(word)


def measured(value: Value, low: str, text: str) -> Iterator[Place]:
    """Places of quantities that the claim rounds or converts, the first few."""
    found, claimed = 0, abs(value.number or 0.0)
    for start, stop, number in _quantities(value, low, text):
        if (
            claimed / 11 <= number <= 2.1 * claimed
            and _agrees(value, number)
            and not _continues(low, start)
        ):
            yield start, stop
            found += 1
            if found >= _FOUND_MAX:
                return


def _quantities(value: Value, low: str, text: str) -> Iterator[tuple[int, int, float]]:
    """Quantities of the same dimension, in its base unit."""
    if value.unit == "s":
        yield from _implied(value, low, text)
    if value.unit:
        for candidate in islice(_CANDIDATE.finditer(low), _TRIED_MAX):
            quantity = _quantity(value, low, candidate.start())
            if quantity:
                yield quantity
    else:
        for match in islice(_BARE.finditer(low), _TRIED_MAX):
            yield match.start(), match.end(), _float(match.group(1))
    if value.unit == "B" and (value.scale > 1 or value.about):
        for match in islice(_BYTES.finditer(low), _TRIED_MAX):
            yield match.start(), match.end(), float(match.group())


def _quantity(value: Value, low: str, at: int) -> tuple[int, int, float] | None:
    """``4m11s``, ``0:04:11`` or ``12 MB``, where it stands at ``low[at:]``."""
    if value.unit == "s":
        composite = _COMPOSITE.match(low, at)
        if composite:
            parts = _COMPOSITE_PART.findall(composite.group())
            return at, composite.end(), sum(float(n) * _SECONDS[unit] for n, unit in parts)
        clock = _CLOCK.match(low, at)
        if clock:
            *larger, seconds = clock.group().split(":")
            minutes = sum(int(n) * 60.0**k for k, n in enumerate(reversed(larger)))
            return at, clock.end(), 60 * minutes + float(seconds)
    match = _WITH_UNIT[value.unit].match(low, at)
    if not match:
        return None
    _, scale = _unit_of(match.group(2), value) or ("", 0.0)
    return at, match.end(), _float(match.group(1)) * scale


def _float(digits: str) -> float:
    return float(digits.replace(",", "").replace("_", ""))


def _implied(value: Value, low: str, text: str) -> Iterator[tuple[int, int, float]]:
    """Numbers without a unit, on lines that speak of time: ``timeout: 300``, ``wait_ms: 500``."""
    seconds = value.number or 0.0
    spelled = ((f"{seconds:g}", 1.0), (f"{seconds * 1e3:.10g}", 1e-3))
    grouped = ((f"{int(seconds * 1e3):_}", 1e-3),) if seconds >= 1 else ()
    for shown, scale in (*spelled, *grouped):
        at = low.find(shown)
        while at >= 0:
            stop = at + len(shown)
            line = line_at(text, at, stop, _LINE_MAX)
            bare = not re.match(r"[\d_]|\.\d|[ ]?[a-zµ%]", low[stop : stop + 2])
            key = _key_scale(line)
            if bare and (key or _TIME_KEY.search(line)):
                yield at, stop, float(shown.replace("_", "")) * (key or scale)
            at = low.find(shown, stop)


def _continues(low: str, at: int) -> bool:
    """Whether the digit at ``at`` stands inside a word or a longer number."""
    before = low[at - 1 : at]
    if before in (".", ",", ":"):
        return at > 1 and low[at - 2].isdigit()
    return before.isalnum() or before == "_"


def _key_scale(line: str) -> float | None:
    return next((scale for pattern, scale in _KEY_UNIT if pattern.search(line)), None)


def _agrees(value: Value, number: float) -> bool:
    """Whether a measured ``number`` is what the claim says, at the precision that it says."""
    claimed = value.number or 0.0
    digits = re.sub(r"[^\d.]", "", value.text) or "1"
    decimals = len(digits.partition(".")[2])
    step = value.scale * 10.0**-decimals
    if value.about == "over":
        return claimed < number <= 2 * claimed
    if value.about == "under":
        return claimed / 10 <= number < claimed
    if value.about == "about":
        zeros = len(digits) - len(digits.rstrip("0")) if not decimals else 0
        return abs(number - claimed) <= max(0.1 * claimed, 0.5 * step * 10.0**zeros)
    if abs(number - claimed) < 1e-9 * max(1.0, claimed):
        return True
    if value.unit == "B" and value.scale >= 1e3:  # 1 kB is 1000 or 1024 bytes
        power = {1e3: 1, 1e6: 2, 1e9: 3, 1e12: 4}.get(value.scale, 1)
        if abs(number / 1024.0**power - claimed / value.scale) <= 0.5 * 10.0**-decimals:
            return True
    if not value.unit:
        return False
    # "12 s" is said of 12.3 s, never of 13 s
    whole = number / step
    return not float(whole).is_integer() and round(whole) == round(claimed / step)
