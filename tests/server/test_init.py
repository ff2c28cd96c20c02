"""The first five minutes: what `keepthread init` finds, asks, offers and undoes, at a terminal and in scripts."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from keepthread.server.cli.main import main
from keepthread.stores.launch import command_line, find_launch
from tests.server.capture.hooks import FIXTURES, archived
from tests.server.terminal import at_terminal, environment

RULES = {"CLAUDE.md", "AGENTS.md", "GEMINI.md", ".cursor/rules/keepthread.mdc"}


class Machine:
    """A home with clients in it, and a repository; all with spaces and letters beyond ASCII."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "hôme of me"
        self.project = self.home / "pro jékt"
        (self.project / ".git").mkdir(parents=True)
        self.environ = environment(self.home)

    def has(self, *folders: str) -> None:
        for folder in folders:
            (self.home / folder).mkdir(parents=True)

    def desktop(self, **servers: Any) -> Path:
        """Give Claude Desktop servers of its own; return its file."""
        file = self.home / ".config/Claude/claude_desktop_config.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
        return file

    def files(self) -> dict[str, bytes]:
        return {
            str(p.relative_to(self.home)): p.read_bytes()
            for p in self.home.rglob("*")
            if p.is_file()
        }

    def run(self, *arguments: str) -> int:
        """Run in this process, without a terminal."""
        return main(arguments, self.environ)

    def typed(self, answers: str, *arguments: str) -> str:
        """Run at a terminal, where ``answers`` are typed; return what it showed."""
        status, shown = at_terminal(arguments, answers, self.project, self.environ)
        assert status == 0, shown
        return shown


GIT = {"command": "uvx", "args": ["mcp-server-git", "--repository", "/a b"], "env": {"A": "b"}}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    monkeypatch.chdir(made.project)
    return made


def test_at_a_terminal_changes_are_shown_then_asked_for_and_no_changes_nothing(
    machine: Machine,
) -> None:
    machine.has(".gemini", ".claude")
    before = machine.files()
    shown = machine.typed("n\n", "init")
    assert "would write" in shown and "Make these changes? [Y/n]" in shown
    assert "Nothing was changed." in shown and machine.files() == before


def test_at_a_terminal_return_connects_and_keeps_the_rules_as_they_are(machine: Machine) -> None:
    machine.has(".gemini")
    shown = machine.typed("\n\n", "init")
    assert "Write them? [y/N]" in shown and "to try: start `gemini`" in shown
    assert (machine.home / ".gemini/settings.json").exists()
    assert not RULES & {p.name for p in machine.project.iterdir()}
    assert "Make these changes?" not in machine.typed("\n", "init")


def test_the_end_of_the_input_is_a_no(machine: Machine) -> None:
    machine.has(".gemini")
    assert "Nothing was changed." in machine.typed("\x04", "init")


def test_everything_at_once_and_everything_undone(machine: Machine) -> None:
    machine.has(".gemini", ".claude", ".codex", ".cursor")
    machine.desktop(git=GIT)
    (machine.project / "CLAUDE.md").write_bytes(b"# Mine\r\nno line end")
    before = machine.files()
    shown = machine.typed("y\ny\ny\n", "init")
    assert "Claude Desktop has servers of its own: git" in shown
    assert "relayed, so their calls are captured: git" in shown
    after = machine.files()
    assert {str(p) for p in RULES} <= {n.removeprefix("pro jékt/") for n in after}
    assert machine.run("init", "--yes") == 0
    assert machine.files() == after
    assert machine.run("init", "--remove") == 0
    assert machine.files() == before


