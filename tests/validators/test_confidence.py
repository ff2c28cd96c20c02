"""What counts as one origin, and what as the web."""

import json
import time

import pytest

from keepthread.stores.records import Entry
from keepthread.validators.confidence import is_web, origin_of
from keepthread.validators.shell_origin import fetches, shell_origin


def _call(tool: str, path: str = "", **args: str) -> Entry:
    return Entry(
        seq=1, id="call-1", workspace=1, window=1, task=None, agent="", channel="hook", level=1,
        role="", tool=tool, args=json.dumps(args), output="x", output_sha256="", is_error=False,
        truncated=False, model_written=False, own=False, outer_ref="", seen_at="", path=path,
        file_sha256="", file_signature="", speaker="", erased=False,
    )  # fmt: skip


def _shell(command: str) -> Entry:
    return _call("Bash", command=command)


@pytest.mark.parametrize(
    "command",
    [
        "cat conf/app.ini|head",
        "cat  ./conf/app.ini | head -3",
        "LC_ALL=C cat conf/app.ini",
        "A=1 B=2 less 'conf/app.ini' | cat",
        "sudo env A=1 timeout 5 cat conf/app.ini",
        "bash -c 'cat conf/app.ini'",
        "cat < conf/app.ini",
        "cat conf/app.ini 2>/dev/null",
        "cd conf && cat app.ini | head",
        "cat /dev/null conf/app.ini",
        "sed -n 's/a/b/p' conf/app.ini | sort",
    ],
)
def test_a_file_is_one_origin_however_a_command_shows_it(command: str) -> None:
    assert origin_of(_shell(command)) == origin_of(_call("Read", path="conf/app.ini"))


def test_a_program_is_one_origin_whatever_its_options() -> None:
    assert origin_of(_shell("make -n ci")) == origin_of(_shell("V=1 make ci | tail -5"))
    assert origin_of(_shell("psql -c info")) != origin_of(_shell("make ci"))
    assert origin_of(_shell("cat a/b.txt")) != origin_of(_shell("cat a/c.txt"))


@pytest.mark.parametrize(
    "command",
    [
        "curl wiki.example/x",
        "wget -qO- wiki.example",
        "curl -s $URL",
        "X=$(curl wiki.example) && echo $X",
        "bash -lc 'curl wiki.example'",
        "/usr/bin/curl wiki.example",
        "gh api repos/o/r/readme",
        "npm view left-pad description",
        'python3 -c "import requests; print(requests.get(U).text)"',
    ],
)
def test_what_a_program_fetched_is_from_the_web(command: str) -> None:
    assert is_web(_shell(command))


@pytest.mark.parametrize(
    "command",
    ["cat http.log", "npm test", "git log", "make curl-test", "grep -rn requests.get src/", "ls"],
)
def test_what_a_program_read_here_is_not_from_the_web(command: str) -> None:
    assert not is_web(_shell(command))


@pytest.mark.parametrize(
    ("tool", "web"),
    [
        ("mcp__exa__lookup", True),
        ("mcp__tavily__tavily-extract", True),
        ("mcp__context7__get-library-docs", True),
        ("mcp__playwright__snapshot", True),
        ("mcp__gh__get_issue", True),
        ("mcp__any__search", True),
        ("mcp__chrome_browser__text", True),
        ("mcp__fs__search_files", False),
        ("mcp__examples__run", False),
        ("mcp__postgres__query", False),
        ("Grep", False),
    ],
)
def test_a_tool_named_like_the_network_brings_the_web(tool: str, web: bool) -> None:
    assert is_web(_call(tool, q="x")) is web


def test_one_host_is_one_origin_with_or_without_a_scheme() -> None:
    assert origin_of(_shell("curl wiki.example/x")) == origin_of(
        _shell("wget -qO- https://wiki.example/y")
    )


@pytest.mark.parametrize("part", ["a.", "a/", "A=1 ", "sudo ", "(", "a-", "~+@-"])
def test_a_command_is_read_in_time_in_proportion_to_its_length(part: str) -> None:
    began = time.perf_counter()
    command = "cat " + part * (20_000 // len(part))
    shell_origin(command)
    fetches(command)
    assert time.perf_counter() - began < 1
