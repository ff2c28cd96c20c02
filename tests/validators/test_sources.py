import pytest

from keepthread.validators.sources import Source
from tests.validators.grounding_pairs import read, said, shell


@pytest.mark.parametrize(
    ("command", "output", "kept"),
    [
        ("echo done; wc -l a.py", "done\n41 a.py\n", "41 a.py"),
        ("printf '%s ok' 12", "12 ok", ""),
        ("cat <<EOF\nport: 1\nEOF", "port: 1", ""),
        ("python -c 'print(40 + 2)'", "42", "42"),
        ("ls -la /srv", "ls -la /srv\nfile.txt", "file.txt"),
        ("grep -rn retries src", "src/a.py:3: retries = 4", "src/a.py:3: retries = 4"),
    ],
)
def test_output_that_repeats_the_command_is_blanked(command: str, output: str, kept: str) -> None:
    source = Source(shell(command, output))
    assert source.text.strip() == kept
    assert len(source.text) == len(output)


def test_offsets_survive_letters_whose_lower_case_is_longer() -> None:
    source = Source(read("names.txt", "İİİ port 8080"))
    (at,) = source.find("8080")
    assert source.text[at : at + 4] == "8080"


def test_questions_of_a_user_are_blanked_and_requests_are_not() -> None:
    text = Source(said("Is the port 8080? Can you use tabs?")).text
    assert "8080" not in text
    assert "tabs" in text


@pytest.mark.parametrize(
    ("needle", "text", "found"),
    [
        ("60", "timeout 600", False),
        ("60", "timeout 60s", False),
        ("60", "timeout 60,", True),
        ("make build", "run: make build-ci", False),
        ("port", "report", False),
        ("port", "a port.", True),
    ],
)
def test_a_token_inside_a_longer_one_is_not_found(needle: str, text: str, found: bool) -> None:
    assert bool(Source(read("a.txt", text)).find(needle)) is found


@pytest.mark.parametrize(
    ("stem", "text"),
    [("retri", "max_retries"), ("pool", "ConnectionPool"), ("param", "two parameters")],
)
def test_words_are_found_by_stem_within_identifiers(stem: str, text: str) -> None:
    assert Source(read("a.txt", text)).find_word(stem) >= 0
