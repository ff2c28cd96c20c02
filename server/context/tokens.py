"""Exact o200k_base token counts, without a network.

tiktoken downloads its rank file at first use; this module reads a copy that is shipped
(data/NOTICE.md) and checked against the SHA-256 that tiktoken itself expects.

Counts of lines add up. If `a` ends with a newline, and the first line of `b` is not blank
and does not start with "/", then tokens(a + b) == tokens(a) + tokens(b): the pattern that
splits a text before the merges always splits there, because after a newline one piece can
go on only with newlines, with whitespace that leads to a newline, or, if punctuation came
before, with "/". With a safety factor the sum of the counts is then never below the count
of the sum, as each is rounded up. In the other cases the sum is usually too high, but can
be too low by a token or two (".\\n" and "/etc": the merges are greedy), so it is no bound:
count such text whole.
"""

import base64
import gzip
import hashlib
import re
import threading
import zlib
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

RANKS_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
RANKS_FILE = Path(__file__).with_name("data") / "o200k_base.tiktoken.gz"
TOKENS_MAX = 1_000_000_000  # more is no budget, and beyond 2**53 floats no longer count
TOKEN_BYTES_MAX = 128  # the longest entry of the rank file

# The pattern of tiktoken_ext/openai_public.py, which has it inside a function that downloads.
_UPPER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"
_LOWER = r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
PATTERN = "|".join(
    (
        rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+{_CONTRACTION}",
        rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*{_CONTRACTION}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)

# Where a line starts whose tokens do not depend on what comes before it (see above).
LINE_START = re.compile(r"\n(?=[^\s/])")

# A longer prefix can have fewer tokens ("hel" has two, "hello" one): so many tokens
# beyond the budget are still tried, in a line short enough to be counted many times.
LOOKAHEAD_TOKENS = 4
LOOKAHEAD_CHARACTERS_MAX = 8_192


LINES_MAX, LINE_CHARACTERS_MAX = 8_192, 2_048
"""Lines whose counts are remembered; longer ones are not."""


class TokenizerDataError(Exception):
    """The shipped rank file is missing or not the published one: counts would be wrong."""


class TokenCounter:
    """Counts tokens; costs nothing until the first count, which loads the ranks (0.5 s).

    Safe to share between threads. `safety` multiplies every count, for models whose
    tokenizer is not o200k_base.
    """

    def __init__(self, safety: float = 1.0, ranks_file: Path = RANKS_FILE) -> None:
        if not safety > 0:
            raise ValueError(f"the safety factor must be above 0, not {safety}")
        self._safety = safety
        self._ranks_file = ranks_file
        self._encoding: Encoding | None = None
        self._lock = threading.Lock()
        self._lines: dict[str, int] = {}

    def load(self) -> None:
        """Load the ranks now, so that the first count need not; for a background thread.

        Raises:
            TokenizerDataError: the rank file is missing or not the published one.
        """
        self._loaded()

    def count(self, text: str) -> int:
        """Return the tokens of `text` times the safety factor, rounded up.

        Special tokens in the text ("<|endoftext|>") count as the text that they are.
        """
        return self._scaled(self._tokens(text))

    def cut(self, text: str, max_tokens: int) -> str:
        """Return the longest prefix of `text` that counts at most `max_tokens`.

        It is made of whole characters. Where the cut falls more than 8,192 characters
        into a line it can be a few characters short of the longest.
        """
        encoding = self._loaded()
        limit = self._limit(max_tokens)
        text = text[: limit * TOKEN_BYTES_MAX]
        tokens = encoding.encode_ordinary(text)
        if len(tokens) <= limit:
            return text
        end = _characters(encoding.decode_bytes(tokens[:limit]))
        # Only the last line is counted again and again, not all that precedes it.
        start = max((m.end() for m in LINE_START.finditer(text, 0, end)), default=0)
        if end - start <= LOOKAHEAD_CHARACTERS_MAX:
            end = _characters(encoding.decode_bytes(tokens[: limit + LOOKAHEAD_TOKENS]))
        limit -= self._tokens(text[:start])
        while end > start and self._tokens(text[start:end]) > limit:
            end -= 1
        return text[:end]

    def _tokens(self, text: str) -> int:
        """Count line by line (see LINE_START): two windows have most of their lines in common."""
        *lines, last = LINE_START.split(text)
        return sum(self._counted(f"{line}\n") for line in lines) + self._counted(last)

    def _counted(self, line: str) -> int:
        known = self._lines.get(line)
        if known is None:
            known = len(self._loaded().encode_ordinary(line))
            if len(self._lines) >= LINES_MAX:
                self._lines.clear()
            if len(line) <= LINE_CHARACTERS_MAX:
                self._lines[line] = known
        return known

    def _scaled(self, tokens: int) -> int:
        return ceil(tokens * self._safety - 1e-9)  # 10 * 1.1 is 11, not 11.000000000000002

    def _limit(self, max_tokens: int) -> int:
        """Return the most tokens that count at most `max_tokens`."""
        limit = max(0, int(min(max_tokens, TOKENS_MAX) / self._safety) + 1)
        while limit > 0 and self._scaled(limit) > max_tokens:
            limit -= 1
        return limit

    def _loaded(self) -> "Encoding":
        with self._lock:
            if self._encoding is None:
                self._encoding = _load_encoding(self._ranks_file)
            return self._encoding


def _characters(prefix: bytes) -> int:
    """Return how many whole characters a prefix of UTF-8 text holds."""
    return len(prefix.decode("utf-8", "ignore"))


def _load_encoding(ranks_file: Path) -> "Encoding":
    from tiktoken import Encoding  # noqa: PLC0415 - 40 ms that only counting should pay

    try:
        raw = gzip.decompress(ranks_file.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise TokenizerDataError(f"{ranks_file}: {error}. Reinstall keepthread.") from error
    if hashlib.sha256(raw).hexdigest() != RANKS_SHA256:
        raise TokenizerDataError(
            f"{ranks_file} is not the file that was published (its SHA-256 differs). "
            "Reinstall keepthread."
        )
    ranks = {
        base64.b64decode(token): int(rank) for token, rank in map(bytes.split, raw.splitlines())
    }
    return Encoding("o200k_base", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
