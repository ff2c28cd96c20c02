"""A repository with a memory, a user's commands, and an agent that claims things about its plan."""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keepthread.server.context.frame import unquote
from keepthread.server.handoff.git_truth import head_commit
from keepthread.server.handoff.reconcile import Report
from keepthread.server.memory import Memory
from keepthread.stores.ledger import plan_items
from keepthread.stores.records import PlanItem
from keepthread.validators.writes.plan import update_plan_item
from keepthread.validators.writes.tasks import hand_off
from tests.server.handoff.repository import Repository
from tests.server.world import World


class Project:
    """One workspace that is a repository. ``memory`` is the agent's; its window is opened by a hook."""

    def __init__(self, folder: Path, *, git: bool = True) -> None:
        self.world = World(folder)
        self.repository = Repository(self.world.tree, init=git)
        if git:
            self.repository.commit("first", at=time.time() - 3_600, a="1\n", b="1\n")
            for path in ("a.py", "b.py"):
                os.utime(self.repository.tree / path, (1_600_000_000, 1_600_000_000))
        self.config = folder / "user.toml"
        self.world.hook("SessionStart", source="startup")
        self.memory = self.open()

    def open(self, session: str = "s1") -> Memory:
        """Open the memory as the server of another session does."""
        self.world.session = session
        return self.world.memory(settings={"config": str(self.config)})

    def command(self, name: str, code: str) -> str:
        """Return a line of ``[commands]`` that runs Python ``code``."""
        line = shlex.join([sys.executable, "-c", code])
        return f"{name} = '''{line}'''\n"

    def user_commands(self, *lines: str) -> None:
        """Write the user's own configuration."""
        self.config.write_text("[commands]\n" + "".join(lines), encoding="utf-8")

    def plan(self, title: str, *statuses: str, memory: Memory | None = None, **more: object) -> str:
        """Create an item and move it through ``statuses``; return its id."""
        by = memory or self.memory
        made = update_plan_item(by.gate, by.caller(), title=title, **more)  # type: ignore[arg-type]
        for status in statuses:
            self.move(made.id, status, memory=by)
        return made.id

    def move(self, item: str, status: str, *, memory: Memory | None = None, note: str = "") -> None:
        """Set an item's status as the tool does."""
        by = memory or self.memory
        caller = by.caller()
        head = head_commit(caller.tree)
        update_plan_item(by.gate, caller, item=item, status=status, note=note, started_head=head)

    def reconcile(self, *, run_commands: bool = True) -> dict[str, str]:
        """Reconcile; return the verdict of each item that got one."""
        return {f.item.id: f.verdict for f in self.report(run_commands=run_commands).findings}

    def report(self, *, run_commands: bool = True) -> Report:
        return self.memory.reconcile(run_commands=run_commands)

    def item(self, item: str) -> PlanItem:
        """Return an item's current state."""
        author = self.memory.caller().author
        items = plan_items(self.memory.reader, author.workspace, author.task)
        return next(i for i in items if i.id == item)

    def close_window(self) -> None:
        hand_off(self.memory.gate, self.memory.caller(), doing="working", next_step="go on")

    def found(self) -> list[str]:
        """Return the FOUND lines of the window."""
        lines = self.memory.context().text.splitlines()
        return [unquote(f'"{line[8:]}"') for line in lines if line.startswith("- FOUND ")]


@contextmanager
def project_in(folder: Path, *, git: bool = True) -> Iterator[Project]:
    """Make a project and close its memory afterwards."""
    made = Project(folder, git=git)
    try:
        yield made
    finally:
        made.memory.close()


@contextmanager
def agent_process() -> Iterator[int]:
    """A process that stands for a client."""
    process = subprocess.Popen(["sleep", "60"])
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def start_session(world: World, session: str, pid: int, source: str = "startup") -> str:
    """Have the client in process ``pid`` begin a session; return what its hook injects."""
    world.session = session
    world.environ = {**world.environ, "CLAUDE_PID": str(pid), "CLAUDE_CODE_SESSION_ID": session}
    return world.hook("SessionStart", source=source)
