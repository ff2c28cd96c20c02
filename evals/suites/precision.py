"""Exact retrieval of beliefs: with a scope and a query, which may come back and which must not.

A belief becomes what the product has for it. The user says its content (the prompt hook), then:

- an open question is opened, and answered where it is resolved;
- what is pinned is the user's own instruction; with it what it replaced (there is one
  workspace, so ``user:universal`` needs no wider scope);
- anything else is an observation that cites the user's message.

Scope is the belief's own, subject its name and aliases, supersession the ``supersedes`` argument.
Each user has a database. A case is a plan item with the query as its title and the case's scope,
and the answer is its window: instructions under PINNED (the user-wide ones are the prelude),
facts under FACTS that its own ranking calls relevant at all, open questions. A case's
``maxBeliefs`` cuts that list as a client would, pinned first.
"""

import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from evals.predictions import DataMissing, Row, Run
from evals.product import Answer, Product, open_product
from evals.reading import read_json
from evals.scoring import score_precision
from keepthread.server.context.frame import unquote

USER = "test-user"
UNIVERSAL = "user:universal"

_SECTION = re.compile(r"^== (\w+) · .* ==$")
_RECORD = re.compile(r"^- (?:instruction |open )?((?:fact|question)-\d+)\b")
_RELEVANCE = re.compile(r"relevance (\d\.\d+)")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


class Seeded(NamedTuple):
    """Which belief each record holds, the records whose scope is the user, and what was refused."""

    beliefs: dict[str, str]
    universal: frozenset[str]
    refused: dict[str, str]  # belief id: code


class Data(NamedTuple):
    """The beliefs of all users, and the cases."""

    beliefs: list[Row]
    cases: list[Row]


def read(path: Path) -> Data:
    """Return beliefs and cases of a folder."""
    if path.exists() and not path.is_dir():
        raise DataMissing(f"{path} is a file; this suite reads a folder with beliefs and cases.")
    return Data(read_json(path / "beliefs.json"), read_json(path / "cases.json"))


def key(row: Row) -> str:
    """Return what a case and its prediction share."""
    return str(row["caseId"])


async def predict(path: Path, run: Run) -> None:
    """Append a prediction for every case."""
    data = read(path)
    cases = run.left(data.cases, key)
    for user in dict.fromkeys(case.get("userId", USER) for case in cases):
        with tempfile.TemporaryDirectory() as folder:
            async with open_product(Path(folder)) as product:
                seeded = await seed(product, [b for b in data.beliefs if b["user_id"] == user])
                own = [case for case in cases if case.get("userId", USER) == user]
                for number, case in enumerate(run.track(own, f"precision: {user}")):
                    run.add(await _predict_one(product, case, seeded, number))


def score(path: Path, rows: list[Row]) -> dict[str, Any]:
    """Return the figures."""
    data = read(path)
    return score_precision(data.beliefs, data.cases, rows)


def headline(figures: Row) -> Row:
    """Return the few figures that stand for the suite."""
    return {
        "passed": f"{figures['passed']}/{figures['cases']}",
        "precision": figures["mean_precision"],
        "recall": figures["mean_recall"],
    }


async def seed(product: Product, beliefs: list[Row]) -> Seeded:
    """Record the beliefs, what was replaced before what replaced it."""
    by_id = {b["_id"]: b for b in beliefs}
    records: dict[str, str] = {}
    refused: dict[str, str] = {}
    for number, belief in enumerate(sorted(beliefs, key=lambda b: -_successors(b, by_id))):
        product.say(belief["content"], number)
        if belief["type"] == "open_question":
            answer = await _ask(product, belief)
        else:
            before = [b["_id"] for b in beliefs if b["superseded_by"] == belief["_id"]]
            replaced = [records[i] for i in before if i in records]
            answer = await _record(product, belief, _is_pinned(belief, by_id), replaced)
        if answer.refused:
            refused[belief["_id"]] = answer.refused
        else:
            records[belief["_id"]] = answer.fields["id"]
    universal = frozenset(records.get(b["_id"], "") for b in beliefs if UNIVERSAL in b["scope"])
    return Seeded({record: belief for belief, record in records.items()}, universal, refused)


async def _ask(product: Product, belief: Row) -> Answer:
    answer = await product.call(
        "add_open_question", question=belief["content"], scope=belief["scope"]
    )
    if belief.get("resolved_at") and not answer.refused:
        await product.call("answer_question", question=answer.fields["id"], answer="Resolved.")
    return answer


async def _record(product: Product, belief: Row, pinned: bool, replaced: list[str]) -> Answer:
    scope = [tag for tag in belief["scope"] if tag != UNIVERSAL]
    for extra in replaced[1:]:
        await product.call("retract_fact", fact=extra, reason="replaced")
    names = [belief["canonical_name"].replace("_", " "), *belief.get("aliases", [])]
    return await product.call(
        "record_fact",
        text=belief["content"],
        kind="instruction-from-user" if pinned else "observation",
        source="user",
        scope=scope,
        subject=" | ".join(names),
        supersedes=replaced[0] if replaced else "",
    )


async def _predict_one(product: Product, case: Row, seeded: Seeded, number: int) -> Row:
    title = case["query"].strip() or f"Continue ({number})"
    scope = case["scope"]
    item = (await product.call("update_plan_item", title=title, scope=scope)).fields["id"]
    answer = await product.call("get_context", item=item, explain=True)
    served = read_window(answer.text, seeded)
    await product.call("update_plan_item", item=item, status="skipped", note="asked")
    most = (case.get("budget") or {}).get("maxBeliefs")
    if most is not None:
        served["relevant"] = served["relevant"][: max(0, most - len(served["pinned"]))]
    return {"caseId": case["caseId"], **served, "refused": seeded.refused}


def read_window(window: str, seeded: Seeded) -> Row:
    """Return what a window serves, as belief ids by tier."""
    served: Row = {"pinned": [], "relevant": [], "questions": []}
    prelude = []
    section = ""
    for line in window.splitlines():
        header = _SECTION.match(line)
        section = header[1] if header else section
        record = _RECORD.match(line)
        belief = seeded.beliefs.get(record[1]) if record else None
        if record is None or belief is None:
            continue
        if record[1].startswith("question"):
            served["questions"].append(belief)
        elif section == "PINNED" and record[1] in seeded.universal:
            prelude.append(unquote(_STRING.findall(line)[-1]))
        elif section == "PINNED":
            served["pinned"].append(belief)
        elif section == "FACTS" and _is_relevant(line):
            served["relevant"].append(belief)
    return {**served, "prelude": "\n".join(prelude)}


def _is_relevant(line: str) -> bool:
    found = _RELEVANCE.search(line)
    return found is None or float(found[1]) > 0


def _is_pinned(belief: Row, by_id: dict[str, Row]) -> bool:
    """What a pinned belief replaced is recorded as the same kind: only like replaces like."""
    while belief.get("superseded_by") in by_id:
        belief = by_id[belief["superseded_by"]]
    return bool(belief.get("pinned"))


def _successors(belief: Row, by_id: dict[str, Row]) -> int:
    count = 0
    while belief.get("superseded_by") in by_id:
        belief, count = by_id[belief["superseded_by"]], count + 1
    return count
