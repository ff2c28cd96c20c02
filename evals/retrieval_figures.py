"""The figures of evidence retrieval, from ranked ids or from the texts that were served.

By id, an item costs its whole text against a token budget: what a reader would pay who is handed
whole turns. By text, it costs what was served, and a turn is found where its words stand in a served
text or a served text stands in it. The two forms are two measures; neither stands for the other.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = dict[str, Any]
Texts = Mapping[tuple[str, str], str]

CUTOFFS = (1, 5, 10, 20, 50)
TOKEN_BUDGETS = (512, 1024, 2048, 4096)
CHARS_PER_TOKEN = 4
TOKENS_PER_ITEM = 8
PART_CHARS_MIN = 40
"""A shorter text that stands in a turn is no sign of it: such words stand in many."""

_NOT_WORD = re.compile(r"\W+")


def score_retrieval(
    texts: Texts,
    questions: Iterable[Row],
    predictions: Iterable[Row],
    *,
    served: bool = False,
    corrected: bool = False,
    by: str = "",
) -> dict[str, Any]:
    """Return the mean of each metric by group of questions, and over ``ALL``.

    ``texts`` maps (pool, id) to a turn's text; a question names its pool in ``pool``. A prediction
    holds ids in ``ranked``, best first, and with ``served`` what is scored instead: ``texts``.
    Questions without evidence are left out; unanswerable ones have a group of their own outside
    ``ALL``. ``by`` names the field to group by.
    """
    made = {str(p["qid"]): p for p in predictions}
    groups: dict[str, list[dict[str, float]]] = defaultdict(list)
    for question in questions:
        evidence = _evidence(question, corrected)
        if not evidence:
            continue
        prediction = made.get(str(question["qid"]), {})
        form = _by_text if served else _by_id
        metrics = form(texts, str(question["pool"]), evidence, prediction)
        special = question.get("answerable") is False or bool(question.get("abstention"))
        groups[_group(question, by) + (" (not in ALL)" if special else "")].append(metrics)
        if not special:
            groups["ALL"].append(metrics)
    ordered = sorted(groups, key=lambda name: (name == "ALL", name))
    return {name: {"n": len(groups[name]), **_means(groups[name])} for name in ordered}


def _evidence(question: Row, corrected: bool) -> list[str]:
    found = question["evidence"]
    if corrected and question.get("evidence_corrected"):
        found = question["evidence_corrected"]
    return [str(e) for e in dict.fromkeys(found)]


def _group(question: Row, by: str) -> str:
    field = by or next((f for f in ("category_name", "type") if f in question), "kind")
    return str(question.get(field, "?"))


def _by_id(texts: Texts, pool: str, evidence: Sequence[str], made: Row) -> dict[str, float]:
    ranked = [str(i) for i in dict.fromkeys(made.get("ranked", []))]
    place = {item: rank for rank, item in enumerate(ranked)}
    metrics = _ranking_metrics([place[e] for e in evidence if e in place], len(evidence))
    known = [i for i in ranked if (pool, i) in texts]
    for budget in TOKEN_BUDGETS:
        fitting = set(known[: _fitting([texts[pool, i] for i in known], budget)])
        metrics[f"recall<={budget}tok"] = sum(e in fitting for e in evidence) / len(evidence)
    if "context_ids" in made:
        served = {str(i) for i in made["context_ids"]}
        metrics["context_recall"] = len(served & set(evidence)) / len(evidence)
        metrics["context_precision"] = len(served & set(evidence)) / max(1, len(served))
    return metrics


def _by_text(texts: Texts, pool: str, evidence: Sequence[str], made: Row) -> dict[str, float]:
    served = made.get("texts", [])
    words = [_words(text) for text in served]
    ranks = [r for e in evidence if (r := _rank_by_text(_words(texts[pool, e]), words)) is not None]
    metrics = _ranking_metrics(ranks, len(evidence))
    for budget in TOKEN_BUDGETS:
        fitting = _fitting(served, budget)
        metrics[f"recall<={budget}tok"] = sum(r < fitting for r in ranks) / len(evidence)
    return metrics


def _words(text: str) -> str:
    return _NOT_WORD.sub(" ", text.lower()).strip()


def _rank_by_text(turn: str, served: Sequence[str]) -> int | None:
    """Return the rank of the first text that holds the turn's words, or is a part of them."""
    for rank, text in enumerate(served):
        if turn and (turn in text or (len(text) >= PART_CHARS_MIN and text in turn)):
            return rank
    return None


def _ranking_metrics(ranks: Sequence[int], count: int) -> dict[str, float]:
    """Return the metrics of ``count`` pieces of evidence of which those found have these ranks."""
    metrics: dict[str, float] = {}
    for k in CUTOFFS:
        hits = sum(rank < k for rank in ranks)
        metrics[f"recall@{k}"] = hits / count
        metrics[f"hit@{k}"] = float(hits > 0)
        metrics[f"all@{k}"] = float(hits == count)
    best = sum(_discount(rank) for rank in range(min(10, count)))
    metrics["ndcg@10"] = sum(_discount(rank) for rank in ranks if rank < 10) / best
    metrics["mrr"] = 1 / (min(ranks) + 1) if ranks else 0.0
    return metrics


def _discount(rank: int) -> float:
    """The gain of nDCG at ``rank`` (from 0): Järvelin and Kekäläinen 2002, binary relevance."""
    return 1 / math.log2(rank + 2)


def _fitting(texts: Sequence[str], budget: int) -> int:
    """Return how many texts fit, best first, up to the first that would overflow."""
    used = 0
    for count, text in enumerate(texts):
        used += len(text) // CHARS_PER_TOKEN + TOKENS_PER_ITEM
        if used > budget:
            return count
    return len(texts)


def _means(metrics: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each metric over the rows that have it."""
    means = {}
    for name in dict.fromkeys(name for row in metrics for name in row):
        values = [row[name] for row in metrics if name in row]
        means[name] = round(sum(values) / len(values), 4)
    return means
