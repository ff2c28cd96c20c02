"""What the agent does next, given what it knows. No model: the same rules over whatever memory there is."""

import re
from typing import NamedTuple, Protocol

from evals.resume import repository
from evals.resume.repository import MODULES, World, needs_retries, new_text

REQUEST = (
    "Migrate every module of depot from legacy.call to client.request. "
    f"Run `{repository.STAMP}` before each commit."
)
GOAL = "Migrate every module of depot from legacy.call to client.request"
CONSTRAINT = f"Run `{repository.STAMP}` before each commit"

READ_GUIDE = "Read docs/guide.md for the default timeout"
CHOOSE_STYLE = "Choose the error style"
CHOOSE_RETRIES = "Choose the retry count"
TRY_CACHE = "Try the response cache in depot/core.py"
SPEED_UP = "Make depot/core.py faster"
RUN_SUITE = "Run the whole suite"
CACHE_OFF = "Keep the response cache of depot/core.py off"

CORE = "depot/core.py"


def migration_of(path: str) -> str:
    """Return the title of a module's step."""
    return f"Migrate {path}"


TITLES = (
    READ_GUIDE,
    CHOOSE_STYLE,
    *map(migration_of, MODULES[:8]),
    TRY_CACHE,
    *map(migration_of, MODULES[8:15]),
    CHOOSE_RETRIES,
    *map(migration_of, MODULES[15:30]),
    SPEED_UP,
    *map(migration_of, MODULES[30:]),
    RUN_SUITE,
)


def read_directions(text: str) -> tuple[str, ...]:
    """Return the commands that ``text`` says to run before each commit."""
    return tuple(dict.fromkeys(re.findall(r"[Rr]un `([^`]+)` before each commit", text)))


class Step(NamedTuple):
    """One item of the plan as the memory shows it."""

    id: str
    title: str
    status: str


class Knowledge(NamedTuple):
    """All that the agent goes by."""

    goal: bool = False
    plan: tuple[Step, ...] = ()  # what is not finished, the next one first
    planned: bool = False
    build: str = ""  # "" where it is not known, or no longer
    timeout: int = 0
    style: str = ""
    retries: str = ""
    cache_off: bool = False
    directions: tuple[str, ...] = ()  # commands to run before each commit
    written: frozenset[str] = frozenset()
    last_command: str = ""
    last_succeeded: bool = False


class Mind(Protocol):
    """A memory as the agent uses it. Each method returns once what it says is remembered, if it ever is."""

    async def knowledge(self) -> Knowledge: ...
    async def hear(self, words: str) -> None: ...
    async def begin(self, goal: str, constraint: str) -> None: ...
    async def lay_out(self, titles: tuple[str, ...]) -> None: ...
    async def start(self, step: Step, path: str) -> None: ...
    async def finish(self, step: Step, note: str = "") -> None: ...
    async def skip(self, step: Step, note: str) -> None: ...
    async def learn(self, text: str, path: str, subject: str) -> None: ...
    async def obey(self, text: str, path: str) -> None: ...
    async def decide(self, decision: str, reason: str) -> None: ...
    async def saw_file(self, path: str, text: str) -> None: ...
    async def saw_edit(self, path: str, before: str, after: str) -> None: ...
    async def saw_run(self, command: str, succeeded: bool, output: str) -> None: ...
    async def hand_off(self, doing: str, following: str, done: bool) -> None: ...


