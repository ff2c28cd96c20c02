"""What the agent would have without Keepthread: nothing, or notes found by similarity.

Both are treated kindly. Within one process they forget nothing, and only a kill ends a process.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from evals.resume.policy import CACHE_OFF, TITLES, Knowledge, Step, read_directions

NOTES_FOUND = 8
_WORD = re.compile(r"[a-z0-9]+")

QUESTIONS = (
    "what is the goal, what did the user ask for",
    "which steps of the plan are done",
    "which step is in progress, which file was edited last",
    "the last command that was run and how it ended",
    "build command",
    "default timeout",
    "error style decision",
    "retry count decision",
    "response cache decision",
    "what to run before each commit",
)
"""What an agent that starts anew would look for in its notes."""


class Notes:
    """An append-only file of notes, found by the cosine of their words."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def add(self, text: str) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(text) + "\n")

    def find(self, query: str) -> list[str]:
        """Return the nearest notes, best first; of equals the newer."""
        if not self._file.exists():
            return []
        lines = self._file.read_text(encoding="utf-8").splitlines()
        notes = [json.loads(line) for line in reversed(lines)]
        wanted = _words(query)
        return sorted(notes, key=lambda note: -_cosine(wanted, _words(note)))[:NOTES_FOUND]


class ControlMind:
    """Knows what happened in its own process, and what ``notes`` found when it began."""

    def __init__(self, tree: Path, point: Callable[[], None], notes: Notes | None) -> None:
        self._shown = tree.parent / "windows.jsonl"
        self._point, self._notes = point, notes
        found = [n for q in QUESTIONS for n in notes.find(q)] if notes else []
        text = "\n".join(dict.fromkeys(found))
        with self._shown.open("a", encoding="utf-8") as file:
            file.write(json.dumps(text) + "\n")
        self._done = set(re.findall(r"^Done: (.*)$", text, re.M))
        self._started = set(re.findall(r"^Started: (.*)$", text, re.M)) - self._done
        build = _best(r"^The build command is `([^`]+)`", found)
        commands = re.findall(r"^Ran `(.*)`, (succeeded|failed)$", text, re.M)
        self._known = Knowledge(
            goal="Goal: " in text,
            planned="Goal: " in text,
            build=build,
            timeout=int(_best(r"default timeout is (\d+)", found) or 0),
            style=_best(r"error style (\w+) in every", found),
            retries=_best(r"retry count of (\d+)", found),
            cache_off=CACHE_OFF in text,
            directions=read_directions(text),
            written=frozenset(re.findall(r"^Edited (\S+)$", text, re.M)),
            last_command=commands[0][0] if commands else "",
            last_succeeded=bool(commands) and commands[0][1] == "succeeded",
        )

    async def knowledge(self) -> Knowledge:
        left = [t for t in TITLES if t not in self._done]
        left.sort(key=lambda title: title not in self._started)
        plan = tuple(Step(t, t, "in_progress" if t in self._started else "pending") for t in left)
        return self._known._replace(plan=plan)

    async def hear(self, words: str) -> None:
        self._add(
            f"The user said: {words}", directions=(*self._known.directions, *read_directions(words))
        )

    async def begin(self, goal: str, constraint: str) -> None:
        self._add(f"Goal: {goal}. {constraint}", goal=True)

    async def lay_out(self, titles: tuple[str, ...]) -> None:
        self._add("Plan: " + "; ".join(titles), planned=True)

    async def start(self, step: Step, path: str) -> None:
        self._started = {step.title}
        self._add(f"Started: {step.title}")

    async def finish(self, step: Step, note: str = "") -> None:
        self._done.add(step.title)
        self._add(f"Done: {step.title}")

    async def skip(self, step: Step, note: str) -> None:
        self._done.add(step.title)
        self._add(f"Done: {step.title}")

    async def learn(self, text: str, path: str, subject: str) -> None:
        build = re.search(r"build command is `([^`]+)`", text)
        timeout = re.search(r"timeout is (\d+)", text)
        self._add(
            text,
            build=build[1] if build else self._known.build,
            timeout=int(timeout[1]) if timeout else self._known.timeout,
        )

    async def obey(self, text: str, path: str) -> None:
        """Nothing tells these minds that a document is not the user."""
        self._add(text, directions=(*self._known.directions, *read_directions(text)))

    async def decide(self, decision: str, reason: str) -> None:
        style = re.search(r"error style (\w+) in every", decision)
        retries = re.search(r"retry count of (\d+)", decision)
        self._add(
            f"{decision}, because {reason}",
            style=style[1] if style else self._known.style,
            retries=retries[1] if retries else self._known.retries,
            cache_off=self._known.cache_off or decision == CACHE_OFF,
        )

    async def saw_file(self, path: str, text: str) -> None:
        self._add(f"Read {path}: {text}")

    async def saw_edit(self, path: str, before: str, after: str) -> None:
        self._add(f"Edited {path}", written=self._known.written | {path})

    async def saw_run(self, command: str, succeeded: bool, output: str) -> None:
        ended = "succeeded" if succeeded else "failed"
        self._add(f"Ran `{command}`, {ended}", last_command=command, last_succeeded=succeeded)

    async def hand_off(self, doing: str, following: str, done: bool) -> None:
        self._add(f"Handed off: {doing}, {following}")

    def _add(self, note: str, **known: object) -> None:
        self._point()
        self._known = self._known._replace(**known)  # type: ignore[arg-type]
        if self._notes is not None:
            self._notes.add(note)
        self._point()


def _best(pattern: str, notes: list[str]) -> str:
    """Return what the first note that matches says: the nearest one."""
    for note in notes:
        found = re.search(pattern, note)
        if found:
            return found[1]
    return ""


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))


def _cosine(a: Counter[str], b: Counter[str]) -> float:
    shared = sum(n * b[word] for word, n in a.items())
    size = math.sqrt(sum(n * n for n in a.values()) * sum(n * n for n in b.values()))
    return shared / size if size else 0.0
