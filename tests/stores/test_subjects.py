"""Which facts a text names."""

import pytest

from keepthread.stores.subjects import Subjects


def _named(subject: str, text: str) -> bool:
    subjects = Subjects()
    subjects.add(1, subject)
    subjects.add(2, "deployment target")
    return 1 in subjects.named_in(text)


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        ("build command | how to build", "What is the BUILD command here?"),
        ("build_command", "fix the build command"),
        ("k8s | kubernetes", "our k8s setup"),
        ("migration", "run the migrations"),
        ("retry policy of the client", "does the client have a retry policy?"),
        ("kubernetes", "a kuberntes cluster"),
        ("kubernetes", "a kubernettes cluster"),
        ("kubernetes", "a kubrenetes cluster"),
        ("redis", "reedis eviction"),
    ],
)
def test_a_text_names_a_fact_by_any_of_its_names(subject: str, text: str) -> None:
    assert _named(subject, text)


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        ("build command", "the build is red"),
        ("build command", "which command lists users?"),
        ("k8s", "our k9s setup"),
        ("state machine", "a stale machine"),
        ("port", "sort the list"),
        ("go", "where did it happen"),
        ("", "anything"),
        ("the | of", "the end of the line"),
    ],
)
def test_a_text_names_no_fact_by_half_a_name_or_another_word(subject: str, text: str) -> None:
    assert not _named(subject, text)


def test_a_word_that_is_a_name_stands_for_no_other() -> None:
    subjects = Subjects()
    subjects.add(1, "router")
    subjects.add(2, "routers table")
    subjects.add(3, "outer")
    assert subjects.named_in("the router") == {1}
