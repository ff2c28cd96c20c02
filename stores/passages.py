"""Cuts a text into passages at natural borders; search finds passages, never whole outputs."""

import re

PASSAGE_CHARS = 800
"""About 200 tokens: an embedder that reads 256 sees all of it."""

SENTENCE_CHARS_MIN = 40

_SENTENCE = re.compile(r"[^.!?\n]*+[.!?\n]++|[^.!?\n]++")


def split_sentences(text: str) -> list[str]:
    """Return the sentences and lines of ``text``, short ones together with the next."""
    sentences: list[str] = []
    rest = ""
    for piece in _SENTENCE.findall(text):
        rest = f"{rest} {piece.strip()}".strip()
        if len(rest) >= SENTENCE_CHARS_MIN:
            sentences.append(rest)
            rest = ""
    return [*sentences, rest] if rest else sentences


def split_passages(text: str, limit: int = PASSAGE_CHARS) -> list[tuple[int, int]]:
    """Return (start, stop) offsets that cover ``text`` without the blank ends.

    A passage ends at a blank line once half full, else at the last line that fits; a line
    longer than ``limit`` is cut at a space where there is one.
    """
    spans: list[tuple[int, int]] = []
    start = stop = 0
    for begin, end in _lines(text, limit):
        if end - start > limit and stop > start:
            spans.append((start, stop))
            start = begin
        blank = not text[begin:end].strip()
        stop = end
        if blank and stop - start > limit // 2:
            spans.append((start, stop))
            start = end
    if stop > start:
        spans.append((start, stop))
    return [span for span in spans if text[span[0] : span[1]].strip()]


def _lines(text: str, limit: int) -> list[tuple[int, int]]:
    """Offsets of the lines of ``text``, newline included, none longer than ``limit``."""
    lines: list[tuple[int, int]] = []
    begin = 0
    while begin < len(text):
        newline = text.find("\n", begin, begin + limit)
        if newline >= 0:
            end = newline + 1
        elif begin + limit >= len(text):
            end = len(text)
        else:
            space = text.rfind(" ", begin + limit // 2, begin + limit)
            end = space + 1 if space > 0 else begin + limit
        lines.append((begin, end))
        begin = end
    return lines
