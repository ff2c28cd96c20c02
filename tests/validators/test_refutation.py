"""Short lines of files, outputs and messages: what they say passes, and the contrary of it is refused."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepthread.validators.evidence import Evidence
from keepthread.validators.grounding import ground
from tests.validators.grounding_pairs import read, said, shell

# A block is an entry ("@ file PATH", "@ call COMMAND" or "@ user", then its text), "+ " what it says,
# "- " what it does not.
BLOCKS = (Path(__file__).parent / "contraries.txt").read_text(encoding="utf-8").split("\n\n")


def _claims() -> Iterator[tuple[str, bool, Evidence]]:
    for block in BLOCKS:
        head, *lines = block.strip("\n").split("\n")
        first = next(n for n, line in enumerate(lines) if line.startswith(("+ ", "- ")))
        kind, _, name = head.removeprefix("@ ").partition(" ")
        text = "\n".join(lines[:first]) + "\n"
        entry = (
            read(name, text)
            if kind == "file"
            else shell(name, text)
            if kind == "call"
            else said(text.strip())
        )
        yield from ((line[2:], line[0] == "+", entry) for line in lines[first:])


@pytest.mark.parametrize(("claim", "true", "entry"), list(_claims()))
def test_what_a_short_line_says_is_grounded_and_its_contrary_refused(
    claim: str, true: bool, entry: Evidence
) -> None:
    verdict = ground(claim, [entry])
    assert verdict.grounded == true, verdict.why


def test_the_refusal_quotes_the_line_that_says_otherwise() -> None:
    text = "# Deploys\n\nDeploys run from the branch release.\nThey take four minutes.\n"
    verdict = ground("Deploys run from the branch main", [read("deploy.md", text)])
    nearest = verdict.nearest[0]
    assert text[nearest.start : nearest.stop].strip() == "Deploys run from the branch release."
    assert verdict.why == 'the cited entry says "release", not "main"'


@pytest.mark.parametrize(
    "line",
    ["a, ", "not ", "x: y\n", "[", "The queue is never in the port. ", "  queue:\n    port: 1\n"],
)
def test_long_and_odd_lines_are_read_in_little_time(line: str) -> None:
    entry = shell("cat x", line * (300_000 // len(line)))
    began = time.process_time()
    ground("The port of the queue is never in the staging port", [entry])
    assert time.process_time() - began < 2.0  # 0.1 s on an idle machine


def test_json_of_one_line_is_no_sentence() -> None:
    row = json.dumps({"deploys": "from the branch release", "note": "never on Tuesday"})
    assert ground("Deploys come from the branch release", [shell("cat x.json", row)]).grounded
