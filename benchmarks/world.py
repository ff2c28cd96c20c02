"""A made-up project of any size: entries, passages, facts, decisions, a plan, files. Seeded.

Words follow Zipf's law over 50,000 words, so the commonest stand in most passages; outputs differ
in length as those of tools do; vectors gather around topics, as those of real text do. Everything
is written as the trusted channels and the gate write it, only without asking the rules.
"""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from keepthread.server.capture.files import read_file
from keepthread.server.memory import Memory
from keepthread.stores.archive import Capture, append_entry
from keepthread.stores.clock import stamp
from keepthread.stores.decisions import DecisionDraft, add_decision
from keepthread.stores.facts import FactDraft, add_fact, add_fact_event
from keepthread.stores.journal import Transaction
from keepthread.stores.ledger import PlanState, add_item
from keepthread.stores.query import fetch_all, fetch_value
from keepthread.stores.records import Author, Citation, Tags
from keepthread.stores.vectors import ensure_model, put_record_vector
from keepthread.stores.windows import add_window, add_window_event

BATCH = 1_000
WORDS = 50_000
TOPICS, TOPIC_SHARE = 300, 0.6
FILES, DECISIONS, STEPS = 200, 100, 60
ENTRIES_PER_WINDOW = 2_000
DAY = 86_400.0
MODEL = ("all-MiniLM-L6-v2-int8", 384)

_ONSETS = "b br c cl d dr f fl g gr h j k l m n p pl qu r s st t tr v w z".split()
_VOWELS = "a e i o u ai ea oo".split()
_TOOLS = ("Bash", "Bash", "Bash", "Read", "Read", "Edit", "Grep", "mcp__tracker__get_issue")
_AREAS = ("billing", "invoice", "search", "mail", "login", "export", "queue", "report")


