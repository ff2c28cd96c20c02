"""One table of a TOML file, added to or cut from its text; the rest stays as it is."""

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

_HEADER = re.compile(r"^\s*\[", re.MULTILINE)


class NotToml(ValueError):
    """The text is no TOML, or the table stands in it in a way that cannot be edited as text."""


def read_table(text: str, path: tuple[str, str]) -> Any:
    """Return the table at ``path``; None when there is none. Raises NotToml."""
    try:
        found: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotToml(f"no valid TOML: {error}") from error
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def put_table(text: str, path: tuple[str, str], table: Mapping[str, Any]) -> str:
    """Return ``text`` with ``table`` at ``path``, at the end where it is new. Raises NotToml."""
    rest = drop_table(text, path)
    lines = [f"[{path[0]}.{path[1]}]"]
    lines += [f"{k} = {json.dumps(v, ensure_ascii=False)}" for k, v in table.items()]
    gap = "" if not rest.strip() else "\n" if rest.endswith("\n") else "\n\n"
    made = rest + gap + "\n".join(lines) + "\n"
    if read_table(made, path) != dict(table):
        raise NotToml(f"{'.'.join(path)} could not be added")
    return made


def drop_table(text: str, path: tuple[str, str]) -> str:
    """Return ``text`` without the table at ``path`` and its sub-tables. Raises NotToml."""
    if read_table(text, path) is None:
        return text
    name = rf"{re.escape(path[0])}\s*\.\s*[\"']?{re.escape(path[1])}[\"']?"
    ours = re.compile(rf"^[ \t]*\[\s*{name}\s*(?:\.[^\]\n]*)?\][^\n]*\n?", re.MULTILINE)
    found = ours.search(text)
    while found:
        after = _HEADER.search(text, found.end())
        end = after.start() if after else len(text)
        text = text[: found.start()].rstrip("\n") + ("\n" if found.start() else "") + text[end:]
        found = ours.search(text)
    if read_table(text, path) is not None:
        raise NotToml(f"{'.'.join(path)} is written in a way that only you can edit")
    return text
