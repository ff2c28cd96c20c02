"""Cross-check of a prompt against the client's own transcript, which knows who really sent it.

The transcript's format is the client's and changes: what is not found or not understood decides
nothing, and the stricter reading of the hook stands.
"""

import json
import os

_TAIL_BYTES = 256 * 1024


def prompt_is_human(transcript: str, prompt_id: str, text: str) -> bool | None:
    """Return whether the transcript's line for this prompt names a sender; None when it has no line."""
    if not transcript or not prompt_id:
        return None
    for line in transcript_tail(transcript):
        if prompt_id not in line:
            continue
        try:
            row = json.loads(line)
        except ValueError:
            continue
        message = row.get("message") if isinstance(row, dict) else None
        if (
            row.get("promptId") != prompt_id
            or not isinstance(message, dict)
            or row.get("type") != "user"
        ):
            continue
        content = message.get("content")
        if isinstance(content, str) and content.strip() == text.strip():
            return bool(row.get("promptSource")) and not row.get("isMeta")
    return None


def transcript_tail(path: str) -> list[str]:
    """Return the last lines of a client's transcript, the first perhaps cut; none where it cannot be read."""
    try:
        handle = os.open(os.path.expanduser(path), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return []
    try:
        size = os.fstat(handle).st_size
        os.lseek(handle, max(0, size - _TAIL_BYTES), os.SEEK_SET)
        return os.read(handle, _TAIL_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    finally:
        os.close(handle)
