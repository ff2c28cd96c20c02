"""A value that was redacted once is known wherever it comes back, in whatever words."""

import time
from pathlib import Path

import pytest

from keepthread.stores.database import open_database
from keepthread.stores.query import fetch_all
from keepthread.validators.known_secrets import KnownSecrets, looks_unique
from keepthread.validators.secrets import redact

KEY = bytes(32)


@pytest.fixture
def known(tmp_path: Path) -> KnownSecrets:
    return KnownSecrets(open_database(str(tmp_path / "m.db"), "trusted"), KEY)


@pytest.mark.parametrize(
    "text",
    [
        "Deploy with password hunter2horse",
        "Log in as app:hunter2horse@db.internal.",
        'the value is "hunter2horse"!',
        "hunter2horse, then restart",
        "PGPASSWORD=hunter2horse psql",
        "https://app.example/?next=/&k=hunter2horse#top",
        "**hunter2horse**",
    ],
)
def test_a_redacted_value_is_redacted_wherever_it_comes_back(
    known: KnownSecrets, text: str
) -> None:
    first, _ = redact("DB_PASSWORD=hunter2horse", KEY, known)
    again, kinds = redact(text, KEY, known)
    assert "hunter2horse" not in again and kinds == ("password",)
    assert first.partition("=")[2] in again  # the same mark: equal secrets stay recognisable
    assert redact(again, KEY, known) == (again, ())


@pytest.mark.parametrize(
    "text", ["hunter2horses run", "the hunter2 horse", "hunter2-horse", "Hunter2Horse"]
)
def test_what_only_resembles_it_stays(known: KnownSecrets, text: str) -> None:
    redact("DB_PASSWORD=hunter2horse", KEY, known)
    assert redact(text, KEY, known) == (text, ())


@pytest.mark.parametrize(
    "value",
    [
        "password", "test", "postgres", "changeme", "admin1234", "secret-token", "my-app-v2", "x1y2z3",
        "src/main2.py", "correcthorsebattery", "2026-12-01", "12345678", "uvicorn0.30.1", "localhost:5432",
    ],
)  # fmt: skip
def test_common_values_are_never_kept_and_damage_no_clean_text(
    known: KnownSecrets, value: str
) -> None:
    redact(f'password: "{value}"', KEY, known)
    assert not looks_unique(value)
    clean = f"see {value} in the docs; {value} is the default"
    assert redact(clean, KEY, known) == (clean, ())


def test_a_mark_at_the_end_may_belong_to_the_value(known: KnownSecrets) -> None:
    redact("DB_PASSWORD=S3cure-Horse9!", KEY, known)
    assert "S3cure" not in redact("use S3cure-Horse9! for now", KEY, known)[0]


def test_a_key_of_many_lines_is_known_by_each_of_its_lines(known: KnownSecrets) -> None:
    line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
    redact(f"-----BEGIN PRIVATE KEY-----\n{line}\n-----END PRIVATE KEY-----", KEY, known)
    assert line not in redact(f"the key begins with {line}", KEY, known)[0]


def test_the_database_holds_hashes_only_and_another_key_finds_nothing(tmp_path: Path) -> None:
    connection = open_database(str(tmp_path / "m.db"), "trusted")
    redact("DB_PASSWORD=hunter2horse", KEY, KnownSecrets(connection, KEY))
    [(size, digest, kind)] = fetch_all(connection, "SELECT * FROM redacted")
    assert (size, kind, len(digest)) == (12, "password", 16)
    assert KnownSecrets(connection, b"x" * 32).find("hunter2horse") == []
    assert [s.kind for s in KnownSecrets(connection, KEY).find("hunter2horse")] == ["password"]
    connection.close()
    assert b"hunter2horse" not in (tmp_path / "m.db").read_bytes()


def test_a_long_text_is_looked_through_in_linear_time(known: KnownSecrets) -> None:
    for n in range(200):
        known.add("password", f"q7{n:03}w" * (2 + n % 30))

    def cost(size: int) -> float:
        text = " ".join(f"q7{n:03}w{n}x=4{n}zz" for n in range(size))
        start = time.process_time()
        known.find(text)
        return time.process_time() - start

    cost(1_000)
    assert cost(40_000) < 25 * max(cost(4_000), 0.004)
