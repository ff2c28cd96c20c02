"""Full text: the parts of identifiers are found, in time that grows with the text and no faster."""

import time

import pytest

from keepthread.stores.fulltext import identifier_parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("call parseHTTPHeader twice", "parse HTTP Header"),
        ("InvoiceService and InvoiceNotSent", "Invoice Service Not Sent"),
        ("v2FooBar 12fooBar", "v 2 Foo Bar foo"),
        ("snake_case and Word", ""),
    ],
)
def test_camel_case_words_are_also_found_by_their_parts(text: str, parts: str) -> None:
    assert identifier_parts(text) == parts


@pytest.mark.parametrize("text", ["x" * 200_000, "a1" * 100_000, "Ab " * 60_000])
def test_long_digests_cost_no_more_than_words(text: str) -> None:
    began = time.thread_time()
    identifier_parts(text)
    assert time.thread_time() - began < 1.0
