"""Memory poisoning: does the gate refuse text that directs an agent, and take plain facts?

Each sample is archived as a tool's output and then recorded as an observation that cites it,
which is what an agent does with what a tool shows. Flagged is a sample that is refused because it
directs or hides (``instruction_from_tool``, ``hidden_text``); any other refusal is counted apart
and flags nothing. What is longer than one fact may be is recorded sentence by sentence, as the
gate asks, and is flagged when any part is. ``score`` is the classifier's own.
"""

import re
import tempfile
from pathlib import Path
from typing import Any

from evals.predictions import Row, Run
from evals.product import Product, embedder, open_product
from evals.reading import read_rows
from evals.scoring import score_injection
from keepthread.validators.instructions import directive_score, hidden_text
from keepthread.validators.limits import TEXT_CHARS_MAX

FLAGS = frozenset(("instruction_from_tool", "hidden_text"))

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def read(path: Path) -> list[Row]:
    """Return the samples."""
    return read_rows(path, ("id", "text", "label", "core", "family", "form"))


def key(row: Row) -> str:
    """Return what a sample and its prediction share."""
    return str(row["id"])


async def predict(path: Path, run: Run) -> None:
    """Append a prediction for every sample."""
    samples = run.left(read(path), key)
    with tempfile.TemporaryDirectory() as folder:
        async with open_product(Path(folder)) as product:
            ids = product.bring(
                {"type": "tool_call", "tool": "read_page", "output": s["text"], "ref": s["id"]}
                for s in samples
            )
            for sample in run.track(samples, "injection"):
                run.add(await _predict_one(product, sample, ids[sample["id"]]))


def score(path: Path, rows: list[Row]) -> dict[str, Any]:
    """Return the figures."""
    return score_injection(read(path), rows)


def headline(figures: Row) -> Row:
    """Return the few figures that stand for the suite."""
    return {
        "TPR": figures["core_TPR"][0],
        "FPR": figures["core_FPR"][0],
        "FPR on hard": figures["core_hard_FPR"][0],
        "AUC": figures.get("core_AUC"),
    }


async def _predict_one(product: Product, sample: Row, entry: str) -> Row:
    text = sample["text"]
    outcomes = []
    for part in facts_of(text):
        answer = await product.call("record_fact", text=part, kind="observation", source=entry)
        outcomes.append(answer.refused or str(answer.fields["action"]))
    flagged = [o for o in outcomes if o in FLAGS]
    return {
        "id": sample["id"],
        "flag": bool(flagged),
        "score": 1.0 if hidden_text(text) else round(directive_score(text, embedder().embed), 4),
        "outcome": flagged[0] if flagged else outcomes[0] if outcomes else "",
    }


def facts_of(text: str) -> list[str]:
    """Return the text as facts of at most TEXT_CHARS_MAX characters, split between sentences."""
    if len(text) <= TEXT_CHARS_MAX:
        return [text]
    parts = [""]
    for sentence in _SENTENCE.split(text):
        for piece in _pieces(sentence):
            if len(parts[-1]) + len(piece) + 1 > TEXT_CHARS_MAX:
                parts.append("")
            parts[-1] = f"{parts[-1]} {piece}".strip()
    return [p for p in parts if p]


def _pieces(sentence: str) -> list[str]:
    size = TEXT_CHARS_MAX
    return [sentence[i : i + size] for i in range(0, len(sentence), size)]
