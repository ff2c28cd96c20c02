"""Number words and units of measure."""

from typing import Final

from keepthread.validators.judges.lexicon import words

NUMBER_WORDS: Final = {
    word: float(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
} | {
    "thirty": 30.0, "forty": 40.0, "fifty": 50.0, "sixty": 60.0, "seventy": 70.0, "eighty": 80.0,
    "ninety": 90.0, "hundred": 100.0, "thousand": 1e3, "million": 1e6, "once": 1.0, "twice": 2.0,
    "thrice": 3.0, "first": 1.0, "second": 2.0, "third": 3.0, "fourth": 4.0, "fifth": 5.0,
    "sixth": 6.0, "seventh": 7.0, "eighth": 8.0, "ninth": 9.0, "tenth": 10.0, "eleventh": 11.0,
    "twelfth": 12.0, "half": 0.5, "single": 1.0, "pair": 2.0, "couple": 2.0, "dozen": 12.0,
    "double": 2.0, "triple": 3.0,
}  # fmt: skip

FREQUENCIES: Final = {
    "hourly": 24.0, "daily": 1.0, "nightly": 1.0, "weekly": 1 / 7, "fortnightly": 1 / 14,
    "biweekly": 1 / 14, "monthly": 12 / 365.25, "quarterly": 4 / 365.25, "yearly": 1 / 365.25,
    "annually": 1 / 365.25,
}  # fmt: skip
"""How often a day."""

MAGNITUDES: Final = {
    "hundred": 100.0, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12,
}  # fmt: skip

UNITS: Final = {
    name: (dimension, factor)
    for dimension, factor, names in (
        ("time", 1e-6, "us µs microsecond microseconds"),
        ("time", 1e-3, "ms msec millisecond milliseconds"),
        ("time", 1.0, "s sec secs second seconds"),
        ("time", 60.0, "min mins minute minutes"),
        ("time", 3600.0, "h hr hrs hour hours"),
        ("time", 86400.0, "d day days"),
        ("time", 604800.0, "week weeks wk wks"),
        ("time", 2629800.0, "month months"),
        ("time", 31557600.0, "year years yr yrs"),
        ("bytes", 1.0, "byte bytes"),
        ("bytes", 1e3, "kb kilobyte kilobytes"),
        ("bytes", 1e6, "mb megabyte megabytes"),
        ("bytes", 1e9, "gb gigabyte gigabytes"),
        ("bytes", 1e12, "tb terabyte terabytes"),
        ("bytes", 1024.0, "kib"),
        ("bytes", 1048576.0, "mib"),
        ("bytes", 1073741824.0, "gib"),
        ("dozen", 1.0, "dozen"),
        ("percent", 1.0, "% percent pct"),
        ("length", 1.0, "m meter meters metre metres"),
        ("length", 1000.0, "km kilometer kilometers kilometre kilometres"),
        ("length", 1609.34, "mile miles"),
        ("mass", 1.0, "kg kgs kilo kilos kilogram kilograms"),
        ("mass", 0.4536, "lb lbs pound pounds"),
        ("rate", 1.0, "rps qps req/s requests/s"),
        ("rate", 1 / 60, "rpm req/min requests/min"),
    )
    for name in names.split()
}

MONEY: Final = words("$ € £ usd eur gbp dollar dollars euro euros")
