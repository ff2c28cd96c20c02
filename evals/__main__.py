"""``python -m evals``: run a suite, score its predictions, write the README's table.

Exit status: 0, 1 when interrupted or no model answers (run again to go on), 2 for wrong usage or missing data.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
from rich.console import Console

from evals import results, table
from evals.answering import NoAnswer, reader_of
from evals.predictions import DataMissing, Mixed, Origin, Row, Run, current_commit, read_predictions
from evals.probe_figures import probe_tables
from evals.resume.command import add_command as add_resume
from evals.suites import (
    audit,
    contradiction,
    grounding,
    injection,
    precision,
    probes,
    retrieval,
    secrets,
    traces,
)
from evals.suites.probes import BUDGETS, EVERY, Sweep
from keepthread.server.cli.common import open_memory
from keepthread.server.context.ranking import Weights
from keepthread.stores.workspaces import find_workspace
from keepthread.validators.quoting import quote

SUITES: dict[str, ModuleType] = {
    "retrieval": retrieval,
    "precision": precision,
    "injection": injection,
    "contradiction": contradiction,
    "secrets": secrets,
    "traces": traces,
}


def main(arguments: Sequence[str]) -> int:
    """Run one command."""
    options = build_parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except (DataMissing, Mixed) as error:
        print(f"evals: {error}", file=sys.stderr)
        return 2
    except NoAnswer as error:
        print(f"evals: {error}; the same command goes on where it stopped", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("evals: interrupted; the same command goes on where it stopped", file=sys.stderr)
        return 1


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of every command."""
    parser = argparse.ArgumentParser(prog="python -m evals", description="Measure Keepthread.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="ask the product and write predictions")
    score = commands.add_parser("score", help="print the figures of predictions")
    for made, command, file in ((run, run_suite, "--out"), (score, score_suite, "--pred")):
        made.set_defaults(command=command)
        made.add_argument("suite", choices=SUITES)
        made.add_argument("--data", type=Path, required=True, help="a file or folder, by suite")
        made.add_argument(file, dest="predictions", type=Path, required=True, help="JSON Lines")
        made.add_argument("--save", action="store_true", help="keep the figures in evals/results/")
    score.add_argument("--json", action="store_true", help="all figures as one JSON object")
    score.add_argument("--by", default="", help="retrieval: the question's field to group by")
    score.add_argument(
        "--corrected",
        action="store_true",
        help="retrieval: the corrected evidence where there is one",
    )
    _add_probes(commands.add_parser("probes", help="recall of a recorded run against tokens"))
    _add_audit(commands.add_parser("audit", help="hold served facts against their sources"))
    _add_grounding(commands.add_parser("grounding", help="claims held against what they cite"))
    write = commands.add_parser("table", help="the table of the newest results")
    write.add_argument("--write", action="store_true", help="into the README, between its markers")
    write.set_defaults(command=print_table)
    add_resume(commands)
    return parser


def run_suite(options: argparse.Namespace) -> int:
    """``run``: append what is missing to the predictions, then print one summary line."""
    suite = SUITES[options.suite]
    suite.read(options.data)  # says what is missing before anything is made
    origin = Origin(options.suite, results.data_name(options.data), current_commit())
    run = Run(options.predictions, suite.key, origin, Console(stderr=True))
    anyio.run(suite.predict, options.data, run)
    figures = suite.score(options.data, run.rows)
    _conclude(options, suite, figures, origin.commit)
    return 0


def run_probes(options: argparse.Namespace) -> int:
    """``probes``: replay recorded runs, ask the windows, print recall against tokens per step."""
    probes.read(options.data)
    sweep = Sweep(options.budgets, options.weights, options.every)
    origin = Origin("probes", results.data_name(options.data), current_commit())
    run = Run(options.predictions, probes.key, origin, Console(stderr=True))
    anyio.run(probes.predict, options.data, run, sweep, reader_of(os.environ))
    figures = probes.score(options.data, run.rows)
    print(probe_tables(figures, ablate=options.ablate), end="\n\n")
    _conclude(options, probes, figures, origin.commit)
    return 0


def run_audit(options: argparse.Namespace) -> int:
    """``audit``: check what a window serves of a database, or of a scenario."""
    told: dict[str, Any] = {}
    if options.db is not None:
        checked = _audit_database(options)
    else:
        checked, told = anyio.run(audit.audit_scenario, options.data)
    for fact in checked:
        mark = "flagged" if fact.flagged else "plain"
        print(f"{fact.id} {fact.verdict}, {mark}: {quote(fact.text, 100)} {fact.why}".rstrip())
    figures = {**audit.score_audit(checked), **told}
    print(json.dumps(figures, indent=1, ensure_ascii=False))
    _conclude(options, audit, figures, current_commit())
    return 0


def run_grounding(options: argparse.Namespace) -> int:
    """``grounding``: hold true, false and mismatched claims against entries, print mistakes and figures."""
    if options.claims is None:
        found = grounding.read(options.data)
    else:
        found = grounding.read_claims(options.data, options.claims)
    found = grounding.half_of(found, options.half)
    similarity = grounding.meaning() if options.meaning else None
    judged = grounding.judge(found, mismatches=options.mismatches, similarity=similarity)
    for line in grounding.worst(judged, options.worst):
        print(line)
    figures = grounding.score(judged)
    print(json.dumps(figures))
    _conclude(options, grounding, figures, current_commit())
    return 0


def score_suite(options: argparse.Namespace) -> int:
    """``score``: print the figures of a file of predictions."""
    suite = SUITES[options.suite]
    if not options.predictions.exists():
        raise DataMissing(f"there is no {options.predictions}; `run` makes it.")
    rows = read_predictions(options.predictions)
    figures = _figures(options, suite, rows)
    if options.json:
        print(json.dumps(figures, indent=1))
    else:
        for name, value in figures.items():
            print(f"{name}: {value}")
    if options.save:
        _conclude(options, suite, figures, current_commit())
    return 0


def print_table(options: argparse.Namespace) -> int:
    """``table``: print it, or write it into the README."""
    if options.write:
        table.write()
    else:
        print(table.table(results.newest()))
    return 0


def _add_probes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="a recorded run, or a folder")
    parser.add_argument("--out", dest="predictions", type=Path, required=True, help="JSON Lines")
    parser.add_argument("--budgets", type=_numbers, default=BUDGETS, help="tokens: 1500,3000,…")
    parser.add_argument(
        "--weights",
        type=_weights,
        default=(Weights(),),
        help="relevance:recency:confidence of the rank, several with commas; the first is the base",
    )
    parser.add_argument("--every", type=int, default=EVERY, help="steps between two points")
    parser.add_argument("--ablate", action="store_true", help="what stores and records are worth")
    parser.add_argument("--save", action="store_true", help="keep the figures in evals/results/")
    parser.set_defaults(command=run_probes, suite="probes")


