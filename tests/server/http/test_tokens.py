"""Tokens: made once, kept as hashes, each naming a user; and the command line over them."""

import hashlib
import json
import os
import stat
import time
from pathlib import Path

import pytest

from keepthread.server.cli.main import main
from keepthread.server.http.tokens import TokenFault, TokenFile, user_database
from keepthread.validators.secrets import redact


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(str(tmp_path / "data" / "memory.db"))


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {
        "KEEPTHREAD_DB": str(tmp_path / "data" / "memory.db"),
        "KEEPTHREAD_CONFIG": str(tmp_path / "none.toml"),
    }


def test_a_token_finds_its_user_and_is_kept_as_a_hash(tokens: TokenFile, tmp_path: Path) -> None:
    made, secret = tokens.create("alice", "laptop", time.time)
    tokens.create("bob", "", time.time)
    assert tokens.find(secret) == made
    assert made.user == "alice"
    file = tmp_path / "data" / "tokens.json"
    assert secret not in file.read_text()
    assert hashlib.sha256(secret.encode()).hexdigest() in file.read_text()
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_what_is_no_token_finds_nobody(tokens: TokenFile) -> None:
    made, secret = tokens.create("alice", "", time.time)
    for given in ("", secret[:-1], secret + "x", secret.upper(), made.sha256, made.id, "\ud800"):
        assert tokens.find(given) is None


def test_a_revoked_token_is_gone_for_a_file_that_is_open_already(
    tokens: TokenFile, tmp_path: Path
) -> None:
    made, secret = tokens.create("alice", "", time.time)
    _, other = tokens.create("alice", "", time.time)
    serving = TokenFile(str(tmp_path / "data" / "memory.db"))
    assert serving.find(secret) == made
    assert tokens.revoke(made.id) == [made]
    assert serving.find(secret) is None
    assert not serving.holds(made)
    assert serving.find(other)
    tokens.revoke("alice")
    assert serving.all() == ()
    with pytest.raises(TokenFault, match="no token and no user"):
        tokens.revoke("alice")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "..",
        ".",
        "a/b",
        "a\\b",
        "Alice",
        "alice.",
        "-a",
        "a" * 33,
        "a\0b",
        "a b",
        "é",
        "../bob",
        "a\n",
    ],
)
def test_a_users_name_is_a_plain_name_of_a_folder(tokens: TokenFile, name: str) -> None:
    with pytest.raises(TokenFault):
        tokens.create(name, "", time.time)
    with pytest.raises(TokenFault):
        user_database("/data/memory.db", name)


def test_each_user_has_a_file_of_their_own() -> None:
    found = {user_database("/data/memory.db", name) for name in ("a", "b", "a.b", "a-b", "a_b")}
    assert len(found) == 5
    assert "/data/memory.db" not in found


def test_a_file_that_others_may_use_is_not_trusted(tokens: TokenFile, tmp_path: Path) -> None:
    _, secret = tokens.create("alice", "", time.time)
    (tmp_path / "data" / "tokens.json").chmod(0o644)
    with pytest.raises(TokenFault, match="chmod 600"):
        TokenFile(str(tmp_path / "data" / "memory.db")).find(secret)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1]",
        '[{"id": "x"}]',
        '[{"id":"x","user":"u","label":"","sha256":1,"created":""}]',
        '{"a": 1}',
        "null",
    ],
)
def test_a_damaged_file_lets_nobody_in_and_is_not_replaced(
    tokens: TokenFile, tmp_path: Path, text: str
) -> None:
    _, secret = tokens.create("alice", "", time.time)
    file = tmp_path / "data" / "tokens.json"
    file.write_text(text)
    with pytest.raises(TokenFault, match="cannot be read"):
        tokens.find(secret)
    with pytest.raises(TokenFault, match="cannot be read"):
        tokens.create("bob", "", time.time)
    assert file.read_text() == text


def test_the_command_line_shows_a_token_once(
    environ: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["token", "create", "alice", "--label", "laptop"], environ) == 0
    shown = capsys.readouterr()
    secret = shown.out.strip()
    assert TokenFile(environ["KEEPTHREAD_DB"]).find(secret)
    assert secret not in shown.err
    assert "shown this once" in shown.err
    assert main(["token", "list", "--json"], environ) == 0
    listed = capsys.readouterr().out
    (known,) = json.loads(listed)["tokens"]
    assert (known["user"], known["label"]) == ("alice", "laptop")
    assert secret not in listed
    assert hashlib.sha256(secret.encode()).hexdigest() not in listed
    assert main(["token", "revoke", known["id"]], environ) == 0
    assert main(["token", "list"], environ) == 0
    assert "no tokens" in capsys.readouterr().out
    assert main(["token", "revoke", known["id"]], environ) == 1


def test_a_token_never_reaches_the_archive(tokens: TokenFile) -> None:
    _, secret = tokens.create("alice", "", time.time)
    text, kinds = redact(f'"x-auth": "{secret}" and {secret} alone', b"k")
    assert secret not in text
    assert kinds == ("keepthread token",)
