"""What a client's event says, as captures: one function per kind of payload, pure.

Clients rename and add fields; what is not understood is kept as it came, never refused.
"""

import hashlib
import json
import posixpath
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, NamedTuple

from keepthread.server.capture.commands import (
    expand,
    file_read_by,
    files_shown_by,
    files_written_by,
    runs_keepthread,
    working_folder,
)

OUR_TOOLS = frozenset(
    "record_fact record_decision update_plan_item add_open_question search_archive get_context "
    "read_record capture_file start_task answer_question retract_fact hand_off".split()
)
OUR_RESOURCES = "memory://"
MCP_PREFIX = "mcp__"
WRITING_TOOLS = frozenset(("Write", "Edit", "MultiEdit", "NotebookEdit"))

SHELL_TOOLS = frozenset(("Bash", "PowerShell"))

MODEL_WRITTEN_TOOLS = frozenset(
    "Task Agent WebFetch TaskOutput AgentOutput "
    "spawn_agent wait_agent send_input resume_agent close_agent "
    "invoke_agent web_fetch google_web_search".split()
)
"""Their results are words of a model: a sub-agent's report, a summary of a page."""

_PATH_ARGUMENTS = ("file_path", "path", "filename", "file", "notebook_path", "filepath")
_NEW_TEXT_ARGUMENTS = (
    "new_string", "new_str", "content", "file_text", "insert_text", "contents", "new_source", "edits", "patch",
)  # fmt: skip

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_START_CHARS_MAX = 1_000
_LEADING_MARKS = " \t\r\n\v\f\u00a0\u2028\u2029\u2400\u2800\u3164\u034f-*_•+>#"
_MACHINE_STARTS = ("[SYSTEM", "[REQUEST", "[IMPORTANT", "[NOTIFICATION", "[TASK", "[AUTO")


class Call(NamedTuple):
    """A tool call as it will be archived, before paths are made relative and secrets removed."""

    tool: str
    args: str
    output: str
    is_error: bool = False
    truncated: bool = False
    model_written: bool = False
    own: bool = False
    path: str = ""
    wrote: tuple[str, ...] = ()
    shows: tuple[str, ...] = ()  # files that may be in the output, where no single one is
    shell: str = ""  # the client's id of the background shell that it started or reads
    rest_in: str = ""  # a file of the client that holds the whole output


def is_own_call(tool: str, args: Mapping[str, Any]) -> bool:
    """True for a call that shows what Keepthread says: it would else become its own proof.

    A tool of ours under whatever name the client gave the server, one of our resources read
    through a tool of the client, our command line in a shell.
    """
    if tool.startswith(MCP_PREFIX) and tool.rpartition("__")[2] in OUR_TOOLS:
        return True
    if "resource" in tool.lower():
        return _text(args.get("uri")).startswith(OUR_RESOURCES)
    return runs_keepthread(_text(args.get("command", args.get("cmd"))))


def is_shell(tool: str) -> bool:
    """True for a client's shell, whose command may have written files although it failed."""
    return tool in SHELL_TOOLS or (not tool.startswith(MCP_PREFIX) and "shell" in tool.lower())


def mcp_name(server: str, tool: str) -> str:
    """Return a tool's name as clients write it: ``mcp__SERVER__TOOL``, odd characters as ``_``."""
    return f"{MCP_PREFIX}{_NOT_IN_NAMES.sub('_', server)}__{_NOT_IN_NAMES.sub('_', tool)}"


