"""Codex's hooks (0.171.0): Claude Code's names, with turns for prompts and no failure event.

A shell's answer is its output alone; that the command failed stands in the session's transcript,
which has it before the hook runs.
"""

import json
import re
from typing import Any

from keepthread.server.capture.clients.adapter import Adapter, Payload, made_ref
from keepthread.server.capture.events import Call, claude_code_call, is_shell
from keepthread.server.capture.transcript_check import transcript_tail

_EXIT = re.compile(r"^(?:Process exited with code|Exit code:?|exit status:?) (\d+)", re.M | re.I)
_HEAD = 400
_CALL = ("agent_id", "tool_use_id", "tool_name", "tool_input", "tool_response")
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)


def _event(payload: Payload) -> Payload:
    turn = payload.get("turn_id", "")
    prompt = payload.get("prompt")
    # A turn may take further prompts of the person, so the turn alone does not name one. Its
    # transcript says nothing about who sent a prompt. Call ids are the model provider's own, and
    # some count them anew for each answer.
    said = {**payload, "transcript_path": "", "session_file": payload.get("transcript_path")}
    said["prompt_id"] = made_ref(turn, prompt) if isinstance(prompt, str) else turn
    if payload.get("hook_event_name") == "PostToolUse":
        said["call_id"] = payload.get("tool_use_id")
        said["tool_use_id"] = made_ref(
            payload.get("session_id"), turn, *(payload.get(name) for name in _CALL)
        )
    return said


def _call(payload: Payload) -> Call:
    answer, failed = _answer(payload.get("tool_response"))
    call = claude_code_call({**payload, "tool_response": answer})
    given = payload.get("tool_input")
    patch = given.get("command") or given.get("input") if isinstance(given, dict) else given
    if call.tool == "apply_patch" and isinstance(patch, str):
        wrote = tuple(dict.fromkeys(path.strip() for path in _PATCHED.findall(patch)))
        call = call._replace(path=wrote[0] if len(wrote) == 1 else "", wrote=wrote)
    if call.tool == "Bash" and not failed:
        failed = _exit_code(payload.get("session_file"), payload.get("call_id")) != 0
    if not failed:
        return call
    return call._replace(is_error=True, wrote=call.wrote if is_shell(call.tool) else ())


def _exit_code(rollout: Any, ref: Any) -> int:
    """Return the exit status that the transcript gives this call; 0 where it says none."""
    if not (isinstance(rollout, str) and isinstance(ref, str) and ref):
        return 0
    for line in reversed(transcript_tail(rollout)):
        if ref not in line or '"exit_code"' not in line:
            continue
        try:
            item = json.loads(line)["payload"]["item"]
        except (ValueError, KeyError, TypeError):
            continue
        if isinstance(item, dict) and item.get("id") == ref:
            code = item.get("exit_code")
            return code if isinstance(code, int) else 0
    return 0


def _answer(answer: Any) -> tuple[Any, bool]:
    """Return what the tool showed, and whether it says that it failed."""
    if isinstance(answer, str) and answer.startswith("{"):
        try:
            loaded = json.loads(answer)
        except ValueError:
            loaded = None
        if isinstance(loaded, dict) and "output" in loaded:
            answer = loaded
    if isinstance(answer, dict):
        about = answer.get("metadata")
        code = answer.get("exit_code", about.get("exit_code") if isinstance(about, dict) else None)
        shown = answer["output"] if isinstance(answer.get("output"), str) else answer
        return shown, bool(code) or answer.get("isError") is True
    found = _EXIT.search(answer[:_HEAD]) if isinstance(answer, str) else None
    return answer, bool(found and int(found[1]))


def _injected(text: str) -> str:
    said = {"hookEventName": "SessionStart", "additionalContext": text}
    return json.dumps({"hookSpecificOutput": said}, ensure_ascii=False)


ADAPTER = Adapter(
    client="codex",
    ignored=frozenset(("PreToolUse", "PermissionRequest", "SubagentStart", "Interrupt")),
    fields=frozenset(("turn_id",)),
    event=_event,
    call=_call,
    injected=_injected,
)
