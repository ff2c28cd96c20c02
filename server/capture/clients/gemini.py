"""Gemini CLI's hooks (0.61.0): names of its own, no call ids, failures inside the answer.

It wraps what tools said, and puts what hooks injected before the person's words. PreCompress fires
before each call of the model, so only one that the person asked for is a compaction.
"""

import json
import re
from typing import Any

from keepthread.server.capture.clients.adapter import Adapter, Payload, is_our_tool, made_ref
from keepthread.server.capture.events import Call, claude_code_call, paths_of_call

_EVENTS = {
    "BeforeAgent": "UserPromptSubmit",
    "AfterTool": "PostToolUse",
    "AfterAgent": "Stop",
    "PreCompress": "PreCompact",
}
_EXIT = re.compile(r"^Exit Code: ([1-9]\d*|-\d+)", re.MULTILINE)
_TAIL = 400
_INJECTED = re.compile(r"\A\s*<hook_context>.*</hook_context>\s*", re.DOTALL)
_WRAPPED = re.compile(r"\A<untrusted_context>\n(.*)\n</untrusted_context>\Z", re.DOTALL)


def _event(payload: Payload) -> Payload:
    name = str(payload.get("hook_event_name", ""))
    said = {
        **payload,
        "hook_event_name": _EVENTS.get(name, name),
        "transcript_path": "",  # it does not say who sent a prompt
        "session_file": payload.get("transcript_path"),
    }
    if name == "AfterTool":
        said["tool_use_id"] = made_ref(
            payload.get("session_id"), payload.get("timestamp"), payload.get("tool_name"),
            payload.get("tool_input"),
        )  # fmt: skip
    elif name == "BeforeAgent":
        said["prompt_id"] = made_ref(payload.get("timestamp"), payload.get("prompt"))
        if isinstance(payload.get("prompt"), str):
            said["prompt"] = _INJECTED.sub("", payload["prompt"])
    elif name == "PreCompress" and payload.get("trigger") != "manual":
        said["hook_event_name"] = "Notification"  # ignored
    elif name == "AfterAgent":
        said["last_assistant_message"] = payload.get("prompt_response")
        said["prompt_id"] = payload.get("timestamp", "")
    return said


def _call(payload: Payload) -> Call:
    answer = payload.get("tool_response")
    answer = answer if isinstance(answer, dict) else {"llmContent": answer}
    shown, fault = _texts(answer.get("llmContent")), answer.get("error")
    about = payload.get("mcp_context")
    name = str(payload.get("tool_name", ""))
    if isinstance(about, dict) and about.get("server_name") and about.get("tool_name"):
        name = f"mcp__{about['server_name']}__{about['tool_name']}"
    shell = name == "run_shell_command"
    failed = bool(fault) or (shell and bool(_EXIT.search(shown[-_TAIL:])))
    if not shown and fault:
        shown = fault if isinstance(fault, str) else json.dumps(fault, ensure_ascii=False)
    call = claude_code_call({**payload, "tool_name": name, "tool_response": shown})
    given = payload.get("tool_input")
    path, wrote = paths_of_call(name, given) if isinstance(given, dict) else ("", ())
    return call._replace(
        is_error=failed,
        own=call.own or is_our_tool(name),
        path=path,
        wrote=() if failed and not shell else wrote,
    )


def _texts(content: Any) -> str:
    """Return the text of a part, or of a list of parts."""
    if isinstance(content, list):
        return "\n".join(_texts(part) for part in content)
    if isinstance(content, dict):
        answer = content.get("functionResponse")
        response = answer.get("response") if isinstance(answer, dict) else None
        if isinstance(response, dict):
            return _texts(response.get("output", response.get("content")))
        if isinstance(content.get("text"), str):
            return _unwrapped(content["text"])
        return json.dumps(content, ensure_ascii=False)
    return "" if content is None else _unwrapped(str(content))


def _unwrapped(text: str) -> str:
    found = _WRAPPED.match(text)
    return found[1].replace("&lt;/untrusted_context&gt;", "</untrusted_context>") if found else text


def _injected(text: str) -> str:
    said = {"hookEventName": "SessionStart", "additionalContext": text}
    return json.dumps({"hookSpecificOutput": said}, ensure_ascii=False)


ADAPTER = Adapter(
    client="gemini",
    ignored=frozenset(
        ("BeforeTool", "BeforeModel", "AfterModel", "BeforeToolSelection", "Notification")
    ),
    fields=frozenset(
        "timestamp mcp_context original_request_name prompt_response llm_request "
        "llm_response".split()
    ),
    event=_event,
    call=_call,
    injected=_injected,
)
