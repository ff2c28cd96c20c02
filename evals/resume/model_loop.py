"""The migration by a real model: a plain loop over the Messages API, with the same world and memory.

The model gets the memory's own tools (through MCP) and three of a client's: ``Read``, ``Edit`` and
``Bash``, whose calls the hooks report. Its context holds one process; what it knows after a kill is
what the hook of the session's start injects and what it asks the memory for. Needs the extra
``anthropic`` and its environment (``ANTHROPIC_API_KEY``, and ``ANTHROPIC_BASE_URL`` for another
server of the same interface).
"""

import json
import uuid
from typing import Any

import anthropic
from mcp.types import Tool

from evals.resume import repository
from evals.resume.policy import CORE, REQUEST
from evals.resume.repository import World
from evals.resume.with_keepthread import ClientSession

RETRIES = 8
ANSWER_TOKENS_MAX = 4_096
CALLS_A_CONTEXT = 220
"""Calls after which the context counts as full, and is lost as in an automatic compaction."""

NUDGES_MAX = 5
"""How often in a row the user asks a model that stopped early to go on."""

MODEL_REQUEST = f"""{REQUEST}

How each module depot/mNN.py reads afterwards (NAME is mNN), and nothing else changes:

from depot import client


def fetch():
    return client.request("NAME", timeout=T, style="S")

- T is the default timeout in docs/guide.md.
- S is the error style that `sh tools/bench.sh` finds. Run it once, before the first module.
- Modules from m16 on get `, retries=R` after style. R is what `sh tools/probe.sh` finds. Run it once, after m15.
- Work module by module, from m01 on, one plan item each. After each edit run, in one command: what has to be run
  before a commit, the build command that ci.yml names now with the module's path as its argument, and a commit of
  everything.
- After m08 try `CACHE = True` in {CORE} and run `{repository.CORE_TESTS}`. If that fails, take the change back with
  `git checkout -- {CORE}`, record the decision, and do not try it again.
- At the end run `{repository.SUITE}`, then call hand_off with task_done=true.
"""

_SYSTEM = (
    "You are a coding agent in a repository. Your context may end at any moment; your memory is Keepthread, "
    "through its tools. When a session begins, call get_context and go on where the work stands. Start the task "
    "with the user's words, keep the plan up to date before and after each step, and record decisions and facts "
    "as you learn them. Never do finished work again."
)

_PATH = {"path": {"type": "string", "description": "relative to the repository"}}
_OWN_TOOLS: list[dict[str, Any]] = [
    {
        "name": "Read",
        "description": "Read a file.",
        "input_schema": {"type": "object", "properties": _PATH, "required": ["path"]},
    },
    {
        "name": "Edit",
        "description": "Write the whole of a file.",
        "input_schema": {
            "type": "object",
            "properties": {**_PATH, "text": {"type": "string"}},
            "required": ["path", "text"],
        },
    },
    {
        "name": "Bash",
        "description": "Run a shell command in the repository.",
        "input_schema": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    },
]


class ModelLoop:
    """One context of the model, from the session's start until it is done or the context is full."""

    def __init__(self, session: ClientSession, world: World, model: str) -> None:
        self._session, self._world, self._model = session, world, model
        self._api = anthropic.AsyncAnthropic(max_retries=RETRIES)
        self._tools: list[Any] = []
        self._calls = 0
        self._done = False

    async def run(self) -> bool:
        """Work; return True when all is done, False when the context is full."""
        listed = await self._session.client.list_tools()
        self._tools = [*_OWN_TOOLS, *map(_as_tool, listed.tools)]
        injected = self._session.hook("SessionStart", source="startup")
        words = "Go on." if "- goal task-" in injected else MODEL_REQUEST
        messages: list[Any] = [{"role": "user", "content": f"{injected}\n\n{self._say(words)}"}]
        idle, said = 0, ""
        while idle <= NUDGES_MAX:
            answer = await self._ask(messages)
            messages.append({"role": "assistant", "content": answer.content})
            uses = [block for block in answer.content if block.type == "tool_use"]
            if uses:
                idle = 0
                results = [await self._use(use) for use in uses]
                messages.append({"role": "user", "content": results})
            else:
                said = "".join(block.text for block in answer.content if block.type == "text")
                self._session.hook("Stop", last_assistant_message=said)
                idle += 1
                messages.append({"role": "user", "content": self._say("Go on.")})
            if self._done:
                return True
            if self._calls >= CALLS_A_CONTEXT:
                self._session.hook("PreCompact", trigger="auto")
                return False
        raise RuntimeError(f"the model stopped {NUDGES_MAX} times without a call: {said[-500:]}")

    def _say(self, words: str) -> str:
        self._session.hook("UserPromptSubmit", prompt=words, prompt_id=uuid.uuid4().hex)
        return words

    async def _ask(self, messages: list[Any]) -> Any:
        """Return the model's next message. The API's client waits and tries again when it is overloaded."""
        answer = await self._api.messages.create(
            model=self._model,
            max_tokens=ANSWER_TOKENS_MAX,
            system=_SYSTEM,
            tools=self._tools,
            messages=messages,
        )
        if answer.stop_reason == "refusal" or not answer.content:
            raise RuntimeError(f"the model gave no answer ({answer.stop_reason})")
        return answer

    async def _use(self, use: Any) -> dict[str, Any]:
        self._calls += 1
        try:
            failed, text = await self._call(use.name, dict(use.input))
        except (KeyError, TypeError, OSError) as error:  # the model's arguments, not our fault
            failed, text = True, f"{type(error).__name__}: {error}"
        return {
            "type": "tool_result", "tool_use_id": use.id, "content": text or "(no output)", "is_error": failed,
        }  # fmt: skip

    async def _call(self, name: str, given: dict[str, Any]) -> tuple[bool, str]:
        if name == "Read":
            return False, self._read(given["path"])
        if name == "Edit":
            return False, self._edit(given["path"], given["text"])
        if name == "Bash":
            succeeded, output = self._world.run(given["command"])
            seen = {"stdout": output, "stderr": "", "interrupted": False} if succeeded else output
            self._session.tool_hook("Bash", given, seen, succeeded)
            return not succeeded, output
        failed, text = await self._session.call(name, given)
        if name == "hand_off" and given.get("task_done") and not failed:
            self._done = True
        return failed, text

    def _read(self, path: str) -> str:
        text = self._world.read(path)
        whole = str(self._world.tree / path)
        self._session.tool_hook("Read", {"file_path": whole}, {"file": {"content": text}})
        return text

    def _edit(self, path: str, text: str) -> str:
        before = self._world.read(path)
        self._world.edit(path, text)
        whole = str(self._world.tree / path)
        given = {"file_path": whole, "old_string": before, "new_string": text}
        self._session.tool_hook("Edit", given, {"structuredPatch": []})
        return f"{path} written"


def _as_tool(tool: Tool) -> dict[str, Any]:
    """Return a tool of the memory as the API takes it."""
    schema = json.loads(json.dumps(tool.input_schema))
    return {"name": tool.name, "description": tool.description or "", "input_schema": schema}
