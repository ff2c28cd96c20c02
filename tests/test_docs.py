"""What README and docs name exists, and what exists is named: tools, settings, commands, codes, files."""

import argparse
import ast
import json
import re
import tomllib
from pathlib import Path

import pytest
from mcp import Client

from keepthread.server.app import build_server
from keepthread.server.capture.clients.adapter import NAMES as CLIENTS
from keepthread.server.capture.events import OUR_TOOLS
from keepthread.server.cli.main import build_parser
from keepthread.server.clients.descriptions import BY_NAME
from keepthread.server.clients.hook_entries import add_hooks
from keepthread.server.memory import Memory
from keepthread.server.places import Place
from keepthread.server.settings import Settings
from keepthread.stores.launch import Launch
from keepthread.validators.confidence import _BY_LEVEL, inference_confidence

MODULES = re.compile(r"(<!-- modules:begin[^\n]*\n).*?(<!-- modules:end -->)", re.DOTALL)
FIGURES = re.compile(r"(<!-- figures:begin[^\n]*\n).*?(<!-- figures:end -->)", re.DOTALL)
ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob(".github/*.md"),
    ]
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def section(title: str) -> str:
    """Return the README's section under ``## title``."""
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def first_cells(text: str) -> list[str]:
    """Return the code in the first cell of each row of the tables in ``text``."""
    return re.findall(r"^\| `([^`]+)`", text, re.MULTILINE)


def module_table() -> str:
    """Return one line a module: its path and the first sentence of its docstring."""
    lines = ["| module | what it is |", "|---|---|"]
    for layer in ("server", "validators", "stores"):
        for file in sorted((ROOT / layer).rglob("*.py")):
            doc = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
            if doc:
                first = re.split(r"(?<=[.?])\s|\n\n", doc, maxsplit=1)[0].replace("``", "`")
                lines.append(f"| `{file.relative_to(ROOT)}` | {' '.join(first.split())} |")
    return "\n".join(lines) + "\n"


def figures_table() -> str:
    """Return the newest benchmark results as a table."""
    newest = max((ROOT / "benchmarks/results").glob("*.jsonl"))
    lines = [
        "| what | ratio | CPU ratio | ours, ms (CPU) | floor, ms (CPU) |",
        "|---|---:|---:|---:|---:|",
    ]
    for line in newest.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        cpu = (row["cpu_ratio"] or "-", *(_ms(row, side) for side in ("ours", "floor")))
        lines.append(f"| {row['name']} | {row['ratio']} | {cpu[0]} | {cpu[1]} | {cpu[2]} |")
    return "\n".join(lines) + "\n"


def _ms(row: dict[str, float], side: str) -> str:
    used = row[f"cpu_{side}_ms"]
    return f"{row[f'{side}_ms']:.1f} ({used:.1f})" if used else f"{row[f'{side}_ms']:.1f}"


def refusal_codes() -> set[str]:
    """Return every code that the validators' sources give a Refusal."""
    found = set()
    for file in (ROOT / "validators").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Refusal":
                first = node.args[0] if node.args else None
                if isinstance(first, ast.Constant):
                    found.add(str(first.value))
    return found


@pytest.mark.anyio
async def test_the_readme_lists_the_servers_tools(tmp_path: Path) -> None:
    memory = Memory(Settings(str(tmp_path / "m.db")), Place(str(tmp_path), str(tmp_path)))
    try:
        async with Client(build_server(memory)) as client:
            served = {tool.name for tool in (await client.list_tools()).tools}
            prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
    finally:
        memory.close()
    assert set(first_cells(section("Tools"))) == served == OUR_TOOLS
    named = section("Tools").partition("the prompt `resume`")[2]
    assert {"resume", *re.findall(r"`(\w+)`", named)} == prompts


def test_the_readme_lists_every_command() -> None:
    actions = build_parser()._actions
    commands = next(a for a in actions if isinstance(a, argparse._SubParsersAction))
    named = [row.split()[1] for row in first_cells(section("Command line"))]
    assert sorted(named) == sorted(commands.choices)


def test_the_readme_names_the_clients_whose_hooks_are_understood() -> None:
    row = README.partition("| `keepthread hook CLIENT` |")[2].partition("\n")[0]
    assert set(re.findall(r"`([\w-]+)`", row)) == set(CLIENTS)


