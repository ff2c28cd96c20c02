"""Stretches of output that hold most of a claim, and how much of it they hold."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from keepthread.validators.evidence import Passage
from keepthread.validators.locating import Hit
from keepthread.validators.sources import Source, find_stem
from keepthread.validators.values import Claim
from keepthread.validators.vocabulary import content_words, is_generic, stem, synonyms

PASSAGES_MAX: Final = 16
_ANCHORS_MAX: Final = 64
_IN_PATHS: Final = 0.3  # what a word counts that is only part of listed paths
_REACH: Final = 160  # characters of context on either side of an anchor


class Window(NamedTuple):
    """A passage with its text, its score, and the share of the claim's words that it covers."""

    passage: Passage
    text: str
    score: float
    covered: float


def topic_words(claim: Claim) -> list[str]:
    """Stems that tell what a claim is about: those it affirms, or all where it affirms none."""
    return [w for w in claim.words if w not in claim.negated] or list(claim.words)


def weight_of(word: str) -> float:
    """How much a word tells: everyday vocabulary of software work tells half."""
    return 0.5 if is_generic(word) else 1.0


def is_joined(claim: Claim, word: str, sources: Sequence[Source]) -> bool:
    """Whether a word of the claim stands joined to its neighbour: ``sourcemap``."""
    said = [w.lower() for w in content_words(claim.text)]
    return any(
        len(a) + len(b) > 6 and a + stem(b) in source.low
        for a, b in zip(said, said[1:], strict=False)
        if word in (stem(a), stem(b))
        for source in sources
    )


def word_weight(word: str, sources: Sequence[Source]) -> tuple[float, bool]:
    """How well the entries have a word (1 as such, less as a synonym or argument); if in output."""
    found = [source for source in sources if source.find_word(word) >= 0]
    if found:
        return _IN_PATHS if all(source.lists_paths for source in found) else 1.0, True
    others = synonyms(word) - {word}
    if any(source.find_word(other) >= 0 for other in others for source in sources):
        return 0.8, True
    asked = any(
        source.find_word(w, in_args=True) >= 0 for w in {word, *others} for source in sources
    )
    return (0.7, False) if asked else (0.0, False)


def best_windows(claim: Claim, sources: Sequence[Source], hits: Sequence[Hit]) -> list[Window]:
    """Stretches of output around hits and words, those with most of the claim first."""
    anchors = {(h.source, h.start // _REACH): h for h in hits if not h.in_args}
    words = topic_words(claim)
    for n, source in enumerate(sources):
        for word in words:
            for at in source.word_places(word):
                anchors.setdefault((n, at // _REACH), Hit(n, at, at + 1))
    windows = [
        _window(claim, words, sources[h.source], h, hits)
        for h in list(anchors.values())[:_ANCHORS_MAX]
    ]
    windows.sort(key=lambda w: -w.score)
    distinct: list[Window] = []
    for window in windows:
        if all(window.passage.entry != w.passage.entry or window.passage.start >= w.passage.stop
               or window.passage.stop <= w.passage.start for w in distinct):  # fmt: skip
            distinct.append(window)
    return distinct[:PASSAGES_MAX]


def _window(
    claim: Claim, words: Sequence[str], source: Source, anchor: Hit, hits: Sequence[Hit]
) -> Window:
    text = source.text
    start = max(0, anchor.start - _REACH)
    if start:
        start = text.find("\n", start, anchor.start) + 1 or start
    stop = min(len(text), anchor.stop + _REACH)
    if stop < len(text):
        end = text.rfind("\n", anchor.stop, stop)
        stop = end if end >= 0 else stop
    weights = {word: weight_of(word) for word in words}
    found = sum(weights[w] * _share(w, source, start, stop) for w in words)
    inside = {
        h for h in hits if not h.in_args and h.source == anchor.source and start <= h.start < stop
    }
    covered = found / sum(weights.values()) if words else 1.0
    passage = Passage(source.evidence.entry, start, stop)
    return Window(passage, text[start:stop], found + 1.5 * len(inside), covered)


def _share(word: str, source: Source, start: int, stop: int) -> float:
    """How well ``source.text[start:stop]``, or the call that gave it, has a word."""
    if find_stem(source.low, source.text, word, start, stop) >= 0:
        return _IN_PATHS if source.lists_paths else 1.0
    others = synonyms(word) - {word}
    if any(find_stem(source.low, source.text, other, start, stop) >= 0 for other in others):
        return 0.8
    return 0.7 if source.find_word(word, in_args=True) >= 0 else 0.0
