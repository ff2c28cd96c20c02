"""One table of a TOML file, edited in its text; the rest stays as it is."""

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

Path = tuple[str, ...]

_HEADER = re.compile(r"^\s*\[", re.MULTILINE)
_STRING = r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\''
_VALUE = rf'(?:{_STRING}|\[(?:[^\[\]"\'#]|{_STRING})*\])[^\n]*\n?'


class NotToml(ValueError):
    """The text is no TOML, or the table stands in it in a way that cannot be edited as text."""


def read_table(text: str, path: Path) -> Any:
    """Return the table at ``path``; None when there is none. Raises NotToml."""
    found: Any = _parse(text)
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def put_table(text: str, path: Path, table: Mapping[str, Any]) -> str:
    """Return ``text`` with ``table`` at ``path``, at the end where it is new. Raises NotToml."""
    rest = drop_table(text, path)
    lines = [f"[{'.'.join(path)}]", *(_line(key, value) for key, value in table.items())]
    gap = "" if not rest.strip() else "\n" if rest.endswith("\n") else "\n\n"
    made = rest + gap + "\n".join(lines) + "\n"
    wanted = _parse(rest)
    _at(wanted, path[:-1])[path[-1]] = dict(table)
    return _edited(made, wanted, path)


def set_values(text: str, path: Path, values: Mapping[str, Any]) -> str:
    """Return ``text`` with strings and arrays of strings of the table at ``path`` set, all else as it is.

    Raises NotToml.
    """
    wanted = _parse(text)
    _at(wanted, path).update(values)
    header = re.search(rf"^[ \t]*\[\s*{_name(path)}\s*\][^\n]*\n?", text, re.MULTILINE)
    if header is None:
        raise _uneditable(path)
    after = _HEADER.search(text, header.end())
    end = after.start() if after else len(text)
    inside = text[header.end() : end]
    for key, value in values.items():
        line = _line(key, value) + "\n"
        found = re.search(rf"^[ \t]*{re.escape(key)}[ \t]*=[ \t]*{_VALUE}", inside, re.MULTILINE)
        start, stop = found.span() if found else (0, 0)
        inside = inside[:start] + line + inside[stop:]
    return _edited(text[: header.end()] + inside + text[end:], wanted, path)


def drop_table(text: str, path: Path) -> str:
    """Return ``text`` without the table at ``path`` and its sub-tables. Raises NotToml."""
    if read_table(text, path) is None:
        return text
    ours = re.compile(rf"^[ \t]*\[\s*{_name(path)}\s*(?:\.[^\]\n]*)?\][^\n]*\n?", re.MULTILINE)
    found = ours.search(text)
    while found:
        after = _HEADER.search(text, found.end())
        end = after.start() if after else len(text)
        text = text[: found.start()].rstrip("\n") + ("\n" if found.start() else "") + text[end:]
        found = ours.search(text)
    if read_table(text, path) is not None:
        raise _uneditable(path)
    return text


def _edited(made: str, wanted: Mapping[str, Any], path: Path) -> str:
    """Return what was made if it says what was wanted, and nothing else. Raises NotToml."""
    try:
        same = tomllib.loads(made) == wanted
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        raise _uneditable(path)
    return made


def _uneditable(path: Path) -> NotToml:
    return NotToml(f"{'.'.join(path)} is written in a way that only you can edit")


def _parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotToml(f"no valid TOML: {error}") from error


def _at(tables: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the table at ``path``, made where it is missing. Raises NotToml where something else is."""
    for key in path:
        tables = tables.setdefault(key, {})
        if not isinstance(tables, dict):
            raise _uneditable(path)
    return tables


def _name(path: Path) -> str:
    return r"\s*\.\s*".join(rf"[\"']?{re.escape(key)}[\"']?" for key in path)


def _line(key: str, value: Any) -> str:
    return f"{key} = {json.dumps(value, ensure_ascii=False)}"