def claude_code_call(payload: Mapping[str, Any]) -> Call:
    """Read PostToolUse and PostToolUseFailure of Claude Code."""
    tool = _text(payload.get("tool_name"))
    given = payload.get("tool_input")
    args = given if isinstance(given, dict) else {"input": given}
    failed = payload.get("hook_event_name") == "PostToolUseFailure"
    answer = payload.get("error") if failed else payload.get("tool_response")
    output, truncated, rest_in = _output_of(tool, answer)
    path = _text(args.get("file_path") or args.get("notebook_path"))
    wrote: tuple[str, ...] = (path,) if tool in WRITING_TOOLS and path else ()
    if tool.startswith(MCP_PREFIX):
        path, wrote = paths_of_call(tool, args)
    elif tool in SHELL_TOOLS:
        path, wrote = _files_of_command(_text(args.get("command")), _text(payload.get("cwd")))
    elif tool == "Grep" and isinstance(answer, dict) and args.get("path"):
        path = posixpath.join(_text(payload.get("cwd")), _text(args["path"]))
    return Call(
        tool=tool,
        args=json.dumps(args, ensure_ascii=False, separators=(",", ":")),
        output=output,
        is_error=failed,
        truncated=truncated,
        model_written=tool in MODEL_WRITTEN_TOOLS,
        own=is_own_call(tool, args),
        path=path,
        wrote=wrote if is_shell(tool) or not failed else (),
        shows=_shown_by(args, _text(payload.get("cwd"))) if is_shell(tool) else (),
        shell=_background_shell(args, answer),
        rest_in=rest_in,
    )


