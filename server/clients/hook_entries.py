"""Our hooks among the hooks of a client's settings (JSON with comments)."""

import re
from collections.abc import Mapping
from typing import Any

from keepthread.server.clients.descriptions import Hooks
from keepthread.server.clients.jsonc import append, drop, find, put
from keepthread.stores.launch import Launch

_OUR_HOOK = re.compile(r"keepthread(?:\.exe)?[\"']*\s+(?:hook|guard)\s")


def add_hooks(text: str, hooks: Hooks, launch: Launch, client: str) -> str:
    """Return ``text`` with one hook of ours an event, older ones of ours replaced. Raises NotJson."""
    wanted = {
        event: _hook(
            hooks, event, launch.line("guard" if event in hooks.guarded else "hook", client)
        )
        for event in hooks.events
    }
    present = find(text, ("hooks",))
    if isinstance(present, dict) and _all_there(present, wanted):
        return text
    text = strip_hooks(text)
    if hooks.shape == "flat" and find(text, ("version",)) is None:
        text = put(text, ("version",), 1)
    for event, element in wanted.items():
        text = append(text, ("hooks", event), element)
    return text


def strip_hooks(text: str) -> str:
    """Return ``text`` without our hooks; what others put beside them stays. Raises NotJson."""
    present = find(text, ("hooks",))
    for event, found in present.items() if isinstance(present, dict) else ():
        for place in reversed(range(len(found) if isinstance(found, list) else 0)):
            if not _is_ours(found[place]):
                continue
            inner = found[place].get("hooks")
            if isinstance(inner, list) and len(inner) > 1:  # someone put theirs beside ours
                for n in reversed(range(len(inner))):
                    if _is_ours(inner[n]):
                        text = drop(text, ("hooks", event, place, "hooks", n))
            else:
                text = drop(text, ("hooks", event, place))
    return text


def count_hooks(text: str) -> int:
    """Return how many hooks of ours there are. Raises NotJson."""
    events = find(text, ("hooks",))
    return sum(map(_ours_in, events.values())) if isinstance(events, dict) else 0


def _all_there(present: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    ours = {event: _ours_in(found) for event, found in present.items()}
    return all(
        ours.get(event) == 1 and element in present[event] for event, element in wanted.items()
    ) and sum(ours.values()) == len(wanted)


def _hook(hooks: Hooks, event: str, line: str) -> dict[str, Any]:
    command = {"command": line, "timeout": hooks.events[event]}
    matcher = {"matcher": hooks.matcher[event]} if event in hooks.matcher else {}
    if hooks.shape == "flat":
        return {**command, **matcher}
    return {**matcher, "hooks": [{"type": "command", **command}]}


def _ours_in(found: Any) -> int:
    return sum(map(_is_ours, found)) if isinstance(found, list) else 0


def _is_ours(element: Any) -> bool:
    if not isinstance(element, dict):
        return False
    inner = element.get("hooks")
    if isinstance(inner, list):
        return any(map(_is_ours, inner))
    return bool(_OUR_HOOK.search(str(element.get("command", ""))))
