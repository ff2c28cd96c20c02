"""Where things are: the database, the workspace of a folder, the work tree. Standard library only.

A workspace is known by git's common directory (its parent folder), so that worktrees share one;
no git is run to find it, since this is on the hook's path.
"""

import os
import stat
import sys
from collections.abc import Mapping
from typing import NamedTuple


class Place(NamedTuple):
    """``workspace``: the root or name a workspace is known by. ``tree``: the folder whose files are
    checked; ``""`` where the workspace has none on this machine, and then nothing is looked at."""

    workspace: str
    tree: str


def database_path(environ: Mapping[str, str]) -> str:
    """Return KEEPTHREAD_DB, or ``memory.db`` in the platform's folder for user data.

    The folder is the one platformdirs names (a test compares); its import alone would cost a
    hook a tenth of its time.
    """
    named = environ.get("KEEPTHREAD_DB")
    if named:
        return os.path.abspath(os.path.expanduser(named))
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        base = environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library", "Application Support")
    else:
        base = environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return os.path.join(base, "keepthread", "memory.db")


def user_config_file(environ: Mapping[str, str]) -> str:
    """Return where the user's own ``keepthread.toml`` lies: KEEPTHREAD_CONFIG, or the usual place."""
    if environ.get("KEEPTHREAD_CONFIG"):
        return os.path.abspath(os.path.expanduser(environ["KEEPTHREAD_CONFIG"]))
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        base = environ.get("APPDATA") or os.path.join(home, "AppData", "Roaming")
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library", "Application Support")
    else:
        base = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return os.path.join(base, "keepthread", "keepthread.toml")


def find_place(folder: str, named: str = "") -> Place:
    """Return the workspace of ``folder``, or the one ``named`` as ``NAME``, ``DIR`` or ``NAME=DIR``."""
    name, has_folder, named_folder = named.partition("=")
    if has_folder:
        return Place(name, os.path.realpath(os.path.expanduser(named_folder)))
    if named and os.path.isdir(os.path.expanduser(named)):
        folder = os.path.expanduser(named)
    elif named:
        return Place(named, os.path.realpath(folder))
    folder = os.path.realpath(folder)
    at = folder
    while True:
        git = os.path.join(at, ".git")
        if os.path.isdir(git):
            return Place(at, at)
        if os.path.isfile(git):
            return Place(_common_root(git, at), at)
        parent = os.path.dirname(at)
        if parent == at:
            return Place(folder, folder)
        at = parent


def _common_root(git_file: str, tree: str) -> str:
    """Return the root that a worktree's ``.git`` file shares; ``tree`` for a submodule and for any claim
    that the other side does not confirm.

    A folder that came in an archive can name any repository, and would be served its memory: so git's
    own record of its worktrees must name this one.
    """
    line = _first_line(git_file)
    if not line.startswith("gitdir:"):
        return tree
    git_dir = os.path.realpath(os.path.join(tree, line.removeprefix("gitdir:").strip()))
    named = _first_line(os.path.join(git_dir, "commondir"))
    common = os.path.realpath(os.path.join(git_dir, named)) if named else ""
    back = _first_line(os.path.join(git_dir, "gitdir"))
    confirmed = (
        os.path.dirname(git_dir) == os.path.join(common, "worktrees")
        and bool(back)
        and os.path.realpath(os.path.join(git_dir, back)) == os.path.realpath(git_file)
    )
    if not confirmed:
        return tree
    return os.path.dirname(common) if os.path.basename(common) == ".git" else common


def _first_line(path: str) -> str:
    """Return the first line of a small regular file; ``""`` for anything else, which is never waited for."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return ""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return ""
        line = os.read(handle, 4096).decode("utf-8", "replace").partition("\n")[0].strip()
        return "" if "\0" in line else line
    except OSError:
        return ""
    finally:
        os.close(handle)
