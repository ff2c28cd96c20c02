"""Checking lines of JSON-RPC: what is refused, and whose id the answer bears."""

import itertools
import time
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keepthread.server.stdio_lines import (
    DEPTH_MAX,
    HEAD_BYTES,
    LINE_BYTES_MAX,
    Line,
    Refusal,
    parse_line,
    read_lines,
    request_id,
)

LINE_SECONDS_MAX = 5


@pytest.mark.parametrize(
    ("line", "id"),
    [
        (b'{"jsonrpc":"2.0","method":"m","params":{"id":3},"id":7}', 7),
        (b'{"jsonrpc":"2.0","method":"m","params":{"id":3}}', None),
        (b'{"method":"m","params":{"x":[{"id":3},{"id":4}]},"id":"seven","jsonrpc":"2.0"', "seven"),
        (b'{"params":"\\"id\\":3","id":7}', 7),
        (b'{"params":"{\\"id\\":3}"}', None),
        (b'{"id":7} {"id":8}', 7),
        (b'[{"id":7}]', None),
        (b'{"id":', None),
        (b'{"id":12', None),  # the number may go on
        (b'{"id":true,"method":"m"}', None),
        (b'{"id":1e3,"method":"m"}', None),
        (b'{"id":"\xff","method":"m"}', None),
        (b'{"id":{"id":7},"method":"m"}', None),
        # A response names a request of the server, not one of the client.
        (b'{"id":7,"result":{"id":8}}', None),
        (b'{"error":{"code":1},"id":7}', None),
        (b"", None),
    ],
)
def test_only_a_top_level_id_of_a_request_counts(line: bytes, id: int | str | None) -> None:
    assert request_id(line) == id


@pytest.mark.parametrize(
    ("end", "id"),
    [
        (b'"},"id":7}', 7),
        (b'"},"jsonrpc":"2.0","id":"seven"}', "seven"),
        (b'"}, "id": 7, "jsonrpc": "2.0" }\r', 7),
        (b'","id":7}}', None),
        (b'"},"also":{"id":7}}', None),
        (b'\\",\\"id\\":7}', None),
    ],
)
def test_an_id_after_long_params_is_found(end: bytes, id: int | str | None) -> None:
    line = b'{"method":"m","params":{"text":"' + b"x" * 2 * HEAD_BYTES + end
    assert request_id(line) == id


@given(st.lists(st.binary(max_size=40), max_size=8), st.lists(st.integers(1, 30), min_size=1))
@example([b"a", b"b"], [1])
def test_lines_are_the_same_however_the_input_is_cut(lines: list[bytes], sizes: list[int]) -> None:
    data = b"\n".join(lines)
    cuts, pieces = itertools.cycle(sizes), []
    while data:
        size = next(cuts)
        pieces.append(data[:size])
        data = data[size:]
    read = iter([*pieces, b""]).__next__
    expected = [part for line in lines for part in line.split(b"\n") if part.strip()]
    assert [line.content for line in read_lines(read)] == expected


def test_of_a_line_that_is_too_long_only_both_ends_are_kept() -> None:
    def chunks() -> Iterator[bytes]:
        yield b'{"first":1,"text":"'
        yield from itertools.repeat(b"x" * HEAD_BYTES, 3 * LINE_BYTES_MAX // HEAD_BYTES)
        yield b'","last":2}\n{"next":3}'
        yield b""

    long, after = read_lines(chunks().__next__)
    assert long.too_long and len(long.content) < 2 * HEAD_BYTES
    assert long.content.startswith(b'{"first":1') and long.content.endswith(b'"last":2}')
    assert after == Line(b'{"next":3}')


@pytest.mark.parametrize(
    "content",
    [
        b'"' + b'\\"' * (LINE_BYTES_MAX // 2 - 1),
        b"[" * LINE_BYTES_MAX,
        b"[]" * (LINE_BYTES_MAX // 2),
        b'""' * (LINE_BYTES_MAX // 2),
        b"{" * DEPTH_MAX + b'"' * (LINE_BYTES_MAX - DEPTH_MAX),
    ],
)
def test_the_worst_lines_are_checked_in_bounded_time(content: bytes) -> None:
    started = time.thread_time()
    assert isinstance(parse_line(Line(content)), Refusal)
    assert request_id(content) is None
    assert time.thread_time() - started < LINE_SECONDS_MAX


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_checked_without_an_exception(content: bytes) -> None:
    parsed = parse_line(Line(content))
    assert isinstance(parsed, Refusal) and parsed.code in (-32600, -32700)
    assert request_id(content) is None or b'"id"' in content
