"""Refusals: every write the gate turned away, without its payload.

Contract: insert-only; the payload is kept as a keyed hash only, so that repeated attempts show
and nothing refused (a secret, an injection) is stored.
"""

import hashlib
import hmac

import apsw

from keepthread.stores.journal import Transaction
from keepthread.stores.query import fetch_all, fetch_one
from keepthread.stores.records import Author, Draft, Stamp


def add_refusal(
    tx: Transaction, author: Author, *, tool: str, code: str, payload: str, key: bytes
) -> Stamp:
    """Append a refusal; ``key`` is the database's secret."""
    row = {"tool": tool, "code": code, "payload_hmac": _mac(payload, key)}
    return tx.append(author, Draft("refusal", "refusal", row, numbered=False))


def was_refused(
    connection: apsw.Connection, window: int | None, *, code: str, payload: str, key: bytes
) -> bool:
    """True when this very payload was refused with ``code`` in the window before."""
    row = fetch_one(
        connection,
        "SELECT 1 FROM journal j JOIN refusal r USING(seq) WHERE j.window = ? AND j.kind = 'refusal' "
        "AND r.code = ? AND r.payload_hmac = ? LIMIT 1",
        (window, code, _mac(payload, key)),
    )
    return row is not None


def refusals_by_code(connection: apsw.Connection, workspace: int) -> dict[str, int]:
    """Count the refusals of a workspace by code."""
    rows = fetch_all(
        connection,
        "SELECT r.code, count(*) FROM refusal r JOIN journal j USING(seq) WHERE j.workspace = ? "
        "GROUP BY r.code ORDER BY 2 DESC, 1",
        (workspace,),
    )
    return {str(code): n for code, n in rows}


def _mac(payload: str, key: bytes) -> bytes:
    return hmac.new(key, payload.encode("utf-8", "replace"), hashlib.sha256).digest()
