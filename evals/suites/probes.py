"""Recall probes: at fixed points of a recorded run, does the window hold the answer, at which cost?

A run is replayed step by step: the user names the goal (prompt hook), each call is imported, and
a scripted recorder writes down what a careful agent would (``evals.recorder``). At each point it
is asked what the run itself answers: the goal, the file edited last and all edited files, the
last command and its result, the last failure, names that edits defined, and what earlier outputs
showed, whether or not the gate took it. An answer is held when one line of ``get_context``
contains it, blanks folded; the archive is not asked. Beside it stands the newest of the plain
transcript at the same length, the memory that an agent has without any.

Ablation reads the same windows: an answer is lost without a store, or a record, when no other
line holds it. The room that it would leave is not filled again, so a loss is the most it can be.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evals.answering import NoAnswer, Reader
from evals.lines import Line, folded, window_lines
from evals.predictions import DataMissing, Row, Run
from evals.probe_figures import score_probes
from evals.product import Product, open_product
from evals.reading import read_rows
from evals.recorder import ANSWER_CHARS_MAX, Recorder, Step, goal_of, read_step
from keepthread.server.context.ranking import Weights

BUDGETS = (1_500, 3_000, 6_000, 12_000)
WEIGHTS = Weights()
EVERY = 10
ASKED_OF_A_KIND = 6
SHORTEST_ANSWER = 4


class Probe(NamedTuple):
    """A question about a run so far, and the answer that the run itself gives."""

    kind: str
    question: str
    answer: str


class Sweep(NamedTuple):
    """What is asked: token budgets, ranking weights (the first is the one that others are read
    against), and the distance of the points in steps."""

    budgets: tuple[int, ...] = BUDGETS
    weights: tuple[Weights, ...] = (WEIGHTS,)
    every: int = EVERY


def read(path: Path) -> dict[str, list[Row]]:
    """Return the runs of a file or folder by name, oldest step first."""
    if not path.exists():
        raise DataMissing(f"there is no {path}; the evaluation data is not part of the repository.")
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    fields = ("seq", "tool", "args", "output")
    runs = {f.stem: read_rows(f, fields) for f in files if f.name != "resume_points.jsonl"}
    if not any(runs.values()):
        raise DataMissing(f"{path} holds no recorded run (.jsonl).")
    return runs


def key(row: Row) -> str:
    """Return what names one window asked for."""
    weights = ":".join(f"{w:g}" for w in row["weights"])
    return f"{row['trace']}#{row['step']}/{row['budget']}/{weights}"


async def predict(
    path: Path,
    run: Run,
    sweep: Sweep = Sweep(),  # noqa: B008  (an immutable record)
    reader: Reader | None = None,
) -> None:
    """Append one row a point, budget and weights; a run whose rows are all there is not replayed."""
    for name, rows in read(path).items():
        windows = [
            {"trace": name, "step": step, "budget": budget, "weights": list(weights)}
            for step in points(len(rows), sweep.every)
            for weights in sweep.weights
            for budget in sweep.budgets
        ]
        left = run.left(windows, key)
        if left:
            with tempfile.TemporaryDirectory() as folder:
                async with open_product(Path(folder)) as product:
                    with run.bar(f"probes: {name}", len(rows)) as advance:
                        fault = await _replay(product, rows, left, run, reader, advance)
            if fault is not None:  # raised here, where no task group wraps it
                raise fault


def points(steps: int, every: int) -> list[int]:
    """Return after how many steps it is asked: every so many, and at the end."""
    return sorted({*range(every, steps, every), steps} - {0})


def score(path: Path, rows: list[Row]) -> dict[str, Any]:
    """Return the figures."""
    known = {name for name, steps in read(path).items() if steps}
    return score_probes([r for r in rows if r["trace"] in known])


def headline(figures: Row) -> Row:
    """Return the few figures that stand for the suite."""
    return {
        f"recall within {budget}": found["recall"] for budget, found in figures["budgets"].items()
    }


async def _replay(
    product: Product,
    rows: Sequence[Row],
    wanted: Sequence[Row],
    run: Run,
    reader: Reader | None,
    advance: Callable[[int], None],
) -> NoAnswer | None:
    """Replay one run and add a row for each window wanted; return why it ended early, if it did."""
    name = wanted[0]["trace"]
    steps = [read_step(row) for row in rows]
    goal = goal_of(name, steps)
    recorder = Recorder(product)
    product.say(f"{goal}.", 0)
    await recorder.begin(goal)
    transcript = f"{goal}."
    for number, step in enumerate(steps, 1):
        ids = product.bring([_call(name, step.row)])
        await recorder.after(step, next(iter(ids.values())))
        transcript += f"\n{_told(step)}"
        here = [w for w in wanted if w["step"] == number]
        if here:
            product.embed_all()
            probes = probes_of(goal, steps[:number])
            cost = product.count(transcript)
        for window in here:
            asked = reader if window["weights"] == wanted[0]["weights"] else None
            try:
                made = await _ask(product, window, probes, transcript, cost, asked)
            except NoAnswer as error:
                return error
            tally = {"recorded": dict(recorder.recorded), "refused": dict(recorder.refused)}
            run.add({**window, **made, **tally})
        advance(1)
    return None


def probes_of(goal: str, steps: Sequence[Step]) -> list[Probe]:
    """Return what can be asked of a run so far."""
    probes = [Probe("goal", "What is the goal?", goal)]
    edits = [s for s in steps if s.edited]
    if edits:
        probes.append(Probe("last edited", "Which file was edited last?", edits[-1].edited))
    probes += [
        Probe("edited", f"Was a file named {Path(path).name} changed, and which?", path)
        for path in dict.fromkeys(s.edited for s in edits)
    ]
    probes += [
        Probe("identifier", f"Which names did the edits of {path} define?", name)
        for name, path in _names(edits)[:ASKED_OF_A_KIND]
    ]
    commands = [s for s in steps if s.command]
    if commands:
        last = commands[-1]
        probes.append(Probe("last command", "Which command ran last?", last.command))
        probes.append(Probe("last result", "How did the last command's output end?", last.result))
    found = {(f.kind, f.subject): f for s in steps for f in s.findings}  # the newest of a subject
    for kind in ("failure", "tests", "value", "version", "place"):
        asked = [f for f in found.values() if f.kind == kind]
        probes += [
            Probe(kind, f"What is the {f.subject}?", f.answer)
            for f in _spread(asked, ASKED_OF_A_KIND)
        ]
    kept = [p._replace(answer=folded(p.answer)[:ANSWER_CHARS_MAX].strip()) for p in probes]
    return [p for p in kept if len(p.answer) >= SHORTEST_ANSWER]


def _names(edits: Sequence[Step]) -> list[tuple[str, str]]:
    """Return the names that edits defined with their file, the newest first."""
    return list({n: (n, s.edited) for s in reversed(edits) for n in s.names}.values())


async def _ask(
    product: Product,
    window: Row,
    probes: Sequence[Probe],
    transcript: str,
    cost: int,
    reader: Reader | None,
) -> Row:
    relevance, recency, confidence = window["weights"]
    product.configure(relevance=relevance, recency=recency, confidence=confidence)
    answer = await product.call("get_context", max_tokens=window["budget"])
    text = "" if answer.refused else answer.text
    lines = window_lines(text)
    tokens = product.count(text)
    newest = folded(transcript[-max(1, tokens * len(transcript) // cost) :])
    asked = [_held(probe, lines, newest) for probe in probes]
    if reader is not None and text:
        for row, right in zip(asked, reader.answers(text, probes), strict=True):
            row["answered"] = right
    return {
        "tokens": tokens,
        "transcript_tokens": cost,
        "refused_window": answer.refused,
        "probes": asked,
        "shown": sorted({line.record for line in lines if line.record}),
    }


def _held(probe: Probe, lines: Sequence[Line], newest: str) -> Row:
    """Return whether a line holds the answer, and what it would be lost without."""
    holding = [line for line in lines if probe.answer in line.text]
    sections = {line.section for line in holding}
    records = {line.record for line in holding}
    return {
        "kind": probe.kind,
        "held": bool(holding),
        "in_transcript": probe.answer in newest,
        "only_in": sections.pop() if len(sections) == 1 else "",
        "only_record": next(iter(records)) if len(records) == 1 else "",
        "records": sorted(records - {""}),
    }


def _call(name: str, row: Row) -> Row:
    """Return a call in the import format, as of now: a run that just happens."""
    kept = {"tool": row["tool"], "args": row["args"], "output": row["output"]}
    ref = f"{name}#{row['seq']}"
    return {"type": "tool_call", **kept, "is_error": bool(row.get("is_error")), "ref": ref}


def _told(step: Step) -> str:
    args = step.row["args"]
    words = " ".join(map(str, args.values())) if isinstance(args, dict) else str(args)
    return f"{step.row['tool']} {words}\n{step.row['output']}"


def _spread(items: Sequence[Any], count: int) -> list[Any]:
    """Return at most ``count`` of the items, from the first to the last at even distances."""
    if len(items) <= count:
        return list(items)
    return [items[i * (len(items) - 1) // (count - 1)] for i in range(count)]
