"""What a shell command's output comes from: a file, the web, or a program. Spelling does not matter.

A rough reading on purpose: taking two origins for one costs a corroboration, taking one for two
would let repetition pass for evidence.
"""

import json
import posixpath
import re
from collections.abc import Iterator

from keepthread.stores.records import Entry

COMMAND_CHARS_MAX = 20_000

_SEGMENT = re.compile(r"[|;&\n()`]")
_WORD = re.compile(r"[^\s'\"<>]+")
_ASSIGNMENT = re.compile(r"\w+=")
_WRAPPERS = frozenset(
    "bash command env eval exec nice nohup sh stdbuf sudo time timeout xargs zsh".split()
)
_FETCHERS = frozenset("curl wget http https xh lynx w3m links aria2c gh glab".split())
_REGISTRIES = frozenset("npm pnpm yarn bun pip pip3 cargo gem".split())
_LOOKUPS = frozenset("view info search index outdated".split())
_INTERPRETERS = re.compile(r"(?:python[\d.]*|node|deno|bun|ruby|perl|php)\Z")
_FETCHING = re.compile(r"\b(?:requests\.\w|httpx\.|urlopen|urllib|aiohttp|open-uri|fetch\()")
_HOST = re.compile(r"(?:https?://)?((?:[a-z\d-]{1,63}\.){1,8}[a-z]{2,24})(?=[/:?#]|\Z)", re.I)
_FILE = re.compile(
    r"(?!-|s/|\d+(?:\.\d+)*\Z|\w+://|/dev/)[\w./~+@-]*(?:/[\w~+@-]|\w\.[a-z]\w{0,7}\Z)", re.I
)

_AROUND = re.compile(  # what does not change what is run: a folder, where the output goes
    r"^\s*(?:cd [^\s;&|]+\s*(?:&&|;)\s*|[A-Z_][A-Z0-9_]*=\S*\s+)"
    r"|\s*(?:2>&1|\|\s*(?:tail|head|cat|tee|less)\b[^|;&]*|;\s*echo\b[^;|&]*)\s*$"
)
_LAYERS_MAX = 6


def command_of(entry: Entry) -> str:
    """Return the shell command of a call, or ``""``."""
    try:
        args = json.loads(entry.args) if entry.args else {}
    except ValueError:
        return ""
    command = args.get("command", args.get("cmd")) if isinstance(args, dict) else ""
    return command[:COMMAND_CHARS_MAX] if isinstance(command, str) else ""


def run_of(entry: Entry) -> str:
    """Return what a call runs, without the folder it runs in and what trims its output."""
    command = " ".join(command_of(entry).split())
    for _ in range(_LAYERS_MAX):
        command, before = _AROUND.sub("", command), command
        if command == before:
            break
    return command or f"{entry.tool}:{entry.args}"


def fetches(command: str) -> bool:
    """True when a program of the command brings text from the web."""
    for program, rest in _programs(command):
        if program in _FETCHERS or (program in _REGISTRIES and _LOOKUPS & set(rest[:1])):
            return True
        if _INTERPRETERS.match(program) and _FETCHING.search(command):
            return True
    return False


def host_of(command: str) -> str:
    """Return the first thing in a command that looks like a host, in lower case, or ``""``."""
    hosts = (_HOST.match(word) for _, rest in _programs(command) for word in rest)
    return next((match[1].lower() for match in hosts if match), "")


def shell_origin(command: str) -> str:
    """Return ``file:PATH`` of the first file a command names, else its first program."""
    first, folder = "", ""
    for program, rest in _programs(command):
        if program in ("cd", "pushd"):
            folder = posixpath.join(folder, rest[0]) if rest else folder
            continue
        first = first or program
        named = next((word for word in rest if _FILE.match(word)), "")
        if named:
            return f"file:{posixpath.normpath(posixpath.join(folder, named))}"
    return first


def _programs(command: str) -> Iterator[tuple[str, list[str]]]:
    """Yield (program, arguments) of each simple command, without assignments and wrappers."""
    for segment in _SEGMENT.split(command):
        words = _WORD.findall(segment)
        at = 0
        while at < len(words) and (
            _ASSIGNMENT.match(words[at])
            or words[at] in _WRAPPERS
            or (at > 0 and re.match(r"-|\d", words[at]))
        ):
            at += 1
        if at < len(words):
            yield posixpath.basename(words[at].lstrip("{$")), words[at + 1 :]
