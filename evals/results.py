"""Figures kept under ``evals/results/``: one dated file a suite and data set, with the commit."""

import json
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "results"


class Result(NamedTuple):
    """The figures of one suite on one data set, and from which code they came."""

    suite: str
    data: str  # the last parts of the path, never where it lies
    date: str  # YYYY-MM-DD
    commit: str
    headline: dict[str, Any]
    figures: dict[str, Any]


def data_name(path: Path) -> str:
    """Return the name of a data set: a folder's, or ``folder/file``."""
    path = path.resolve()
    return path.name if path.is_dir() else f"{path.parent.name}/{path.name}"


def save(result: Result, folder: Path = FOLDER) -> Path:
    """Write a result; a later one of the same day replaces it."""
    folder.mkdir(parents=True, exist_ok=True)
    name = Path(result.data).with_suffix("").as_posix().replace("/", "-")
    file = folder / f"{result.date}-{result.suite}-{name}.json"
    file.write_text(json.dumps(result._asdict(), indent=1) + "\n", encoding="utf-8")
    return file


def newest(folder: Path = FOLDER) -> list[Result]:
    """Return the newest result of each suite and data set, by suite and data."""
    found = [
        Result(**json.loads(file.read_text(encoding="utf-8"))) for file in folder.glob("*.json")
    ]
    latest: dict[tuple[str, str], Result] = {}
    for result in sorted(found, key=lambda r: r.date):
        latest[result.suite, result.data] = result
    return [latest[name] for name in sorted(latest)]
