"""Days and times of day as claims write them, and how outputs may spell the same."""

import re
from typing import Final

_MONTHS: Final = (
    "january february march april may june july august september october november december"
).split()
_NAMES: Final = [n.capitalize() for m in _MONTHS for n in (m, m[:3])]
_MONTH: Final = "|".join(sorted([*_NAMES, "Sept"], key=len, reverse=True))
DAY: Final = re.compile(  # "2 October 2024", "Oct 2nd", "June 2024"; a month alone is a name
    rf"(?<![\w.-])(?:(?P<before>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m1>{_MONTH})\b\.?"
    rf"|(?P<m2>{_MONTH})\b\.? (?P<after>\d{{1,2}})(?:st|nd|rd|th)?(?![\w:.])"
    rf"|(?P<m3>{_MONTH})\b(?=,? \d{{4}}(?!\d)))(?:,? (?P<year>\d{{4}})(?!\d))?"
)
CLOCK: Final = re.compile(r"(?<![\d:])(\d{1,2}):(\d\d)(?::(\d\d))?(?![\d:])")


def day_pattern(claimed: str) -> re.Pattern[str] | None:
    """What a lower-case output may call the claimed day, or None where it is none."""
    match = DAY.fullmatch(re.sub(r"[A-Za-z]{3,}", lambda m: m.group().capitalize(), claimed))
    if not match:
        return None
    name = (match["m1"] or match["m2"] or match["m3"]).lower()[:3]
    month = [m[:3] for m in _MONTHS].index(name) + 1
    number = match["before"] or match["after"]
    day = rf"0?{int(number)}" if number else r"\d{1,2}"
    year = match["year"] or r"\d{4}"
    word = rf"{name}[a-z]{{0,6}}\.?"
    spellings = [
        rf"{year}[-/.]0?{month}[-/.]{day}",
        rf"{day}[ /-]{word}[ /-]{year}",
        rf"{word} {{1,2}}{day}(?:st|nd|rd|th)?,?(?: [\d:]+(?: [a-z]+)?)? {year}",
    ]
    if not match["year"]:
        spellings += [rf"{day}(?:st|nd|rd|th)?[ /-]{word}", rf"{word} {{1,2}}{day}(?:st|nd|rd|th)?"]
        spellings.append(rf"0{month}-{day}" if month < 10 else rf"{month}-{day}")
    elif not number:
        spellings += [rf"{word},? {year}", rf"{year}-0?{month}"]
    return re.compile(rf"(?<![\d.])(?:{'|'.join(spellings)})(?!\d)")


def clock_pattern(claimed: str) -> re.Pattern[str] | None:
    """What a lower-case output may write for the claimed time of day; seconds it may add."""
    match = CLOCK.fullmatch(claimed)
    if not match:
        return None
    hour, minute, second = match.groups()
    seconds = rf":{second}" if second else r"(?::\d\d)?"
    return re.compile(rf"(?<![\d:])0?{int(hour)}:{minute}{seconds}(?![\d:])")
