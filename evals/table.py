"""The README's table of results, generated from ``evals/results/`` between two markers."""

from collections.abc import Sequence
from pathlib import Path

from evals.results import Result, newest

BEGIN, END = "<!-- evals:begin -->", "<!-- evals:end -->"
README = Path(__file__).parent.parent / "README.md"


def table(results: Sequence[Result]) -> str:
    """Return the results as a Markdown table."""
    lines = ["| suite | data | figures | date | commit |", "|---|---|---|---|---|"]
    for r in results:
        figures = ", ".join(f"{name} {_shown(value)}" for name, value in r.headline.items())
        lines.append(f"| {r.suite} | {r.data} | {figures} | {r.date} | {r.commit} |")
    return "\n".join(lines)


def with_table(text: str, block: str) -> str:
    """Return ``text`` with ``block`` between the markers. Raises ValueError where they are missing."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the text has no {BEGIN} followed by {END}")
    return f"{before}{BEGIN}\n{block}\n{END}{after}"


def write(readme: Path = README) -> None:
    """Bring the table in ``readme`` up to date."""
    text = readme.read_text(encoding="utf-8")
    readme.write_text(with_table(text, table(newest())), encoding="utf-8")


def _shown(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
