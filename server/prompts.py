"""The prompts: the user's own channel in the client's slash menu.

What the user types into ``start_task`` and ``remember`` is the user's word: a client runs a
prompt only when its user invokes it. Arguments have defaults, since a missing one would be
answered with a bare internal error in one protocol era.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import UserMessage
from pydantic import Field

from keepthread.server.memory import Memory
from keepthread.server.tools.base import Run
from keepthread.server.users_word import confirm, deny, done
from keepthread.server.users_word import remember as keep
from keepthread.server.users_word import start_task as begin
from keepthread.stores.errors import StoreError
from keepthread.validators.verdict import Refused

_IDS_MAX = 50


def add_prompts(server: MCPServer, memory: Memory, run: Run) -> None:
    """Register every prompt on ``server``."""

    @server.prompt(title="Resume work from memory")
    async def resume() -> list[UserMessage]:
        """Continue from what this workspace's memory holds."""
        window = await run(lambda: memory.context())
        return [UserMessage(f"{window.text}\nContinue from here.")]

    @server.prompt(title="Start a task")
    async def start_task(
        goal: Annotated[str, Field(description="The goal, in your words")] = "",
        constraints: Annotated[str, Field(description="Constraints, one a line")] = "",
    ) -> list[UserMessage]:
        """Begin a task with a goal and constraints; both are pinned in every window."""
        if not goal.strip():
            return [
                UserMessage(
                    'Ask me for the goal of the task, then call start_task with source="user".'
                )
            ]
        wanted = tuple(c.strip() for c in constraints.splitlines() if c.strip())
        made = await _word(run, lambda: done(begin(memory, goal.strip(), wanted, via="prompt")))
        return [
            UserMessage(f"{made}\nGoal: {goal}\nMake a plan with update_plan_item, then begin.")
        ]

    @server.prompt(title="Remember an instruction")
    async def remember(
        instruction: Annotated[str, Field(description="What to keep to from now on")] = "",
    ) -> list[UserMessage]:
        """Keep a standing instruction of yours; it is pinned in every window of this workspace."""
        if not instruction.strip():
            return [UserMessage("Ask me what I want you to remember.")]
        made = await _word(run, lambda: done(keep(memory, instruction.strip(), via="prompt")))
        return [UserMessage(f"{made}\nFrom me: {instruction}")]

    @server.prompt(title="Hand off to the next window")
    async def hand_off() -> list[UserMessage]:
        """Close this window with a note for the next one."""
        return [
            UserMessage(
                "Bring the plan up to date, record what is worth keeping, then call hand_off with what you were "
                "doing, the next step, and what you noticed."
            )
        ]

    @server.prompt(title="Review what is stored")
    async def review(
        right: Annotated[str, Field(description="Ids that you confirm: fact-3 task-1")] = "",
        wrong: Annotated[str, Field(description="Ids of what is wrong: fact-3 decision-2 plan-4")] = "",
    ) -> list[UserMessage]:
        """Look through memory: stale, disputed and reported records first. What you name is settled at once."""
        said = [
            *[await _word(run, partial(confirm, memory, i, via="prompt")) for i in _ids(right)],
            *[await _word(run, partial(deny, memory, i, "", via="prompt")) for i in _ids(wrong)],
        ]
        window = await run(lambda: memory.context(stage="review"))
        return [
            UserMessage(
                "".join(f"{line}\n" for line in said) + f"{window.text}\nList what is STALE, DENIED, DOUBTED, "
                "DISPUTED, WEAKENED or only reported, and say for each what would settle it."
            )
        ]

    @server.prompt(title="Forget something")
    async def forget(
        what: Annotated[str, Field(description="What should be forgotten")] = "",
    ) -> list[UserMessage]:
        """Find what should be forgotten. Nothing is deleted by this: facts are retracted, with a reason."""
        return [
            UserMessage(
                f"Find the facts about this with search_archive and memory://facts: {what or '(ask me what)'}. "
                "Show me what you found; after I agree, call retract_fact for each."
            )
        ]


def _ids(given: str) -> list[str]:
    return given.replace(",", " ").split()[:_IDS_MAX]


async def _word(run: Run, work: Callable[[], str]) -> str:
    """Return what was done, or the refusal: an answer either way, which the user sees."""
    try:
        return str(await run(work))
    except (Refused, StoreError) as error:
        return f"Not stored: {error}"
