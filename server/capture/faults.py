"""Faults of a channel: told on stderr, and kept where ``status`` and ``doctor`` find them."""

import os
import sys
import time
from contextlib import suppress

from keepthread.stores.errors import StoreError

LOG = "hook-errors.log"


class NoEvent(Exception):
    """What came in is no event; the message says why, and that nothing of it was stored."""


def report(path: str, channel: str, error: Exception) -> None:
    """Tell of a fault of ``channel`` with the database at ``path``; never raises."""
    import traceback  # noqa: PLC0415  (with tokenize and textwrap a tenth of a hook's imports)

    known = isinstance(error, StoreError | NoEvent)
    kind = "" if isinstance(error, NoEvent) else f"{type(error).__name__}: "
    line = f"keepthread {channel}: {kind}{error}"
    detail = "" if known else "".join(traceback.format_exception(error))
    say(line)
    try:
        name = os.path.join(os.path.dirname(path), LOG)
        with open(name, "a", encoding="utf-8", opener=_open_private) as log:
            log.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {line}\n{detail}")
    except OSError as again:
        say(f"keepthread {channel}: cannot write {LOG}: {again}")


def say(line: str) -> None:
    """Print a line on stderr, if anybody still listens there."""
    with suppress(OSError, ValueError):
        print(line, file=sys.stderr, flush=True)


def _open_private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)
