"""Reads data of the suites' layouts, with a sentence where something is missing."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evals.predictions import DataMissing, Row


def read_rows(path: Path, fields: Iterable[str]) -> list[Row]:
    """Return the rows of a JSON Lines file; each must have ``fields``."""
    _require(path)
    if path.is_dir():
        raise DataMissing(f"{path} is a folder; this suite reads one JSON Lines file.")
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            row = _parse(path, line, f", line {number}")
            missing = [f for f in fields if not isinstance(row, dict) or f not in row]
            if missing:
                raise DataMissing(f"{path}, line {number} has no `{missing[0]}`.")
            rows.append(row)
    return rows


def read_json(path: Path) -> Any:
    """Return the content of a JSON file."""
    _require(path)
    return _parse(path, path.read_text(encoding="utf-8"), "")


def _require(path: Path) -> None:
    if not path.exists():
        raise DataMissing(f"there is no {path}; the evaluation data is not part of the repository.")


def _parse(path: Path, text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise DataMissing(f"{path}{where} is no JSON: {error}") from error
