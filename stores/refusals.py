"""Refusals: every write the gate turned away, without its payload.

Contract: insert-only; the payload is kept as a keyed hash only, so that repeated attempts show
and nothing refused (a secret, an injection) is stored.
"""

import hashlib
import hmac

import apsw

from keepthread.stores.journal import Transaction
from keepthread.stores.query import fetch_all
from keepthread.stores.records import Author, Draft, Stamp


def add_refusal(
    tx: Transaction, author: Author, *, tool: str, code: str, payload: str, key: bytes
) -> Stamp:
    """Append a refusal; ``key`` is the database's secret."""
    mac = hmac.new(key, payload.encode("utf-8", "replace"), hashlib.sha256).digest()
    row = {"tool": tool, "code": code, "payload_hmac": mac}
    return tx.append(author, Draft("refusal", "refusal", row, numbered=False))


def refusals_by_code(connection: apsw.Connection, workspace: int) -> dict[str, int]:
    """Count the refusals of a workspace by code."""
    rows = fetch_all(
        connection,
        "SELECT r.code, count(*) FROM refusal r JOIN journal j USING(seq) WHERE j.workspace = ? "
        "GROUP BY r.code ORDER BY 2 DESC, 1",
        (workspace,),
    )
    return {str(code): n for code, n in rows}
