"""What the user said word for word is what the user said."""

import time

import pytest

from keepthread.validators.evidence import Evidence
from keepthread.validators.grounding import ground
from keepthread.validators.verbatim import said_by_user


def _said(text: str, role: str = "user") -> Evidence:
    return Evidence("msg-1", "message", role, output=text)


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ("We never deploy on Fridays, all others are fine", "We never deploy on Fridays, all others are fine"),
        ("If Redis is down, auth fails open.", "Mind this.  If Redis is down,\nauth fails open. Thanks"),
        ("All tests pass on main, no warnings.", "Status: all tests pass on main, no warnings"),
        ("No module imports flask any more", "- no module imports flask any more\n- nothing else"),
    ],
)  # fmt: skip
def test_whole_sentences_of_the_user_are_grounded(claim: str, message: str) -> None:
    assert ground(claim, [_said(message)]).grounded


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ("deploy on Fridays", "We never deploy on Fridays"),
        ("all tests pass", "I doubt that all tests pass"),
        ("all tests pass", "all tests pass?"),
        ("the port is 80", "the port is 8080"),
        ("...", "Well... ..."),
    ],
)
def test_part_of_a_sentence_is_not_what_the_user_said(claim: str, message: str) -> None:
    assert said_by_user(claim, [_said(message)]) is None


def test_only_the_users_own_messages_count() -> None:
    for role in ("assistant", "machine"):
        assert said_by_user("The port is 80", [_said("The port is 80", role)]) is None


def test_looking_takes_linear_time() -> None:
    def seconds(size: int) -> float:
        message = _said("\n- " * size + "a " * size)
        began = time.thread_time()
        said_by_user("a " * 400 + "b", [message])
        return time.thread_time() - began

    small, large = (min(seconds(n) for _ in range(3)) for n in (20_000, 80_000))
    assert large < 8 * small + 0.01
