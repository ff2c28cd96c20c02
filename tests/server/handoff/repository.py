"""A real git repository to change under the eyes of reconciliation."""

import os
import subprocess
from pathlib import Path

_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "n",
    "GIT_AUTHOR_EMAIL": "n@example.org",
    "GIT_COMMITTER_NAME": "n",
    "GIT_COMMITTER_EMAIL": "n@example.org",
}


class Repository:
    """A work tree; every file and commit in it is made by a test."""

    def __init__(self, tree: Path, *, init: bool = True) -> None:
        tree.mkdir(parents=True, exist_ok=True)
        self.tree = tree.resolve()
        if init:
            self.git("init", "-q", "-b", "main")

    def __str__(self) -> str:
        return str(self.tree)

    def git(self, *arguments: str, **environment: str) -> str:
        """Run git as a developer would; return what it prints."""
        done = subprocess.run(
            ["git", "-C", str(self.tree), *arguments],
            env=os.environ | _ENVIRONMENT | environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def write(self, path: str, text: str = "x\n", *, at: float | None = None) -> None:
        """Write a file, last touched ``at`` (epoch) where given."""
        target = self.tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        if at is not None:
            os.utime(target, (at, at))

    def commit(self, message: str = "a change", *, at: float | None = None, **files: str) -> str:
        """Commit everything, with ``files`` written first; return the commit."""
        for path, text in files.items():
            self.write(path.replace("__", "/") + ".py", text)
        self.git("add", "-A")
        stamps = {} if at is None else {"GIT_COMMITTER_DATE": f"@{int(at)} +0000"}
        self.git("commit", "-q", "--allow-empty", "-m", message, **stamps)
        return self.git("rev-parse", "HEAD")

    def worktree(self, folder: Path, branch: str) -> "Repository":
        """Add a work tree of this repository on a new branch."""
        self.git("worktree", "add", "-q", "-b", branch, str(folder))
        return Repository(folder, init=False)
