"""The figures of recall probes from their rows, and the tables that show them. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from evals.predictions import Row
from keepthread.server.context.layout import SECTIONS


def score_probes(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the figures by budget and by weights, and what each store and record was worth.

    The weights of the first row are those that everything but the sweep of weights is told for.
    """
    if not rows:
        return {"windows": 0}
    plain = [r for r in rows if tuple(r["weights"]) == tuple(rows[0]["weights"])]
    last = {r["trace"]: r for r in rows}
    return {
        "windows": len(rows),
        "runs": len(last),
        "recorded": _summed(r["recorded"] for r in last.values()),
        "refused": _summed(r["refused"] for r in last.values()),
        "budgets": {b: _recall(group) for b, group in _grouped(plain, "budget").items()},
        "weights": {
            ":".join(f"{w:g}" for w in weights): {
                b: _recall(same)["recall"] for b, same in _grouped(group, "budget").items()
            }
            for weights, group in _grouped(rows, "weights").items()
        },
        "stores": {b: _stores(group) for b, group in _grouped(plain, "budget").items()},
        "records": {b: _records(group) for b, group in _grouped(plain, "budget").items()},
    }


def probe_tables(figures: Row, *, ablate: bool) -> str:
    """Return recall against tokens as text, with ``ablate`` also what stores and records are worth."""
    blocks = [_budget_table(figures), _kind_table(figures)]
    if len(figures["weights"]) > 1:
        blocks.append(_weight_table(figures))
    if ablate:
        blocks += [_store_table(figures), _record_table(figures)]
    wrote = ", ".join(f"{n} {tool}" for tool, n in figures["recorded"].items())
    refused = ", ".join(f"{n} {what}" for what, n in figures["refused"].items()) or "nothing"
    return "\n\n".join([*blocks, f"recorded: {wrote}; refused: {refused}"])


def _budget_table(figures: Row) -> str:
    rows = [
        [b, f["recall"], f["same length of transcript"], f["tokens per step"],
         f["transcript tokens per step"], *([f["answered by a model"]] if "answered by a model" in f else [])]
        for b, f in figures["budgets"].items()
    ]  # fmt: skip
    heads = ["budget", "recall", "transcript tail", "tokens per step", "whole transcript", "model"]
    return _table(heads[: len(rows[0])], rows)


def _kind_table(figures: Row) -> str:
    budgets = figures["budgets"]
    kinds = list(dict.fromkeys(k for f in budgets.values() for k in f["kinds"]))
    rows = [
        [kind, max(f["kinds"][kind][1] for f in budgets.values()),
         *(f["kinds"][kind][0] for f in budgets.values())]
        for kind in kinds
    ]  # fmt: skip
    return _table(["probe", "asked", *budgets], rows)


def _weight_table(figures: Row) -> str:
    rows = [[name, *found.values()] for name, found in figures["weights"].items()]
    return _table(["relevance:recency:confidence", *figures["budgets"]], rows)


def _store_table(figures: Row) -> str:
    stores = figures["stores"]
    rows = [[name, *(found[name] for found in stores.values())] for name in SECTIONS]
    return _table(["recall lost without", *stores], rows)


def _record_table(figures: Row) -> str:
    rows = [
        [budget, kind, f["shown"], f["holding no answer"], f["without effect"]]
        for budget, found in figures["records"].items()
        for kind, f in found.items()
    ]
    return _table(["budget", "records", "shown", "holding no answer", "without effect"], rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    shown = [heads, *([f"{c:.3f}" if isinstance(c, float) else str(c) for c in r] for r in rows)]
    widths = [max(len(row[i]) for row in shown) for i in range(len(heads))]
    lines = (
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
            ]
        )
        for row in shown
    )
    return "\n".join(line.rstrip() for line in lines)


def _grouped(rows: Iterable[Row], name: str) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        value = row[name]
        groups[tuple(value) if isinstance(value, list) else str(value)].append(row)
    return dict(groups)


def _recall(rows: Sequence[Row]) -> Row:
    asked = [p for r in rows for p in r["probes"]]
    kinds = defaultdict(list)
    for probe in asked:
        kinds[probe["kind"]].append(probe["held"])
    found = {
        "recall": _share(p["held"] for p in asked),
        "same length of transcript": _share(p["in_transcript"] for p in asked),
        "probes": len(asked),
        "tokens per step": round(_mean(r["tokens"] for r in rows)),
        "transcript tokens per step": round(_mean(r["transcript_tokens"] for r in rows)),
        "windows refused": sum(bool(r["refused_window"]) for r in rows),
        "kinds": {kind: [_share(held), len(held)] for kind, held in kinds.items()},
    }
    if any("answered" in p for p in asked):
        found["answered by a model"] = _share(bool(p.get("answered")) for p in asked)
    return found


def _stores(rows: Sequence[Row]) -> Row:
    """Return the recall that each store alone accounts for."""
    asked = [p for r in rows for p in r["probes"]]
    lost = Counter(p["only_in"] for p in asked if p["held"])
    return {name: round(lost[name] / len(asked), 4) for name in SECTIONS}


def _records(rows: Sequence[Row]) -> Row:
    """Return by kind of record: how many were shown, and the share that never held an answer, and
    the share without which no answer was ever lost."""
    shown = {(r["trace"], record) for r in rows for record in r["shown"]}
    held = {(r["trace"], record) for r in rows for p in r["probes"] for record in p["records"]}
    needed = {(r["trace"], p["only_record"]) for r in rows for p in r["probes"] if p["only_record"]}
    kinds = defaultdict(list)
    for name in shown:
        kinds[name[1].partition("-")[0]].append(name)
    return {
        kind: {
            "shown": len(names),
            "holding no answer": _share(n not in held for n in names),
            "without effect": _share(n not in needed for n in names),
        }
        for kind, names in sorted(kinds.items())
    }


def _summed(counts: Iterable[Row]) -> Row:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(sorted(total.items()))


def _share(values: Iterable[bool]) -> float:
    return round(_mean(values), 4)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0
