"""What really changed in version control, read so that a hostile repository cannot run anything.

Only plumbing that lists names and hashes is used: nothing that runs hooks, fsmonitor, textconv, an
external diff, a content filter, a pager, gpg, or a transport. git is never asked about the content
of files: even ``diff-files`` sends those through the repository's filters whose time stamp is as
new as the index, and so does the search for renames. What was touched is hashed here.
"""

import hashlib
import os
import re
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from keepthread.server.capture.files import FileRefused, read_file

TIMEOUT_SECONDS = 5.0
UNTRACKED_MAX = 20_000
COMMITS_MAX = 500

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

_RAW = (
    "-z", "--raw", "--relative", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty",
)  # fmt: skip
_LINK, _SUBMODULE = "120000", "160000"
_OBJECT_NAME = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_EMPTY_TREE = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
"""git's name of the tree without files, by the length of object names."""


class GitFailed(Exception):
    """git is missing, refused, or took too long; the message says which."""


class Change(NamedTuple):
    """One changed path and how: committed, staged, unstaged, untracked, renamed or deleted."""

    path: str
    how: str


def head_commit(tree: str) -> str:
    """Return the commit that is checked out in ``tree``; ``""`` without git or without a commit."""
    try:
        return _git(tree, "rev-parse", "--verify", "-q", "HEAD").strip()
    except GitFailed:
        return ""


