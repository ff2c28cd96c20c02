"""How clients are told to start us: this very installation, by an absolute path."""

import ast
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from keepthread.stores.launch import Launch, command_line, find_launch

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = (
    "init", "doctor", "status", "remember", "task", "trust", "confirm", "verify", "reindex", "import", "token create",
    "search", "show", "context",
)  # fmt: skip
FROM = {
    "index": (None, ("keepthread",)),
    "wheel": ({"url": "file:///a/k.whl", "archive_info": {}}, ("--from", "file:///a/k.whl", "keepthread")),
    "git": (
        {"url": "https://example.com/k", "vcs_info": {"vcs": "git", "commit_id": "1f2e"}},
        ("--from", "git+https://example.com/k@1f2e", "keepthread"),
    ),
}  # fmt: skip


class Distribution:
    """An installed distribution, as far as it says where it came from."""

    def __init__(self, noted: Any) -> None:
        self.noted = noted

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return json.dumps(self.noted) if self.noted else None


@pytest.mark.parametrize("origin", FROM)
def test_from_an_environment_of_uvx_it_is_uvx_with_the_same_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: str
) -> None:
    noted, words = FROM[origin]
    monkeypatch.setattr(sys, "executable", str(tmp_path / "archive-v0/x/bin/python"))
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Distribution(noted))
    uvx = tmp_path / "a b/uvx"
    uvx.parent.mkdir()
    uvx.touch(0o755)
    assert find_launch({"PATH": str(uvx.parent)}) == Launch(str(uvx), words)


def test_from_an_installation_it_is_its_script_else_its_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "für mich/bin/python"
    python.parent.mkdir(parents=True)
    monkeypatch.setattr(sys, "executable", str(python))
    assert find_launch({}) == Launch(str(python), ("-m", "keepthread"))
    script = python.parent / "keepthread"
    script.touch(0o755)
    assert find_launch({}) == Launch(str(script))
    assert os.path.isabs(find_launch({}).command)


def test_a_hint_is_bare_only_where_a_shell_finds_this_very_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "für mich/bin/keepthread"
    script.parent.mkdir(parents=True)
    script.touch(0o755)
    monkeypatch.setattr(sys, "executable", str(script.with_name("python")))
    monkeypatch.setenv("PATH", "/usr/bin")
    assert command_line("init", "--yes") == f"'{script}' init --yes"
    (tmp_path / "bin").mkdir()
    link = tmp_path / "bin/keepthread"
    link.symlink_to(script)
    monkeypatch.setenv("PATH", f"{link.parent}:/usr/bin")
    assert command_line("remember", "two words") == "keepthread remember 'two words'"
    link.unlink()
    link.touch(0o755)  # another installation of that name
    assert command_line("doctor") == f"'{script}' doctor"


def test_no_message_names_a_command_that_may_not_be_found() -> None:
    """What a message tells people to run comes from command_line; docstrings are for readers of the code."""
    words = re.compile(r"\bkeepthread (?:" + "|".join(COMMANDS) + r")\b(?!:)")
    folders = [ROOT / name for name in ("server", "stores", "validators")]
    found = []
    for file in (f for folder in folders for f in folder.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        statements = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
        texts = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in statements]
        found += [f"{file.name}:{n.lineno}" for n in texts if words.search(str(n.value))]
    assert found == []
