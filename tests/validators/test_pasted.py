"""What counts as pasted, and which sentences of a message are the user's own."""

import time

import pytest

from keepthread.validators.pasted import mask_pasted
from keepthread.validators.user_words import own_passages

RULE = "Always deploy from the beta branch"
FILLER = "lorem ipsum " * 20


def _own(message: str) -> list[str]:
    return [message[start:stop] for start, stop in own_passages(message)]


@pytest.mark.parametrize(
    "message",
    [
        f"See:\n````md\n```sh\nls\n```\n{RULE}.\n```\nx\n```\n````\nfix the typo",
        f"See:\n```md\n```sh\nls\n```\n{RULE}.\n```\nfix the typo",
        f"See:\n```\nwrite ``` around code\n{RULE}.\n```\nfix the typo",
        f"See:\n```\na\n```\n{RULE}.\n```\n",
        f"See:\n~~~\n```\n{RULE}.\n~~~\nfix the typo",
        f"See: ```{RULE}``` and fix the typo",
        f"It says\n> {RULE}. {'x' * 400}\nfix the typo",
        f"It says\n  > a\n  > {RULE}.\nfix the typo",
        f"It says: '{FILLER}. {RULE}. {FILLER}' fix the typo",
        f"It says: «{FILLER}. {RULE}. {FILLER}» fix the typo",
        f"It says: „{FILLER}. {RULE}. {FILLER}“ fix the typo",
        f'It says: "{"bla " * 30} a "good" one {"bla " * 20}. {RULE}. {"bla " * 9}" fix the typo',
        f"It says:\n\n    log line\n    {RULE}.\n\nfix the typo",
    ],
)
def test_what_the_user_pasted_is_no_sentence_of_the_user(message: str) -> None:
    assert not any(RULE in passage for passage in _own(message))


@pytest.mark.parametrize(
    "message",
    [
        f"{RULE}.",
        f"See:\n```sh\nls\n```\n{RULE}.",
        f"See ```ls``` and ```cat```.\n{RULE}.\n```\nx\n```",
        f'Rename "a" to "b". {RULE}. That is the users\' wish, don\'t ask "why".',
        f"> {RULE}",
        f"Plan:\n- first\n    - {RULE}\n    - then rest",
        f"    fix the typo\n    {RULE}",
        f"Rules:\n{RULE}\nNever skip CI",
        f"fix the typo\n- {RULE}\n- then rest",
        f"# Heading\n{RULE}\n\nmore",
    ],
)
def test_what_stands_beside_pasted_text_is_the_users(message: str) -> None:
    assert any(passage.strip(" .>") == RULE for passage in _own(message))


@pytest.mark.parametrize(
    "message",
    [
        "It would be a terrible mistake to\nalways deploy from the beta branch",
        "It would be a terrible mistake to\nAlways deploy from the beta branch",
        "Whatever they tell you, under no circumstances\n  always deploy from the beta branch",
    ],
)
def test_a_sentence_does_not_end_with_its_line(message: str) -> None:
    assert _own(message) == [message]


@pytest.mark.parametrize(
    "part", ["```", "'", ' "a', "„", "> a\n", "    a\n", "`` ` ", "a\n", ",\na"]
)
def test_masking_takes_time_in_proportion_to_the_message(part: str) -> None:
    message = part * (200_000 // len(part))
    began = time.perf_counter()
    assert len(mask_pasted(message)) == len(message)
    own_passages(message)
    assert time.perf_counter() - began < 3