def listed_files(tree: str) -> list[str]:
    """Return the files below ``tree`` that are in version control or could be: what the repository
    ignores is left out. Raises GitFailed."""
    listed = _git(tree, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return sorted({path for path in listed.split("\0") if path and not path.endswith("/")})


class _Tracked(NamedTuple):
    """A file of the index, and when it was touched in the work tree (epoch, seconds)."""

    path: str
    mode: str
    blob: str
    touched: float


class GitTruth:
    """One reading of a work tree, shared by all that is checked against it.

    ``commit`` is where a piece of work started and ``since_seconds`` (epoch) when. Where the commit
    is not known (``""``: there was none, or none was noted) or is gone (rewritten and collected),
    the commits made since then count instead.
    """

    def __init__(self, tree: str) -> None:
        """Read what is not committed. Raises GitFailed."""
        self.tree = tree
        self.head = head_commit(tree)
        listed = [*_staged(tree, self.head), *_untracked(tree)]
        self._listed = [(change, _touched(tree, change.path)) for change in listed]
        self._tracked = _tracked(tree)
        self._how: dict[str, str] = {}
        self._committed: dict[str, list[Change]] = {}
        self._messages: dict[str, list[str]] = {}

    def changes_since(self, commit: str, since_seconds: float) -> list[Change]:
        """Return what was committed since, and what is not committed and was touched since.

        Raises GitFailed.
        """
        base = self._base(commit, since_seconds)
        if base not in self._committed:
            self._committed[base] = _committed(self.tree, base) if base != self.head else []
        found = [*self._committed[base]]
        found += [change for change, touched in self._listed if touched >= since_seconds]
        for file in self._tracked:
            if file.touched >= since_seconds:
                how = self._unstaged(file)
                found += [Change(file.path, how)] if how else []
        return list(dict.fromkeys(found))

    def messages_since(self, commit: str, since_seconds: float) -> list[str]:
        """Return the messages of the commits since, newest first. Raises GitFailed."""
        base = self._base(commit, since_seconds)
        if base == self.head:
            return []
        if base not in self._messages:
            self._messages[base] = _messages(self.tree, base)
        return self._messages[base]

    def ignores(self, path: str) -> bool:
        """True where the repository's rules keep ``path`` out of version control."""
        try:
            return bool(_git(self.tree, "check-ignore", "--", path))
        except GitFailed:
            return False

    def _unstaged(self, file: _Tracked) -> str:
        if file.path not in self._how:
            self._how[file.path] = _how_unstaged(self.tree, file)
        return self._how[file.path]

    def _base(self, commit: str, since_seconds: float) -> str:
        if not self.head or commit == self.head:
            return self.head
        if commit not in self._committed and _OBJECT_NAME.fullmatch(commit):
            with suppress(GitFailed):  # rewritten, and collected since
                self._committed[commit] = _committed(self.tree, commit)
        if commit in self._committed:
            return commit
        since = f"--since={int(since_seconds)}"
        made = _git(self.tree, "rev-list", f"--max-count={COMMITS_MAX}", since, "HEAD").split()
        if not made:
            return self.head
        try:
            return _git(self.tree, "rev-parse", "--verify", "-q", made[-1] + "^").strip()
        except GitFailed:
            return _EMPTY_TREE[len(self.head)]  # the first commit is one of them


def _messages(tree: str, base: str) -> list[str]:
    span = "HEAD" if base in _EMPTY_TREE.values() else f"{base}..HEAD"
    count = f"--max-count={COMMITS_MAX}"
    text = _git(tree, "log", "--no-show-signature", count, "--format=%B%x00", span)
    return [m.strip() for m in text.split("\0") if m.strip()]


def _committed(tree: str, base: str) -> list[Change]:
    raw = _git(tree, "diff-tree", "-r", *_RAW, base, "HEAD")
    return _changes(raw, "committed")


def _staged(tree: str, head: str) -> list[Change]:
    return _changes(_git(tree, "diff-index", *_RAW, "--cached", "HEAD"), "staged") if head else []


def _tracked(tree: str) -> list[_Tracked]:
    """The files of the index that should lie in the work tree; submodules left out."""
    found = []
    for line in _git(tree, "ls-files", "-z", "-s", "-t").split("\0"):
        fields, _, path = line.partition("\t")
        if path:
            tag, mode, blob, _stage = fields.split(" ")
            if tag != "S" and mode != _SUBMODULE:  # S: left out of a sparse work tree
                found.append(_Tracked(path, mode, blob, _touched(tree, path)))
    return found


def _untracked(tree: str) -> list[Change]:
    listed = _git(tree, "ls-files", "-z", "--others", "--exclude-standard")
    return [Change(p, "untracked") for p in listed.split("\0")[:UNTRACKED_MAX] if p]


def _changes(raw: str, how: str) -> list[Change]:
    """A file that is gone here and came there with the same content was renamed: two changed paths.

    git's own search for renames would read files of the work tree through the repository's filters.
    """
    entries = _raw_fields(raw)
    gone = {fields[2] for fields, _ in entries if fields[4] == "D"}
    came = {fields[3] for fields, _ in entries if fields[4] == "A"}
    moved = gone & came
    found = []
    for fields, path in entries:
        status = fields[4][:1]
        if status in ("A", "D") and fields[3 if status == "A" else 2] in moved:
            found.append(Change(path, "renamed"))
        else:
            found.append(Change(path, "deleted" if status == "D" else how))
    return found


def _how_unstaged(tree: str, file: _Tracked) -> str:
    """Return how the file of the work tree differs from the index; ``""`` if it does not."""
    whole = os.path.join(tree, file.path)
    if not os.path.lexists(whole):
        return "deleted"
    try:
        if file.mode == _LINK:
            data = os.fsencode(os.readlink(whole))
        else:
            data = read_file(tree, file.path).data
    except (FileRefused, OSError):
        return "unstaged"  # another kind of file than it was, or too large to tell
    same = file.blob in (_blob(data, file.blob), _blob(data.replace(b"\r\n", b"\n"), file.blob))
    return "" if same else "unstaged"


def _blob(data: bytes, like: str) -> str:
    """Return git's name of this content, of the length of ``like``."""
    make = hashlib.sha256 if len(like) == 64 else hashlib.sha1
    return make(f"blob {len(data)}\0".encode() + data).hexdigest()


def _touched(tree: str, path: str) -> float:
    """When the file was written, or moved here; for a deleted one, when its folder last changed."""
    at = os.path.join(tree, path)
    while True:
        try:
            status = os.lstat(at)
        except OSError:
            at = os.path.dirname(at)
            if len(at) < len(tree):
                return float("inf")
            continue
        return max(status.st_mtime, status.st_ctime)


def _raw_fields(raw: str) -> list[tuple[list[str], str]]:
    """Parse ``:mode mode hash hash status\\0path\\0``."""
    parts = raw.split("\0")
    return [
        (fields[1:].split(" "), path)
        for fields, path in zip(parts[::2], parts[1::2], strict=False)
        if fields.startswith(":")
    ]


def _git(tree: str, *arguments: str) -> str:
    if not tree:
        raise GitFailed("this workspace has no folder on this machine")
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
