"""Three lines about the memory for a project's AGENTS.md, CLAUDE.md or rules, between markers of ours."""

from collections.abc import Iterable, Mapping

from keepthread.server.clients.changes import Change, read
from keepthread.server.clients.descriptions import Description

LINES = (
    "- At the start of a task and after a compaction, call get_context of the keepthread memory.",
    "- Record what a tool showed and will matter later with record_fact, and cite the call.",
    "- Before you stop, call hand_off.",
)
_BEGIN = "<!-- keepthread:begin -->"
_END = "<!-- keepthread:end -->"


def plan_lines(
    clients: Iterable[Description], given: Mapping[str, str], *, remove: bool = False
) -> list[Change]:
    """Return what would change in the files in which the clients look for a project's rules."""
    changes = {}
    for client in clients:
        if not client.rules:
            continue
        file = client.rules.format_map(given)
        before = read(file)
        edit = without_lines if remove else with_lines
        after = edit(before or "", client.rules_head)
        if after != (before or ""):
            changes[file] = Change(file, before, after or None)
    return list(changes.values())


def with_lines(text: str, head: str = "") -> str:
    """Return ``text`` with the lines, at its end where they are new; a new file begins with ``head``."""
    newline = _newline(text)
    block = "".join(line + newline for line in (_BEGIN, *LINES, _END))
    start, end = _span(text, newline)
    if start < end:
        return text[:start] + block + text[end:]
    text = text or head
    return text + newline + block if text else block


def without_lines(text: str, head: str = "") -> str:
    """Return ``text`` as it was before; empty when nothing but a ``head`` of ours is left."""
    newline = _newline(text)
    start, end = _span(text, newline)
    if start == end:
        return text
    rest = text[:start].removesuffix(newline) + text[end:]
    return "" if rest == head else rest


def _span(text: str, newline: str) -> tuple[int, int]:
    """Return where the markers and what is between them stand; two equal places when they do not."""
    end = text.rfind(_END)
    start = text.rfind(_BEGIN, 0, max(end, 0))
    if start < 0:
        return 0, 0
    end += len(_END)
    return start, end + len(newline) * text.startswith(newline, end)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
