"""The short names of facts, and which of them a text names: ``build command | how to build``.

A name is named when each of its words stands in the text, whatever the case and the plural, or
with one letter too many, missing, or swapped with the next. Another letter in a place makes
another word: ``state`` is not ``stale``.
"""

from collections import defaultdict
from collections.abc import Iterator

from keepthread.stores.fulltext import STOP_WORDS, WORD

SLIP_LETTERS_MIN = 5
"""A shorter word with a slip is too often another word."""


class Subjects:
    """The names of many facts, looked up by the words of a text in time that does not grow with them."""

    def __init__(self) -> None:
        self._names: dict[frozenset[str], set[int]] = defaultdict(set)
        self._of_word: dict[str, set[frozenset[str]]] = defaultdict(set)
        self._slips: dict[str, set[str]] = defaultdict(
            set
        )  # a word with a letter less: the words it may be

    def add(self, fact: int, subject: str) -> None:
        """Take in the names of a fact: a short key with aliases, separated by ``|``."""
        for alias in subject.split("|"):
            name = frozenset(w for w in _words(alias) if w not in STOP_WORDS)
            if name:
                self._names[name].add(fact)
            for word in name:
                self._of_word[word].add(name)
                for shorter in _shorter(word):
                    self._slips[shorter].add(word)

    def named_in(self, text: str) -> set[int]:
        """Return the facts that ``text`` names."""
        said = {known for word in _words(text) for known in self._known(word)}
        names = {name for word in said for name in self._of_word[word] if name <= said}
        return {fact for name in names for fact in self._names[name]}

    def _known(self, word: str) -> set[str]:
        """Return the words of names that ``word`` may stand for: itself, or where nobody is called so, a slip."""
        if word in self._of_word:
            return {word}
        if len(word) < SLIP_LETTERS_MIN:
            return set()
        too_many = {w for w in _shorter(word) if w in self._of_word and len(w) >= SLIP_LETTERS_MIN}
        swapped = {w for w in _swapped(word) if w in self._of_word}
        return too_many | swapped | self._slips.get(word, set())


def _words(text: str) -> list[str]:
    """Return the words of ``text`` in small letters, plurals as their singular."""
    found = (w.lower() for w in WORD.findall(text.replace("_", " ")))
    return [w[:-1] if len(w) > 3 and w[-1] == "s" and w[-2] not in "isu" else w for w in found]


def _shorter(word: str) -> Iterator[str]:
    if len(word) > SLIP_LETTERS_MIN:
        for at in range(len(word)):
            yield word[:at] + word[at + 1 :]


def _swapped(word: str) -> Iterator[str]:
    for at in range(len(word) - 1):
        yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]
