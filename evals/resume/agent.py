"""``python -m evals.resume.agent TREE MEMORY POINTS VICTIM DELAY``: one process of the agent.

It works until all is done (exit 0) or its context is full (exit 10), or until it is killed: after
POINTS points of its work (0: never) a thread waits DELAY seconds and kills the VICTIM (agent,
server or both), in the middle of whatever goes on then. Without its server it ends with 11.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from evals.resume.controls import ControlMind, Notes
from evals.resume.policy import Agent, Mind
from evals.resume.repository import SERVER_PID, World

MODEL = "model:"
"""A memory named ``model:NAME`` is Keepthread used by that model, instead of by the scripted agent."""

DONE, CONTEXT_FULL, SERVER_LOST = 0, 10, 11
MODULES_A_CONTEXT = 20


class Fate:
    """Counts points of the work and kills at one of them."""

    def __init__(self, tree: Path, points: int, victim: str, delay_seconds: float) -> None:
        self._tree, self._left, self._victim, self._delay = tree, points, victim, delay_seconds

    def point(self) -> None:
        """Mark one point; called before and after everything that can be cut."""
        self._left -= 1
        if self._left == 0:
            threading.Thread(target=self._strike, daemon=True).start()

    def _strike(self) -> None:
        time.sleep(self._delay)
        (self._tree.parent / "killed").touch()
        if self._victim in ("server", "both"):
            os.kill(int((self._tree.parent / SERVER_PID).read_text()), signal.SIGKILL)
        if self._victim in ("agent", "both"):
            os.kill(os.getpid(), signal.SIGKILL)


async def work(tree: Path, memory: str, fate: Fate) -> int:
    """Work in this process; return its exit status."""
    if memory.startswith(MODEL):
        return await _work_with_model(tree, memory.removeprefix(MODEL), fate)
    async with _mind(tree, memory, fate) as mind:
        agent = Agent(mind, _FatedWorld(tree, fate))
        while await agent.step():
            if memory == "keepthread" and agent.migrated == MODULES_A_CONTEXT:
                await mind.hand_off("migrating modules", "the next pending item", done=False)
                return CONTEXT_FULL
    return DONE


async def _work_with_model(tree: Path, model: str, fate: Fate) -> int:
    # The API's client is an extra, and takes 1.5 s to import.
    from evals.resume.model_loop import ModelLoop  # noqa: PLC0415
    from evals.resume.with_keepthread import client_session  # noqa: PLC0415

    async with client_session(tree, fate.point) as session:
        done = await ModelLoop(session, _FatedWorld(tree, fate), model).run()
    return DONE if done else CONTEXT_FULL


class _FatedWorld(World):
    def __init__(self, tree: Path, fate: Fate) -> None:
        super().__init__(tree)
        self._fate = fate

    def edit(self, path: str, text: str) -> None:
        self._fate.point()
        super().edit(path, text)
        self._fate.point()

    def run(self, command: str) -> tuple[bool, str]:
        self._fate.point()
        done = super().run(command)
        self._fate.point()
        return done


@asynccontextmanager
async def _mind(tree: Path, memory: str, fate: Fate) -> AsyncIterator[Mind]:
    if memory == "keepthread":
        # The SDK's client takes half a second to import, and the controls need none.
        from evals.resume.with_keepthread import keepthread_mind  # noqa: PLC0415

        async with keepthread_mind(tree, fate.point) as mind:
            yield mind
    else:
        notes = Notes(tree.parent / "notes.jsonl") if memory == "notes" else None
        yield ControlMind(tree, fate.point, notes)


def main(arguments: Sequence[str]) -> int:
    """Run one process."""
    tree, memory, points, victim, delay = arguments
    fate = Fate(Path(tree), int(points), victim, float(delay))
    try:
        return anyio.run(work, Path(tree), memory, fate)
    except BaseException:
        if (Path(tree).parent / "killed").exists():
            return SERVER_LOST
        raise


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
