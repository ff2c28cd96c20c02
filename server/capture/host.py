"""Which agent process we serve: (pid, start time), the same for its server and its hooks."""

import os
from collections.abc import Mapping

_LAUNCHERS = frozenset(
    "sh bash dash zsh fish ksh tcsh env sudo timeout nohup setsid script uv uvx npx npm cmd.exe "
    "python python3 keepthread make xargs".split()
)


def host_process(environ: Mapping[str, str]) -> tuple[int, str]:
    """Return the client's pid and start time: CLAUDE_PID, else the nearest ancestor that is no launcher.

    (0, "") where the system does not tell.
    """
    named = environ.get("CLAUDE_PID", "")
    if named.isdigit() and started_at(int(named)):
        return int(named), started_at(int(named))
    for pid in ancestors():
        name = _name(pid)
        if name and not (name in _LAUNCHERS or name.startswith("python3.")):
            return pid, started_at(pid)
    return 0, ""


def session_of(environ: Mapping[str, str], host: tuple[int, str]) -> str:
    """Return the client's session as its environment tells, else one per host process: the same for
    the server and for every relay that the client starts."""
    return environ.get("CLAUDE_CODE_SESSION_ID", "") or f"mcp-{host[0] or os.getppid()}-{host[1]}"


def ancestors() -> list[int]:
    """Return the pids of our parents, nearest first (Linux; elsewhere just the parent)."""
    found: list[int] = []
    pid = os.getppid()
    while pid > 1 and len(found) < 32:
        found.append(pid)
        fields = _stat(pid)
        pid = int(fields[1]) if fields else 0
    return found


def started_at(pid: int) -> str:
    """Return a process's start time in ticks; ``""`` when it is gone or not told."""
    fields = _stat(pid)
    return fields[19] if fields and fields[0] != "Z" else ""


def is_alive(pid: int, started: str) -> bool:
    """True while the process that had this pid and start time runs."""
    if not pid:
        return False
    if started:
        return started_at(pid) == started
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat from the third (state) on; the name before may hold anything."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def _name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""
