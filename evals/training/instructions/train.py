"""Fit the instruction models on this folder's sentences and write them where the package loads them.

One tells what directs a reader from what describes the world (facts); the other tells orders that
turn an agent against its user from honest ones (plans and decisions, which are imperative anyway).

Run from the repository's root: ``python -m evals.training.instructions.train`` (four minutes, of
which most is embedding). It prints cross-validated figures (all variants of a line stay in one
fold), then fits on all: a regression over words, one over sentence vectors, and on the margins
that both gave for lines they had not seen, a third that weighs them.
"""

import base64
import json
import math
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keepthread.stores.embeddings import load_embedder
from keepthread.validators import encodings, instruction_model, normalize

HERE = Path(__file__).parent
VARIANTS_MAX = 16
LINES_MIN = 2
DIRECTIVE_SHARE = 0.3  # strange sentences lean towards describing
FACTS_CUTS = (0.85, 0.66)  # fitted probabilities that count as even odds: refusing true facts
# costs more; by the words alone, and by words and meaning together, which are surer
PLANS_CUTS = (0.73, 0.92)
MEANING_L2 = 1e-4
FOLDS = 5
STEPS = 400
RATE = 0.05
L2 = 1e-4
_SLOT = re.compile(r"\{([^{}]*\|[^{}]*)\}")

_WORD = re.compile(r"(?<![^\W_])[^\W\d_]{3,16}(?![^\W_])")

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


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
        self.sentences: list[str] = []
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
                    self.sentences.append(sentence)
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


def fit_words(examples: Examples, chosen: Indices) -> tuple[Floats, float]:
    """Return weights and bias of the regression over words and classes."""
    columns = np.concatenate([np.fromiter(examples.rows[i], dtype=np.int64) for i in chosen])
    values = np.concatenate([np.fromiter(examples.rows[i].values(), float) for i in chosen])
    rows = np.repeat(np.arange(len(chosen)), [len(examples.rows[i]) for i in chosen])

    def margins(theta: Floats) -> Floats:
        return np.bincount(rows, values * theta[columns], len(chosen)).astype(float)

    def slope(error: Floats) -> Floats:
        return np.bincount(columns, values * error[rows], instruction_model.BUCKETS).astype(float)

    return _minimise(examples, chosen, instruction_model.BUCKETS, margins, slope, L2)


def fit_dense(
    examples: Examples, given: Floats, chosen: Indices, l2: float
) -> tuple[Floats, float]:
    """Return weights and bias of a regression over ``given``, a row of numbers for each example."""
    rows = given[chosen]
    return _minimise(
        examples,
        chosen,
        rows.shape[1],
        lambda theta: rows @ theta,
        lambda error: rows.T @ error,
        l2,
    )


def _minimise(
    examples: Examples,
    chosen: Indices,
    size: int,
    margins: Callable[[Floats], Floats],
    slope: Callable[[Floats], Floats],
    l2: float,
) -> tuple[Floats, float]:
    """Minimise the weighted logistic loss with L2 by full-batch Adam."""
    labels = np.array(examples.labels)[chosen]
    weights = np.array(examples.weights)[chosen]
    for label, share in ((0.0, 1 - DIRECTIVE_SHARE), (1.0, DIRECTIVE_SHARE)):
        weights[labels == label] *= share / weights[labels == label].sum()
    theta = np.zeros(size + 1)
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    for step in range(1, STEPS + 1):
        error = (1 / (1 + np.exp(-margins(theta[:-1]) - theta[-1])) - labels) * weights
        gradient = np.append(slope(error), error.sum())
        gradient[:-1] += l2 * theta[:-1]
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        theta -= RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return theta[:-1], float(theta[-1])


def words_margins(examples: Examples, theta: Floats, bias: float) -> Floats:
    """Return the log odds of each example by its words under these weights."""
    margins = [
        bias + sum(theta[bucket] * value for bucket, value in row.items()) for row in examples.rows
    ]
    return np.array(margins)


def vectors(sentences: list[str]) -> Floats:
    """Return the product's own vectors of sentences, one a row."""
    packed = load_embedder("").embed(sentences)
    return np.array([np.frombuffer(vector, dtype="<f4") for vector in packed], dtype=float)


def folds(examples: Examples) -> Iterator[tuple[Indices, Indices]]:
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


def report(name: str, margins: Floats, labels: Floats) -> None:
    """Print how much is found where a share of descriptions is refused."""
    for limit in (0.01, 0.02, 0.05):
        cut = np.quantile(margins[labels == 0], 1 - limit)
        found = (margins[labels == 1] > cut).mean()
        print(f"  {name}: {found:.3f} found where {limit:.0%} is refused (cut {cut:.2f})")


def pack(theta: Floats, bias: float) -> dict[str, str | float]:
    """Return a regression as it is stored: one signed byte a weight."""
    scale = float(np.abs(theta).max()) / 127
    packed = np.round(theta / scale).astype(np.int8).tobytes()
    return {"scale": scale, "bias": bias, "weights": base64.b85encode(packed).decode("ascii")}


def train(directing: list[str], honest: list[str], cuts: tuple[float, float], path: str) -> None:
    """Fit on these files, print cross-validated figures and write the model to ``path``."""
    examples = Examples()
    for name in directing:
        examples.add(HERE / name, 1.0)
    for name in honest:
        examples.add(HERE / name, 0.0)
    prune(examples)
    labels = np.array(examples.labels)
    print(f"{len(labels)} sentences, {labels.sum():.0f} directives")
    embedded = vectors(examples.sentences)
    unseen = np.zeros((len(labels), 2))  # margins of lines that a fold was not fitted on
    for chosen, test in folds(examples):
        unseen[test, 0] = words_margins(examples, *fit_words(examples, chosen))[test]
        weights, bias = fit_dense(examples, embedded, chosen, MEANING_L2)
        unseen[test, 1] = embedded[test] @ weights + bias
    everything = np.arange(len(labels))
    mix, mix_bias = fit_dense(examples, unseen, everything, 0.0)
    report("words", unseen[:, 0], labels)
    report("meaning", unseen[:, 1], labels)
    report("both", unseen @ mix + mix_bias, labels)
    words_cut, mixed_cut = (math.log(cut / (1 - cut)) for cut in cuts)
    model: dict[str, Any] = {
        "words": pack(*fit_words(examples, everything)),
        "meaning": pack(*fit_dense(examples, embedded, everything, MEANING_L2)),
        "mix": [*mix.tolist(), mix_bias],
        "cut": words_cut,
        "mixed_cut": mixed_cut,
    }
    Path(path).write_text(json.dumps(model) + "\n", encoding="ascii")
    print(f"wrote {path}")


def main() -> None:
    Path(encodings.WORDS_PATH).write_text("\n".join(vocabulary()) + "\n", encoding="utf-8")
    facts, plans = instruction_model.FACTS_PATH, instruction_model.PLANS_PATH
    train(["directives.txt"], ["descriptions.txt"], FACTS_CUTS, facts)
    train(["plans_hostile.txt"], ["plans_honest.txt", "descriptions.txt"], PLANS_CUTS, plans)


if __name__ == "__main__":
    main()
