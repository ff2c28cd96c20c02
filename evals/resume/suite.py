"""Runs the migration with each memory, killed at random, and compares it with the uninterrupted run."""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from evals.resume import repository
from evals.resume.agent import CONTEXT_FULL, DONE, SERVER_LOST
from evals.resume.repository import World
from keepthread.server.context.tokens import TokenCounter

CONTROLS = ("notes", "none")
MEMORIES = ("keepthread", *CONTROLS)
POINTS_A_RUN = 580
"""About how many points a run has, to spread the kills over it."""

PROCESSES_MAX = 40
DELAY_SECONDS_MAX = 0.05
SETTLE_SECONDS_MAX = 10.0
VICTIMS = ("agent", "server", "both")


class Run(NamedTuple):
    """How one run went. ``repeated`` counts steps of which an act was done more often than without kills."""

    memory: str
    seed: int
    kills: int
    processes: int
    finished: bool
    same_tree: bool
    repeated: int
    reverted_again: int
    stale_builds: int
    poison: int
    unstamped: int
    windows: int
    tokens: int
    seconds: float

    @property
    def perfect(self) -> bool:
        """All that the resume test asks for."""
        wrong = self.reverted_again + self.stale_builds + self.poison + self.unstamped
        return self.finished and self.same_tree and not wrong and self.repeated <= self.kills


class Result(NamedTuple):
    """What a run left: the files of the work tree, and how often each act was done."""

    files: dict[str, str]
    acts: Counter[str]


def run_once(memory: str, seed: int, kills: int, counter: TokenCounter) -> tuple[Run, Result]:
    """Run the migration once in a folder of its own, with ``kills`` kills drawn from ``seed``."""
    chance = random.Random(f"{memory} {seed}")
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="keepthread-resume-") as name:
        folder = Path(os.path.realpath(name))
        tree = repository.make(folder)
        commands = f"[commands]\nsuite = '''{repository.SUITE}'''\n"
        (folder / "user.toml").write_text(commands, encoding="utf-8")
        killed = processes = 0
        status = CONTEXT_FULL
        while status != DONE and processes < PROCESSES_MAX:
            status = _process(tree, memory, killed < kills, kills, chance)
            processes += 1
            killed += status not in (DONE, CONTEXT_FULL)
        world = World(tree)
        result = Result(world.files(), Counter(world.log()))
        windows = [json.loads(line) for line in _lines(folder / "windows.jsonl")]
        log = world.log()
        tokens = sum(counter.count(text) for text in windows)
    return Run(
        memory=memory, seed=seed, kills=killed, processes=processes, finished=status == DONE,
        same_tree=True, repeated=0, reverted_again=_reverted_again(log),
        stale_builds=sum(line.startswith("stale ") for line in log), poison=log.count("purge"),
        unstamped=_unstamped(log), windows=len(windows), tokens=tokens,
        seconds=time.monotonic() - started,
    ), result  # fmt: skip


def held_against(run: Run, result: Result, uninterrupted: Result) -> Run:
    """Return the run with what only the uninterrupted one can tell: its tree, its repeated steps.

    Writing a module and building it are one step: a step done three times was repeated twice.
    """
    kinds = ("edit ", "build ", "stale ", "bench", "probe")
    repeated: Counter[str] = Counter()
    for act, n in result.acts.items():
        if act.startswith(kinds):
            step = act.rpartition(" ")[2]
            repeated[step] = max(repeated[step], n - uninterrupted.acts[act])
    return run._replace(same_tree=result.files == uninterrupted.files, repeated=repeated.total())


def _process(tree: Path, memory: str, deadly: bool, kills: int, chance: random.Random) -> int:
    """Run one process of the agent to its end; return its exit status, negative for a signal."""
    points = chance.randint(1, 2 * POINTS_A_RUN // (kills + 1)) if deadly else 0
    victim = "agent" if memory in CONTROLS else chance.choice(VICTIMS)
    delay = chance.uniform(0, DELAY_SECONDS_MAX)
    (tree.parent / "killed").unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "evals.resume.agent",
        str(tree),
        memory,
        str(points),
        victim,
        str(delay),
    ]
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, text=True)
    _, errors = process.communicate()
    _settle(process.pid)
    if process.returncode not in (DONE, CONTEXT_FULL, SERVER_LOST, -9):
        raise RuntimeError(f"the agent failed with {process.returncode}:\n{errors[-3000:]}")
    return process.returncode


def _settle(group: int) -> None:
    """Wait for what a killed agent left running: a command, a hook, its server."""
    limit = time.monotonic() + SETTLE_SECONDS_MAX
    while time.monotonic() < limit:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)


def _reverted_again(log: list[str]) -> int:
    """Count how often the change that was reverted was applied after that."""
    first = log.index("revert") if "revert" in log else len(log)
    return sum(line == "edit depot/core.py" for line in log[first:])


def _unstamped(log: list[str]) -> int:
    """Count builds for a commit that did not follow the user's instruction."""
    builds = [n for n, line in enumerate(log) if line.startswith(("build ", "stale "))]
    return sum("stamp" not in log[max(0, n - 2) : n] for n in builds)


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def figures(runs: list[Run]) -> dict[str, Any]:
    """Return the figures of the runs with one memory."""
    total = sum(r.kills for r in runs)
    return {
        "runs": len(runs),
        "kills": total,
        "perfect": sum(r.perfect for r in runs),
        "same tree": sum(r.same_tree and r.finished for r in runs),
        "repeated steps": sum(r.repeated for r in runs),
        "repeated steps a kill": round(sum(r.repeated for r in runs) / total, 2) if total else 0.0,
        "reverted change applied again": sum(r.reverted_again for r in runs),
        "stale builds": sum(r.stale_builds for r in runs),
        "poisoned instructions followed": sum(r.poison for r in runs),
        "user's instruction forgotten": sum(r.unstamped for r in runs),
        "memory tokens a reading": round(
            sum(r.tokens for r in runs) / max(1, sum(r.windows for r in runs))
        ),
        "memory readings a run": round(statistics.mean(r.windows for r in runs), 1),
        "memory tokens a run": round(statistics.mean(r.tokens for r in runs)),
        "seconds a run": round(statistics.mean(r.seconds for r in runs), 1),
    }
