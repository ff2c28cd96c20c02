"""What really changed in version control, read so that a hostile repository cannot run anything.

Only plumbing that compares names, hashes and file status is used: nothing that runs hooks,
fsmonitor, textconv, an external diff, a content filter, a pager, gpg, or a transport. Where git
reports a file as possibly changed, its content is hashed here.
"""

import hashlib
import os
import subprocess
from collections.abc import Sequence
from typing import NamedTuple

from keepthread.server.capture.files import FileRefused, read_file

TIMEOUT_SECONDS = 5.0
UNTRACKED_MAX = 2_000

_CONFIG = (
    "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.pager=cat", "diff.external=",
    "log.showSignature=false", "core.untrackedCache=false", "core.quotePath=false",
)  # fmt: skip
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",  # status commands write nothing
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone must not fetch through a command of its own
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "GIT_EXTERNAL_DIFF": "",
    "LC_ALL": "C",
}


class GitFailed(Exception):
    """git is missing, refused, or took too long; the message says which."""


class Change(NamedTuple):
    """One changed path and how: committed, staged, unstaged, untracked or renamed."""

    path: str
    how: str


def head_commit(tree: str) -> str:
    """Return the commit that is checked out in ``tree``; ``""`` without git or without a commit."""
    try:
        return _git(tree, "rev-parse", "--verify", "-q", "HEAD").strip()
    except GitFailed:
        return ""


def changes_since(tree: str, commit: str, since_seconds: float) -> list[Change]:
    """Return what changed after ``commit`` (``""``: since the first commit) and in the work tree.

    Uncommitted changes count when the file was touched at or after ``since_seconds`` (epoch).
    Raises GitFailed.
    """
    found = _committed(tree, commit) if head_commit(tree) else []
    uncommitted = _uncommitted(tree) + _untracked(tree)
    found += [c for c in uncommitted if _touched(tree, c.path) >= since_seconds]
    return list(dict.fromkeys(found))


def commit_messages_since(tree: str, commit: str) -> list[str]:
    """Return the messages of the commits after ``commit``, newest first. Raises GitFailed."""
    if not head_commit(tree):
        return []
    span = f"{commit}..HEAD" if commit else "HEAD"
    text = _git(tree, "log", "--no-show-signature", "--max-count=500", "--format=%B%x00", span)
    return [m.strip() for m in text.split("\0") if m.strip()]


def _committed(tree: str, commit: str) -> list[Change]:
    if not commit:
        return []
    raw = _git(
        tree,
        "diff-tree",
        "-r",
        "-z",
        "--raw",
        "-M",
        "--no-ext-diff",
        "--no-textconv",
        commit,
        "HEAD",
    )
    return [
        Change(path, "renamed" if status.startswith("R") else "committed")
        for status, path in _raw_entries(raw)
    ]


def _uncommitted(tree: str) -> list[Change]:
    """Staged and unstaged changes. diff-index and diff-files compare status only: what they call
    changed is hashed here, since asking git to compare contents would run the repository's filters."""
    found = []
    if head_commit(tree):
        staged = _git(tree, "diff-index", "-z", "--raw", "--cached", "--no-ext-diff", "HEAD")
        found = [Change(path, "staged") for _, path in _raw_entries(staged)]
    listed = _git(tree, "diff-files", "-z", "--raw", "--no-ext-diff")
    for fields, path in _raw_fields(listed):
        if not _same_content(tree, path, fields[2]):
            found.append(Change(path, "unstaged"))
    return found


def _untracked(tree: str) -> list[Change]:
    listed = _git(tree, "ls-files", "-z", "--others", "--exclude-standard")
    return [Change(p, "untracked") for p in listed.split("\0")[:UNTRACKED_MAX] if p]


def _same_content(tree: str, path: str, blob: str) -> bool:
    try:
        data = read_file(tree, path).data
    except FileRefused:
        return False
    header = f"blob {len(data)}\0".encode()
    make = hashlib.sha256 if len(blob) == 64 else hashlib.sha1
    return make(header + data).hexdigest() == blob


def _touched(tree: str, path: str) -> float:
    try:
        return os.lstat(os.path.join(tree, path)).st_mtime
    except OSError:
        return float("inf")  # deleted: a change whose time nobody kept


def _raw_entries(raw: str) -> list[tuple[str, str]]:
    return [(fields[4], path) for fields, path in _raw_fields(raw)]


def _raw_fields(raw: str) -> list[tuple[list[str], str]]:
    """Parse ``:mode mode hash hash status\\0path\\0[newpath\\0]``; a rename's path is the new one."""
    parts = raw.split("\0")
    found = []
    at = 0
    while at < len(parts) and parts[at].startswith(":"):
        fields = parts[at][1:].split(" ")
        moved = fields[4][:1] in ("R", "C")
        found.append((fields, parts[at + 2] if moved else parts[at + 1]))
        at += 3 if moved else 2
    return found


def _git(tree: str, *arguments: str) -> str:
    command: Sequence[str] = (
        "git", "--no-pager", *(p for c in _CONFIG for p in ("-c", c)), "-C", tree, *arguments,
    )  # fmt: skip
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | _ENVIRONMENT
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_SECONDS,
            check=False,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise GitFailed("git is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise GitFailed(f"git {arguments[0]} took over {TIMEOUT_SECONDS:.0f} s") from error
    if done.returncode:
        raise GitFailed(
            done.stderr.decode("utf-8", "replace").strip()[:300] or f"git {arguments[0]} failed"
        )
    return done.stdout.decode("utf-8", "surrogateescape")
