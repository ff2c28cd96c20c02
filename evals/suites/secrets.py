"""Redaction: is a credential gone from what is stored, and everything else untouched?

Each sample is imported as a tool's output; ``redacted`` is that output as ``keepthread export``
writes it, which is what the archive holds.
"""

import tempfile
from pathlib import Path
from typing import Any

from evals.predictions import Row, Run
from evals.product import open_product
from evals.reading import read_rows
from evals.scoring import score_secrets

BATCH = 100


def read(path: Path) -> list[Row]:
    """Return the samples."""
    return read_rows(path, ("id", "text", "label", "secrets", "kind", "core"))


def key(row: Row) -> str:
    """Return what a sample and its prediction share."""
    return str(row["id"])


async def predict(path: Path, run: Run) -> None:
    """Append a prediction for every sample."""
    samples = run.left(read(path), key)
    with tempfile.TemporaryDirectory() as folder:
        async with open_product(Path(folder)) as product:
            with run.bar("secrets", len(samples)) as advance:
                ids: dict[str, str] = {}
                for start in range(0, len(samples), BATCH):
                    batch = samples[start : start + BATCH]
                    ids |= product.bring(
                        {"type": "tool_call", "tool": "shell", "output": s["text"], "ref": s["id"]}
                        for s in batch
                    )
                    advance(len(batch))
            stored = {line["id"]: line.get("output", "") for line in product.exported()}
            for sample in samples:
                run.add({"id": sample["id"], "redacted": stored[ids[sample["id"]]]})


def score(path: Path, rows: list[Row]) -> dict[str, Any]:
    """Return the figures."""
    return score_secrets(read(path), rows)


def headline(figures: Row) -> Row:
    """Return the few figures that stand for the suite."""
    return {
        "leaks": figures["leak_rate"][0],
        "leaks of marked spans": figures["leak_rate_marked_span"][0],
        "damage": figures["damage_rate_core"][0],
    }
