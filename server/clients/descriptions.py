"""The clients that ``keepthread init`` connects: one description each, as data."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from keepthread.stores.launch import command_line


class Where(NamedTuple):
    """A file of the client and the place in it: for the user, and for one project (``""``: none).

    Templates of ``{home}``, ``{project}`` and so on; see connect.roots.
    """

    user: str
    project: str
    user_path: tuple[str, ...] = ()
    project_path: tuple[str, ...] = ()


class Hooks(NamedTuple):
    """Where and how a client wants its hooks. ``events`` with their time limits, in the client's unit."""

    where: Where
    events: Mapping[str, int]
    shape: Literal["groups", "flat"] = "groups"
    matcher: Mapping[str, str] = {}
    guarded: frozenset[str] = frozenset()  # events at which calls are refused, not archived


class Description(NamedTuple):
    """One client. ``command`` and ``folder`` tell that it is there."""

    name: str
    title: str
    command: str
    folder: str
    server: Where
    capture: str
    check: str
    first: str  # what to try first
    rules: str = ""  # where it looks for a project's rules
    rules_head: str = ""  # what such a file of ours begins with
    typed: bool = False  # its servers say "type": "stdio"
    names_project: bool = False  # it starts servers anywhere, so they must be told the project
    hooks: Hooks | None = None


_CHECK = f"run any command in it, then `{command_line('status')}` in the project shows it as last capture"
_AGAIN = "ask it to run the tests, end the session, start another and ask: where were we?"
GUARDED_TOOLS = "^(Bash|PowerShell|Write|Edit|MultiEdit|NotebookEdit|mcp__.*)$"
_MATCHERS = {"PreToolUse": GUARDED_TOOLS, "PostToolUse": "*", "PostToolUseFailure": "*"}

CLAUDE_CODE_EVENTS = {
    "SessionStart": 30, "UserPromptSubmit": 10, "PreToolUse": 5, "PostToolUse": 10,
    "PostToolUseFailure": 10, "Stop": 10, "SubagentStop": 10, "PreCompact": 10, "PostCompact": 10,
    "SessionEnd": 10,
}  # fmt: skip


def _no_capture(name: str) -> str:
    return (
        "this client has no capture: neither its own tools nor your messages become evidence. Facts can "
        "cite files read by capture_file, what another client captured in the same workspace, and calls "
        f"of MCP servers behind the relay ({command_line('init', '--client', name, '--wrap')})."
    )


CLIENTS = (
    Description(
        name="claude-code",
        title="Claude Code",
        command="claude",
        folder="{claude}",
        server=Where(
            "{claude_json}/.claude.json",
            "{claude_json}/.claude.json",
            ("mcpServers",),
            ("projects", "{project}", "mcpServers"),
        ),
        typed=True,
        hooks=Hooks(
            Where("{claude}/settings.json", "{project}/.claude/settings.local.json"),
            CLAUDE_CODE_EVENTS,
            matcher=_MATCHERS,
            guarded=frozenset(("PreToolUse",)),
        ),
        capture="tool calls and your prompts; a new session starts with its window",
        check=f"start a new session (/mcp lists keepthread), {_CHECK}",
        first=f"start `claude` in a project, {_AGAIN}",
        rules="{project}/CLAUDE.md",
    ),
    Description(
        name="claude-desktop",
        title="Claude Desktop",
        command="",
        folder="{desktop}",
        server=Where("{desktop}/claude_desktop_config.json", "{desktop}/claude_desktop_config.json",
                     ("mcpServers",), ("mcpServers",)),
        names_project=True,
        capture=f"{_no_capture('claude-desktop')} Your words count when you use its prompts.",
        check="quit the app fully, start it; its tools menu lists keepthread",
        first="choose the prompt start_task in the menu of attachments, then ask: capture the README "
        "with capture_file and record what this project needs to run",
    ),
    Description(
        name="codex",
        title="Codex",
        command="codex",
        folder="{codex}",
        server=Where("{codex}/config.toml", "{project}/.codex/config.toml",
                     ("mcp_servers",), ("mcp_servers",)),
        hooks=Hooks(
            Where("{codex}/hooks.json", "{project}/.codex/hooks.json"),
            {"SessionStart": 30, "UserPromptSubmit": 10, "PostToolUse": 10, "Stop": 10,
             "SubagentStop": 10, "PreCompact": 10, "PostCompact": 10, "SessionEnd": 10},
        ),
        capture="tool calls that Codex shows its hooks, and your prompts",
        check=f"start it, review and trust the new hooks in /hooks (they do not run before), {_CHECK}",
        first=f"start `codex` in a project, trust the hooks, {_AGAIN}",
        rules="{project}/AGENTS.md",
    ),
    Description(
        name="gemini",
        title="Gemini CLI",
        command="gemini",
        folder="{home}/.gemini",
        server=Where("{home}/.gemini/settings.json", "{project}/.gemini/settings.json",
                     ("mcpServers",), ("mcpServers",)),
        hooks=Hooks(
            Where("{home}/.gemini/settings.json", "{project}/.gemini/settings.json"),
            {"SessionStart": 30_000, "BeforeAgent": 10_000, "AfterTool": 10_000,
             "AfterAgent": 10_000, "PreCompress": 10_000, "SessionEnd": 10_000},
        ),
        capture="tool calls and your prompts; a new session starts with its window",
        check=f"start a new session (/mcp lists keepthread; trust a project's hooks), {_CHECK}",
        first=f"start `gemini` in a project, {_AGAIN}",
        rules="{project}/GEMINI.md",
    ),
    Description(
        name="cursor",
        title="Cursor",
        command="cursor",
        folder="{home}/.cursor",
        server=Where("{home}/.cursor/mcp.json", "{project}/.cursor/mcp.json",
                     ("mcpServers",), ("mcpServers",)),
        names_project=True,
        hooks=Hooks(
            Where("{home}/.cursor/hooks.json", "{project}/.cursor/hooks.json"),
            {"sessionStart": 30, "beforeSubmitPrompt": 10, "postToolUse": 10,
             "postToolUseFailure": 10, "afterMCPExecution": 10, "afterFileEdit": 10,
             "afterAgentResponse": 10, "sessionEnd": 10},
            shape="flat",
            matcher={"postToolUse": "^Shell$"},
        ),
        capture="shell commands, MCP calls, edits and your prompts; its hooks do not show what it reads itself",
        check=f"restart it (Settings, MCP lists keepthread), {_CHECK}",
        first=f"open a project, {_AGAIN}",
        rules="{project}/.cursor/rules/keepthread.mdc",
        rules_head="---\ndescription: Keepthread, the memory\nalwaysApply: true\n---\n",
    ),
    Description(
        name="vscode",
        title="VS Code",
        command="code",
        folder="{vscode}",
        server=Where("{vscode}/mcp.json", "{project}/.vscode/mcp.json", ("servers",), ("servers",)),
        typed=True,
        names_project=True,
        capture=_no_capture("vscode"),
        check="run `MCP: List Servers` from the command palette and start keepthread",
        first="type / in agent mode and choose start_task of keepthread, then ask: capture the README "
        "with capture_file and record what this project needs to run",
        rules="{project}/AGENTS.md",
    ),
)  # fmt: skip

BY_NAME = {client.name: client for client in CLIENTS}
