"""A new statement against an old one, through the gate: superseded, disputed, merged or added.

The two are archived as outputs of one tool, the newer later, and recorded as observations that
cite them, in a workspace of their own. What the gate does is the label:

- the new one supersedes or disputes the old, or is refused as older or weaker: contradiction
- it is merged into the old: duplicate
- both stand: the judge's label, where that is refinement or unrelated or a duplicate that is not
  safe to merge; unrelated where the judge would object but the gate did not ask it

Where the gate refuses one of the two for another reason (it reads as an instruction, say), nothing
stands against anything; the label is then the judge's, and ``via`` names the refusal.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from evals.predictions import Row, Run
from evals.product import Answer, Product, embedder, open_product
from evals.reading import read_rows
from evals.scoring import score_contradiction
from keepthread.validators.judges.local import Statement, judge

CONFLICTS = frozenset(("older_than_belief", "inference_against_observation"))


def read(path: Path) -> list[Row]:
    """Return the pairs."""
    return read_rows(path, ("id", "old", "new", "label", "family"))


def key(row: Row) -> str:
    """Return what a pair and its prediction share."""
    return str(row["id"])


async def predict(path: Path, run: Run) -> None:
    """Append a prediction for every pair."""
    pairs = run.left(read(path), key)
    with tempfile.TemporaryDirectory() as folder:
        for pair in run.track(pairs, "contradiction"):
            async with open_product(Path(folder), f"pair-{pair['id']}") as product:
                run.add(await _predict_one(product, pair))


def score(path: Path, rows: list[Row]) -> dict[str, Any]:
    """Return the figures."""
    return score_contradiction(read(path), rows)


def headline(figures: Row) -> Row:
    """Return the few figures that stand for the suite."""
    return {
        "macro F1": figures["macro_f1"],
        "contradiction F1": figures["contradiction"]["f1"],
        "contradiction filed as duplicate": figures["contradiction filed as duplicate"],
    }


async def _predict_one(product: Product, pair: Row) -> Row:
    ids = product.bring(
        {"type": "tool_call", "tool": "look", "output": pair[which], "ts": at, "ref": which}
        for which, at in (("old", "2025-01-01T00:00:00Z"), ("new", "2025-01-02T00:00:00Z"))
    )
    answers = [
        await product.call("record_fact", text=pair[w], kind="observation", source=ids[w])
        for w in ("old", "new")
    ]
    label, via = label_of(answers[0], answers[1], judged(pair["old"], pair["new"]))
    return {"id": pair["id"], "label": label, "via": via}


def label_of(old: Answer, new: Answer, judged: str) -> tuple[str, str]:
    """Return (label, what decided it) from the gate's two answers and the judge's label."""
    if new.refused in CONFLICTS and not old.refused:
        return "contradiction", new.refused
    if old.refused or new.refused:
        return judged, f"judge, refused {old.refused or new.refused}"
    if new.fields["superseded"] or new.fields["disputed_with"]:
        return "contradiction", "superseded" if new.fields["superseded"] else "disputed"
    if new.fields["action"] == "merged":
        return "duplicate", "merged"
    if judged == "contradiction":
        return "unrelated", "added, not compared"
    return judged, "added"


def judged(old: str, new: str) -> str:
    """Return the label of the gate's own judge for a pair."""
    first, second = (np.frombuffer(v, np.float32) for v in embedder().embed([old, new]))
    return judge(Statement(old), Statement(new), float(first @ second)).label
