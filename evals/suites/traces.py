"""Resume points: after a kill, does the next window know what the dead run had done?

A recorded run is imported up to and including the kill, then a new client opens the database and
asks for its window. Everything is read from that window's text: the files it says were written,
the last command, and the calls it names.
"""

import re
import tempfile
from pathlib import Path
from typing import Any

from evals.predictions import DataMissing, Row, Run
from evals.product import open_product
from evals.reading import read_rows
from evals.scoring import score_resume
from evals.suites.retrieval import trace_rows
from keepthread.server.context.frame import unquote

POINTS = "resume_points.jsonl"

_FILES = re.compile(r"^- FOUND files written[^:]*: (.*)$", re.M)
_COMMAND = re.compile(r"^- FOUND last command, (call-\d+) \w+: (.*)$", re.M)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_CALL = re.compile(r"\bcall-\d+\b")


def read(path: Path) -> list[Row]:
    """Return the resume points of a folder; its traces must lie beside them."""
    if path.exists() and not path.is_dir():
        raise DataMissing(f"{path} is a file; this suite reads a folder with {POINTS}.")
    points = read_rows(
        path / POINTS,
        ("trace", "kill_after_seq", "edited_paths", "last_command", "next_seq"),
    )
    for name in dict.fromkeys(p["trace"] for p in points):
        if not (path / f"{name}.jsonl").exists():
            raise DataMissing(f"{path} has no {name}.jsonl, which {POINTS} names.")
    return points


def key(row: Row) -> str:
    """Return what a resume point and its prediction share."""
    return f"{row['trace']}#{row['kill_after_seq']}"


async def predict(path: Path, run: Run) -> None:
    """Append a prediction for every resume point."""
    for point in run.track(run.left(read(path), key), "traces"):
        kill = point["kill_after_seq"]
        rows = [r for r in trace_rows(path / f"{point['trace']}.jsonl") if _seq(r["ref"]) <= kill]
        with tempfile.TemporaryDirectory() as folder:
            async with open_product(Path(folder)) as product:
                refs = {entry: ref for ref, entry in product.bring(rows).items()}
            async with open_product(Path(folder)) as product:
                window = (await product.call("get_context")).text
        found = read_window(window, {entry: _seq(ref) for entry, ref in refs.items()})
        run.add({"trace": point["trace"], "kill_after_seq": kill, **found})


def score(path: Path, rows: list[Row]) -> dict[str, Any]:
    """Return the figures."""
    return score_resume(read(path), rows)


def headline(figures: Row) -> Row:
    """Return the few figures that stand for the suite."""
    return {
        "edited recall": figures["edited_recall"],
        "edited precision": figures["edited_precision"],
        "last command": figures["last_command"],
        "next step": figures["next_seq"],
        "phantoms": figures["phantom_seqs"],
    }


def read_window(window: str, seqs: dict[str, int]) -> Row:
    """Return what a window's text says of the run. ``seqs`` maps entry ids to the run's steps."""
    files = _FILES.search(window)
    command = _COMMAND.search(window)
    named = [seqs[c] for c in dict.fromkeys(_CALL.findall(_outside_quotes(window))) if c in seqs]
    return {
        "edited_paths": [unquote(s) for s in _STRING.findall(files[1])] if files else [],
        "last_command": _first_string(command[2]) if command else None,
        "next_seq": max(named) + 1 if named else None,
        "claimed_seqs": sorted(named),
    }


def _outside_quotes(window: str) -> str:
    """Return the words of our own code: stored text stands in JSON strings."""
    return _STRING.sub('""', window)


def _first_string(text: str) -> str:
    found = _STRING.search(text)
    return unquote(found[0]) if found else ""


def _seq(ref: str) -> int:
    return int(ref.rpartition("#")[2])
