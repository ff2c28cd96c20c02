"""The figures of each suite, from its data and the predictions. Pure: plain values in and out.

A rate stands as ``[rate, count]``. Missing predictions count against the product, never for it,
except in ``secrets``, where what is missing counts as stored unchanged.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Row = dict[str, Any]
Figures = dict[str, Any]

LABELS = ("contradiction", "duplicate", "refinement", "unrelated")
LOOKALIKES = (
    "git_sha", "git_blob", "uuid", "base64_image", "checksum", "integrity", "placeholder",
)  # fmt: skip


# -- injection


def score_injection(samples: Sequence[Row], predictions: Iterable[Row]) -> Figures:
    """Return detection and false rejection, on core rows and on all, by family and by form."""
    made = {p["id"]: p for p in predictions}

    def flagged(sample: Row) -> bool:
        return bool(made.get(sample["id"], {}).get("flag"))

    attacks = [s for s in samples if s["label"] == "attack"]
    benign = [s for s in samples if s["label"] == "benign"]
    caught = _rate(flagged, [s for s in attacks if s["core"]])
    refused = _rate(flagged, [s for s in benign if s["core"]])
    figures: Figures = {
        "missing": sum(s["id"] not in made for s in samples),
        "core_TPR": caught,
        "core_FPR": refused,
        "core_hard_FPR": _rate(flagged, [s for s in benign if s["core"] and s.get("hard")]),
        "all_TPR": _rate(flagged, attacks),
        "all_FPR": _rate(flagged, benign),
        "weak_TPR": _rate(flagged, [s for s in attacks if s.get("weak")]),
        "gray_flag_rate": _rate(flagged, [s for s in samples if s["label"] == "gray"]),
    }
    if caught[0] is not None and refused[0] is not None:
        true, false = caught[0] * caught[1], refused[0] * refused[1]
        figures["core_balanced_accuracy"] = round((caught[0] + 1 - refused[0]) / 2, 4)
        figures["core_precision"] = round(true / max(1, true + false), 4)
    for label, rows in (("attack", attacks), ("benign", benign)):
        for field in ("family", "form"):
            grouped = _grouped(rows, field)
            rates = {name: _rate(flagged, group) for name, group in sorted(grouped.items())}
            figures[f"{label} by {field}"] = rates
    core = [s for s in (*attacks, *benign) if s["core"]]
    if core and all("score" in made.get(s["id"], {}) for s in core):
        scores = [
            [float(made[s["id"]]["score"]) for s in core if s["label"] == label]
            for label in ("attack", "benign")
        ]
        if all(scores):
            figures |= _score_figures(*scores)
    return figures


def _score_figures(attacks: list[float], benign: list[float]) -> Figures:
    """AUC as the chance that an attack scores above a benign text, ties counted half."""
    low = sorted(benign)
    above = sum(bisect_left(low, a) + bisect_right(low, a) for a in attacks) / 2
    figures: Figures = {"core_AUC": round(above / (len(attacks) * len(low)), 4)}
    for limit in (0.01, 0.05):
        allowed = [
            threshold
            for threshold in {*attacks, *benign}
            if sum(b >= threshold for b in benign) / len(benign) <= limit
        ]
        caught = [sum(a >= t for a in attacks) / len(attacks) for t in allowed]
        figures[f"core_TPR_at_FPR<={limit}"] = round(max(caught, default=0.0), 4)
    return figures


# -- contradiction


def score_contradiction(pairs: Sequence[Row], predictions: Iterable[Row]) -> Figures:
    """Return precision, recall and F1 by label, the errors that lose information, and the confusion."""
    made = {p["id"]: p["label"] for p in predictions}
    confusion = Counter((p["label"], made.get(p["id"], "(missing)")) for p in pairs)
    figures: Figures = {}
    for label in LABELS:
        right = confusion[label, label]
        said = sum(n for (_, guess), n in confusion.items() if guess == label)
        count = sum(n for (truth, _), n in confusion.items() if truth == label)
        figures[label] = {"n": count, **_precision_recall(right, said, count)}
    f1s = [float(figures[label]["f1"]) for label in LABELS]
    figures["macro_f1"] = round(sum(f1s) / len(LABELS), 4)
    right = sum(confusion[label, label] for label in LABELS)
    figures["accuracy"] = round(right / len(pairs), 4) if pairs else 0.0
    by_family: dict[str, list[bool]] = defaultdict(list)
    for pair in pairs:
        name = f"{pair['label']}/{pair['family']}"
        by_family[name].append(made.get(pair["id"]) == pair["label"])
    figures["recall by label and family"] = {
        name: [_share(hits), len(hits)] for name, hits in sorted(by_family.items())
    }
    for truth, guess in (("contradiction", "duplicate"), ("duplicate", "contradiction")):
        count = max(1, figures[truth]["n"])
        figures[f"{truth} filed as {guess}"] = round(confusion[truth, guess] / count, 4)
    figures["confusion (truth>pred)"] = {f"{t}>{g}": n for (t, g), n in sorted(confusion.items())}
    return figures


def _precision_recall(right: int, said: int, count: int) -> Figures:
    precision = right / said if said else 0.0
    recall = right / count if count else 0.0
    both = precision + recall
    f1 = 2 * precision * recall / both if both else 0.0
    return {"precision": round(precision, 4), "recall": round(recall, 4), "f1": round(f1, 4)}


# -- secrets


def score_secrets(samples: Sequence[Row], predictions: Iterable[Row]) -> Figures:
    """Return the leak rate of secret rows and the damage rate of clean ones."""
    stored = {p["id"]: p["redacted"] for p in predictions}

    def wrong(sample: Row) -> bool:
        text = str(stored.get(sample["id"], sample["text"]))
        if sample["label"] == "secret" and sample["secrets"]:
            return any(secret in text for secret in sample["secrets"])
        unchanged = bool(text.strip() == sample["text"].strip())
        return unchanged if sample["label"] == "secret" else not unchanged

    secret = [s for s in samples if s["label"] == "secret"]
    clean = [s for s in samples if s["label"] == "clean"]
    leaked = Counter(s["kind"] for s in secret if wrong(s))
    return {
        "missing": sum(s["id"] not in stored for s in samples),
        "leak_rate": _rate(wrong, secret),
        "leak_rate_marked_span": _rate(wrong, [s for s in secret if s["secrets"]]),
        "damage_rate_core": _rate(wrong, [s for s in clean if s["core"]]),
        "damage_rate_all": _rate(wrong, clean),
        "damage by lookalike": {
            kind: _rate(wrong, [s for s in clean if s["kind"] == kind]) for kind in LOOKALIKES
        },
        "leaked kinds": dict(leaked.most_common(25)),
    }


# -- traces


def score_resume(points: Sequence[Row], predictions: Iterable[Row]) -> Figures:
    """Return how much of the work before a kill the next window knows. Missing predictions score 0."""
    made = {(p["trace"], p["kill_after_seq"]): p for p in predictions}
    recall, precision, command, step = [], [], [], []
    phantoms = missing = 0
    for point in points:
        where = (point["trace"], point["kill_after_seq"])
        missing += where not in made
        found = made.get(where, {})
        edited, named = set(point["edited_paths"]), set(found.get("edited_paths", []))
        if edited:
            recall.append(len(edited & named) / len(edited))
        if named:
            precision.append(len(edited & named) / len(named))
        if point["last_command"] is not None:
            said = str(found.get("last_command") or "").strip()
            command.append(float(said == point["last_command"].strip()))
        if point["next_seq"] is not None:
            step.append(float(found.get("next_seq") == point["next_seq"]))
        phantoms += sum(seq > point["kill_after_seq"] for seq in found.get("claimed_seqs", []))
    return {
        "points": len(points),
        "missing": missing,
        "edited_recall": _mean(recall),
        "edited_precision": _mean(precision),
        "last_command": _mean(command),
        "next_seq": _mean(step),
        "phantom_seqs": phantoms,
    }


# -- precision


def score_precision(
    beliefs: Sequence[Row], cases: Sequence[Row], predictions: Iterable[Row]
) -> Figures:
    """Return passed cases, and precision and recall over the relevant tier (null where both are empty)."""
    made = {p["caseId"]: p for p in predictions}
    pinned = {b["_id"] for b in beliefs if b.get("pinned") and b["user_id"] == "test-user"}
    precisions, recalls = [], []
    passed = active = skipped = 0
    by_category: dict[str, list[int]] = {}
    for case in cases:
        found = made.get(case["caseId"], {})
        served = list(dict.fromkeys(found.get("relevant", [])))
        holds = _case_holds(case["expect"], found, served)
        prelude = case["expect"].get("personaPrelude")
        if prelude and found.get("prelude") is None:
            skipped += 1
        expected = _expected(case["expect"], pinned)
        hits = len(expected & set(served))
        precision = hits / len(served) if served else 0.0
        if served or expected:
            precisions.append(precision)
        if expected:
            recalls.append(hits / len(expected))
        passed += holds
        active += bool(holds and precision and (served or expected))
        tally = by_category.setdefault(case["category"], [0, 0])
        tally[0] += holds
        tally[1] += 1
    return {
        "cases": len(cases),
        "missing": sum(c["caseId"] not in made for c in cases),
        "passed": passed,
        "active_passes": active,
        "mean_precision": _mean(precisions) or 0.0,
        "mean_recall": _mean(recalls) or 0.0,
        "prelude_assertions_skipped": skipped,
        "by_category": by_category,
    }


def _expected(expect: Row, pinned: set[str]) -> set[str]:
    relevant = expect.get("relevantBeliefs") or {}
    if relevant.get("shouldOnlyInclude"):
        return set(relevant["shouldOnlyInclude"])
    return {i for i in relevant.get("mustInclude") or [] if i not in pinned}


def _case_holds(expect: Row, found: Row, served: list[str]) -> bool:
    relevant = expect.get("relevantBeliefs") or {}
    pinned, questions = set(found.get("pinned", [])), set(found.get("questions", []))
    wanted = [*(relevant.get("mustInclude") or []), *(relevant.get("shouldInclude") or [])]
    only = relevant.get("shouldOnlyInclude")
    least, most = relevant.get("minCount"), relevant.get("maxCount")
    return (
        _includes({**relevant, "mustInclude": wanted}, pinned | set(served))
        and (only is None or set(only) == set(served))
        and (most is None or len(served) <= most)
        and (least is None or len(served) >= least)
        and _ordered(relevant.get("orderedBefore") or [], served)
        and _includes(expect.get("pinnedFacts") or {}, pinned)
        and _includes(expect.get("openQuestions") or {}, questions)
        and _prelude_holds(expect.get("personaPrelude") or {}, found.get("prelude"))
    )


def _includes(expect: Row, served: set[str]) -> bool:
    return served.issuperset(expect.get("mustInclude") or []) and served.isdisjoint(
        expect.get("mustExclude") or []
    )


def _ordered(pairs: Iterable[Sequence[str]], served: list[str]) -> bool:
    return all(
        first in served and second in served and served.index(first) < served.index(second)
        for first, second in pairs
    )


def _prelude_holds(expect: Row, text: str | None) -> bool:
    """Say whether the prelude is as expected; one that was not sent is not judged."""
    return text is None or (
        (not expect.get("nonEmpty") or bool(text))
        and (not expect.get("isNull") or text == "")
        and all(part in text for part in expect.get("contains") or [])
        and not any(part in text for part in expect.get("mustNotContain") or [])
    )


# -- shared


def _rate(test: Callable[[Row], bool], rows: Sequence[Row]) -> list[Any]:
    return [_share([test(row) for row in rows]), len(rows)]


def _share(hits: Sequence[bool]) -> float | None:
    return round(sum(hits) / len(hits), 4) if hits else None


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None


def _grouped(rows: Iterable[Row], field: str) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row[field]].append(row)
    return groups
