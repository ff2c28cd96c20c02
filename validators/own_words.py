"""Prose that the agent sent out earlier and a later call reads back: a commit message, an issue, a post.

Such text is an echo through the world: the call that shows it is true, what it says is the agent's
word. (What a file says is marked by its last writer when it is archived.)
"""

import re
from typing import Final

from keepthread.stores.records import Entry
from keepthread.validators.citations import as_evidence
from keepthread.validators.confidence import MODEL_WRITTEN
from keepthread.validators.echoes import without_echo
from keepthread.validators.grounding import ground
from keepthread.validators.shell_origin import command_of
from keepthread.validators.verdict import Write
from keepthread.validators.view import View

_READS_BACK: Final = re.compile(
    r"\bgit\s[^|;&\n]{0,80}?\b(?:log|show|reflog|blame|shortlog|tag|notes|cherry|rev-list|for-each-ref|branch|stash)\b"
    r"|\b(?:gh|glab|hub|jira|curl|wget|https?|xh|psql|mysql|sqlite3|redis-cli|kubectl|aws|gcloud|az)\b"
)
_SENDS: Final = re.compile(
    r"\bgit\s[^|;&\n]{0,80}?\b(?:commit|tag|notes|merge|stash|branch|revert)\b"
    r"|\b(?:gh|glab|hub|jira)\s[^|;&\n]{0,60}?\b(?:create|comment|edit|update|review|merge|close|note|api)\b"
    r"|\b(?:curl|wget|https?|xh)\b.*?(?:\s-d|\s--data|\s-F|\s-T|--json|--post|-X\s?P|\sP(?:OST|UT|ATCH)\b|=)"
    r"|\b(?:psql|mysql|sqlite3)\b.*?\b(?:insert|update|comment)\b"
    r"|\b(?:redis-cli|kubectl|aws|gcloud|az)\b",
    re.I | re.S,
)
_SENDING_TOOL: Final = re.compile(
    r"(?i)(?:^|_)(?:create|add|update|edit|write|post|put|send|save|set|comment|reply|append|insert|"
    r"store|push|publish|submit|commit|merge|note)"
)


def mark_own_words(write: Write, view: View) -> Write | None:
    """Mark an observation as model-written where its entries show it only in words sent out earlier."""
    shown = [e for e in write.cited if _reads_back(e)]
    if write.model_written or not shown:
        return None
    first = min(e.seq for e in shown)
    sent = [e for e in view.calls_given(write.passage, first) if _sends(e)]
    if not sent:
        return None
    left = [as_evidence(e)._replace(output=_without(e.output, sent)) for e in write.cited]
    if ground(write.text, left).grounded:
        return None
    return write._replace(model_written=True, confidence=min(write.confidence, MODEL_WRITTEN))


def _reads_back(entry: Entry) -> bool:
    if entry.role or entry.path or entry.channel == "check":
        return False
    command = command_of(entry)
    return bool(_READS_BACK.search(command)) if command else entry.tool.startswith("mcp__")


def _sends(entry: Entry) -> bool:
    command = command_of(entry)
    if command:
        return bool(_SENDS.search(command))
    return bool(_SENDING_TOOL.search(entry.tool.rpartition("__")[2]))


def _without(output: str, sent: list[Entry]) -> str:
    for entry in sent:
        output = without_echo(output, command_of(entry), entry.args, entry.tool, failed=False)
    return output
