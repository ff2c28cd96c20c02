"""Open questions: what could not be cited, or must be asked before a plan item can go on.

Contract: opened once and answered at most once (the schema holds it); an answer names its
source when it has one.
"""

import json

import apsw

from keepthread.stores.journal import Transaction
from keepthread.stores.parts import words_and_tags
from keepthread.stores.query import fetch_all, fetch_one
from keepthread.stores.records import Author, Draft, Question, RecordId, Stamp, Tags


def add_question(
    tx: Transaction, author: Author, question: str, why: str, scope: Tags, blocks: int | None
) -> Stamp:
    """Open a question; ``blocks`` is the plan item that waits for it."""
    row = {"question": tx.seq + 1, "event": "opened", "blocks": blocks}
    return tx.append(
        author, Draft("question", "question_event", row, {"question": question, "why": why}, scope)
    )


def add_answer(
    tx: Transaction, author: Author, question: int, answer: str, source: int | None
) -> Stamp:
    """Answer an open question."""
    row = {"question": question, "event": "answered", "source": source}
    return tx.append(
        author, Draft("question_event", "question_event", row, {"answer": answer}, numbered=False)
    )


def find_question(connection: apsw.Connection, workspace: int, record: RecordId) -> Question | None:
    """Return the question with this id in this workspace."""
    row = fetch_one(
        connection,
        "SELECT seq FROM journal WHERE kind = 'question' AND number = ? AND workspace = ?",
        (record.number, workspace),
    )
    return None if row is None else _load(connection, [row[0]])[0]


def open_questions(connection: apsw.Connection, workspace: int) -> list[Question]:
    """Return the open questions of a workspace, oldest first."""
    rows = fetch_all(
        connection, "SELECT seq FROM question_open WHERE workspace = ? ORDER BY seq", (workspace,)
    )
    return _load(connection, [r[0] for r in rows])


def _load(connection: apsw.Connection, seqs: list[int]) -> list[Question]:
    wanted = json.dumps(seqs)
    rows = fetch_all(
        connection,
        "SELECT q.seq, j.number, j.at, q.blocks, a.seq, ja.at, a.source FROM question_event q "
        "JOIN journal j USING(seq) LEFT JOIN question_event a ON a.question = q.seq AND a.event = 'answered' "
        "LEFT JOIN journal ja ON ja.seq = a.seq "
        "WHERE q.event = 'opened' AND q.seq IN (SELECT value FROM json_each(?)) ORDER BY q.seq",
        (wanted,),
    )
    answers = [r[4] for r in rows if r[4] is not None]
    words, tags = words_and_tags(connection, [*seqs, *answers])
    found = []
    for seq, number, at, blocks, answer, answered_at, source in rows:
        text = words.get(seq, {})
        found.append(
            Question(
                seq=seq,
                id=f"question-{number}",
                at=at,
                question=text.get("question", ""),
                why=text.get("why", ""),
                scope=tags.get(seq, ()),
                blocks=blocks,
                answer=words.get(answer, {}).get("answer", "") if answer else "",
                answered_at=answered_at or "",
                source=source,
            )
        )
    return found
