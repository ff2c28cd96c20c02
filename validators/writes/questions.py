"""Open questions through the gate."""

from collections.abc import Sequence

from keepthread.stores.journal import Transaction
from keepthread.stores.questions import add_answer, add_question, find_question, open_questions
from keepthread.stores.records import Author, Question, parse_id
from keepthread.validators.citations import resolve_source
from keepthread.validators.gate import Gate
from keepthread.validators.gate_view import Caller, GateView
from keepthread.validators.verdict import Outcome, Refusal, Write


def add_open_question(
    gate: Gate,
    caller: Caller,
    *,
    question: str,
    why: str = "",
    scope: Sequence[str] = (),
    blocks: str = "",
) -> Outcome:
    """Open a question, which may block a plan item; the same question again answers with the open one."""
    blocked: list[int] = []

    def prepare(write: Write, view: GateView) -> Write | Refusal:
        blocked.clear()
        if blocks.strip():
            item = view.item(blocks)
            if item is None:
                return Refusal(
                    "unknown_record",
                    f"{blocks[:40]!r} is no plan item here.",
                    "memory://plan lists them.",
                )
            blocked.append(item.item)
        return write

    def commit(tx: Transaction, author: Author, write: Write) -> tuple[Outcome, int | None]:
        for known in open_questions(tx.connection, author.workspace):
            if known.question.casefold() == write.text.casefold():
                return Outcome("merged", known.id, ("this question is open already",)), None
        target = blocked[0] if blocked else None
        stamp = add_question(
            tx, author, write.text, write.others.get("why", ""), write.scope, target
        )
        return Outcome("opened", stamp.id), stamp.seq

    write = Write(
        "add_open_question",
        "question",
        text=question.strip(),
        others={"why": why.strip()},
        scope_given=tuple(scope),
    )
    arguments = {"question": question, "why": why, "scope": list(scope), "blocks": blocks}
    return gate.admit(caller, write, commit, arguments=arguments, prepare=prepare)


def answer_question(
    gate: Gate, caller: Caller, *, question: str, answer: str, source: str = ""
) -> Outcome:
    """Answer an open question. With a source, the cited entry must contain the answer. Raises Refused."""
    found: list[Question] = []

    def prepare(write: Write, view: GateView) -> Write | Refusal:
        record = parse_id(question)
        known = view.question(record) if record is not None and record.kind == "question" else None
        if known is None or known.answered_at:
            state = "is answered already" if known else "is no question here"
            material = ((known.id, known.answer),) if known else ()
            return Refusal(
                "unknown_record",
                f"{question[:40]!r} {state}.",
                "memory://questions lists open ones.",
                material,
            )
        found[:] = [known]
        if source.strip():
            cited = resolve_source(write, view)
            return cited if cited is not None else write
        return write

    def commit(tx: Transaction, author: Author, write: Write) -> tuple[Outcome, int | None]:
        record = parse_id(question)
        now = find_question(tx.connection, author.workspace, record) if record else None
        assert now is not None and not now.answered_at  # the gate starts over when questions change
        cited = write.cited[0] if write.cited else None
        stamp = add_answer(tx, author, now.seq, write.text, cited.seq if cited else None)
        remarks = () if cited else ("no source was given: this is your answer, not evidence",)
        return Outcome(
            "answered", now.id, remarks, {"source": cited.id if cited else ""}
        ), stamp.seq

    write = Write("answer_question", "answer", text=answer.strip(), source=source)
    arguments = {"question": question, "answer": answer, "source": source}
    return gate.admit(caller, write, commit, arguments=arguments, prepare=prepare)
