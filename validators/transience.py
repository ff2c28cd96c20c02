"""Transient state: a volatile quantity told as if it stayed.

"Progress is 40 %" is untrue in a minute, and nothing will say so. A dated reading or a numbered
run is history, and what stands in a file has the file to contradict it.
"""

import re

from keepthread.validators.verdict import Refusal, Write
from keepthread.validators.view import View

_VOLATILE = (
    r"progress|queue (?:length|depth|size)|backlog|pending (?:jobs?|items?|tasks?|requests?|messages?)|"
    r"(?:account |wallet |current )?balance|(?:cpu|memory|disk|ram|gpu) (?:usage|use|load|utili[sz]ation)|"
    r"load average|free (?:space|memory|disk)|disk space|uptime|temperature|battery|"
    r"(?:active|open|current) (?:connections?|sessions?|users?)|users? online|"
    r"(?:unread|remaining|outstanding) \w+|(?:exchange|conversion) rate|stock price|bitcoin price|"
    r"price of \w+|weather|current (?:time|date|branch|directory|position|line|step|page|offset|speed|pid)|"
    r"cursor (?:position|is)|process id|pid|latency right now|build status|download(?:ed)? so far"
)
_QUANTITY = re.compile(rf"\b(?:{_VOLATILE})\b", re.I)
_DONE = (
    r"done|complete|completed|finished|migrated|ported|converted|rewritten|processed|downloaded|uploaded|"
    r"imported|exported|copied|indexed|reviewed|translated"
)
_COUNT = r"\d[\d,.]*"
_MACHINE = r"cpu|disk|memory|ram|gpu|swap|cache|volume|partition|battery|machine|server|host"
_JOB = (
    r"download|upload|import|export|migration|job|build|sync|backup|backfill|indexing|training|deploy(?:ment)?|"
    r"rollout|scan|crawl|copy|restore|reindex(?:ing)?|process"
)
_READING = re.compile(
    rf"\b(?:queue|backlog|inbox|buffer|stack)s? (?:\w+ )?(?:has|holds|contains|is at|stands at) {_COUNT}"
    rf"|\b(?:{_MACHINE})s? (?:is|are|runs?|stands?) (?:now |currently )?(?:at )?{_COUNT}\s?(?:%|percent)"
    rf"|\b(?:{_JOB}) (?:is|stands) (?:now |currently )?(?:at|on) (?:\w+ )?{_COUNT}"
    rf"|\bhas (?:now |already )?(?:{_DONE}) {_COUNT} (?:of|out of) "
    rf"|\b{_COUNT} (?:\w+ )?(?:are|is) (?:now |currently |still )?(?:busy|idle|queued|waiting|running|online|"
    r"connected|pending|unread|in flight)\b"
    rf"|\b(?:is|has been|been) up for {_COUNT}|\blags? (?:behind )?(?:is|by) {_COUNT}|\bpid (?:is )?{_COUNT}"
    rf"|\bis {_COUNT} commits? (?:ahead|behind)\b"
    rf"|\b(?:am|is|are|now) (?:on|at) (?:line|page|step|row|offset|chunk|item|file) {_COUNT}",
    re.I,
)
_SHARE_DONE = re.compile(
    rf"\b\d{{1,3}}(?:\.\d+)?\s?(?:%|percent)\s+(?:\w+\s)?(?:{_DONE}|ready|full|used|free)\b"
    r"|\b\d+\s+(?:of|out of|/)\s?\d+\s+\w+(?:\s\w+)?\s+(?:are|is|have been|has been)\s+(?:so far\s)?"
    rf"(?:{_DONE}|left)\b"
    r"|\b(?:so far|right now|at the moment|at this moment|currently running)\b"
    r"|\bis (?:still )?(?:running|in progress|downloading|building)\b",
    re.I,
)
_NOW = re.compile(
    r"\b(?:is|are|stands? at|has|have|at|now|currently|shows?|reads?|remain|left)\b|[:=]", re.I
)
_HISTORY = re.compile(
    r"\b(?:was|were|had|did|took|ran|failed|passed|finished at|ended|on \d{4}-\d\d-\d\d|at \d{1,2}:\d\d|"
    r"\d{4}-\d\d-\d\d|run #?\d+|build #\d+|in run|yesterday|last (?:run|night|week)|limit|maximum|max|"
    r"fires?|alerts?|triggers?|capped|limited|retried|must|should|may|at most|up to|allowed|every \d+|"
    r"minimum|default|configured|threshold|timeout|quota|version|property|column|field|function|method|"
    r"option|setting|endpoint|metric|command)\b",
    re.I,
)


def check_transient(write: Write, view: View) -> Refusal | None:
    """``transient_state``: refused without a file behind it and without ``expires_when``."""
    if (
        write.expires_when
        or any(e.path for e in write.cited)
        or any(e.role == "user" for e in write.cited)
    ):
        return None
    why = transient_quantity(write.text)
    if not why:
        return None
    return Refusal(
        "transient_state",
        f"{why!r} changes by itself and no file would show that it did.",
        'Leave it in the archive (search_archive finds it), date it ("on 2026-11-30 …"), or say in '
        "`expires_when` what makes it untrue.",
    )


def transient_quantity(text: str) -> str:
    """Return the volatile quantity that ``text`` states as present; ``""`` when it states none."""
    if _HISTORY.search(text):
        return ""
    share = _SHARE_DONE.search(text) or _READING.search(text)
    if share:
        return share[0]
    quantity = _QUANTITY.search(text)
    return quantity[0] if quantity and re.search(r"\d", text) and _NOW.search(text) else ""
