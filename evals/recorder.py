"""What a careful agent would write down of a recorded run, by plain rules from the run itself.

The rules know nothing of the product: they read a step and name the files it edited, the command
it ran, the failures, results, versions and places its output shows. ``Recorder`` then says them
through the real tools; what the gate refuses stays out of the memory and is counted.
"""

import re
from collections import Counter
from typing import NamedTuple

from evals.predictions import Row
from evals.product import Answer, Product

ANSWER_CHARS_MAX = 200
FINDINGS_PER_STEP = 3
NAMES_NOTED = 12
_WHY_CHARS_MAX = 400

_SHELLS = ("bash", "shell", "terminal", "execute")
_PATHS = ("file_path", "path", "filename")
_NEW_TEXT = ("new_str", "new_string", "file_text", "content", "insert_text")
_REFUSED_EDIT = re.compile(r"\s*(?:error|no replacement|invalid)\b", re.I)
_FAILURE = re.compile(
    r"^(?:E +)?((?:[\w.]+\.)?\w*(?:Error|Exception): \S.*|Error: .*|FAILED .*)$", re.M
)
_TESTS = re.compile(r"\b\d+ (?:failed|passed)\b[^\n]*|\bRan \d+ tests?\b[^\n]*")
_VERSION = re.compile(
    r"^([A-Za-z][\w.-]*)(?: version)?[ =-]+v?(\d+\.\d+(?:\.\d+)*)\b[^\n]{0,60}$", re.M
)
_PLACE = re.compile(
    r"^([\w./-]+\.\w+):(\d+):\s*(?:async )?(?:class|def|function|func|fn) (\w+)", re.M
)
_NAME = re.compile(r"^\s*(?:async )?(?:class|def|function|func|fn) (\w{4,})", re.M)
_SENTENCE = re.compile(r"(?<=[.!?:])\s")


class Finding(NamedTuple):
    """Something an output shows that will matter later. ``answer`` is the part one would ask for."""

    kind: str  # failure | tests | value | version | place
    subject: str  # what a newer one replaces
    text: str
    answer: str


class Step(NamedTuple):
    """One call of a run, read by the rules. What it does not have is ``""`` or empty."""

    row: Row
    command: str
    result: str  # the last line of a command's output
    edited: str
    names: tuple[str, ...]  # defined by the edit's new text
    findings: tuple[Finding, ...]
    why: str  # the first sentence of what the agent thought


def read_step(row: Row) -> Step:
    """Read one call of a recorded run."""
    args = row["args"] if isinstance(row["args"], dict) else {}
    output = str(row["output"])
    command = args.get("command", args.get("cmd"))
    is_shell = any(word in row["tool"].lower() for word in _SHELLS)
    command = command if isinstance(command, str) and is_shell else ""
    new = next((args[k] for k in _NEW_TEXT if isinstance(args.get(k), str)), None)
    path = next((args[k] for k in _PATHS if isinstance(args.get(k), str)), "")
    wrote = new is not None and not row.get("is_error") and not _REFUSED_EDIT.match(output)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return Step(
        row=row,
        command=command,
        result=lines[-1][-ANSWER_CHARS_MAX:] if command and lines else "",
        edited=path if wrote else "",
        names=tuple(dict.fromkeys(_NAME.findall(new or ""))) if wrote and path else (),
        findings=_findings(command, output) if command else (),
        why=_first_sentence(row.get("thought")),
    )


def goal_of(name: str, steps: list[Step]) -> str:
    """Return the goal as its user would say it: the run's name, and its first words."""
    first = steps[0].why.strip(" .:") if steps else ""
    return f"Finish {name}: {first}" if first else f"Finish {name}"


class Recorder:
    """Writes down a run step by step. ``refused`` counts the gate's refusals by tool and code."""

    def __init__(self, product: Product) -> None:
        self._product = product
        self._items: dict[str, str] = {}  # file: plan item
        self._names: dict[str, list[str]] = {}
        self._current = ""
        self._said: set[str] = set()
        self.recorded: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()

    async def begin(self, goal: str) -> None:
        """Start the task that the user just named."""
        await self._write("start_task", goal=goal, source="user")

    async def after(self, step: Step, entry: str) -> None:
        """Write down what one step, archived as ``entry``, was worth."""
        if step.edited:
            await self._edited(step)
        for finding in step.findings:
            if finding.text not in self._said:
                self._said.add(finding.text)
                await self._write(
                    "record_fact",
                    text=finding.text,
                    kind="observation",
                    source=entry,
                    subject=finding.subject,
                )

    async def _edited(self, step: Step) -> None:
        """Keep one plan item a file, whose note names what its edits defined; say why where it is said."""
        path = step.edited
        if path != self._current and self._current in self._items:
            await self._write("update_plan_item", item=self._items[self._current], status="done")
        if path not in self._items:
            answer = await self._write("update_plan_item", title=f"Edit {path}")
            if answer.refused:
                return
            self._items[path] = str(answer.fields["id"])
        names = self._names.setdefault(path, [])
        new = [n for n in step.names if n not in names]
        names += new
        if path != self._current or new:
            self._current = path
            note = f"defines {', '.join(names[-NAMES_NOTED:])}" if names else ""
            await self._write(
                "update_plan_item", item=self._items[path], status="in_progress", note=note
            )
        if new and step.why:
            await self._decided(f"Define {', '.join(new[:NAMES_NOTED])} in {path}", step.why)

    async def _decided(self, what: str, why: str) -> None:
        answer = await self._write("record_decision", decision=what, reason=why)
        if answer.refused == "settled_decision":  # the refusal says how: both apply
            await self._write("record_decision", decision=what, reason=why, supersedes="none")

    async def _write(self, tool: str, **arguments: object) -> Answer:
        answer = await self._product.call(tool, **arguments)
        if answer.refused:
            self.refused[f"{tool}: {answer.refused}"] += 1
        else:
            self.recorded[tool] += 1
        return answer


def _first_sentence(thought: object) -> str:
    """Return how a thought begins; ``""`` for the empty ones that some recordings write out."""
    words = str(thought or "").strip()
    if words.lower() in ("none", "null"):
        return ""
    return _SENTENCE.split(words, maxsplit=1)[0][:_WHY_CHARS_MAX]


def _findings(command: str, output: str) -> tuple[Finding, ...]:
    """Return what an output shows: its last failure and test result, all of a short output, then
    versions and places."""
    output = output.replace("\r", "")
    found = []
    failures = [m[1].strip() for m in _FAILURE.finditer(output)]
    if failures and len(failures[-1]) <= ANSWER_CHARS_MAX:
        found.append(Finding("failure", "last failure", failures[-1], failures[-1]))
    tests = [m[0].strip(" =") for m in _TESTS.finditer(output)]
    if tests:
        text = tests[-1][:ANSWER_CHARS_MAX]
        found.append(Finding("tests", f"result of {command[:80]}", text, text))
    lines = [line.strip() for line in output.splitlines() if line.strip() not in ("", command)]
    if len(lines) == 1 and not found and len(lines[0]) + len(command) <= ANSWER_CHARS_MAX:
        found.append(
            Finding("value", f"output of {command}", f"`{command}` printed {lines[0]}", lines[0])
        )
    found += [
        Finding("version", f"version of {m[1]}", m[0].strip(), m[2])
        for m in _VERSION.finditer(output)
    ]
    found += [
        Finding("place", f"place of {m[3]}", m[0].strip()[:ANSWER_CHARS_MAX], f"{m[1]}:{m[2]}")
        for m in _PLACE.finditer(output)
    ]
    return tuple(found[:FINDINGS_PER_STEP])
