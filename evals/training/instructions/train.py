"""Fit the instruction model on this folder's sentences and write it where the package loads it.

Run from the repository's root: ``python -m evals.training.instructions.train``. Needs numpy only.
It prints cross-validated figures (all variants of a line stay in one fold), then fits on all.
"""

import base64
import json
import math
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keepthread.validators import encodings, instruction_model, normalize

HERE = Path(__file__).parent
VARIANTS_MAX = 16
LINES_MIN = 2
DIRECTIVE_SHARE = 0.3  # strange sentences lean towards describing
CUT = 0.85  # a fitted probability that counts as even odds: refusing true facts costs more
FOLDS = 5
STEPS = 400
RATE = 0.05
L2 = 1e-4
_SLOT = re.compile(r"\{([^{}]*\|[^{}]*)\}")

_WORD = re.compile(r"(?<![^\W_])[^\W\d_]{3,16}(?![^\W_])")

Floats = npt.NDArray[np.float64]


def lines(path: Path) -> list[str]:
    """Return the sentences of a file, comments and blank lines left out."""
    text = path.read_text(encoding="utf-8").splitlines()
    return [line for line in text if line.strip() and not line.startswith("# ")]


def variants(line: str, chance: random.Random) -> list[str]:
    """Return up to ``VARIANTS_MAX`` different fillings of a line's ``{a|b}`` slots."""
    found: dict[str, None] = {}
    for _ in range(VARIANTS_MAX * 2):
        filled = _SLOT.sub(lambda slot: chance.choice(slot[1].split("|")), line)
        found[filled] = None
    return list(found)[:VARIANTS_MAX]


class Examples:
    """Sentences as sparse rows, with label, weight and the line each one came from."""

    def __init__(self) -> None:
        self.rows: list[dict[int, float]] = []
        self.labels: list[float] = []
        self.weights: list[float] = []
        self.groups: list[int] = []

    def add(self, path: Path, label: float) -> None:
        chance = random.Random(7)
        for line in lines(path):
            group = max(self.groups, default=-1) + 1
            filled = variants(line, chance)
            for text in filled:
                sentences = list(instruction_model.sentences(normalize.fold(text)))
                for sentence in sentences[: 1 if label else None]:
                    self.rows.append(instruction_model.features(sentence))
                    self.labels.append(label)
                    self.weights.append(len(filled) ** -0.5)
                    self.groups.append(group)


def prune(examples: Examples) -> None:
    """Drop features seen in fewer than ``LINES_MIN`` lines: they learn a line by heart."""
    seen: dict[int, set[int]] = {}
    for row, group in zip(examples.rows, examples.groups, strict=True):
        for bucket in row:
            seen.setdefault(bucket, set()).add(group)
    for row in examples.rows:
        for bucket in [bucket for bucket in row if len(seen[bucket]) < LINES_MIN]:
            del row[bucket]


def fit(examples: Examples, chosen: npt.NDArray[np.int64]) -> tuple[Floats, float]:
    """Minimise the weighted logistic loss with L2 by full-batch Adam; return weights and bias."""
    columns = np.concatenate([np.fromiter(examples.rows[i], dtype=np.int64) for i in chosen])
    values = np.concatenate([np.fromiter(examples.rows[i].values(), float) for i in chosen])
    lengths = [len(examples.rows[i]) for i in chosen]
    rows = np.repeat(np.arange(len(chosen)), lengths)
    labels = np.array(examples.labels)[chosen]
    weights = np.array(examples.weights)[chosen]
    for label, share in ((0.0, 1 - DIRECTIVE_SHARE), (1.0, DIRECTIVE_SHARE)):
        weights[labels == label] *= share / weights[labels == label].sum()
    theta = np.zeros(instruction_model.BUCKETS + 1)
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    for step in range(1, STEPS + 1):
        margin = np.bincount(rows, values * theta[columns], len(chosen)) + theta[-1]
        error = (1 / (1 + np.exp(-margin)) - labels) * weights
        slope = np.append(
            np.bincount(columns, values * error[rows], instruction_model.BUCKETS), error.sum()
        )
        slope[:-1] += L2 * theta[:-1]
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        theta -= RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return theta[:-1], float(theta[-1])


def scores(examples: Examples, theta: Floats, bias: float) -> Floats:
    """Return the probability of each example under these weights."""
    margins = [
        bias + sum(theta[bucket] * value for bucket, value in row.items()) for row in examples.rows
    ]
    return np.asarray(1 / (1 + np.exp(-np.array(margins))))


def folds(examples: Examples) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Yield train and test indices; the variants of one line are never on both sides."""
    place = np.array([hash((group * 2654435761) % 1000003) % FOLDS for group in examples.groups])
    for fold in range(FOLDS):
        yield np.flatnonzero(place != fold), np.flatnonzero(place == fold)


def vocabulary() -> list[str]:
    """Return the words that ship: the list of this folder and the words of the sentences."""
    words = {word for line in lines(HERE / "words.txt") for word in line.split()}
    for name in ("directives.txt", "descriptions.txt"):
        for line in lines(HERE / name):
            words.update(_WORD.findall(normalize.fold(line)))
    return sorted(words)


def main() -> None:
    Path(encodings.WORDS_PATH).write_text("\n".join(vocabulary()) + "\n", encoding="utf-8")
    examples = Examples()
    examples.add(HERE / "directives.txt", 1.0)
    examples.add(HERE / "descriptions.txt", 0.0)
    prune(examples)
    labels = np.array(examples.labels)
    held_out = np.zeros(len(labels))
    for train, test in folds(examples):
        theta, bias = fit(examples, train)
        held_out[test] = scores(examples, theta, bias)[test]
    caught = (held_out[labels == 1] >= 0.5).mean()
    refused = (held_out[labels == 0] >= 0.5).mean()
    print(f"{len(labels)} sentences, {labels.sum():.0f} directives")
    print(f"held-out lines: directives found {caught:.3f}, descriptions refused {refused:.3f}")
    for limit in (0.01, 0.02, 0.05):
        cut = np.quantile(held_out[labels == 0], 1 - limit)
        found = (held_out[labels == 1] > cut).mean()
        print(f"  {found:.3f} found where {limit:.0%} of descriptions are refused (cut {cut:.2f})")
    theta, bias = fit(examples, np.arange(len(labels)))
    scale = float(np.abs(theta).max()) / 127
    packed = np.round(theta / scale).astype(np.int8).tobytes()
    model: dict[str, Any] = {
        "scale": scale,
        "bias": bias - math.log(CUT / (1 - CUT)),
        "weights": base64.b85encode(packed).decode("ascii"),
    }
    Path(instruction_model.MODEL_PATH).write_text(json.dumps(model) + "\n", encoding="ascii")
    print(f"wrote {instruction_model.MODEL_PATH}")


if __name__ == "__main__":
    main()
