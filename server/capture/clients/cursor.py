"""Cursor's hooks: an event a kind of tool, conversations for sessions, JSON inside strings.

Several events tell of one call. The one that tells most is kept: for the shell the general one, which
has the exit status; for edits and MCP servers the one of their kind, which has the text and the server.
"""

import json
from typing import Any

from keepthread.server.capture.clients.adapter import Adapter, Payload, is_our_tool, made_ref
from keepthread.server.capture.events import (
    Call,
    claude_code_call,
    is_shell,
    mcp_name,
    paths_of_call,
)

_EVENTS = {
    "sessionStart": "SessionStart",
    "sessionEnd": "SessionEnd",
    "beforeSubmitPrompt": "UserPromptSubmit",
    "afterAgentResponse": "Stop",
    "preCompact": "PreCompact",
    "afterMCPExecution": "PostToolUse",
    "afterFileEdit": "PostToolUse",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
}
_HAVE_THEIR_OWN = ("Edit", "Write", "MCP:")
_CALL = ("tool_use_id", "tool_name", "tool_input", "tool_output", "error_message")
_FAILURES = frozenset(("error", "rejected", "permissionDenied"))  # an answer without content


def _event(payload: Payload) -> Payload:
    name = str(payload.get("hook_event_name", ""))
    said = {k: v for k, v in payload.items() if k != "user_email"}
    ours = _EVENTS.get(name, name)
    tool = str(payload.get("tool_name", ""))
    if name == "postToolUse" and (tool.startswith(_HAVE_THEIR_OWN) or not _has_words(payload)):
        ours = "PreToolUse"  # ignored
    roots = payload.get("workspace_roots")
    said |= {
        "hook_event_name": ours,
        "cursor_event": name,
        "session_id": payload.get("conversation_id") or payload.get("session_id", ""),
        "prompt_id": payload.get("generation_id", ""),
        "transcript_path": "",  # it does not say who sent a prompt
    }
    if isinstance(roots, list) and roots:
        said["cwd"] = roots[0]
    if ours.startswith("PostToolUse"):  # ids are the model provider's own; some count them anew
        told = [payload.get(field) for field in _CALL] if payload.get("tool_use_id") else [said]
        said["tool_use_id"] = made_ref(said["session_id"], said["prompt_id"], *told)
    if name == "afterAgentResponse":
        said["last_assistant_message"] = payload.get("text")
    return said


def _has_words(payload: Payload) -> bool:
    """False for what is told of reading and searching without what was read: lengths alone."""
    answer = _loaded(payload.get("tool_output"))
    return not isinstance(answer, dict) or bool({"output", "content"} & answer.keys())


def _call(payload: Payload) -> Call:
    event = payload.get("cursor_event")
    if event == "afterFileEdit":
        edits = payload.get("edits")
        written = [str(e.get("new_string", "")) for e in edits or [] if isinstance(e, dict)]
        given = {"file_path": payload.get("file_path"), "edits": edits}
        return _shaped(payload, "Edit", given, "\n".join(written))
    answer = _loaded(
        payload.get("result_json", payload.get("tool_output", payload.get("error_message")))
    )
    tool = str(payload.get("tool_name", ""))
    server = payload.get("mcp_server_name")
    if event == "afterMCPExecution" and isinstance(server, str) and server:
        tool = mcp_name(server, tool)
    call = _shaped(payload, tool, _loaded(payload.get("tool_input")), _content(answer))
    failed = event == "postToolUseFailure" or _says_failure(answer)
    return call._replace(
        own=call.own or is_our_tool(tool),
        is_error=failed,
        wrote=call.wrote if is_shell(tool) or not failed else (),
    )


def _says_failure(answer: Any) -> bool:
    if not isinstance(answer, dict):
        return False
    wordless = "content" not in answer and "output" not in answer
    return (
        answer.get("isError") is True
        or answer.get("exitCode") not in (None, 0)
        or (wordless and bool(_FAILURES & answer.keys()))
    )


def _shaped(payload: Payload, tool: str, given: Any, answer: Any) -> Call:
    said = {
        **payload,
        "hook_event_name": "PostToolUse",
        "tool_name": tool,
        "tool_input": given,
        "tool_response": answer,
    }
    path, wrote = paths_of_call(tool, given) if isinstance(given, dict) else ("", ())
    return claude_code_call(said)._replace(path=path, wrote=wrote)


def _loaded(value: Any) -> Any:
    """Return what a JSON string holds; anything else as it is."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _content(answer: Any) -> Any:
    for words in ("content", "output"):
        if isinstance(answer, dict) and words in answer:
            return answer[words]
    return answer


ADAPTER = Adapter(
    client="cursor",
    ignored=frozenset(
        "PreToolUse preToolUse beforeShellExecution afterShellExecution beforeMCPExecution "
        "beforeReadFile workspaceOpen afterAgentThought beforeTabFileRead afterTabFileEdit subagentStart stop".split()
    ),
    fields=frozenset(
        "conversation_id generation_id model_id model_params cursor_version "
        "workspace_roots user_email attachments command output duration sandbox edits "
        "file_path result_json tool_output error_message failure_type is_interrupt text "
        "status loop_count duration_ms final_status is_background_agent mcp_server_name "
        "mcp_server_url url server".split()
    ),
    event=_event,
    call=_call,
    injected=lambda text: json.dumps({"additional_context": text}, ensure_ascii=False),
)
