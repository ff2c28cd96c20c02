import pytest

from keepthread.validators.values import is_code_name, is_question, parse_claim


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("the build is `make build-ci`", "quoted", "make build-ci"),
        ('it prints "not found"', "quoted", "not found"),
        ("see https://docs.acme.example/api.", "url", "https://docs.acme.example/api"),
        ("fixed in 3f2c1ab", "hash", "3f2c1ab"),
        ("src/app/main.py starts it", "path", "src/app/main.py"),
        ("it fails at app/main.py:41", "path", "app/main.py:41"),
        ("released on 2026-03-14", "date", "2026-03-14"),
        ("needs 3.11.4", "version", "3.11.4"),
        ("set prepare_threshold=None", "code", "prepare_threshold=None"),
        ("DEBUG is False", "code", "False"),
        ("the default is utf-8", "code", "utf-8"),
    ],
)
def test_values_of_every_kind_are_taken_from_a_claim(text: str, kind: str, found: str) -> None:
    assert (kind, found) in [(v.kind, v.text) for v in parse_claim(text).values]


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [
        ("takes five minutes", 300, "s"),
        ("takes 4m11s", 251, "s"),
        ("waits 300 ms", 0.3, "s"),
        ("holds 12 MB", 12e6, "B"),
        ("covers 87%", 87, "%"),
        ("has 1,234 rows", 1234, ""),
        ("has twenty-five rows", 25, ""),
    ],
)
def test_numbers_are_read_with_words_units_and_separators(
    text: str, number: float, unit: str
) -> None:
    (value,) = parse_claim(text).values
    assert value.number == pytest.approx(number)
    assert value.unit == unit


@pytest.mark.parametrize(
    ("text", "about"),
    [("about 4 minutes", "about"), ("over 80%", "over"), ("under 5 s", "under"), ("4 s", "")],
)
def test_a_rounded_number_is_known_as_such(text: str, about: str) -> None:
    assert parse_claim(text).values[0].about == about


def test_one_is_a_pronoun_unless_it_measures() -> None:
    assert parse_claim("this one is slow").values == ()
    assert parse_claim("it waits one minute").values[0].number == 60


@pytest.mark.parametrize(
    ("text", "name", "negated"),
    [
        ("it uses aio_pika instead of pika_client", "pika_client", True),
        ("it uses aio_pika instead of pika_client", "aio_pika", False),
        ("no module imports flask_login", "flask_login", True),
        ("never call drop_all in tests", "drop_all", False),
        ("drop_all must not be called", "drop_all", False),
    ],
)
def test_only_denied_mentions_are_negated_not_forbidden_ones(
    text: str, name: str, negated: bool
) -> None:
    assert (name in parse_claim(text).negated) is negated


@pytest.mark.parametrize(
    ("token", "is_code"),
    [("snake_case", True), ("camelCase", True), ("a.b", True), ("run()", True), ("--flag", True),
     ("table", False), ("Redis", False)],
)  # fmt: skip
def test_code_names_are_told_from_words(token: str, is_code: bool) -> None:
    assert is_code_name(token) is is_code


def test_a_question_is_known_by_its_mark() -> None:
    assert is_question('Is it "8080"?')
    assert not is_question("It is 8080.")
