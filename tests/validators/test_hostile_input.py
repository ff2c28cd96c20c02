"""No rule of a write takes the square of its input's length, whatever unit the input repeats."""

import time
from collections.abc import Callable
from functools import partial

import pytest

from keepthread.validators.grounding import ground
from keepthread.validators.instructions import find_directive, hidden_text
from keepthread.validators.judges.local import Statement, judge
from keepthread.validators.transience import transient_quantity
from keepthread.validators.user_words import own_passages
from tests.validators.grounding_pairs import said, shell

UNITS = (
    'a 1 \n \t = ; . - _ / # “ „a“ " \' ` ``` ( () [ { {"a": < </ 🙂 … İ \u200b => 1. 1, a_ aA 0x 1h eyJ '
    "rwx- total python cat echo bash\t- git\t key= no not 12:30 1\tof &&\t |\t >\ta\n #a\n is\tit?"
).split(" ")
CLAIMS = (
    "The retry limit is 3 and tests pass",
    "foo_bar listens on port 5432",
    "no warnings were found",
    "the platform team owns billing",
)
OUTPUT_CHARS = 100_000
ARGS_CHARS = 40_000
FACT_CHARS = 1_000
CPU_SECONDS_MAX = 1.0  # a square takes several; an honest run a tenth


def _fill(unit: str, chars: int) -> str:
    unit = unit.replace("\t", " ") or " "
    return (unit * (chars // len(unit) + 1))[:chars] + "!x"


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


@pytest.mark.parametrize("unit", UNITS)
def test_long_output_of_one_repeated_unit_is_judged_in_linear_time(unit: str) -> None:
    output = _fill(unit, OUTPUT_CHARS)
    for claim in CLAIMS:
        assert _seconds(partial(ground, claim, [shell("ls", output)])) < CPU_SECONDS_MAX
    assert _seconds(lambda: ground(CLAIMS[3], [said(output)])) < CPU_SECONDS_MAX
    assert _seconds(lambda: own_passages(output)) < CPU_SECONDS_MAX


@pytest.mark.parametrize("unit", UNITS)
def test_long_arguments_of_one_repeated_unit_are_judged_in_linear_time(unit: str) -> None:
    command = _fill(unit, ARGS_CHARS)
    for output in ("retry limit 3", command):
        judged = partial(ground, CLAIMS[0], [shell(command, output)])
        assert _seconds(judged) < CPU_SECONDS_MAX


@pytest.mark.parametrize("unit", UNITS)
def test_a_fact_of_one_repeated_unit_is_judged_in_linear_time(unit: str) -> None:
    fact = _fill(unit, FACT_CHARS)
    output = _fill(unit, OUTPUT_CHARS)
    other = Statement(CLAIMS[0])
    for work in (
        lambda: ground(fact, [shell("ls", output)]),
        lambda: find_directive(fact),
        lambda: hidden_text(fact),
        lambda: transient_quantity(fact),
        lambda: judge(Statement(fact), other),
        lambda: judge(Statement(fact), Statement(fact + " 2")),
    ):
        assert _seconds(work) < CPU_SECONDS_MAX