def paths_of_call(tool: str, args: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return (file shown, files written) of a call of any client, by the names of its arguments.

    A call writes its file when it brings new text for it; a shell command when it redirects. Of an
    MCP server's tool only an absolute path counts: where its relative ones begin, and on which
    machine its shell runs, nobody here can tell.
    """
    command = args.get("command", args.get("cmd"))
    path = next((_text(args[k]) for k in _PATH_ARGUMENTS if isinstance(args.get(k), str)), "")
    if tool.startswith(MCP_PREFIX) and not posixpath.isabs(path):
        return "", ()
    if path:
        verb = command if isinstance(command, str) else ""
        writes = tool in WRITING_TOOLS or any(args.get(k) is not None for k in _NEW_TEXT_ARGUMENTS)
        return path, (path,) if writes and verb not in ("view", "read", "undo_edit") else ()
    return _files_of_command(command, "") if isinstance(command, str) else ("", ())


def _files_of_command(command: str, cwd: str) -> tuple[str, tuple[str, ...]]:
    """Return (file shown, files written) of a shell command, from the folder it ran in."""
    command = expand(command)
    folder = working_folder(command, cwd)
    if folder is None:
        return "", ()
    shown = file_read_by(command)
    wrote = tuple(_join(folder, f) for f in files_written_by(command))
    return _join(folder, shown) if shown else "", wrote


def _shown_by(args: Mapping[str, Any], cwd: str) -> tuple[str, ...]:
    command = expand(_text(args.get("command")))
    folder = working_folder(command, cwd)
    return () if folder is None else tuple(_join(folder, f) for f in files_shown_by(command))


def _background_shell(args: Mapping[str, Any], answer: Any) -> str:
    started = answer.get("backgroundTaskId") if isinstance(answer, dict) else None
    return _text(started or args.get("bash_id") or args.get("shell_id") or args.get("task_id"))[
        :200
    ]


def _join(folder: str, path: str) -> str:
    return path if path.startswith("~/") else posixpath.join(folder, path)


def is_machine_text(text: str) -> bool:
    """True when a prompt begins like a client's own message, not like a person's.

    Characters without a glyph, list marks and emphasis before it make no person of a machine.
    """
    seen = (c for c in text[:_START_CHARS_MAX] if c.isspace() or unicodedata.category(c)[0] != "C")
    start = "".join(seen).lstrip(_LEADING_MARKS)
    if start.startswith("<") and len(start) > 1 and (start[1].isalpha() or start[1] == "/"):
        return True
    if start.startswith(_MACHINE_STARTS):
        return True
    head = start[:200]
    if head.startswith("[") and "]" in head:
        inside = head[1 : head.index("]")]
        if len(inside) > 5 and inside.upper() == inside and any(c.isalpha() for c in inside):
            return True
    return head.startswith("Another ") and " session sent a message" in head


def prompt_refs(session: str, prompt_id: str, text: str) -> tuple[str, str]:
    """Return the references of a prompt as a person's and as a machine's, which may share its id."""
    if not prompt_id:
        return "", ""
    mark = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{session}:{prompt_id}", f"{session}:{prompt_id}:{mark}"


def answer_ref(session: str, agent: str, prompt_id: str, said: str) -> str:
    """Return the reference of what the assistant said to a prompt; the client gives it none."""
    whole = f"{session}:{agent}:{prompt_id}:{said}".encode("utf-8", "replace")
    return hashlib.sha256(whole).hexdigest()[:32]


def answers_of_question_tool(payload: Mapping[str, Any]) -> str:
    """Return what the user answered in the client's question tool, one answer a line; ``""`` if nothing."""
    response = payload.get("tool_response")
    answers = response.get("answers") if isinstance(response, dict) else None
    if isinstance(answers, dict):
        return "\n".join(_text(a) for a in answers.values() if a)
    return ""


def _output_of(tool: str, answer: Any) -> tuple[str, bool, str]:
    """Return (text, truncated, path of the whole) of a tool's answer."""
    if isinstance(answer, str):
        return answer, False, ""
    if isinstance(answer, list):
        return blocks_text(answer), False, ""
    if not isinstance(answer, dict):
        return _text(answer), False, ""
    if "stdout" in answer or "stderr" in answer:
        # Only the client's own shell says where the rest lies: no other server's answer of this
        # shape makes us read a file.
        whole = _text(answer.get("persistedOutputPath")) if tool in SHELL_TOOLS else ""
        return _shell_output(answer), bool(whole), whole
    return _object_text(answer), bool(answer.get("truncated")), ""


def _shell_output(answer: Mapping[str, Any]) -> str:
    parts = [_text(answer.get("stdout")), _text(answer.get("stderr"))]
    if answer.get("interrupted"):
        parts.append("[interrupted]")
    if answer.get("backgroundTaskId"):
        parts.append("[running in the background]")
    return "\n".join(p for p in parts if p.strip())


def _object_text(answer: Mapping[str, Any]) -> str:
    """The words of an answer object: a file's content, a patch, blocks, names, or all of it as JSON."""
    file = answer.get("file")
    if isinstance(file, dict) and isinstance(file.get("content"), str):
        return str(file["content"])
    if answer.get("structuredPatch"):
        return _patch(answer["structuredPatch"])
    if isinstance(answer.get("content"), list):
        return blocks_text(answer["content"])
    if isinstance(answer.get("filenames"), list) and not answer.get("content"):
        return "\n".join(map(_text, answer["filenames"]))
    for name in ("content", "result"):
        if isinstance(answer.get(name), str):
            return str(answer[name])
    return json.dumps(answer, ensure_ascii=False)


def _patch(hunks: Any) -> str:
    lines: list[str] = []
    for hunk in hunks if isinstance(hunks, list) else []:
        if isinstance(hunk, dict):
            lines.append(f"@@ -{hunk.get('oldStart')} +{hunk.get('newStart')} @@")
            lines.extend(_text(line) for line in hunk.get("lines") or [])
    return "\n".join(lines)


def blocks_text(blocks: list[Any]) -> str:
    """Return the words of content blocks; pictures, sound and other bytes are only named."""
    parts = []
    for block in blocks:
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            parts.append(block["text"])
        elif isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict) and block.get("type") in ("image", "audio"):
            parts.append(f"[{block['type']}]")
        elif isinstance(block, dict) and isinstance(block.get("resource"), dict):
            parts.append(_text(block["resource"].get("text", f"[{block['resource'].get('uri')}]")))
        else:
            parts.append(json.dumps(block, ensure_ascii=False))
    return "\n".join(parts)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