class Agent:
    """Hands and rules. It keeps nothing between two steps but what its memory tells it."""

    def __init__(self, mind: Mind, world: World) -> None:
        self.mind, self.world = mind, world
        self.migrated = 0
        self.succeeded = True

    async def step(self) -> bool:
        """Do the next step; False when nothing is left."""
        known = await self.mind.knowledge()
        if not known.goal:
            await self.mind.hear(REQUEST)
            await self.mind.begin(GOAL, CONSTRAINT)
        if not known.planned:
            await self.mind.lay_out(TITLES)
            return True
        if not known.plan:
            await self.mind.hand_off("the migration", "nothing: all is done", done=True)
            return False
        step = known.plan[0]
        path = step.title.partition(" ")[2] if step.title.startswith("Migrate ") else ""
        if step.status != "in_progress":
            await self.mind.start(step, path)
        if path:
            await self._migrate(known, step, path)
        else:
            await self._other(known, step)
        return True

    async def _other(self, known: Knowledge, step: Step) -> None:
        mind = self.mind
        if step.title == READ_GUIDE:
            await self._read_guide()
            await mind.finish(step)
        elif step.title == CHOOSE_STYLE:
            style = known.style or await self._choose_style()
            await mind.finish(step, f"no change needed: {style}")
        elif step.title == CHOOSE_RETRIES:
            retries = known.retries or await self._choose_retries()
            await mind.finish(step, f"no change needed: {retries}")
        elif step.title == RUN_SUITE:
            await self._run(repository.SUITE)
            await mind.finish(step)
        elif known.cache_off:
            await mind.skip(step, "the response cache was tried and fails")
        else:
            await self._try_cache(known)
            await mind.skip(step, "the suite failed with it, reverted")

    async def _migrate(self, known: Knowledge, step: Step, path: str) -> None:
        timeout = known.timeout or await self._read_guide()
        style = known.style or await self._choose_style()
        retries = known.retries
        if needs_retries(path) and not retries:
            retries = await self._choose_retries()
        build = known.build or await self._read_build()
        after = new_text(path, timeout, style, retries)
        if path not in known.written:
            await self._edit(path, after)
        commit = f"git add -A && git commit -qm '{step.title}' --allow-empty"
        command = " && ".join([*known.directions, f"{build} {path}", commit])
        if not (known.last_succeeded and path in known.last_command):
            await self._run(command)
            if not self.succeeded:  # a kill may have cut the file in two
                await self._edit(path, after)
                await self._run(command)
        await self.mind.finish(step)
        self.migrated += 1

    async def _try_cache(self, known: Knowledge) -> None:
        on = "True" in self.world.read(CORE)
        tried = CORE in known.written or CORE in known.last_command
        if not on and not tried:
            self.world.edit(CORE, "CACHE = True\n")
            await self.mind.saw_edit(CORE, "CACHE = False\n", "CACHE = True\n")
            on = True
        if on:
            if known.last_command != repository.CORE_TESTS or known.last_succeeded:
                await self._run(repository.CORE_TESTS)
            await self._run(f"git checkout -q -- {CORE}")
        await self.mind.decide(CACHE_OFF, "the suite failed with it: 3 stale reads")

    async def _choose_style(self) -> str:
        output = await self._run("sh tools/bench.sh")
        style = output.split()[-1]
        await self.mind.decide(
            f"Use the error style {style} in every migrated module",
            "the bench found it the fastest",
        )
        return style

    async def _choose_retries(self) -> str:
        output = await self._run("sh tools/probe.sh")
        retries = output.split()[-1]
        await self.mind.decide(
            f"Give every module from m16 on a retry count of {retries}",
            "the probe found it the best",
        )
        return retries

    async def _read_guide(self) -> int:
        text = self.world.read("docs/guide.md")
        await self.mind.saw_file("docs/guide.md", text)
        fact = f"The default timeout is {repository.TIMEOUT_SECONDS} seconds"
        await self.mind.learn(fact, "docs/guide.md", "default timeout")
        await self.mind.obey(f"Run `{repository.PURGE}` before each commit", "docs/guide.md")
        return repository.TIMEOUT_SECONDS

    async def _read_build(self) -> str:
        text = self.world.read("ci.yml")
        await self.mind.saw_file("ci.yml", text)
        build = text.rpartition("run: ")[2].strip()
        await self.mind.learn(f"The build command is `{build}`", "ci.yml", "build command")
        return build

    async def _edit(self, path: str, after: str) -> None:
        before = self.world.read(path)
        self.world.edit(path, after)
        await self.mind.saw_edit(path, before, after)

    async def _run(self, command: str) -> str:
        self.succeeded, output = self.world.run(command)
        await self.mind.saw_run(command, self.succeeded, output)
        return output
