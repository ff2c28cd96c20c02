"""What a rule may see of the archive: cited entries as plain values, never the database.

Rules are pure functions over these records, so each is tested with values typed by hand.
"""

from typing import NamedTuple


class Evidence(NamedTuple):
    """One archive entry as the grounding rules read it (secrets already redacted).

    ``args`` is the call's arguments as compact JSON; ``output`` is what came back. ``path`` is
    the workspace-relative file the entry shows, or ``""``. Offsets elsewhere count characters
    of ``output``.
    """

    entry: str
    kind: str = "call"  # call | capture | message
    role: str = ""  # "" for calls; user | assistant | machine for messages
    tool: str = ""
    args: str = ""
    output: str = ""
    is_error: bool = False
    truncated: bool = False
    path: str = ""
    model_written: bool = False


class Passage(NamedTuple):
    """Where an entry supports a claim: ``output[start:stop]`` of ``entry``."""

    entry: str
    start: int
    stop: int
