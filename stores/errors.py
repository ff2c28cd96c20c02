"""Errors a store raises. Each message says what is wrong and what to do."""

import errno


class StoreError(Exception):
    """Something about the database file; the whole message is meant for people and models."""

    code = "storage_error"


class DatabaseTooNew(StoreError):
    """The file was written by a newer version; it is not touched."""

    code = "database_too_new"


class DatabaseDamaged(StoreError):
    """A digest, the chain or SQLite's own check does not hold; nothing is repaired or replaced."""

    code = "database_damaged"


class HistoryRolledBack(StoreError):
    """The file is older than its anchor says (a restored copy, a lost -wal); writes wait for the user."""

    code = "history_rolled_back"


class ReadOnly(StoreError):
    """The file or its folder cannot be written."""

    code = "read_only"


class UnsafePlace(StoreError):
    """The file is a link, or others can write to its folder; it is not opened."""

    code = "unsafe_place"


class StorageFull(StoreError):
    """No space is left; what was acknowledged is kept."""

    code = "storage_full"


class UnknownRecord(StoreError):
    """No record of this workspace has the id."""

    code = "unknown_record"


_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG)
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)


def explain_os_error(error: OSError, path: str) -> StoreError:
    """Turn a fault of a file beside the database at ``path`` into one that says what to do."""
    if error.errno in _FULL:
        return StorageFull(f"no space left for the database ({path}). Free some; nothing was lost.")
    if error.errno in _READ_ONLY:
        return ReadOnly(
            f"the database ({path}) cannot be written: {error}. Check its folder's rights."
        )
    return StoreError(f"database error ({path}): {error}")
