"""Exact token counts, offline."""

import gzip
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken_ext import openai_public  # type: ignore[import-untyped]

from keepthread.server.context.tokens import (
    PATTERN,
    RANKS_FILE,
    RANKS_SHA256,
    TOKEN_BYTES_MAX,
    TokenCounter,
    TokenizerDataError,
)

COUNTER = TokenCounter()

# Text that reaches every branch of the pattern, and long merges.
FRAGMENTS = [
    "foo",
    " Bar",
    "IT'S",
    "42",
    "1234567",
    " ",
    "    ",
    "\n",
    "\r\n",
    "\t",
    "/",
    ".",
    "--",
]
FRAGMENTS += [
    "{}",
    "é",
    "数据",
    "👩‍👩‍👧",
    "e\N{COMBINING ACUTE ACCENT}",
    "\u2028",
    "\u00a0",
    "unbelievably",
]
mixed_text = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=12).map("".join)


# The texts of the OpenAI cookbook on counting tokens, and a few single tokens.
@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("hello world", 2),
        ("tiktoken is great!", 6),
        ("antidisestablishmentarianism", 6),
        ("お誕生日おめでとう", 8),
        ("2 + 2 = 4", 7),
        ("\n", 1),
        ("    ", 1),
    ],
)
def test_known_texts_have_their_known_counts(text: str, tokens: int) -> None:
    assert COUNTER.count(text) == tokens


def test_pattern_and_hash_are_those_of_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    expected: list[str] = []

    def no_download(_: str, expected_hash: str) -> dict[bytes, int]:
        expected.append(expected_hash)
        return {}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", no_download)
    official: dict[str, Any] = openai_public.o200k_base()
    assert (official["pat_str"], expected) == (PATTERN, [RANKS_SHA256])


def test_special_tokens_in_a_text_count_as_text() -> None:
    assert COUNTER.count("<|endoftext|>") > 1
    assert COUNTER.count("a<|endofprompt|>b") > 3


@pytest.mark.parametrize(
    "text",
    [
        "\ud800",
        "\udc00\ud800",
        "\0",
        "\u2028",
        "\N{COMBINING ACUTE ACCENT}" * 10_000,
        "👩‍👩‍👧",
        "\ufeff",
    ],
)
def test_odd_text_is_counted_and_cut(text: str) -> None:
    assert COUNTER.count(text) > 0
    assert COUNTER.count(COUNTER.cut(text, 1)) <= 1


