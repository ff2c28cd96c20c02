"""Contradiction audit: are the facts that a window serves still true, and does it say which are not?

Each served fact is held against its source, read again:

- ungrounded: the archived bytes that it cites do not contain it;
- stale: the file that it came from is gone or no longer contains it, the same call showed
  something else later, or a fact that it rests on is stale or no longer current;
- sound: everything else.

Flagged is a fact that the window serves for verification, as disputed, as weakened or violated.

The facts are those of a user's database, or of a scenario: a small work tree whose files and
command outputs change under the facts that are recorded of them. A scenario says of each fact
what is true in the end, so that the audit is itself checked.
"""

import random
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from evals.lines import window_lines
from evals.predictions import DataMissing, Row
from evals.product import Answer, Product, open_product
from evals.reading import read_json
from keepthread.server.capture.files import FileRefused, read_file
from keepthread.server.context.fact_lines import BLOCKS
from keepthread.server.memory import Memory
from keepthread.stores.archive import entries
from keepthread.stores.facts import load_facts
from keepthread.stores.recent import recent_by_tool
from keepthread.stores.records import Entry, Fact
from keepthread.validators.citations import as_evidence
from keepthread.validators.grounding import ground

SCENARIO = Path(__file__).parent.parent / "scenarios" / "moving_files.json"
LATER_CALLS_MAX = 500
SECTIONS = frozenset(("pinned", "facts"))

_FLAGGED_BLOCKS = (BLOCKS[0], BLOCKS[3])
_FLAGS = ("STALE", "WEAKENED", "DISPUTED", "VIOLATED")


class Checked(NamedTuple):
    """A served fact, what its sources say now and why, and whether the window flags it."""

    id: str
    text: str
    verdict: str  # sound | stale | ungrounded
    why: str
    flagged: bool


def read(path: Path) -> Row:
    """Return a scenario. Raises DataMissing where it has no steps."""
    data = read_json(path)
    if not isinstance(data, dict) or not isinstance(data.get("steps"), list):
        raise DataMissing(f"{path} has no `steps`; a scenario is an object with a list of them.")
    return data


def audit(memory: Memory, *, max_tokens: int = 0, sample: int = 0, seed: int = 0) -> list[Checked]:
    """Return the served facts of a memory, checked; with ``sample`` so many of them, by ``seed``."""
    window = memory.context(max_tokens=max_tokens, caller=memory.onlooker())
    flags = _flags(window.text)
    seqs = [s.ref for s in window.shown if s.section in SECTIONS]
    facts = list(load_facts(memory.reader, seqs).values())
    if 0 < sample < len(facts):
        facts = random.Random(seed).sample(facts, sample)
    found = []
    for fact in facts:
        verdict, why = _verdict(memory, fact)
        found.append(Checked(fact.id, fact.text, verdict, why, flags.get(fact.id, False)))
    return found


async def audit_scenario(path: Path) -> tuple[list[Checked], Row]:
    """Play a scenario; return its served facts, checked, and its own figures."""
    data = read(path)
    truth: dict[str, str] = {}
    refused: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        async with open_product(Path(folder)) as product:
            for number, step in enumerate(data["steps"]):
                answer = await _play(product, Path(folder), step, number)
                if answer is not None and answer.refused:
                    refused[answer.refused] += 1
                elif answer is not None:
                    truth[str(answer.fields["id"])] = step["in_the_end"]
            checked = audit(product.memory)
    served = {c.id for c in checked}
    wrong = [c for c in checked if truth.get(c.id, c.verdict) != c.verdict]
    return checked, {
        "recorded": len(truth),
        "refused": dict(refused),
        "stale and no longer served": sum(
            t == "stale" and i not in served for i, t in truth.items()
        ),
        "audit wrong": [f"{c.id} {c.verdict}: {c.text}" for c in wrong],
    }


