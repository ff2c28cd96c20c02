"""Settings come from the environment, then the user's file, then the defaults."""

import sys
from pathlib import Path

import pytest

from keepthread.server.places import user_config_file
from keepthread.server.settings import Settings, SettingsError, read_settings


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Every platform's configuration folder inside tmp_path."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    return {"XDG_CONFIG_HOME": str(tmp_path), "APPDATA": str(tmp_path)}


def write_file(environ: dict[str, str], text: str) -> None:
    """Write the user's keepthread.toml."""
    file = Path(user_config_file(environ))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def test_without_a_file_the_defaults_hold(environ: dict[str, str]) -> None:
    found = read_settings(environ)
    assert found == Settings(found.db, config=user_config_file(environ))
    assert Path(found.db).is_absolute()


def test_the_environment_wins_over_the_file(environ: dict[str, str]) -> None:
    write_file(environ, 'judge = "none"\nwrites_per_window = 7\n')
    found = read_settings({**environ, "KEEPTHREAD_JUDGE": "local"})
    assert (found.judge, found.writes_per_window) == ("local", 7)


def test_the_database_cannot_be_named_in_the_file_that_hooks_do_not_read(
    environ: dict[str, str],
) -> None:
    write_file(environ, 'db = "/elsewhere/memory.db"\n')
    with pytest.raises(SettingsError, match="KEEPTHREAD_DB"):
        read_settings(environ)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("colour = 1", "colour"),
        ('judge = "oracle"', "judge"),
        ("token_safety = 9.0", "token_safety"),
        ("recency = -1.0", "recency"),
        ('writes_per_window = "many"', "writes_per_window"),
        ("judge = ", "TOML"),
    ],
)
def test_a_wrong_value_is_named(environ: dict[str, str], text: str, named: str) -> None:
    write_file(environ, text)
    with pytest.raises(SettingsError, match=named):
        read_settings(environ)


def test_the_users_file_lies_where_the_platform_keeps_configuration() -> None:
    found = user_config_file({"XDG_CONFIG_HOME": "/c", "APPDATA": "/c"})
    if sys.platform != "darwin":
        assert found == str(Path("/c/keepthread/keepthread.toml"))
    assert found.endswith("keepthread.toml")