class Words:
    """A stream of words and texts; the same seed gives the same stream, all share one vocabulary."""

    def __init__(self, seed: int = 7) -> None:
        made, names = random.Random(7), set[str]()
        while len(names) < WORDS:
            count = made.choice((1, 2, 2, 3, 3))
            names.add("".join(made.choice(_ONSETS) + made.choice(_VOWELS) for _ in range(count)))
        self._words = sorted(names)
        made.shuffle(self._words)
        self.random = random.Random(seed)
        self._draw = np.random.default_rng(seed)
        shares = 1.0 / np.arange(1, WORDS + 1)
        self._bounds = np.cumsum(shares / shares.sum())
        topics = np.random.default_rng(7).standard_normal((TOPICS, MODEL[1]))
        self._topics = topics / np.linalg.norm(topics, axis=1, keepdims=True)

    def words(self, count: int) -> list[str]:
        """Return words, each as often as its rank in Zipf's law."""
        drawn = np.searchsorted(self._bounds, self._draw.random(count))
        return [self._words[min(i, WORDS - 1)] for i in drawn]

    def question(self, *ranks: tuple[int, int]) -> str:
        """Return one word from each range of ranks, the commonest word being 0."""
        return " ".join(self._words[self.random.randrange(*between)] for between in ranks)

    def output(self) -> str:
        """Return lines like a tool's output; half are below 600 characters, the mean is 1,000."""
        size = int(min(20_000, self.random.lognormvariate(6.4, 1.0)))
        found = self.words(max(4, size // 7))
        lines = []
        for at in range(0, len(found), 9):
            a, *rest = found[at : at + 9]
            lines.append(f"{a}.py:{self.random.randrange(1, 900)}: {' '.join(rest)}")
        return "\n".join(lines)

    def vectors(self, count: int) -> list[bytes]:
        """Return vectors of length one, each around one of the topics."""
        noise = self._draw.standard_normal((count, MODEL[1])) / MODEL[1] ** 0.5
        near = self._topics[self._draw.integers(0, TOPICS, count)]
        found = TOPIC_SHARE * near + (1 - TOPIC_SHARE) * noise
        found /= np.linalg.norm(found, axis=1, keepdims=True)
        return [row.tobytes() for row in found.astype("<f4")]


class World:
    """Fills a database and its work tree."""

    def __init__(self, memory: Memory) -> None:
        self._memory, self._words = memory, Words()
        self._author = self._then = memory.caller().author
        self._tree = Path(memory.place.tree)
        self._shown: list[int] = []  # entries that facts may cite
        self._files: list[int] = []
        self._facts: list[int] = []
        self._start = time.time() - 30 * DAY

    def fill(self, entries: int, facts: int, tell: Callable[[str], None]) -> None:
        """Write entries, then the rest, then vectors."""
        self._in_batches(min(FILES, entries), self._file)
        self._in_batches(entries, self._entry, lambda n: tell(f"{n:,} entries"))
        self._in_batches(facts, self._fact, lambda n: tell(f"{n:,} facts"))
        self._in_batches(min(DECISIONS, facts), self._decision)
        self._in_batches(STEPS, self._step)
        self._vectors(tell)

    def _in_batches(
        self,
        count: int,
        write: Callable[[Transaction, int], None],
        tell: Callable[[int], None] = lambda done: None,
    ) -> None:
        for at in range(0, count, BATCH):
            with self._memory.capture.transaction() as tx:
                for number in range(at, min(count, at + BATCH)):
                    write(tx, number)
            tell(min(count, at + BATCH))

    def _file(self, tx: Transaction, number: int) -> None:
        path = f"services/{_AREAS[number % len(_AREAS)]}/part{number}.py"
        whole = self._tree / path
        whole.parent.mkdir(parents=True, exist_ok=True)
        whole.write_text(self._words.output(), encoding="utf-8")
        seen = read_file(str(self._tree), path)
        made = self._append(
            tx,
            tool="Read",
            args=f'{{"file_path":"{path}"}}',
            output=seen.data.decode(),
            path=path,
            file_sha256=seen.sha256,
            file_signature=seen.signature,
            seen_at=stamp(self._start),
        )
        self._files.append(made)

    def _entry(self, tx: Transaction, number: int) -> None:
        if number % ENTRIES_PER_WINDOW == 0:
            opened = add_window(tx, self._author, client="bench", session=f"bench-{number}")
            add_window_event(tx, self._author, opened.seq, "ended", reason="exit")
            self._then = self._author._replace(window=opened.seq)
        a, b = self._words.words(2)
        made = self._append(
            tx,
            tool=_TOOLS[number % len(_TOOLS)],
            args=f'{{"command":"make {a} --with {b}"}}',
            output=self._words.output(),
            is_error=number % 13 == 0,
            author=self._then,
            seen_at=stamp(self._start + 10.0 * number),
        )
        if len(self._shown) < 1_000:
            self._shown.append(made)

    def _append(self, tx: Transaction, author: Author | None = None, **given: Any) -> int:
        seen = Capture(kind="call", channel="hook", level=1, **given)
        return append_entry(tx, (author or self._author)._replace(origin="hook"), seen).seq

    def _fact(self, tx: Transaction, number: int) -> None:
        """One in three cites a file, one in ten is an inference, one in ten replaces an older fact."""
        pick = self._words.random
        a, b, c = self._words.words(3)
        infers = number % 10 == 9
        cited = pick.choice(self._files if number % 3 == 0 else self._shown or self._files)
        draft = FactDraft(
            text=f"The {a} {b} of service {c}-{number} listens on port {20_000 + number}",
            kind="inference" if infers else "observation",
            scope=_scope(number),
            citations=() if infers else (Citation(cited, 0, 20),),
            supports=tuple(pick.sample(self._facts, 2)) if infers else (),
            supersedes=(pick.choice(self._facts),) if number % 20 == 10 else (),
            observed_at=stamp(self._start + number * 240.0),
            expires_when="task_end" if number % 50 == 7 else "",
            confidence=0.56 if infers else 0.8,
            level=1,
        )
        author = self._author._replace(origin="model")
        made = add_fact(tx, author, draft)
        self._put_vector(tx, made.seq)
        if not infers and not draft.supersedes:
            self._facts.append(made.seq)
        if number % 200 == 150:
            add_fact_event(tx, author, made.seq, "retracted", reason="it was wrong")

    def _decision(self, tx: Transaction, number: int) -> None:
        draft = DecisionDraft(
            decision=" ".join(self._words.words(8)),
            reason=" ".join(self._words.words(12)),
            scope=_scope(number),
            supports=(self._words.random.choice(self._facts),),
        )
        made = add_decision(tx, self._author._replace(origin="model"), draft)
        self._put_vector(tx, made.seq)

    def _step(self, tx: Transaction, number: int) -> None:
        status = "done" if number < 40 else "in_progress" if number == 40 else "pending"
        state = PlanState(title=" ".join(self._words.words(7)), status=status)
        made = add_item(tx, self._author._replace(origin="model"), state)
        self._put_vector(tx, made.seq)

    def _put_vector(self, tx: Transaction, seq: int) -> None:
        model = ensure_model(tx.connection, *MODEL)
        put_record_vector(tx.connection, seq, model, self._words.vectors(1)[0])

    def _vectors(self, tell: Callable[[str], None]) -> None:
        """Give every passage a vector, as the background worker does."""
        last, most = 0, int(fetch_value(self._memory.reader, "SELECT max(id) FROM passage") or 0)
        while last < most:
            with self._memory.capture.transaction() as tx:
                model = ensure_model(tx.connection, *MODEL)
                rows = fetch_all(
                    tx.connection,
                    "SELECT id FROM passage WHERE id > ? ORDER BY id LIMIT 10000",
                    (last,),
                )
                found = self._words.vectors(len(rows))
                tx.connection.executemany(
                    "INSERT INTO passage_vector VALUES(?,?,?)",
                    [(i, model, v) for (i,), v in zip(rows, found, strict=True)],
                )
            last = rows[-1][0]
            tell(f"{last:,} vectors")


def _scope(number: int) -> Tags:
    """Most facts belong to one area; all areas agree with a focus that has no scope."""
    if number % 4 == 0:
        return ()
    return (("path", f"services/{_AREAS[number % len(_AREAS)]}"),)