def score_audit(checked: Sequence[Checked]) -> Row:
    """Return the rates: of stale facts among those served, and of flags among stale and sound ones."""
    stale = [c for c in checked if c.verdict == "stale"]
    sound = [c for c in checked if c.verdict == "sound"]
    return {
        "facts": len(checked),
        "stale rate": _share(c.verdict == "stale" for c in checked),
        "flagged of stale": _share(c.flagged for c in stale),
        "stale and not flagged": _share(c.verdict == "stale" and not c.flagged for c in checked),
        "flagged of sound": _share(c.flagged for c in sound),
        "ungrounded": sum(c.verdict == "ungrounded" for c in checked),
        "why": dict(Counter(c.why for c in checked if c.why)),
    }


def headline(figures: Row) -> Row:
    """Return the few figures that stand for the audit."""
    names = ("facts", "stale rate", "flagged of stale", "stale and not flagged", "flagged of sound")
    return {name: figures[name] for name in names}


async def _play(product: Product, tree: Path, step: Row, number: int) -> Answer | None:
    """Do one step: write or remove a file, show a command's output, or record a fact."""
    if "write" in step:
        file = tree / step["write"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(step["text"], encoding="utf-8")
        return None
    if "remove" in step:
        (tree / step["remove"]).unlink()
        return None
    source = "user"
    if "run" in step:
        shown = {"args": {"command": step["run"]}, "output": step["output"]}
        row = {"type": "tool_call", "tool": "Bash", **shown, "ref": str(number)}
        source = product.bring([row])[str(number)]
    if "read" in step:
        source = (await product.call("capture_file", path=step["read"])).text.partition(":")[0]
    if "say" in step:
        product.say(step["say"], number)
    if "fact" not in step:
        return None
    kind = step.get("kind", "observation")
    return await product.call("record_fact", text=step["fact"], kind=kind, source=source)


def _flags(window: str) -> dict[str, bool]:
    """Return for each record of a window whether it is flagged, by the words of our own code."""
    found: dict[str, bool] = {}
    block = ""
    for line in window_lines(window):
        if not line.record:
            block = line.ours.rstrip(":") if line.section == "facts" else ""
        elif line.section in SECTIONS:
            marked = any(flag in line.ours for flag in _FLAGS)
            found[line.record] = marked or block in _FLAGGED_BLOCKS
    return found


def _verdict(memory: Memory, fact: Fact) -> tuple[str, str]:
    if fact.kind == "inference":
        return _verdict_of_supports(memory, fact)
    if fact.reported:
        return "sound", ""
    cited = list(entries(memory.reader, [c.entry for c in fact.citations]).values())
    if not _grounded(fact.text, cited):
        return "ungrounded", "its entries do not contain it"
    for place, entry in enumerate(cited):
        now, why = _as_it_is_now(memory, entry)
        again = [*cited[:place], *([now] if now else []), *cited[place + 1 :]]
        if why and not _grounded(fact.text, again):
            return "stale", why
    return "sound", ""


def _verdict_of_supports(memory: Memory, fact: Fact) -> tuple[str, str]:
    for below in load_facts(memory.reader, fact.supports).values():
        if not below.current or _verdict(memory, below)[0] != "sound":
            return "stale", "what it rests on no longer holds"
    return "sound", ""


def _as_it_is_now(memory: Memory, entry: Entry) -> tuple[Entry | None, str]:
    """Return the entry as its source would show it now, None where that is gone, and what a
    difference would mean; ``""`` where nothing newer can be known."""
    if entry.file_sha256:
        try:
            data = read_file(memory.place.tree, entry.path).data
        except FileRefused:
            return None, "its file is gone"
        return entry._replace(output=data.decode("utf-8", "replace")), "its file changed"
    if entry.role:
        return entry, ""
    calls = recent_by_tool(memory.reader, entry.workspace, entry.tool, limit=LATER_CALLS_MAX)
    for call in calls:
        if call.seq > entry.seq and call.args == entry.args and call.is_error <= entry.is_error:
            return call, "the same call showed otherwise later"
    return entry, ""


def _grounded(text: str, cited: Sequence[Entry]) -> bool:
    return bool(cited) and ground(text, [as_evidence(e) for e in cited]).grounded


def _share(values: Iterable[bool]) -> float | None:
    found = list(values)
    return round(sum(found) / len(found), 4) if found else None
