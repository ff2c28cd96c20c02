"""Time as the stores write it: UTC, ISO 8601 with milliseconds and ``Z``."""

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds since the epoch; injected, so that tests can turn it back."""


def stamp(seconds: float) -> str:
    """Return ``seconds`` since the epoch as ``2026-11-30T20:15:02.123Z``.

    A float of today's seconds is off by up to 0.2 microseconds: without the half one added, every
    second time read by ``seconds`` and stamped again would lose a millisecond.
    """
    whole, millis = divmod(int((seconds * 1000 + 0.0005) // 1), 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{millis:03d}Z"


def seconds(at: str) -> float:
    """Return a time written by ``stamp`` (or any ISO 8601 time with a zone) as seconds since the epoch.

    Raises ValueError for anything else.
    """
    from datetime import datetime  # noqa: PLC0415  (most hook events need not pay for it)

    moment = datetime.fromisoformat(at)
    if moment.tzinfo is None:
        raise ValueError(f"{at!r} has no time zone")
    return moment.timestamp()
