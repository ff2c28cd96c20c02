"""What the gate is asked (Write), and what it answers: an Outcome, or a Refusal that teaches."""

from collections.abc import Mapping
from typing import NamedTuple

from keepthread.stores.records import Citation, Entry, PlanItem, Tags
from keepthread.validators.quoting import quote


class Refusal(NamedTuple):
    """Why a write was turned away and what to do instead.

    ``code`` is stable API (docs/refusals.md). ``material`` is what a model needs to do better:
    passages, messages, the settled decision; it is rendered as JSON strings, one a line.
    """

    code: str
    what: str
    remedy: str
    material: tuple[tuple[str, str], ...] = ()  # (label written by us, stored text)

    def message(self) -> str:
        """Return ``refused[CODE]: what is wrong. What to do instead.`` and the material."""
        head = f"refused[{self.code}]: {self.what} {self.remedy}"
        lines = [f"- {label}: {quote(text)}" for label, text in self.material]
        return "\n".join([head, *lines])


class Refused(Exception):
    """Raised by the gate after the refusal was recorded; nothing else was stored."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message())
        self.refusal = refusal


class Write(NamedTuple):
    """One write of the model on its way through the rules.

    The first group is what was asked; the rules fill the second group in as they resolve it.
    """

    tool: str
    kind: str  # a row of the table in rules.py
    text: str = ""
    others: Mapping[str, str] = {}  # further words that would be stored, by argument name
    source: str = ""
    scope_given: tuple[str, ...] = ()
    subject: str = ""
    supports_given: tuple[str, ...] = ()
    observed_at: str = ""
    expires_when: str = ""
    supersedes_given: str = ""
    user_scope: bool = False  # for every workspace: set by the user's own channel only

    scope: Tags = ()
    cited: tuple[Entry, ...] = ()
    citations: tuple[Citation, ...] = ()
    passage: str = ""
    supports: tuple[int, ...] = ()
    supersedes: tuple[int, ...] = ()
    disputes: tuple[int, ...] = ()
    both_hold: bool = False
    duplicate_of: int | None = None
    reported: bool = False
    model_written: bool = False
    level: int = 0
    confidence: float = 0.0
    expires_at: str = ""
    vector: bytes | None = None
    remarks: tuple[str, ...] = ()
    item: PlanItem | None = None
    depends_on: tuple[int, ...] = ()
    status: str = ""
    expected_version: int = 0

    def words(self) -> dict[str, str]:
        """Every text that would be stored, by argument name, empty ones left out."""
        all_words = {"text": self.text, "subject": self.subject, "expires_when": self.expires_when}
        return {name: text for name, text in {**all_words, **self.others}.items() if text}


class Outcome(NamedTuple):
    """What the gate did: the action in Mem0's terms, the record, and remarks for the model.

    ``action``: added | superseded | merged | retracted | updated | opened | answered | proposed | closed.
    """

    action: str
    id: str
    remarks: tuple[str, ...] = ()
    fields: Mapping[str, object] = {}
