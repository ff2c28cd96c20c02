"""Grounding: does the gate find what is true in a source, and nothing else?

Three questions of each claim, which is true of one entry: is it refused there; is a claim made false by
one wrong value, name, relation or polarity (*hard false*) taken there; and is it taken of entries that say nothing
of it (*mismatched*)? Our own set has invented outputs of a coding agent's life; claims about recorded
traces are read from a file of their own, which quotes those traces and so stays outside the repository.

A line of a set is an entry with its facts, a line of claims names its trace and step:
``{"id", "tool", "args", "output", "is_error", "facts": [{"kind", "true", "false", "also": [id, …]}]}``
``{"trace", "seq", "claim", "kind", "false", "also": [[trace, seq], …]}``
``also`` are other entries of which the claim is true, so that pairing it with them is no mismatch.
"""

import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evals.predictions import Row
from evals.product import embedder
from evals.reading import read_rows
from keepthread.validators.evidence import Evidence
from keepthread.validators.grounding import Similarity, ground

SCENARIO = Path(__file__).parent.parent / "scenarios" / "grounding.jsonl"
MISMATCHES = 12  # other entries that each claim is held against
KINDS = ("true", "hard false", "mismatched")


class Fact(NamedTuple):
    """A claim that is true of ``entry`` and ``also``, and claims that are false of it."""

    entry: str
    kind: str
    true: str
    false: tuple[str, ...]
    also: frozenset[str]


class Set(NamedTuple):
    """Entries by id, and the facts told of them."""

    entries: dict[str, Evidence]
    facts: list[Fact]


class Judged(NamedTuple):
    """One claim held against one entry. ``of`` is one of KINDS; ``why`` explains a refusal."""

    of: str
    kind: str
    claim: str
    entry: str
    grounded: bool
    why: str

    @property
    def wrong(self) -> bool:
        """Whether a true claim was refused or another one taken."""
        return self.grounded != (self.of == "true")


def read(path: Path) -> Set:
    """Return a set of our own layout. Raises DataMissing."""
    entries: dict[str, Evidence] = {}
    facts: list[Fact] = []
    for row in read_rows(path, ("id", "output", "facts")):
        entries[row["id"]] = _evidence(row["id"], row)
        facts += [_fact(row["id"], f["true"], f, f.get("also", ())) for f in row["facts"]]
    return Set(entries, facts)


def read_claims(traces: Path, claims: Path) -> Set:
    """Return recorded traces (``NAME.jsonl`` in a folder) with the claims of a file. Raises DataMissing."""
    told = read_rows(claims, ("trace", "seq", "claim"))
    entries = {
        _step(name, row["seq"]): _evidence(_step(name, row["seq"]), row)
        for name in sorted({row["trace"] for row in told})
        for row in read_rows(traces / f"{name}.jsonl", ("seq", "tool", "args", "output"))
    }
    facts = [
        _fact(_step(row["trace"], row["seq"]), row["claim"], row, (_step(*a) for a in row.get("also", ())))
        for row in told
    ]  # fmt: skip
    return Set(entries, facts)


def half_of(found: Set, half: str) -> Set:
    """Return the facts of one half by hash of their entry: ``tuning`` or ``held-out``; all for ``""``."""
    wanted = {"tuning": 0, "held-out": 1}.get(half)
    facts = [f for f in found.facts if wanted is None or _hash(f.entry) % 2 == wanted]
    return found._replace(facts=facts)


def judge(
    found: Set, *, mismatches: int = MISMATCHES, similarity: Similarity | None = None
) -> list[Judged]:
    """Hold every fact against its entry, its false twins too, and ``mismatches`` other entries."""
    judged = []
    for fact in found.facts:
        pairs = [("true", fact.true, fact.entry)]
        pairs += [("hard false", claim, fact.entry) for claim in fact.false]
        pairs += [("mismatched", fact.true, e) for e in _others(found, fact, mismatches)]
        for of, claim, entry in pairs:
            verdict = ground(claim, [found.entries[entry]], similarity)
            why = " ".join((verdict.why, *verdict.missing)) if not verdict.grounded else ""
            judged.append(Judged(of, fact.kind, claim, entry, verdict.grounded, why))
    return judged


def score(judged: Iterable[Judged]) -> dict[str, Any]:
    """Return, over all and by kind of claim, wrong and total of each kind of pair."""
    totals: Counter[tuple[str, str]] = Counter()
    wrong: Counter[tuple[str, str]] = Counter()
    for one in judged:
        for kind in ("ALL", one.kind):
            totals[kind, one.of] += 1
            wrong[kind, one.of] += one.wrong
    kinds = ["ALL", *sorted({kind for kind, _ in totals} - {"ALL"})]
    return {
        kind: {of: [wrong[kind, of], totals[kind, of]] for of in KINDS if totals[kind, of]}
        for kind in kinds
        if totals
    }


def worst(judged: Sequence[Judged], count: int) -> list[str]:
    """Return the mistakes as lines, at most ``count`` of each kind of pair."""
    lines = []
    for of in KINDS:
        mistakes = [j for j in judged if j.of == of and j.wrong]
        did = "refused" if of == "true" else "accepted"
        lines += [
            f"{of} {did}, {j.entry}: {j.claim} | {j.why}".rstrip(" |") for j in mistakes[:count]
        ]
    return lines


def headline(figures: Row) -> Row:
    """Return the few figures that stand for the suite."""
    told = figures.get("ALL", {})
    names = {
        "true": "true refused",
        "hard false": "hard false taken",
        "mismatched": "mismatched taken",
    }
    return {name: f"{told[of][0]}/{told[of][1]}" for of, name in names.items() if of in told}


def meaning() -> Similarity:
    """Return the cosine of the product's default embedding model."""
    model = embedder()

    def similarity(claim: str, passages: Sequence[str]) -> list[float]:
        first, *rest = [np.frombuffer(v, np.float32) for v in model.embed([claim, *passages])]
        return [float(first @ v / (np.linalg.norm(first) * np.linalg.norm(v))) for v in rest]

    return similarity


def _others(found: Set, fact: Fact, count: int) -> list[str]:
    """Other entries that show something else, drawn by the claim's own hash."""
    shown = found.entries[fact.entry].output
    others = [
        key
        for key, entry in found.entries.items()
        if key != fact.entry and key not in fact.also and entry.output != shown
    ]
    return random.Random(_hash(fact.true)).sample(others, min(count, len(others)))


def _fact(entry: str, claim: str, row: Row, also: Iterable[str]) -> Fact:
    false = row.get("false", ())
    false = (false,) if isinstance(false, str) else tuple(false)
    return Fact(entry, row.get("kind", "claim"), claim, false, frozenset(also))


def _evidence(entry: str, row: Row) -> Evidence:
    role = row.get("role", "")
    args = row.get("args", {})
    return Evidence(
        entry,
        kind="message" if role else "call",
        role=role,
        tool=row.get("tool", ""),
        args=json.dumps(args, ensure_ascii=False, separators=(",", ":")) if args else "",
        output=row["output"],
        is_error=bool(row.get("is_error", False)),
        path=str(args.get("file_path") or args.get("path") or "") if isinstance(args, dict) else "",
    )


def _step(trace: str, seq: int) -> str:
    return f"{trace}#{seq}"


def _hash(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16)
