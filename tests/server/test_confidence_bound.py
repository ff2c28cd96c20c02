"""No sequence of a model's calls raises a fact above what its evidence is worth.

The table and the formula stand here once more, as documented, so that the code cannot agree with
itself. Every step is a call of the model's tools; hooks and an import made the archive before.
"""

import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from keepthread.server.capture.imports import import_lines

from .world import Answer, Session, World

CLAIMS = (
    "The timeout is 300 seconds",
    "The port is 8080",
    "The timeout is 60 seconds",
    "The build command is `make build-ci`",
)
TOLERANCE = 0.006  # two digits are shown
SHOWN = re.compile(r"confidence (\d\.\d\d) \(at recording (\d\.\d\d)\)")


class Evidence(NamedTuple):
    """What an entry is worth by the table in the documentation, and whose word it is."""

    worth: float
    origin: str  # "" for what a model wrote, which corroborates nothing


EVIDENCE = {
    "call-1": Evidence(0.8, "file:app.ini"),  # hook, cat
    "call-2": Evidence(0.8, "file:app.ini"),  # hook, the client's own tool
    "call-3": Evidence(0.8, "program"),  # hook, another origin
    "call-4": Evidence(0.6, "web"),
    "call-5": Evidence(0.6, "web"),  # the same host again
    "call-6": Evidence(0.4, ""),  # a model's summary
    "call-7": Evidence(0.95, "file:app.ini"),  # Keepthread looked itself
    "call-8": Evidence(0.7, "import"),
    "msg-1": Evidence(1.0, "user"),
}


class Step(NamedTuple):
    """One call of the model: what it says of which claim, citing or resting on what."""

    tool: str
    claim: int
    sources: tuple[str, ...]
    fact: int
    supersedes: bool


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(("observe", "observe", "observe", "infer", "retract", "instruct", "look")),
        st.integers(0, len(CLAIMS) - 1),
        st.lists(st.sampled_from(sorted(EVIDENCE)), min_size=1, max_size=3).map(tuple),
        st.integers(0, 5),
        st.booleans(),
    ),
    min_size=3,
    max_size=14,
)


@settings(max_examples=20, deadline=None, phases=(Phase.reuse, Phase.generate))
@given(STEPS)
def test_no_sequence_of_calls_raises_confidence_above_the_evidence(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = _archive(Path(folder))
        memory = world.memory()
        with world.connect(memory=memory) as session:
            session.done("capture_file", path="app.ini")
            line = {"type": "tool_call", "tool": "monitor", "output": "\n".join(CLAIMS)}
            import_lines(memory.capture, memory.place.workspace, [json.dumps(line)])
            _run(session, steps)
        memory.close()


def _archive(folder: Path) -> World:
    text = "\n".join(CLAIMS)
    world = World(folder)
    world.hook("SessionStart", source="startup")
    world.say(text)
    world.bash("cat app.ini", text)
    world.read_file("app.ini", text)
    world.bash("./status", text)
    world.bash("curl -s https://wiki.example/ops", text)
    world.bash("curl -s https://wiki.example/faq", text)
    world.tool("WebFetch", {"url": "https://blog.example", "prompt": "sum up"}, {"result": text})
    return world


def _run(session: Session, steps: Sequence[Step]) -> None:
    """Take the steps and hold every fact, after each of them, to its bound."""
    bound: dict[str, float] = {}  # by fact, what its own evidence gives
    grounds: dict[str, set[str]] = {}  # by fact, the origins it was first recorded from
    origins: dict[str, set[str]] = {}  # by fact, of every entry that was ever accepted for it
    for step in steps:
        known = sorted(bound)
        fact = known[step.fact % len(known)] if known else "fact-1"
        answer = _take(session, step, fact)
        if answer.failed or step.tool in ("retract", "look"):
            continue
        evidence = [EVIDENCE[source] for source in _cited(answer)]
        worth = min((one.worth for one in evidence), default=0.7 * bound.get(fact, 0.0))
        bound.setdefault(answer.id, worth)  # merged: it keeps what it was first worth
        accepted = {one.origin for one in evidence} - {""}
        grounds.setdefault(answer.id, accepted)
        origins[answer.id] = origins.get(answer.id, set()) | accepted
        assert answer.data["confidence"] <= bound[answer.id] + TOLERANCE, (step, answer)
        for record, worth in bound.items():
            _hold(session, record, worth, origins[record] - grounds[record])


def _take(session: Session, step: Step, fact: str) -> Answer:
    replaced = fact if step.supersedes else ""
    if step.tool == "retract":
        return session.call("retract_fact", fact=fact, reason="it was wrong")
    if step.tool == "look":
        return session.call("capture_file", path="app.ini")
    kinds: dict[str, dict[str, str | list[str]]] = {
        "observe": {"kind": "observation", "source": ", ".join(step.sources)},
        "instruct": {"kind": "instruction-from-user", "source": "user"},
        "infer": {"kind": "inference", "supports": [fact]},
    }
    claim = CLAIMS[step.claim]
    text = f"Small teams are why {claim[0].lower()}{claim[1:]}" if step.tool == "infer" else claim
    return session.call("record_fact", text=text, supersedes=replaced, **kinds[step.tool])


def _cited(answer: Answer) -> list[str]:
    return re.findall(r"(?:call|msg)-\d+", answer.data["source"])


def _hold(session: Session, fact: str, worth: float, others: set[str]) -> None:
    shown = SHOWN.search(session.done("read_record", id=fact).text)
    assert shown is not None
    assert float(shown[2]) <= worth + TOLERANCE, fact
    most = worth
    for _ in others:  # another origin, never a repetition
        most += max(0.0, 0.97 - most) / 3
    assert float(shown[1]) <= most + TOLERANCE, (fact, others)
