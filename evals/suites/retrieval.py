"""Evidence retrieval: does ``search_archive`` find the turns that hold the answer?

A folder of conversations, one file with a pool, or recall probes with their traces beside them.
Each pool is imported into a workspace of its own, embedded to the end, and asked every question
in the question's own words, twice. The long answer gives ``ranked``: its entries, mapped back through
what the import said; their figures charge a reader with whole entries. The answer of an agent, held
to SERVED_TOKENS with all that frames it, gives ``texts``, its snippets as they are shown, and
``context_ids``, their entries. By text, a snippet counts for every entry in which it stands; by id, for
the one it was cut from.
"""

import re
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from evals.predictions import DataMissing, Row, Run
from evals.product import Product, open_product
from evals.reading import read_json, read_rows
from evals.retrieval_figures import score_retrieval
from keepthread.validators.quoting import unquote

HITS = 50
ANSWER_TOKENS = 100_000
SERVED_TOKENS = 2_048

_HIT = re.compile(r'^- ((?:call|msg|say)-\d+) @\d+ \[(.*?)\]: (".*")$', re.M)
_ALSO = re.compile(r"(?:(?<= · also )|(?<=, ))(?:call|msg|say)-\d+")
_TIMES = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M")


class Pool(NamedTuple):
    """What is searched together: its rows in the import format, the texts by ref, the questions."""

    name: str
    rows: list[Row]
    texts: dict[str, str]
    questions: list[Row]


def read(path: Path) -> list[Pool]:
    """Return the pools of a folder or file."""
    if not path.is_dir():
        return [_pool(path)]
    files = sorted(path.glob("*.json"))
    if not files:
        raise DataMissing(f"{path} holds no .json file of a conversation.")
    return [_pool(file) for file in files]


def key(row: Row) -> str:
    """Return what a question and its prediction share."""
    return str(row["qid"])


async def predict(path: Path, run: Run) -> None:
    """Append a prediction for every question."""
    for pool in read(path):
        questions = run.left(pool.questions, key)
        if not questions:
            continue
        with tempfile.TemporaryDirectory() as folder:
            async with open_product(Path(folder)) as product:
                refs = {entry: ref for ref, entry in product.bring(pool.rows).items()}
                with run.bar(f"{pool.name or 'pool'}: embedding", None) as advance:
                    product.embed_all(advance)
                for question in run.track(questions, f"{pool.name or 'pool'}: asking"):
                    run.add({"qid": question["qid"], **await _ask(product, question, refs)})


def score(path: Path, rows: list[Row], *, corrected: bool = False, by: str = "") -> dict[str, Any]:
    """Return the figures of ``ranked`` by group, and under ``served`` those of ``texts``."""
    pools = read(path)
    texts = {(p.name, ref): text for p in pools for ref, text in p.texts.items()}
    questions = [{**q, "pool": p.name} for p in pools for q in p.questions]
    ranked = score_retrieval(texts, questions, rows, corrected=corrected, by=by)
    served = score_retrieval(texts, questions, rows, served=True, corrected=corrected, by=by)
    return {**ranked, "served": served}


def headline(figures: Row) -> Row:
    """Return the few figures that stand for the suite."""
    return {
        "recall@10": figures["ALL"]["recall@10"],
        "MRR": figures["ALL"]["mrr"],
        "recall within 2,048 tokens of whole entries": figures["ALL"]["recall<=2048tok"],
        "recall within 2,048 tokens as served": figures["served"]["ALL"]["recall<=2048tok"],
        "the same by id": figures["ALL"].get("context_recall"),
    }


async def _ask(product: Product, question: Row, refs: dict[str, str]) -> Row:
    asked = {"query": question["question"], "limit": HITS}
    long = await product.call("search_archive", **asked, max_tokens=ANSWER_TOKENS)
    short = await product.call("search_archive", **asked, max_tokens=SERVED_TOKENS)
    return {
        "ranked": [refs[entry] for entry in _entries(long.text)],
        "texts": [unquote(quoted) for _, _, quoted in _HIT.findall(short.text)],
        "context_ids": [refs[entry] for entry in _entries(short.text)],
    }


def _entries(answer: str) -> list[str]:
    """Return the entries of an answer in order, those that hold the same text after the one it was cut from."""
    hits = _HIT.findall(answer)
    return list(dict.fromkeys(e for first, about, _ in hits for e in (first, *_ALSO.findall(about))))


def _pool(file: Path) -> Pool:
    data = read_json(file)
    turns = data.get("turns") or data.get("pool") if isinstance(data, dict) else None
    if not turns or "questions" not in data:
        raise DataMissing(f"{file} has no `turns` or `pool` with `questions`.")
    texts = {str(turn["id"]): turn["text"] for turn in turns}
    if "trace" in turns[0]:
        names = list(dict.fromkeys(turn["trace"] for turn in turns))
        rows = [row for name in names for row in trace_rows(file.parent / f"{name}.jsonl")]
    else:
        rows = [_message(turn) for turn in turns]
    return Pool(data.get("sample_id", ""), rows, texts, data["questions"])


def trace_rows(file: Path) -> Iterator[Row]:
    """Yield a recorded run in the import format, each call's ref ``NAME#seq``; thoughts are left out."""
    for call in read_rows(file, ("seq", "tool", "args", "output")):
        yield {
            "type": "tool_call",
            "tool": call["tool"],
            "args": call["args"],
            "output": call["output"],
            "is_error": bool(call.get("is_error")),
            "ts": call.get("ts"),
            "ref": f"{file.stem}#{call['seq']}",
        }


def _message(turn: Row) -> Row:
    """Return a turn as a message. The words of an image are in its caption only, so they go along."""
    caption = turn.get("image_caption")
    return {
        "type": "message",
        "role": turn.get("role", "user"),
        "speaker": turn.get("speaker", ""),
        "text": f"{turn['text']} [image: {caption}]" if caption else turn["text"],
        "ts": _stamp(turn.get("date_time", "")),
        "ref": str(turn["id"]),
    }


def _stamp(given: str) -> str | None:
    """Return the time in ISO 8601, or None where it is in no known form."""
    for form in _TIMES:
        try:
            return datetime.strptime(given, form).isoformat() + "Z"
        except ValueError:
            continue
    return None
