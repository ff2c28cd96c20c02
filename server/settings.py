"""Settings: one frozen record, read here and nowhere else.

From the environment (``KEEPTHREAD_*``), then the user's ``keepthread.toml`` in the platform's
configuration folder, then the defaults. A workspace's own ``keepthread.toml`` sets no authority
and is not read for these.
"""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from keepthread.server.context.ranking import Weights
from keepthread.server.places import database_path, user_config_file


class SettingsError(Exception):
    """A setting has a wrong value; the message names it and its range."""


class Settings(NamedTuple):
    """All there is to set. Each is also ``KEEPTHREAD_NAME`` in the environment."""

    db: str
    workspace: str = ""  # NAME, DIR or NAME=DIR; "" finds the repository of the working directory
    embedder: str = ""  # "" the built-in model, "none", or a sentence-transformers name or path
    judge: str = "local"  # local | none | anthropic (needs ANTHROPIC_API_KEY and the extra)
    judge_model: str = "claude-haiku-4-5"
    token_safety: float = 1.0  # multiplies counts, for models whose tokenizer is not o200k_base
    writes_per_window: int = 60  # 0 = no limit
    writes_between_calls: int = 6
    relevance: float = 0.6
    recency: float = 0.25
    confidence: float = 0.15
    config: str = ""  # the user's keepthread.toml; "" is its usual place

    @property
    def trust_file(self) -> str:
        """Return where the approved hashes of workspaces' ``keepthread.toml`` are kept."""
        return os.path.join(os.path.dirname(self.db), "trusted.json")

    @property
    def weights(self) -> Weights:
        """Return the shares of a fact's rank."""
        return Weights(self.relevance, self.recency, self.confidence)


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Return the settings. Raises SettingsError, naming the setting, where a value is wrong."""
    given = {k: v for k, v in _file_settings(environ).items() if k != "commands"}
    if given.keys() & {"db", "config"}:
        raise SettingsError(
            "db and config cannot stand in keepthread.toml; set KEEPTHREAD_DB or KEEPTHREAD_CONFIG"
        )
    given |= {"db": database_path(environ), "config": user_config_file(environ)}
    for name in Settings._fields:
        value = environ.get(f"KEEPTHREAD_{name.upper()}")
        if value is not None and name not in ("db", "config"):
            given[name] = value
    unknown = sorted(set(given) - set(Settings._fields))
    if unknown:
        raise SettingsError(f"unknown setting {unknown[0]!r}; known: {', '.join(Settings._fields)}")
    return Settings(**{name: _typed(name, value) for name, value in given.items()})


def _file_settings(environ: Mapping[str, str]) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415  (17 ms, only where a file is there to read)

    name = user_config_file(environ)
    try:
        with open(name, "rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        return {}
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{name} is no valid TOML: {error}") from error


def _typed(name: str, value: Any) -> Any:
    kind = type(Settings._field_defaults.get(name, ""))
    try:
        found = kind(value)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"{name}={value!r} must be of type {kind.__name__}") from error
    if kind in (int, float) and found < 0:
        raise SettingsError(f"{name}={value!r} must not be negative")
    if name == "judge" and found not in ("local", "none", "anthropic"):
        raise SettingsError(f"judge={value!r} must be local, none or anthropic")
    if name == "token_safety" and not 0.5 <= found <= 3:
        raise SettingsError(f"token_safety={value!r} must be between 0.5 and 3")
    return found
