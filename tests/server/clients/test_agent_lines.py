"""The lines for a project's rules: once, between markers, and gone without a trace."""

import pytest

from keepthread.server.clients.agent_lines import LINES, with_lines, without_lines

HEAD = "---\nalwaysApply: true\n---\n"
TEXTS = [
    "",
    "# Mine\n",
    "no line end",
    "a\n\n\n",
    "a\r\nb\r\n",
    "<!-- keepthread:begin -->\nhalf\n",
    HEAD,
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("head", ["", HEAD])
def test_they_are_added_once_and_taken_out_byte_for_byte(text: str, head: str) -> None:
    added = with_lines(text, head)
    assert added.startswith(text or head) and all(line in added for line in LINES)
    assert with_lines(added, head) == added
    assert without_lines(added, head) == ("" if text == head else text)
    assert without_lines(text, head) == text


def test_what_is_written_after_them_stays_and_old_lines_are_replaced() -> None:
    text = with_lines("# Mine\n") + "more\n"
    old = text.replace(LINES[0], "- what an older version said")
    assert with_lines(old) == text
    assert without_lines(old) == "# Mine\nmore\n"
