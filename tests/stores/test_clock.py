"""Times: what is written reads back as the same time."""

import random

import pytest

from keepthread.stores.clock import seconds, stamp


def test_a_time_that_was_read_is_written_the_same_again() -> None:
    choose = random.Random(0)
    for _ in range(5_000):
        at = stamp(choose.uniform(0, 4_000_000_000))
        assert stamp(seconds(at)) == at


@pytest.mark.parametrize(
    "given, written",
    [
        ("2025-01-02T03:04:05+02:00", "2025-01-02T01:04:05.000Z"),
        ("2025-01-02T03:04:05.6789Z", "2025-01-02T03:04:05.678Z"),
        ("1969-12-31T23:59:59.500Z", "1969-12-31T23:59:59.500Z"),
    ],
)
def test_any_time_with_a_zone_is_written_in_utc(given: str, written: str) -> None:
    assert stamp(seconds(given)) == written


@pytest.mark.parametrize("given", ["2025-01-02T03:04:05", "yesterday", "", "2025-13-01T00:00:00Z"])
def test_a_time_without_a_zone_or_sense_is_refused(given: str) -> None:
    with pytest.raises(ValueError):
        seconds(given)