def test_without_a_terminal_and_unasked_it_shows_the_plan_and_writes_nothing(
    machine: Machine,
) -> None:
    machine.has(".gemini")
    file = machine.desktop(git=GIT)
    before = machine.files()
    ran = subprocess.run(
        [sys.executable, "-m", "keepthread.server", "init"],
        env=machine.environ, cwd=machine.project, stdin=subprocess.PIPE, capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ran.returncode == 2 and machine.files() == before
    assert f"would change {file} (the old one is kept as {file}.before-keepthread)\n" in ran.stdout
    assert f"{find_launch({}).line('init', '--client', 'claude-desktop', '--wrap')}\n" in ran.stdout
    assert f"{find_launch({}).line('init', '--lines')}\n" in ran.stdout
    said = "Nothing was written: run it at a terminal, or with --yes: "
    assert said + find_launch({}).line("init", "--yes") in ran.stderr


def test_without_a_terminal_a_client_that_is_named_is_connected_and_nothing_else(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.has(".gemini")
    file = machine.desktop(git=GIT)
    assert machine.run("init", "--client", "claude-desktop") == 0
    servers = json.loads(file.read_text(encoding="utf-8"))["mcpServers"]
    assert servers["git"] == GIT and os.path.isabs(servers["keepthread"]["command"])
    assert not (machine.home / ".gemini/settings.json").exists()
    assert machine.run("init", "--client", "claude-desktop", "--client", "gemini", "--yes") == 0
    capsys.readouterr()
    assert machine.run("init") == 0  # there is nothing to agree to
    assert "Nothing was written" not in capsys.readouterr().err


def test_what_was_written_is_said_file_by_file_with_the_old_one(machine: Machine) -> None:
    machine.has(".gemini")
    file = machine.desktop(git=GIT)
    shown = machine.typed("y\nn\nn\n", "init").partition("Make these changes?")[2]
    assert f"  changed {file} (the old one is kept as {file}.before-keepthread)\n" in shown
    assert f"  wrote {machine.home / '.gemini/settings.json'}\n" in shown


def test_a_removal_says_where_the_memory_stays_and_how_to_delete_it(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.has(".gemini")
    machine.environ["XDG_DATA_HOME"] = str(machine.home / "my data")
    assert machine.run("init", "--yes") == 0
    assert machine.run("init", "--remove") == 0
    assert "memory itself" not in capsys.readouterr().out
    folder = machine.home / "my data/keepthread"
    folder.mkdir(parents=True)
    (folder / "memory.db").touch()
    assert machine.run("init", "--remove") == 0
    assert f"every project: {folder / 'memory.db'}\n" in (said := capsys.readouterr().out)
    assert shlex.split(said.rpartition("undone: ")[2]) == ["rm", "-r", str(folder)]
    other = machine.home / "o t/my.db"
    other.parent.mkdir()
    other.touch()
    other.with_name("my.db.key").touch()
    machine.environ["KEEPTHREAD_DB"] = str(other)
    assert machine.run("init", "--remove") == 0
    said = capsys.readouterr().out.rpartition("undone: ")[2]
    assert shlex.split(said) == ["rm", str(other), f"{other}.key"]


def test_yes_takes_every_offer_but_what_an_option_declines(machine: Machine) -> None:
    machine.has(".gemini")
    file = machine.desktop(git=GIT)
    assert machine.run("init", "--yes", "--no-lines") == 0
    assert not (machine.project / "GEMINI.md").exists()
    servers = json.loads(file.read_text(encoding="utf-8"))["mcpServers"]
    args = servers["git"]["args"]
    assert args[args.index("relay") :] == [
        "relay", "--workspace", str(machine.project), "--name", "git", "--",
        "uvx", "mcp-server-git", "--repository", "/a b",
    ]  # fmt: skip
    assert servers["git"]["env"] == GIT["env"]


def test_a_dry_run_asks_and_changes_nothing_whatever_is_wanted(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.has(".gemini")
    machine.desktop(git=GIT)
    before = machine.files()
    shown = machine.typed("", "init", "--dry-run")
    assert "[Y/n]" not in shown and "[y/N]" not in shown
    assert machine.run("init", "--dry-run", "--yes", "--lines", "--wrap") == 0
    assert machine.run("init", "--dry-run", "--remove") == 0
    assert machine.files() == before


def test_a_second_project_does_not_move_claude_desktop_unless_it_is_named(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = machine.desktop()
    before = machine.files()
    assert machine.run("init", "--yes") == 0
    first = file.read_text(encoding="utf-8")
    other = machine.home / "other"
    (other / ".git").mkdir(parents=True)
    monkeypatch.chdir(other)
    assert machine.run("init", "--yes", "--no-lines") == 0
    assert file.read_text(encoding="utf-8") == first
    assert f"works on: {machine.project}" in capsys.readouterr().out
    assert machine.run("init", "--client", "claude-desktop") == 0
    assert str(other) in file.read_text(encoding="utf-8")
    monkeypatch.chdir(machine.project)
    assert machine.run("init", "--remove") == 0
    assert machine.files() == before


def test_a_client_without_capture_is_told_so_honestly(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.desktop()
    machine.has(".config/Code/User")
    assert machine.run("init", "--yes") == 0
    said = capsys.readouterr().out
    assert said.count("this client has no capture") == 2
    bound = command_line("init", "--client", "vscode", "--workspace", str(machine.project))
    assert f"to bind it to this project: {bound}" in said
    assert command_line("init", "--client", "vscode", "--wrap") in said


def test_rules_that_cannot_be_read_are_left_and_said_so(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.has(".gemini", ".claude")
    (machine.project / "CLAUDE.md").write_bytes("größer".encode("latin-1"))
    assert machine.run("init", "--yes") == 0
    assert machine.run("init", "--remove") == 0
    assert capsys.readouterr().err.count("The project's rules: not changed:") == 2
    assert {n for n in machine.files()} == {"pro jékt/CLAUDE.md"}


def test_a_plugin_needs_no_file_of_ours_whatever_is_in_them(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.has(".claude")
    settings = {"enabledPlugins": {"keepthread@keepthread": True}}
    (machine.home / ".claude/settings.json").write_text(json.dumps(settings), encoding="utf-8")
    (machine.home / ".claude.json").write_text("{", encoding="utf-8")
    before = machine.files()
    assert machine.run("init") == 0
    assert "the plugin is enabled: nothing to do" in capsys.readouterr().out
    assert machine.files() == before


def past_session(machine: Machine) -> None:
    """Give Claude Code a session of this repository, as it kept it."""
    kept = FIXTURES.parent / "sessions/claude-code-2.1.332.jsonl"
    folder = machine.home / ".claude/projects/-any"
    folder.mkdir(parents=True)
    text = kept.read_text("utf-8").replace("/w/app", str(machine.project))
    (folder / "5e0b1c1e.jsonl").write_text(text, encoding="utf-8")


def test_past_sessions_are_counted_offered_imported_once_and_searched_at_once(
    machine: Machine,
) -> None:
    past_session(machine)
    shown = machine.typed("\ny\nn\n", "init")
    assert "Found 1 past session of this repository" in shown and "Import it? [Y/n]" in shown
    db = machine.home / ".local/share/keepthread/memory.db"
    found = archived(str(db))
    assert found and {entry.channel for entry in found} == {"import"}
    command = json.loads(next(e.args for e in found if e.tool == "Bash"))["command"]
    assert "call-" in machine.typed("", "search", command)
    assert "past session" not in machine.typed("n\n", "init")
    assert len(archived(str(db))) == len(found)


def test_past_sessions_are_not_imported_unasked(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    past_session(machine)
    assert machine.run("init") == 2
    assert command_line("import", "--sessions") in capsys.readouterr().out
    assert machine.run("init", "--yes", "--no-sessions") == 0
    assert machine.run("init", "--dry-run", "--sessions") == 0
    assert not list(machine.home.rglob("memory.db"))


def test_no_rules_are_offered_outside_a_repository(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.has(".gemini")
    monkeypatch.chdir(machine.home)
    assert machine.run("init", "--yes") == 0
    assert "Three lines" not in capsys.readouterr().out
    assert not (machine.home / "GEMINI.md").exists()
