"""Where the values of a claim stand in what it cites."""

import pytest

from keepthread.validators.evidence import Evidence
from keepthread.validators.grounding import ground


@pytest.mark.parametrize(
    "text", ["GET / answers 200", "the fixtures lie in ../", "the tests start in ./ only"]
)
def test_a_path_without_a_name_is_looked_for_as_it_is_written(text: str) -> None:
    assert ground(text, [Evidence("call-1", tool="shell", output=text)]).grounded
