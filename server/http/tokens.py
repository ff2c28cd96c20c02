"""Bearer tokens: who may speak to the HTTP server, and as which user.

A token is 256 random bits, shown once. The file (0600, beside the database) keeps its SHA-256
only: a random secret of that length needs no salt and no slow hash. The server asks the file at
each request, so that a revoked token ends at once.
"""

import hashlib
import hmac
import json
import os
import re
import secrets
import stat
from collections.abc import Sequence
from typing import NamedTuple

from keepthread.stores.clock import Clock, stamp
from keepthread.stores.errors import StoreError
from keepthread.stores.launch import command_line
from keepthread.stores.writer_lock import writer_lock

PREFIX = "keepthread_"
"""How every token begins; the secret rules know it, so that none is ever archived."""

_SECRET = re.compile(PREFIX + r"[\w-]{43}", re.ASCII)
_USER = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,30}[a-z0-9])?")


class TokenFault(StoreError):
    """The token file, or what was asked of it, is wrong; the message says what to do."""

    code = "token_fault"


class Token(NamedTuple):
    """What is known of a token: all but the token."""

    id: str
    user: str
    label: str
    sha256: str
    created: str


class TokenFile:
    """The tokens beside the database at ``db``."""

    def __init__(self, db: str) -> None:
        self._folder = os.path.dirname(db)
        self._file = os.path.join(self._folder, "tokens.json")
        self._known: tuple[Token, ...] = ()
        self._signature: tuple[int, ...] = ()

    def create(self, user: str, label: str, clock: Clock) -> tuple[Token, str]:
        """Make a token for ``user``; return what is kept of it, and the token itself."""
        check_user(user)
        secret = PREFIX + secrets.token_urlsafe(32)
        token = Token(secrets.token_hex(4), user, label[:80], _hash(secret), stamp(clock()))
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        with writer_lock(self._file):
            self._write([*self.all(), token])
        return token, secret

    def revoke(self, name: str) -> list[Token]:
        """Remove the token with this id, or all of this user; return them."""
        with writer_lock(self._file):
            gone = [t for t in self.all() if name in (t.id, t.user)]
            if gone:
                self._write([t for t in self.all() if t not in gone])
        if not gone:
            raise TokenFault(f"no token and no user {name[:40]!r}; see: {command_line('token', 'list')}")
        return gone

    def all(self) -> tuple[Token, ...]:
        """Return every token, oldest first. Raises TokenFault for a file that cannot be trusted."""
        try:
            status = os.stat(self._file)
            signature = (status.st_mtime_ns, status.st_size, status.st_ino)
            if signature != self._signature:
                self._known = self._read(status)
                self._signature = signature
        except FileNotFoundError:
            self._known, self._signature = (), ()
        except (OSError, ValueError, TypeError) as error:
            raise TokenFault(
                f"{self._file} cannot be read ({error}); repair it, or remove it and make new tokens"
            ) from error
        return self._known

    def find(self, secret: str) -> Token | None:
        """Return the token that ``secret`` is, compared in constant time."""
        given, found = _hash(secret), None
        for token in self.all():
            if hmac.compare_digest(token.sha256.encode(), given.encode()):
                found = token
        return found if _SECRET.fullmatch(secret) else None

    def holds(self, token: Token) -> bool:
        """True while ``token`` is not revoked."""
        return token in self.all()

    def _read(self, status: os.stat_result) -> tuple[Token, ...]:
        if os.name == "posix" and status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise TokenFault(f"others may use {self._file}; run: chmod 600 {self._file}")
        with open(self._file, encoding="utf-8") as file:
            found = tuple(Token(**t) for t in json.load(file))
        if not all(isinstance(value, str) for token in found for value in token):
            raise ValueError("not as it was written")
        return found

    def _write(self, tokens: Sequence[Token]) -> None:
        temporary = f"{self._file}.{os.getpid()}"
        handle = os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump([t._asdict() for t in tokens], file, indent=1)
            file.flush()
            os.fsync(handle)
        os.replace(temporary, self._file)


def check_user(name: str) -> None:
    """Raise TokenFault unless ``name`` may name a user: it becomes the name of a folder."""
    if not _USER.fullmatch(name):
        raise TokenFault(
            f"{name[:40]!r} is no user's name: 1 to 32 of a-z 0-9 . _ -, with a letter or digit at both ends"
        )


def user_database(db: str, user: str) -> str:
    """Return where the database of ``user`` lies: one file each, in a folder of its own."""
    check_user(user)
    return os.path.join(os.path.dirname(db), "users", user, "memory.db")


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