@pytest.mark.parametrize("text", ["a", " ", "\n", "=", "a b", "/\n", "\u0301"])
def test_long_runs_of_one_thing_take_little_time(text: str) -> None:
    run = text * (200_000 // len(text))
    COUNTER.load()
    started = time.thread_time()
    assert COUNTER.count(run) > 0
    assert COUNTER.count(COUNTER.cut(run, 500)) <= 500
    assert time.thread_time() - started < 5


def test_a_safety_factor_is_applied_and_rounded_up() -> None:
    assert COUNTER.count("a b c d e f g h i j") == 10
    assert TokenCounter(safety=1.1).count("a b c d e f g h i j") == 11
    assert TokenCounter(safety=1.15).count("a b c d e f g h i j") == 12


@pytest.mark.parametrize("safety", [0.0, -1.0, float("nan")])
def test_a_safety_factor_that_is_no_factor_is_refused(safety: float) -> None:
    with pytest.raises(ValueError, match="safety"):
        TokenCounter(safety=safety)


def longest_prefix_by_trying_all(text: str, max_tokens: int) -> str:
    fits = [end for end in range(len(text) + 1) if COUNTER.count(text[:end]) <= max_tokens]
    return text[: max(fits)]


@given(mixed_text, st.integers(0, 12))
@settings(max_examples=300, deadline=None)
def test_cut_gives_the_longest_prefix_within_the_budget(text: str, max_tokens: int) -> None:
    assert COUNTER.cut(text, max_tokens) == longest_prefix_by_trying_all(text, max_tokens)


@pytest.mark.parametrize("max_tokens", [1, 7, 200, 1_000, 5_000])
def test_a_long_text_is_cut_to_all_that_fits(max_tokens: int) -> None:
    text = "".join(f"- step {n}: copied {n * 37} rows, checksum {n * 7919:x}\n" for n in range(400))
    cut = COUNTER.cut(text, max_tokens)
    assert text.startswith(cut)
    assert COUNTER.count(cut) <= max_tokens
    assert cut == text or COUNTER.count(text[: len(cut) + 1]) > max_tokens


def test_cut_obeys_the_safety_factor() -> None:
    counter = TokenCounter(safety=1.5)
    cut = counter.cut("a b c d e f g h i j", 6)
    assert (cut, counter.count(cut)) == ("a b c d", 6)


@pytest.mark.parametrize("max_tokens", [0, -1])
def test_nothing_fits_into_no_budget(max_tokens: int) -> None:
    assert COUNTER.cut("text", max_tokens) == ""


@given(mixed_text, mixed_text)
@settings(max_examples=500, deadline=None)
def test_counts_of_lines_add_up_exactly(first: str, second: str) -> None:
    line = "- " + second
    assert COUNTER.count(first + "\n" + line) == COUNTER.count(first + "\n") + COUNTER.count(line)


@given(mixed_text, mixed_text)
@settings(max_examples=500, deadline=None)
def test_counts_add_up_before_any_line_that_is_not_blank_nor_starts_with_a_slash(
    first: str, second: str
) -> None:
    margin = second[: len(second) - len(second.lstrip())]
    if second.isspace() or second.startswith("/") or "\n" in margin or "\r" in margin:
        second = "x" + second
    total = COUNTER.count(first + "\n" + second)
    assert total == COUNTER.count(first + "\n") + COUNTER.count(second)


def test_counts_do_not_add_up_where_a_line_starts_with_a_slash() -> None:
    first, second = "é's-\n", "/a/\n"
    assert COUNTER.count(first + second) > COUNTER.count(first) + COUNTER.count(second)


def test_a_rank_file_that_was_tampered_with_is_refused(tmp_path: Path) -> None:
    ranks = tmp_path / "ranks.gz"
    ranks.write_bytes(gzip.compress(gzip.decompress(RANKS_FILE.read_bytes()) + b"\n"))
    with pytest.raises(TokenizerDataError, match="not the file that was published"):
        TokenCounter(ranks_file=ranks).load()


@pytest.mark.parametrize("content", [None, b"", b"\x1f\x8b\x08\x00cut short"])
def test_a_rank_file_that_cannot_be_read_is_reported(tmp_path: Path, content: bytes | None) -> None:
    ranks = tmp_path / "ranks.gz"
    if content is not None:
        ranks.write_bytes(content)
    with pytest.raises(TokenizerDataError, match="Reinstall keepthread"):
        TokenCounter(ranks_file=ranks).count("text")


def test_no_token_is_longer_than_the_bound_that_cut_relies_on() -> None:
    run = " " * TOKEN_BYTES_MAX
    assert COUNTER.count(run) == 1
    assert COUNTER.cut(run * 3, 2) == run * 2


def test_construction_loads_nothing_and_threads_load_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    encoding = tiktoken.Encoding

    def counted(name: str, **kwargs: Any) -> tiktoken.Encoding:
        made.append(name)
        return encoding(name, **kwargs)

    monkeypatch.setattr(tiktoken, "Encoding", counted)
    counter = TokenCounter()
    assert made == []
    counts: list[int] = []
    threads = [
        threading.Thread(target=lambda: counts.append(counter.count("hello world")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (made, counts) == (["o200k_base"], [2, 2, 2, 2])


def test_counting_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the tokenizer opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert TokenCounter().count("hello world") == 2
