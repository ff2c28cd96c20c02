"""Reads files of the work tree, and of nothing else.

Every component is opened relative to the one before and no symbolic link is followed, so that
``..``, links, and renames under our feet lead nowhere. Only regular files are read, never a
FIFO or device; reading is bounded.
"""

import hashlib
import os
import stat
from typing import NamedTuple

FILE_BYTES_MAX = 16 << 20


class FileRead(NamedTuple):
    """A file as it was read: workspace-relative path, bytes, SHA-256 (hex) and a cheap signature."""

    path: str
    data: bytes
    sha256: str
    signature: str


class FileRefused(Exception):
    """The path is outside the work tree, no regular file, or too large. The message says which."""


def relative_path(tree: str, path: str) -> str:
    """Return ``path`` relative to ``tree`` with forward slashes; ``""`` when it lies outside, as
    everything does where there is no tree."""
    if not tree:
        return ""
    whole = os.path.normpath(os.path.join(tree, path))
    if whole != tree and not whole.startswith(tree.rstrip(os.sep) + os.sep):
        real = os.path.join(os.path.realpath(os.path.dirname(whole)), os.path.basename(whole))
        if not real.startswith(tree.rstrip(os.sep) + os.sep):
            return ""
        whole = real
    found = os.path.relpath(whole, tree).replace(os.sep, "/")
    return "" if found == "." else found


def read_file(tree: str, path: str, limit: int = FILE_BYTES_MAX) -> FileRead:
    """Read a regular file inside ``tree``, at most ``limit`` bytes; raise FileRefused otherwise."""
    if not tree:
        raise FileRefused("this workspace has no folder on this machine, so no file can be read.")
    relative = "" if "\0" in path else relative_path(tree, path)
    if not relative:
        raise FileRefused(f"{_shown(path)} is outside the workspace; only files inside it are read.")
    handle = _open_beneath(tree, relative)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise FileRefused(f"{_shown(relative)} is no regular file.")
        if status.st_size > limit:
            raise FileRefused(f"{_shown(relative)} has {status.st_size} bytes; at most {limit} are read.")
        data = read_all(handle, limit)
        return FileRead(relative, data, hashlib.sha256(data).hexdigest(), _signature(status))
    finally:
        os.close(handle)


def file_signature(tree: str, path: str) -> str:
    """Return the cheap signature of a file (size, time, inode); ``""`` when it is not there."""
    try:
        handle = _open_beneath(tree, path)
    except FileRefused:
        return ""
    try:
        status = os.fstat(handle)
        return _signature(status) if stat.S_ISREG(status.st_mode) else ""
    finally:
        os.close(handle)


def _shown(path: str) -> str:
    """A path in a message: escaped, and no longer than one needs to know it."""
    return repr(path if len(path) <= 200 else f"{path[:199]}…")


def _signature(status: os.stat_result) -> str:
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ino}"


def _open_beneath(tree: str, relative: str) -> int:
    parts = relative.split("/")
    if ".." in parts:
        raise FileRefused(f"{_shown(relative)} leaves the workspace.")
    try:
        if os.open not in os.supports_dir_fd:
            return _open_checked(tree, relative)
        folder = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in parts[:-1]:
                inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
                os.close(folder)
                folder = inner
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            return os.open(parts[-1], flags, dir_fd=folder)
        finally:
            os.close(folder)
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number else "no such name"
        raise FileRefused(
            f"{_shown(relative)} cannot be read ({reason}); symbolic links are not followed."
        ) from error


def _open_checked(tree: str, relative: str) -> int:
    """Where opening relative to a folder is not offered (Windows): check the resolved path instead."""
    whole = os.path.join(tree, relative)
    if os.path.realpath(whole) != os.path.normpath(whole):
        raise FileRefused(f"{_shown(relative)} goes through a link; links are not followed.")
    return os.open(whole, os.O_RDONLY | getattr(os, "O_BINARY", 0))


def read_all(handle: int, limit: int) -> bytes:
    """Read an open file to its end, or to ``limit`` bytes."""
    pieces, left = [], limit
    while left > 0:
        piece = os.read(handle, min(left, 1 << 20))
        if not piece:
            break
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
