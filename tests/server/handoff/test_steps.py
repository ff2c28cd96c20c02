"""What counts as the command that a call ran."""

import json
from typing import Any

import pytest

from keepthread.server.handoff.steps import command_of
from keepthread.stores.records import Entry


def call(tool: str, **arguments: Any) -> Entry:
    defaults = dict.fromkeys(Entry._fields, "")
    return Entry(**{**defaults, "tool": tool, "args": json.dumps(arguments)})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tool", "arguments", "command"),
    [
        ("Bash", {"command": "make test"}, "make test"),
        ("shell", {"command": ["bash", "-lc", "make"]}, "bash -lc make"),
        ("bash", {"command": "bash build.sh"}, "bash build.sh"),
        ("git", {"command": "git status"}, "git status"),
        ("editor", {"command": "create", "path": "a.py"}, ""),
        ("create", {"command": "create a.py"}, ""),
        ("edit", {"command": "edit 'old' 'new'"}, ""),
        ("create", {"command": "touch a.py"}, "touch a.py"),
        ("submit", {"command": "submit"}, ""),
        ("Read", {"file_path": "a.py"}, ""),
    ],
)
def test_a_call_ran_a_command_unless_an_editor_names_its_verb_there(
    tool: str, arguments: dict[str, Any], command: str
) -> None:
    assert command_of(call(tool, **arguments)) == command
