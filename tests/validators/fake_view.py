"""The rules' view over plain dictionaries: no database, no clock."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from keepthread.stores.records import Decision, Entry, Fact, PlanItem
from keepthread.validators.secret_rules import Secret


class FakeView(NamedTuple):
    """Implements ``validators.view.View``; what a test does not give is empty."""

    now: float = 1_790_000_000.0
    entries: Mapping[str, Entry] = {}
    known_facts: Mapping[str, Fact] = {}
    known_decisions: Mapping[str, Decision] = {}
    plan: tuple[PlanItem, ...] = ()
    below: Mapping[int, set[int]] = {}
    weakened: frozenset[int] = frozenset()
    writes: int = 0
    since_call: int | None = None
    cited: tuple[Entry, ...] = ()
    served: Mapping[int, int] = {}
    redacted: frozenset[str] = frozenset()
    untrusted: tuple[tuple[str, str], ...] = ()

    def entry(self, record: str) -> Entry | None:
        return self.entries.get(record)

    def entries_of_tool(self, tool: str) -> list[Entry]:
        return [e for e in self.entries.values() if e.tool == tool]

    def entries_like(self, text: str, tool: str) -> list[Entry]:
        return []

    def calls_given(self, text: str, before: int) -> list[Entry]:
        return []

    def entries_of_file(self, path: str) -> list[Entry]:
        return [e for e in self.entries.values() if e.path == path]

    def user_messages(self) -> list[Entry]:
        return [e for e in self.entries.values() if e.role == "user"]

    def known_tools(self) -> list[str]:
        return sorted({e.tool for e in self.entries.values() if e.tool})

    def fact(self, record: str) -> Fact | None:
        return self.known_facts.get(record)

    def facts(self, seqs: Sequence[int]) -> list[Fact]:
        return [f for f in self.known_facts.values() if f.seq in seqs]

    def facts_citing(self, entries: Sequence[int]) -> list[Fact]:
        wanted = set(entries)
        facts = self.known_facts.values()
        return [f for f in facts if f.current and wanted & {c.entry for c in f.citations}]

    def is_weakened(self, fact: Fact) -> bool:
        return fact.seq in self.weakened

    def similar_facts(
        self, text: str, subject: str, vector: bytes | None
    ) -> list[tuple[Fact, float | None]]:
        return [(f, None) for f in self.known_facts.values() if f.current]

    def facts_of_calls(self, calls: Sequence[Entry]) -> list[Fact]:
        return [f for f in self.known_facts.values() if f.current]

    def decision(self, record: str) -> Decision | None:
        return self.known_decisions.get(record)

    def similar_decisions(
        self, text: str, vector: bytes | None
    ) -> list[tuple[Decision, float | None]]:
        return [(d, None) for d in self.known_decisions.values() if d.active]

    def item(self, record: str) -> PlanItem | None:
        return next((i for i in self.plan if i.id == record), None)

    def items(self) -> list[PlanItem]:
        return list(self.plan)

    def entries_by_seq(self, seqs: Sequence[int]) -> dict[int, Entry]:
        return {e.seq: e for e in self.entries.values() if e.seq in seqs}

    def rests_on(self, seq: int) -> set[int]:
        return set(self.below.get(seq, ()))

    def writes_in_window(self) -> int:
        return self.writes

    def cited_in_window(self) -> list[Entry]:
        return list(self.cited)

    def writes_since_call(self) -> int | None:
        return self.since_call

    def last_served_version(self, item: PlanItem) -> int | None:
        return self.served.get(item.item)

    def known_secrets(self, text: str) -> Sequence[Secret]:
        return [Secret("password", 0, len(text))] if text in self.redacted else []

    def vectors(self, texts: Sequence[str]) -> Sequence[bytes] | None:
        return None

    def similarity(self, claim: str, passages: Sequence[str]) -> Sequence[float] | None:
        return None

    def untrusted_passages(self, text: str) -> list[tuple[str, str]]:
        return list(self.untrusted)

    def pinned_fits(self, goal: str, constraints: Sequence[str]) -> int:
        return 0
