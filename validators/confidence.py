"""Confidence: a table over kind, channel and origin. The model has no say in it.

| evidence | confidence |
|---|---|
| the user's words | 1.0 |
| checked by Keepthread | .95 |
| relay | .85 |
| hook | .8 |
| import | .7 |
| from the web | at most .6 |
| written by a model | at most .4 |
| reported by the model | .3 |
| a call that its client's transcript does not know | at most .2 |
| inference | .7 of its weakest support |

Served: each independent corroboration (another origin, never a repetition) takes away a third
of what is missing to .97; a failed re-verification halves it; a dispute or a weakened support
costs a third.
"""

import json
import re
from collections.abc import Iterable
from typing import NamedTuple

from keepthread.stores.facts import Standing
from keepthread.stores.records import Entry
from keepthread.validators.shell_origin import command_of, fetches, host_of, shell_origin

USER = 5
CHECKED = 0.95
MODEL_WRITTEN = 0.4
SUSPECT = 0.2
INFERRED = 0.7
CORROBORATED_MAX = 0.97

_BY_LEVEL = {"check": CHECKED, "relay": 0.85, "hook": 0.8, "import": 0.7}
_ARGS_CHARS_MAX = 200
_WEB_TOOLS = re.compile(r"web|fetch|browser|http|url|scrape|crawl", re.I)
_URL = re.compile(r"https?://([^/\s\"'\\]+)")
_NETWORK_SERVERS = re.compile(
    r"(?:^|[_-])(?:exa|tavily|context7|playwright|puppeteer|firecrawl|brave|perplexity|get_issue|search)(?=[_-]|$)"
    r"(?!_(?:files?|code|symbols?|for_pattern|archive)\b)",
    re.I,
)


class Step(NamedTuple):
    """A value of confidence on its way, and what made it so."""

    value: float
    why: str


def entry_steps(entry: Entry) -> list[Step]:
    """Return how one entry comes to the confidence that it gives an observation."""
    if entry.role == "user":
        typed = entry.channel == "user"
        steps = [
            Step(1.0, "the user's words") if typed else Step(_BY_LEVEL["import"], "imported words")
        ]
    else:
        steps = [Step(_BY_LEVEL.get(entry.channel, 0.3), f"channel {entry.channel}")]
        if is_web(entry):
            steps.append(Step(min(steps[-1].value, 0.6), "from the web"))
        if entry.model_written:
            steps.append(Step(min(steps[-1].value, MODEL_WRITTEN), "written by a model"))
    if entry.suspect:
        steps.append(Step(min(steps[-1].value, SUSPECT), "its client's transcript does not know it"))
    return steps


def entry_confidence(entry: Entry) -> float:
    """Return the confidence that one entry gives an observation."""
    return entry_steps(entry)[-1].value


def observation_confidence(entries: Iterable[Entry]) -> float:
    """Return the least confidence among the cited entries: a chain is as strong as its weakest link."""
    return min((entry_confidence(e) for e in entries), default=0.0)


def inference_confidence(supports: Iterable[float]) -> float:
    """Return .7 of the weakest support."""
    return round(INFERRED * min(supports, default=0.0), 4)


def served_steps(base: float, standing: Standing, weakened: bool) -> list[Step]:
    """Return how the base becomes what the window shows: corroboration, failures, dispute and weakness."""
    steps = [Step(base, "when it was recorded")]
    value = base
    for _ in range(standing.corroborations):
        value += max(0.0, CORROBORATED_MAX - value) / 3
        steps.append(Step(value, "another origin says the same"))
    if standing.failures:
        value *= 0.5**standing.failures
        steps.append(Step(value, f"doubted {standing.failures} time(s)"))
    if standing.disputed_with or weakened:
        value *= 2 / 3
        why = "disputed" if standing.disputed_with else "what it rests on no longer holds"
        steps.append(Step(value, why))
    if standing.suspect:
        value = min(value, SUSPECT)
        steps.append(Step(value, "its session's transcript does not know what it cites"))
    return steps


def served_confidence(base: float, standing: Standing, weakened: bool) -> float:
    """Return what the window shows of a fact recorded with confidence ``base``."""
    return round(served_steps(base, standing, weakened)[-1].value, 4)


def is_web(entry: Entry) -> bool:
    """True when an entry's output came from the web rather than from the workspace."""
    if entry.role or entry.path:
        return False
    if entry.tool in ("Bash", "PowerShell"):
        return fetches(command_of(entry))
    if entry.tool.startswith("mcp__") and _NETWORK_SERVERS.search(entry.tool):
        return True
    return bool(_WEB_TOOLS.search(entry.tool))


def origin_of(entry: Entry) -> str:
    """Return what counts as one origin: a file, a web host, the user, a program, or a tool.

    A call of an MCP server seen by hook and relay is one, whatever each calls the server.
    """
    if entry.role == "user":
        return "user"
    if entry.path:
        return f"file:{entry.path}"
    command = command_of(entry)
    if is_web(entry):
        url = _URL.search(entry.args)
        return f"web:{url[1].lower() if url else host_of(command) or entry.tool}"
    try:
        args = json.loads(entry.args) if entry.args else {}
    except ValueError:
        args = entry.args
    tool = entry.tool.rpartition("__")[2] if entry.tool.startswith("mcp__") else entry.tool
    if command:
        origin = shell_origin(command)
        return origin if origin.startswith("file:") else f"{tool}:{origin}"
    return f"{tool}:{json.dumps(args, sort_keys=True, ensure_ascii=False)[:_ARGS_CHARS_MAX]}"


def strength(entries: Iterable[Entry]) -> int:
    """Return the rank that decides between contradicting observations: the weakest cited entry's.

    4 checked or the user, 3 relay, hook or import from the workspace, 2 the web, 1 model-written.
    """
    ranks = [4]
    for entry in entries:
        if entry.model_written:
            ranks.append(1)
        elif is_web(entry):
            ranks.append(2)
        elif entry.role != "user" and entry.channel != "check":
            ranks.append(3)
    return min(ranks)
