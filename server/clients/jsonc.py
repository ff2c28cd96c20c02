"""JSON with comments, edited as text: what is not edited stays as it is, byte for byte.

Clients' settings are written by people. Comments, order, indentation and trailing commas are theirs.
"""

import json
import re
from typing import Any, NamedTuple

Path = tuple[str, ...]

_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*[\s\S]*?\*/)*")
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_ATOM = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_REST_OF_LINE = re.compile(r"[ \t]*//[^\n]*")
_GAP = re.compile(r"//[^\n]*|/\*[\s\S]*?\*/|,|[^/,]+|/")
_DEPTH_MAX = 100


class NotJson(ValueError):
    """The text is no JSON, with or without comments; says in which line."""


class Member(NamedTuple):
    """One member of an object (``key`` a name) or array (``key`` its index), from ``start`` on."""

    key: str | int
    start: int
    node: "Node"


class Node(NamedTuple):
    """A value with its place in the text, ``start`` to ``end``."""

    value: Any
    start: int
    end: int
    members: tuple[Member, ...] = ()

    def get(self, key: str) -> "Node | None":
        """Return the value of an object's member; the last one where a name stands twice."""
        return next((m.node for m in reversed(self.members) if m.key == key), None)


def parse(text: str) -> Node:
    """Return the tree of ``text``; an empty text is an empty object. Raises NotJson."""
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    if start == len(text):
        return Node({}, start, start)
    node = _value(text, start, 0)
    if _skip(text, node.end) != len(text):
        raise _fault(text, node.end)
    return node


def find(text: str, path: Path) -> Any:
    """Return the value at ``path``; None when there is none."""
    node: Node | None = parse(text)
    for key in path:
        node = node.get(key) if node is not None else None
    return None if node is None else node.value


def put(text: str, path: Path, value: Any) -> str:
    """Return ``text`` with ``value`` at ``path``; objects on the way are made. Raises NotJson."""
    node = parse(text)
    if node.start == node.end:
        text, node = "{}\n", Node({}, 0, 2)
    for depth, key in enumerate(path):
        _require(isinstance(node.value, dict), path[:depth])
        found = node.get(key)
        if found is None:
            for inner in reversed(path[depth + 1 :]):
                value = {inner: value}
            return _insert(text, node, f"{json.dumps(key, ensure_ascii=False)}: ", value)
        node = found
    return text[: node.start] + _render(text, node.start, value) + text[node.end :]


def append(text: str, path: Path, value: Any) -> str:
    """Return ``text`` with ``value`` as the last element of the array at ``path``, made if missing."""
    node: Node | None = parse(text)
    for key in path:
        node = node.get(key) if node is not None else None
    if node is None:
        return put(text, path, [value])
    _require(isinstance(node.value, list), path)
    return _insert(text, node, "", value)


def drop(text: str, path: tuple[str | int, ...]) -> str:
    """Return ``text`` without the member at ``path``, and without what would be left empty above it."""
    chain = [parse(text)]
    for key in path:
        member = next((m for m in chain[-1].members if m.key == key), None)
        if member is None:
            return text
        chain.append(member.node)
    depth = len(path) - 1
    while depth > 0 and len(chain[depth].members) == 1:
        depth -= 1
    return _cut(text, chain[depth], path[depth])


def _cut(text: str, parent: Node, key: str | int) -> str:
    place = next(n for n, m in enumerate(parent.members) if m.key == key)
    member = parent.members[place]
    if place > 0:
        before = parent.members[place - 1].node.end
        gap = "".join(t for t in _GAP.findall(text[before : member.start]) if t != ",")
        return text[:before] + gap.rstrip() + text[member.node.end :]
    if len(parent.members) > 1:
        return text[: member.start] + text[parent.members[1].start :]
    return text[: parent.start + 1] + text[parent.end - 1 :]


def _insert(text: str, parent: Node, label: str, value: Any) -> str:
    line, indent, unit = _style(text, parent.start)
    one_line = bool(parent.members) and "\n" not in text[parent.start : parent.end]
    item = label + (
        json.dumps(value, ensure_ascii=False)
        if one_line
        else _render(text, parent.start, value, deeper=True)
    )
    if not parent.members:
        inside = text[parent.start + 1 : parent.end - 1].rstrip()
        filled = f"{inside}{line}{indent}{unit}{item}{line}{indent}"
        return text[: parent.start + 1] + filled + text[parent.end - 1 :]
    last = parent.members[-1].node.end
    gap = text[last : _skip(text, last)]
    if text[last + len(gap)] == ",":  # a trailing comma is there already
        at, comma = last + len(gap) + 1, ""
    else:
        at, comma = last, ","
    note = _REST_OF_LINE.match(text, at)
    note_text = note.group() if note else ""
    lead = " " if one_line else f"{line}{indent}{unit}"
    return text[:at] + comma + note_text + lead + item + text[at + len(note_text) :]


def _render(text: str, at: int, value: Any, *, deeper: bool = False) -> str:
    line, indent, unit = _style(text, at)
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return f"{line}{indent}{unit if deeper else ''}".join(lines)


def _style(text: str, at: int) -> tuple[str, str, str]:
    """Return (line break, indentation of the line at ``at``, one step of indentation)."""
    start = text.rfind("\n", 0, at) + 1
    here = re.match(r"[ \t]*", text[start:at])
    step = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return (
        "\r\n" if "\r\n" in text else "\n",
        here.group() if here else "",
        step.group(1) if step else "  ",
    )


def _require(holds: bool, path: Path) -> None:
    if not holds:
        raise NotJson(f"{'.'.join(path) or 'the whole'} is of another type than expected")


def _value(text: str, at: int, depth: int) -> Node:
    if depth > _DEPTH_MAX:
        raise NotJson("nested too deeply")
    if text[at : at + 1] in ("{", "["):
        return _container(text, at, depth)
    found = _STRING.match(text, at) or _ATOM.match(text, at)
    if not found:
        raise _fault(text, at)
    try:
        return Node(json.loads(found.group()), at, found.end())
    except ValueError:
        raise _fault(text, at) from None


def _container(text: str, start: int, depth: int) -> Node:
    named = text[start] == "{"
    closing = "}" if named else "]"
    members: list[Member] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != closing:
        first, key = at, len(members)
        label: str | int = key
        if named:
            name = _STRING.match(text, at)
            at = _skip(text, name.end()) if name else at
            if not name or text[at : at + 1] != ":":
                raise _fault(text, at)
            label, at = json.loads(name.group()), _skip(text, at + 1)
        node = _value(text, at, depth + 1)
        members.append(Member(label, first, node))
        at = _skip(text, node.end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != closing:
            raise _fault(text, at)
    value: Any = (
        {m.key: m.node.value for m in members} if named else [m.node.value for m in members]
    )
    return Node(value, start, at + 1, tuple(members))


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _fault(text: str, at: int) -> NotJson:
    return NotJson(f"no valid JSON in line {text.count(chr(10), 0, at) + 1}")
