"""Frozen records and ids: the words the whole project shares. Imports nothing of ours.

An id is a kind and a number, ``fact-12``; numbers count up per kind in one database and are
never reused. Inside the database a record is known by ``seq``, its place in the journal.
NamedTuples, because the hook path cannot afford the import of dataclasses.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

ENTRY_KINDS = ("call", "msg", "say", "sys")
"""Archive entries: tool call, message of the user, of the assistant, of a machine."""

RECORD_KINDS = (*ENTRY_KINDS, "fact", "decision", "plan", "question", "task", "window")

_ID = re.compile(r"\s*([a-z]{3,8})-([0-9]{1,15})\s*")


class RecordId(NamedTuple):
    """``RecordId("fact", 12)`` prints as ``fact-12``."""

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}-{self.number}"


def parse_id(text: str) -> RecordId | None:
    """Read ``fact-12``; None when the text is no id of a kind we know."""
    match = _ID.fullmatch(text)
    if match is None or match[1] not in RECORD_KINDS or int(match[2]) == 0:
        return None
    return RecordId(match[1], int(match[2]))


Tags = tuple[tuple[str, str], ...]
"""Scope: ``(("path", "services/invoice/"), ("repo", "billing"))``, sorted."""


class Author(NamedTuple):
    """Who writes, and where: every record keeps these. Seqs, not ids."""

    workspace: int
    origin: str  # model | user | hook | relay | check | import | server
    window: int | None = None
    task: int | None = None
    item: int | None = None
    agent: str = ""


class Draft(NamedTuple):
    """A record about to be appended: one row, its words, its tags, its child rows."""

    kind: str
    table: str
    row: Mapping[str, object]
    bodies: Mapping[str, str] = {}
    tags: Tags = ()
    children: Mapping[str, Sequence[Mapping[str, object]]] = {}
    numbered: bool = True


class Stamp(NamedTuple):
    """What an append answers: the record's place, its id (``""`` for events) and its time."""

    seq: int
    id: str
    at: str


DOORS = ("prompt", "terminal", "elicitation")
"""Where the user speaks to Keepthread itself, not in a chat: the ``tool`` of such a message."""
TERMINAL = "terminal"
"""The client of the windows in which a person's commands write: no agent's, so nothing is handed off there."""


class Entry(NamedTuple):
    """An archive entry as it is read back. ``args`` is compact JSON; texts are ``""`` once erased."""

    seq: int
    id: str
    workspace: int
    window: int | None
    task: int | None
    agent: str
    channel: str
    level: int
    role: str
    tool: str
    args: str
    output: str
    output_sha256: str
    is_error: bool
    truncated: bool
    model_written: bool
    own: bool
    outer_ref: str
    seen_at: str
    path: str
    file_sha256: str
    file_signature: str
    speaker: str
    erased: bool
    extra: str = ""  # what else its channel told, as JSON: never evidence
    suspect: bool = False  # the client's own transcript does not know it

    @property
    def trust(self) -> str:
        """Who told of it, as every surface shows it: ``hook level 1``; ``user`` for the user's own words."""
        return "user" if self.channel == "user" else f"{self.channel} level {self.level}"


class Citation(NamedTuple):
    """Where a fact is grounded: ``output[start:stop]`` of the entry ``entry`` (a seq)."""

    entry: int
    start: int
    stop: int


class Fact(NamedTuple):
    """A fact with what is derived about it at the time of reading."""

    seq: int
    id: str
    workspace: int
    window: int | None
    task: int | None
    agent: str
    at: str
    kind: str
    text: str
    subject: str
    scope: Tags
    reported: bool
    model_written: bool
    level: int
    observed_at: str
    expires_at: str
    expires_when: str
    confidence: float
    citations: tuple[Citation, ...]
    supports: tuple[int, ...]
    current: bool


class Decision(NamedTuple):
    """A decision and its mandatory reason."""

    seq: int
    id: str
    workspace: int
    window: int | None
    agent: str
    at: str
    decision: str
    reason: str
    alternatives: tuple[str, ...]
    scope: Tags
    supports: tuple[int, ...]
    supersedes: int | None
    active: bool


class PlanItem(NamedTuple):
    """The current state of one plan item; ``seq`` is that of its last event, ``item`` of its first."""

    item: int
    id: str
    seq: int
    version: int
    task: int | None
    title: str
    description: str
    status: str
    scope: Tags
    depends_on: tuple[int, ...]
    checks: tuple[str, ...]
    note: str
    verified: bool
    evidence: int | None
    started_head: str
    agent: str
    at: str
    dropped: bool = False  # skipped by the user: no agent takes it up again


class Question(NamedTuple):
    """An open or answered question."""

    seq: int
    id: str
    at: str
    question: str
    why: str
    scope: Tags
    blocks: int | None
    answer: str
    answered_at: str
    source: int | None


class Task(NamedTuple):
    """One goal with constraints; ``task`` is the seq of its first version."""

    task: int
    id: str
    version: int
    state: str  # proposed | active | done
    goal: str
    constraints: tuple[str, ...]
    source: int | None
    at: str
    suspect: bool = False  # proposed, since the client's transcript does not know the message it is from


class Window(NamedTuple):
    """One context window of an agent, and the last event that happened to it."""

    seq: int
    id: str
    workspace: int
    client: str
    session: str
    host_pid: int
    host_started: str
    work_tree: str
    at: str
    closed: str  # "" while open, else the closing event


def scope_agrees(a: Tags, b: Tags) -> bool:
    """The scope rule: for every name both carry, at least one value agrees.

    ``path`` values agree when one contains the other; other values when equal.
    """
    names = {n for n, _ in a} & {n for n, _ in b}
    return all(
        any(_values_agree(name, x, y) for n, x in a if n == name for m, y in b if m == name)
        for name in names
    )


def _values_agree(name: str, x: str, y: str) -> bool:
    if name != "path":
        return x == y
    x, y = x.strip("/"), y.strip("/")
    return x == y or not x or not y or x.startswith(y + "/") or y.startswith(x + "/")
