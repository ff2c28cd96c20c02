"""Predictions on disk: one JSON line an item, appended as it is made, so that a run can go on."""

import json
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Row = dict[str, Any]
Item = TypeVar("Item")


class DataMissing(Exception):
    """The data is not there or not of the suite's layout; the message names what and where."""


class Mixed(Exception):
    """The file holds predictions of other data or other code; the message says what to do."""


class Origin(NamedTuple):
    """What predictions were made from: the suite, its data, and the commit of the code."""

    suite: str
    data: str
    commit: str


class Run:
    """A run that appends to ``out`` what is not there yet. ``key`` names an item by its prediction."""

    def __init__(
        self, out: Path, key: Callable[[Row], str], origin: Origin, console: Console
    ) -> None:
        self._out, self._key, self._console = out, key, console
        self.rows = read_predictions(out) if out.exists() else []
        _check_origin(out, origin, fresh=not self.rows)
        out.parent.mkdir(parents=True, exist_ok=True)
        _rewrite(out, self.rows)
        self._done = {key(row) for row in self.rows}

    def left(self, items: Iterable[Item], key: Callable[[Item], str]) -> list[Item]:
        """Return the items without a prediction."""
        return [item for item in items if key(item) not in self._done]

    def add(self, row: Row) -> None:
        """Append one prediction; it is on disk when this returns."""
        with self._out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        self.rows.append(row)
        self._done.add(self._key(row))

    def track(self, items: Sequence[Item], label: str) -> Iterator[Item]:
        """Yield the items with a progress bar on stderr."""
        with self.bar(label, len(items)) as advance:
            for item in items:
                yield item
                advance(1)

    @contextmanager
    def bar(self, label: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """Show a progress bar while the block runs; the function given advances it."""
        columns = (
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        )  # fmt: skip
        quiet = not self._console.is_terminal
        with Progress(*columns, console=self._console, transient=True, disable=quiet) as progress:
            task = progress.add_task(label, total=total)
            yield lambda count: progress.update(task, advance=count)


def read_predictions(path: Path) -> list[Row]:
    """Return the predictions of a file; a last line that an interruption tore is left out."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            if number < len(lines):
                raise DataMissing(f"{path}, line {number} is no JSON: {error}") from error
    return rows


def current_commit() -> str:
    """Return the commit of the checkout that holds this file, ``+`` where it has changes; else ``""``."""
    here = Path(__file__).parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(here), *arguments]
        try:
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return ""

    commit = git("rev-parse", "--short=12", "HEAD").strip()
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":/", ":!/evals/results")
    return commit + "+" if changed.strip() else commit


def _check_origin(out: Path, origin: Origin, *, fresh: bool) -> None:
    """Keep the origin beside the predictions, and refuse to mix two origins in one file."""
    beside = out.with_name(out.name + ".origin")
    if fresh or not beside.exists():
        beside.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps(origin._asdict()) + "\n", encoding="utf-8")
        return
    before = Origin(**json.loads(beside.read_text(encoding="utf-8")))
    if before != origin:
        raise Mixed(
            f"{out} holds predictions of suite {before.suite}, data {before.data}, commit "
            f"{before.commit or 'unknown'}; remove it or choose another --out."
        )


def _rewrite(path: Path, rows: Iterable[Row]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
