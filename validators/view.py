"""The narrow read-only view that rules get; a dict-backed fake implements it in tests."""

from collections.abc import Sequence
from typing import Protocol

from keepthread.stores.records import Decision, Entry, Fact, PlanItem
from keepthread.validators.secret_rules import Secret


class View(Protocol):
    """What a rule may ask. Everything is already limited to the caller's workspace."""

    @property
    def now(self) -> float:
        """Seconds since the epoch."""

    def entry(self, record: str) -> Entry | None:
        """The archive entry with this id."""

    def entries_of_tool(self, tool: str) -> list[Entry]:
        """Calls of a tool, newest first: of the window, then of the task."""

    def entries_like(self, text: str, tool: str) -> list[Entry]:
        """Calls of a tool whose output shares the most words with a text, however long ago."""

    def calls_given(self, text: str, before: int) -> list[Entry]:
        """Calls earlier than the entry ``before`` whose arguments share the most words with a text."""

    def entries_of_file(self, path: str) -> list[Entry]:
        """Entries that show a file, newest first: of the window, then of the task."""

    def user_messages(self) -> list[Entry]:
        """Messages of the user captured in this window, newest first."""

    def known_tools(self) -> list[str]:
        """Names of tools with captured calls, the most recent first."""

    def fact(self, record: str) -> Fact | None:
        """The fact with this id."""

    def facts(self, seqs: Sequence[int]) -> list[Fact]:
        """Facts by seq."""

    def is_weakened(self, fact: Fact) -> bool:
        """True when something it rests on was superseded, retracted or doubted since, or it cites a suspect entry."""

    def similar_facts(
        self, text: str, subject: str, vector: bytes | None
    ) -> list[tuple[Fact, float | None]]:
        """Current facts near a text or sharing its subject, with cosine where vectors are there."""

    def facts_of_calls(self, calls: Sequence[Entry]) -> list[Fact]:
        """Current facts that cite recent calls of the same tools."""

    def facts_citing(self, entries: Sequence[int]) -> list[Fact]:
        """Current facts that cite any of these entries (seqs), oldest first."""

    def decision(self, record: str) -> Decision | None:
        """The decision with this id."""

    def similar_decisions(
        self, text: str, vector: bytes | None
    ) -> list[tuple[Decision, float | None]]:
        """Active decisions near a text."""

    def item(self, record: str) -> PlanItem | None:
        """The plan item with this id."""

    def items(self) -> list[PlanItem]:
        """The plan items of the caller's task."""

    def entries_by_seq(self, seqs: Sequence[int]) -> dict[int, Entry]:
        """Archive entries by seq."""

    def rests_on(self, seq: int) -> set[int]:
        """Everything a record rests on, at any depth."""

    def writes_in_window(self) -> int:
        """Facts and decisions written in this window."""

    def cited_in_window(self) -> list[Entry]:
        """The entry that each fact of this window cites first, once for each fact."""

    def writes_since_call(self) -> int | None:
        """Facts and decisions since the newest captured call; None where nothing is captured."""

    def last_served_version(self, item: PlanItem) -> int | None:
        """The version of an item last shown to, or written by, this window; None if never."""

    def vectors(self, texts: Sequence[str]) -> Sequence[bytes] | None:
        """Vectors of texts; None while no model is loaded."""

    def similarity(self, claim: str, passages: Sequence[str]) -> Sequence[float] | None:
        """Cosine of a claim with passages; None while no model is loaded."""

    def untrusted_passages(self, text: str) -> list[tuple[str, str]]:
        """(entry id, passage) of tool output that shares the most words with a text."""

    def known_secrets(self, text: str) -> Sequence[Secret]:
        """Values in a text that were redacted from the archive before."""

    def pinned_fits(self, goal: str, constraints: Sequence[str]) -> int:
        """Tokens by which goal and constraints exceed the pinned section; 0 when they fit."""