def test_the_readme_lists_every_setting_with_its_default() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| `(KEEPTHREAD_\w+)` \| ([^|]+) \|", section("Settings"), re.MULTILINE
    )
    assert [name for name, _, _ in rows] == list(Settings._fields)
    for name, variable, default in rows:
        assert variable == f"KEEPTHREAD_{name.upper()}"
        if name not in ("db", "config"):
            assert default.strip("`") == str(Settings._field_defaults[name] or '""')


def test_the_readme_states_the_confidences_that_hold() -> None:
    stated = dict(
        re.findall(r"^\| (\w[\w' ]*) \|[^|]+\| ([\d.]+)", section("How it decides"), re.MULTILINE)
    )
    for row, channel in (("checked", "check"), ("relay", "relay"), ("hook", "hook"), ("import", "import")):
        assert float(stated[row]) == _BY_LEVEL[channel]
    assert float(stated["inference"]) == inference_confidence([1.0])


def test_the_hooks_block_is_what_init_writes() -> None:
    block = re.search(r"```json\n(\{\n  \"hooks\".*?)```", README, re.DOTALL)
    assert block is not None
    hooks = BY_NAME["claude-code"].hooks
    assert hooks is not None
    written = add_hooks("", hooks, Launch("/abs/.venv/bin/keepthread"), "claude-code")
    assert json.loads(block[1]) == json.loads(written)


def test_the_table_of_clients_names_the_files_that_init_writes() -> None:
    connect = section("Connect a client")
    for name in ("codex", "gemini", "cursor"):
        given = {"home": "~", "codex": "~/.codex", "project": "."}
        server, hooks = BY_NAME[name].server, BY_NAME[name].hooks
        assert f"`{server.user.format_map(given)}`, `{server.project.format_map(given)[2:]}`" in connect
        assert hooks is not None
        beside = hooks.where.user.rpartition("/")[2]
        row = connect.partition(f"| {BY_NAME[name].title} |")[2].partition("\n")[0]
        assert f"`{beside}`" in row or "same file" in row and hooks.where.user == server.user


def test_the_example_for_claude_desktop_starts_the_server() -> None:
    text = (ROOT / "claude_desktop_config.example.json").read_text(encoding="utf-8")
    server = json.loads(text)["mcpServers"]["keepthread"]
    assert build_parser().parse_args(server["args"]).command.__name__ == "serve"


def test_the_example_of_the_relay_is_what_it_takes() -> None:
    block = re.search(r"```json\n(\"git\": .*?)```", README, re.DOTALL)
    assert block is not None
    given = build_parser().parse_args(json.loads(f"{{{block[1]}}}")["git"]["args"])
    assert (given.name, given.workspace, given.server[0]) == ("git", "/abs/project", "uvx")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_refusal_code_that_is_named_exists(page: Path) -> None:
    named = set(re.findall(r"refused\[(\w+)\]", page.read_text(encoding="utf-8"))) - {"CODE"}
    assert named <= refusal_codes()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_file_that_is_linked_is_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_file_that_is_named_is_there(page: Path) -> None:
    named = re.findall(
        r"`((?:server|stores|validators|tests|docs|benchmarks|evals)/[\w./-]*\.\w+)`",
        page.read_text(encoding="utf-8"),
    )
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_architecture_lists_every_module() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    listed = first_cells(text.partition("<!-- modules:begin")[2])
    assert set(first_cells(module_table())) <= set(listed), "run: python tests/test_docs.py"


def test_the_table_of_speed_is_that_of_the_newest_results() -> None:
    text = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    found = FIGURES.search(text)
    assert found is not None
    shown = found[0].removeprefix(found[1]).removesuffix(found[2])
    assert shown == figures_table(), "run: python tests/test_docs.py"


def test_the_architecture_gives_a_reason_for_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    table = text.partition("## Dependencies")[2].partition("\n## ")[0]
    wanted = {re.split(r"[<>=\[; ]", d)[0] for d in project["dependencies"]}
    assert set(first_cells(table)) == wanted


if __name__ == "__main__":
    for name, pattern, table in (
        ("docs/architecture.md", MODULES, module_table()),
        ("docs/performance.md", FIGURES, figures_table()),
    ):
        old = (ROOT / name).read_text(encoding="utf-8")
        begin, end = pattern.search(old).groups()  # type: ignore[union-attr]
        new = old.partition(begin)[0] + begin + table + end + old.partition(end)[2]
        (ROOT / name).write_text(new, encoding="utf-8")
