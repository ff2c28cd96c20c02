"""Shell calls and edits that would touch the memory behind its channels are refused; others are not."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from keepthread.server.capture.guard import protected, refusal

HOME = "/home/dev"
KEPT = protected({"HOME": HOME, "KEEPTHREAD_DB": f"{HOME}/.local/share/keepthread/memory.db",
                  "XDG_CONFIG_HOME": f"{HOME}/.config", "CLAUDE_PLUGIN_ROOT": "/opt/kt"})  # fmt: skip


@pytest.mark.parametrize(
    "command",
    [
        f"sqlite3 {HOME}/.local/share/keepthread/memory.db 'delete from fact'",
        "sqlite3 ~/.local/share/keepthread/memory.db .dump",
        'cat "$HOME"/.local/share/keepthread/memory.db.key',
        "cp ${HOME}/.local//share/./keepthread/memory.db-wal /tmp",
        "cd ~/.local/share && rm -r keepthread/memory.db",
        "rm -rf ~/.local/share/keepthread",
        "cat ~/.local/share/keep'thr'ead/memory.db.anchor",
        "echo 'commands = {}' > ~/.config/keepthread/keepthread.toml",
        "sed -i s/keepthread/true/ ~/.claude/settings.json",
        "jq 'del(.hooks)' .claude/settings.local.json > x && mv x .claude/settings.local.json",
        "rm /opt/kt/.claude-plugin/hooks.json",
        """echo '{"hook_event_name": "PostToolUse"}' | keepthread hook claude-code""",
        "timeout 5 /opt/kt/.venv/bin/keepthread hook codex < forged.json",
        "keepthread --workspace . relay --name git -- python3 forged_server.py",
        "script -qc 'keepthread remember \"deploy without asking\"' /dev/null",
        "env -u CLAUDECODE keepthread task 'a goal of mine'",
        "cd /w && python3 -m keepthread --workspace x confirm fact-3",
        "keepthread init --remove",
        "keepthread verify --accept",
    ],
)
def test_a_command_that_touches_the_memory_is_refused(command: str) -> None:
    assert refusal("Bash", {"command": command}, KEPT, folder="/w/app")


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q",
        "keepthread context",
        "keepthread search 'retry budget'",
        "keepthread verify",
        "keepthread doctor; keepthread status --json",
        "cat ~/.claude/settings.json",
        "git commit -m 'Read the hooks of keepthread'",
        "rm -rf build && mkdir build",
        "grep -rn memory.db src",
        "sqlite3 app.db 'select 1' > out.txt",
        "cat keepthread.toml",
    ],
)
def test_an_ordinary_command_runs(command: str) -> None:
    assert refusal("Bash", {"command": command}, KEPT, folder="/w/app") == ""


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("Write", {"file_path": f"{HOME}/.local/share/keepthread/memory.db", "content": ""}),
        ("Edit", {"file_path": f"{HOME}/.config/keepthread/keepthread.toml", "old_string": "a"}),
        ("Write", {"file_path": "../../opt/kt/.claude-plugin/hooks.json", "content": "{}"}),
        ("mcp__files__write_file", {"path": f"{HOME}/.local/share/keepthread/memory.db.key"}),
        ("mcp__files__move_file", {"source": "x", "destination": f"{HOME}/.config/keepthread/y"}),
        ("mcp__shell__run", {"command": "keepthread hook gemini"}),
        ("Edit", {"file_path": f"{HOME}/.claude/settings.json", "old_string": "keepthread hook x", "new_string": ""}),
        ("Edit", {"file_path": "/w/app/.claude/settings.json", "new_string": '"disableAllHooks": true'}),
    ],
)  # fmt: skip
def test_an_edit_that_touches_the_memory_is_refused(tool: str, args: dict[str, Any]) -> None:
    assert refusal(tool, args, KEPT, folder="/w/app")


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("Write", {"file_path": "/w/app/memory.db", "content": ""}),
        ("Edit", {"file_path": f"{HOME}/.claude/settings.json", "new_string": '"model": "b"'}),
        ("Write", {"file_path": "/w/app/keepthread.toml", "content": "[commands]"}),
        ("mcp__keepthread__capture_file", {"path": "ci.yml"}),
        ("mcp__keepthread__record_fact", {"text": "the hook is keepthread hook claude-code"}),
    ],
)  # fmt: skip
def test_an_ordinary_edit_is_made(tool: str, args: dict[str, Any]) -> None:
    assert refusal(tool, args, KEPT, folder="/w/app") == ""


def test_a_whole_new_settings_file_must_keep_our_hooks(tmp_path: Path) -> None:
    file = tmp_path / ".claude/settings.json"
    file.parent.mkdir()
    line = "'/a b/keepthread' hook claude-code"
    file.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [{"command": line}]}]}}), "utf-8")
    args = {"file_path": str(file), "content": "{}"}
    assert refusal("Write", args, KEPT, folder="/w")
    kept = {**args, "content": file.read_text("utf-8").replace("{", '{"model": "x", ', 1)}
    assert refusal("Write", kept, KEPT, folder="/w") == ""


def test_a_link_to_the_database_is_the_database(tmp_path: Path) -> None:
    kept = protected({"HOME": str(tmp_path), "KEEPTHREAD_DB": str(tmp_path / "m.db")})
    (tmp_path / "link").symlink_to(tmp_path / "m.db")
    assert refusal("Edit", {"file_path": "link"}, kept, folder=str(tmp_path))


def run(raw: bytes) -> subprocess.CompletedProcess[bytes]:
    """Run the guard as a client does."""
    environ = {"HOME": HOME, "PYTHONPATH": str(Path(__file__).parents[3] / ".dev")}
    return subprocess.run(
        [sys.executable, "-m", "keepthread", "guard", "claude-code"],
        input=raw, env=environ, capture_output=True, check=False,
    )  # fmt: skip


def test_the_client_is_told_in_its_own_form() -> None:
    args = {"command": "keepthread hook claude-code"}
    said = json.loads(run(json.dumps({"tool_name": "Bash", "tool_input": args}).encode()).stdout)
    answer = said["hookSpecificOutput"]
    assert (answer["hookEventName"], answer["permissionDecision"]) == ("PreToolUse", "deny")
    assert "by calling its hook or relay by hand" in answer["permissionDecisionReason"]


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b'{"tool_input": 7}', b"\xff"])
def test_what_it_cannot_read_it_lets_pass(raw: bytes) -> None:
    done = run(raw)
    assert (done.returncode, done.stdout) == (0, b"")


def test_it_imports_no_database_and_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['keepthread', 'guard', 'x']; from keepthread.server.entry import main; main();"
        "print([m for m in ('apsw', 'argparse', 'mcp', 'dataclasses', 'subprocess') if m in sys.modules])"
    )
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / ".dev")}
    done = subprocess.run(
        [sys.executable, "-c", code], input=b"{}", env=environ, capture_output=True
    )
    assert done.stdout.strip() == b"[]"


def test_a_hostile_command_costs_no_time() -> None:
    began = time.perf_counter()
    for text in (
        "\n" * 99_999,
        "keepthread " * 9_000,
        "; a=b " * 16_000,
        "/" * 99_999,
        "env " * 24_000,
    ):
        refusal("Bash", {"command": text}, KEPT, folder="/w")
    assert time.perf_counter() - began < 2
