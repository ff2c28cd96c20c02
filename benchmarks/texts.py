"""Made-up text with the shape of real output: a Zipf-like vocabulary, lines, paths and numbers. Seeded."""

import random

WORDS = 5_000
_ONSETS = "b br c cl d dr f fl g gr h j k l m n p pl qu r s st t tr v w z".split()
_VOWELS = "a e i o u ai ea oo".split()


class Texts:
    """A stream of texts; the same seed gives the same stream."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(7)  # one vocabulary for all
        self._words = sorted(
            {"".join(self._syllable() for _ in range(2 + i % 2)) for i in range(2 * WORDS)}
        )[:WORDS]
        self._random.shuffle(self._words)
        self._random = random.Random(seed)
        self._weights = [1 / (i + 8) for i in range(len(self._words))]

    def words(self, count: int) -> list[str]:
        """Return words, common ones more often."""
        return self._random.choices(self._words, self._weights, k=count)

    def output(self, characters: int) -> str:
        """Return lines like a tool's output, about so long."""
        lines: list[str] = []
        size = 0
        while size < characters:
            a, b, *rest = self.words(8)
            line = f"{a}/{b}.py:{self._random.randrange(1, 900)}: {' '.join(rest)}"
            lines.append(line)
            size += len(line) + 1
        return "\n".join(lines)

    def fact(self, number: int) -> str:
        """Return a sentence that differs from others in names and values."""
        a, b, c = self.words(3)
        return f"The {a} {b} of service {c}-{number} listens on port {20_000 + number}"

    def vector(self, dimension: int = 384) -> list[float]:
        """Return a random direction."""
        return [self._random.gauss(0, 1) for _ in range(dimension)]

    def _syllable(self) -> str:
        return self._random.choice(_ONSETS) + self._random.choice(_VOWELS)