def _audit_database(options: argparse.Namespace) -> list[audit.Checked]:
    if options.save:
        raise DataMissing(
            "--save keeps the figures of a scenario, not those of somebody's database."
        )
    if not options.db.exists():
        raise DataMissing(f"there is no database {options.db}.")
    given = {"KEEPTHREAD_DB": str(options.db), "KEEPTHREAD_WORKSPACE": options.workspace}
    with open_memory({**os.environ, **given}) as memory:
        if find_workspace(memory.reader, memory.place.workspace) is None:
            raise DataMissing(
                f"{options.db} has no workspace {memory.place.workspace}; --workspace names one."
            )
        return audit.audit(
            memory, max_tokens=options.max_tokens, sample=options.sample, seed=options.seed
        )


def _add_audit(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--db", type=Path, help="a database")
    what.add_argument("--data", type=Path, default=audit.SCENARIO, help="a scenario (.json)")
    parser.add_argument("--workspace", default="", help="of --db: NAME, DIR or NAME=DIR")
    parser.add_argument("--max-tokens", type=int, default=0, help="of --db: the window's size")
    parser.add_argument("--sample", type=int, default=0, help="of --db: so many facts, 0 for all")
    parser.add_argument("--seed", type=int, default=0, help="of --db: which sample")
    parser.add_argument("--save", action="store_true", help="keep the figures in evals/results/")
    parser.set_defaults(command=run_audit, suite="audit")


def _add_grounding(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, default=grounding.SCENARIO, help="our set, or traces")
    parser.add_argument("--claims", type=Path, help="claims about the traces in the folder --data")
    parser.add_argument("--half", choices=("tuning", "held-out"), default="", help="by entry")
    parser.add_argument("--mismatches", type=int, default=grounding.MISMATCHES, help="a claim")
    parser.add_argument("--meaning", action="store_true", help="with the embedding model")
    parser.add_argument("--worst", type=int, default=20, help="mistakes to print, of each kind")
    parser.add_argument("--save", action="store_true", help="keep the figures in evals/results/")
    parser.set_defaults(command=run_grounding, suite="grounding")


def _numbers(given: str) -> tuple[int, ...]:
    return tuple(int(part) for part in given.split(","))


def _weights(given: str) -> tuple[Weights, ...]:
    return tuple(Weights(*map(float, part.split(":"))) for part in given.split(","))


def _figures(options: argparse.Namespace, suite: ModuleType, rows: list[Row]) -> dict[str, Any]:
    if suite is retrieval:
        return retrieval.score(options.data, rows, corrected=options.corrected, by=options.by)
    return dict(suite.score(options.data, rows))


def _conclude(
    options: argparse.Namespace, suite: ModuleType, figures: dict[str, Any], commit: str
) -> None:
    headline = suite.headline(figures)
    told = ", ".join(f"{name} {value}" for name, value in headline.items())
    print(f"{options.suite} on {results.data_name(options.data)}: {told}")
    if options.save:
        date = datetime.now(UTC).date().isoformat()
        name = results.data_name(options.data)
        results.save(results.Result(options.suite, name, date, commit, headline, figures))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
