"""``python -m evals resume``: the suite from the command line."""

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from evals.resume.agent import MODEL
from evals.resume.suite import CONTROLS, Result, Run, figures, held_against, run_once
from keepthread.server.context.tokens import TokenCounter


def add_command(commands: Any) -> None:
    """Add ``resume`` to the parser's commands."""
    parser = commands.add_parser(
        "resume", help="a migration by a scripted agent that is killed again and again"
    )
    parser.add_argument("--seeds", type=int, default=3, help="runs with Keepthread (by hand: 50)")
    parser.add_argument("--kills", type=int, default=3, help="kills a run")
    parser.add_argument("--controls", type=int, default=3, help="runs with each other memory")
    parser.add_argument(
        "--out", type=Path, help="JSON Lines of the runs; what is there is not run again"
    )
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument(
        "--model",
        default="",
        help="this model of the Messages API instead of the scripted agent; no controls",
    )
    parser.set_defaults(command=run_resume)


def run_resume(options: argparse.Namespace) -> int:
    """Run, print the figures, and return 1 unless Keepthread is perfect and the controls are not."""
    counter = TokenCounter()
    ours = MODEL + options.model if options.model else "keepthread"
    counts = {ours: options.seeds}
    if not options.model:
        counts |= dict.fromkeys(CONTROLS, options.controls)
    plain, reference = run_once(ours, 0, 0, counter)
    _tell(plain)
    runs = _read(options.out)
    known = {(r.memory, r.seed) for r in runs}
    wanted = [(m, seed) for m, count in counts.items() for seed in range(1, count + 1)]
    with ThreadPoolExecutor(options.jobs) as pool:
        left = [w for w in wanted if w not in known]
        runs += pool.map(lambda w: _run(w[0], w[1], options, reference, counter), left)
    by_memory = {m: [r for r in runs if r.memory == m] for m in counts}
    for memory, found in by_memory.items():
        if found:
            print(f"{memory}: {json.dumps(figures(found))}")
    return 0 if proves_something(by_memory) else 1


def proves_something(runs: dict[str, list[Run]]) -> bool:
    """True when every run with Keepthread is perfect, and no run with another memory is."""
    controls = [r for memory in CONTROLS for r in runs.get(memory, [])]
    ours = [r for memory, found in runs.items() if memory not in CONTROLS for r in found]
    return all(r.perfect for r in ours) and not any(r.perfect for r in controls)


def _run(
    memory: str,
    seed: int,
    options: argparse.Namespace,
    reference: Result,
    counter: TokenCounter,
) -> Run:
    run = held_against(*run_once(memory, seed, options.kills, counter), reference)
    _tell(run)
    if options.out:
        with options.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(run._asdict()) + "\n")
    return run


def _read(file: Path | None) -> list[Run]:
    if file is None or not file.exists():
        return []
    lines = file.read_text(encoding="utf-8").splitlines()
    return [Run(**json.loads(line)) for line in lines]


def _tell(run: Run) -> None:
    said = "perfect" if run.perfect else f"NOT perfect {run}"
    print(
        f"{run.memory} {run.seed}: {run.kills} kills, {run.repeated} repeated, "
        f"{run.seconds:.0f} s: {said}",
        file=sys.stderr,
        flush=True,
    )
