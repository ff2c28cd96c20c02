"""Outputs of everyday tools: what they say passes, and the same parts joined otherwise are refused.

Directions, rates, bounds, doers, counts, rows, sections and sides of a diff; a line of ``relations.jsonl``
is one output with claims that it bears out and claims that it does not.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepthread.validators.evidence import Evidence
from keepthread.validators.grounding import ground

LINES = (Path(__file__).parent / "relations.jsonl").read_text(encoding="utf-8").splitlines()


def _claims() -> Iterator[tuple[str, bool, Evidence]]:
    for line in LINES:
        row = json.loads(line)
        args = json.dumps(row["args"], separators=(",", ":"))
        entry = Evidence(
            "call-1", tool=row["tool"], args=args, output=row["output"], is_error=row["is_error"]
        )
        yield from ((claim, True, entry) for claim in row["true"])
        yield from ((claim, False, entry) for claim in row["false"])


@pytest.mark.parametrize(("claim", "true", "entry"), list(_claims()))
def test_parts_joined_as_the_output_joins_them_pass_and_otherwise_are_refused(
    claim: str, true: bool, entry: Evidence
) -> None:
    verdict = ground(claim, [entry])
    assert verdict.grounded == true, verdict.why


@pytest.mark.parametrize(
    "line",
    [
        "a:\n  b: 1\n",
        "x/y.py:1: 4 -> 5\n",
        "+v = 1\n-v = 2\n",
        "4 changed, ",
        "from 4 to 5 to ",
        " " * 50 + "a {\n",
    ],
)
def test_long_and_odd_outputs_are_read_in_little_time(line: str) -> None:
    output = "@@ -1 +1 @@\n" + line * (300_000 // len(line))
    entry = Evidence("call-1", tool="Bash", args='{"command":"cat x"}', output=output)
    began = time.process_time()
    ground("Only b goes from 5 to 4 in y.py, at 4 per second, over 3 changed by a", [entry])
    assert time.process_time() - began < 2.0  # 0.2 s on an idle machine
