"""What a directive to an agent looks like, and which sentences only report one.

The patterns are data (``data/directives.txt``, one line each, in many languages), compiled when
first needed. They run on folded text, so every disguise is gone before they are tried.

Two grades. A *firm* rule holds in any frame: nobody describes a repository that way. A *mild* rule
holds unless the sentence reports what a document, a tool or a person says, since "from now on run
X" is a directive and "CONTRIBUTING.md says to run X from now on" is a fact.
"""

import os
import re
from functools import cache
from typing import NamedTuple

from keepthread.validators.normalize import without_marks

RULES_PATH = os.path.join(os.path.dirname(__file__), "data", "directives.txt")


class Rule(NamedTuple):
    """A pattern, why it matters in a few words, and how far it reaches."""

    why: str
    pattern: re.Pattern[str]
    firm: bool  # holds even in a report of what a document says
    facts: bool  # holds for facts
    plans: bool  # holds for plans, decisions and questions, which are imperative anyway


@cache
def rules() -> list[Rule]:
    """Return the rules of ``data/directives.txt`` in its order."""
    found: list[Rule] = []
    parts: dict[str, str] = {}
    why, grades = "", ""
    with open(RULES_PATH, encoding="utf-8") as file:
        lines = _logical_lines(without_marks(file.read()))
    for line in lines:
        if line.startswith("let "):
            _, name, pattern = line.split(" ", 2)
            parts[f"<{name}>"] = _filled(pattern, parts)
        elif heading := _HEADING.fullmatch(line):
            why, grades = heading.groups()
        else:
            pattern = _filled(line, parts).replace("[^.\\n]", r"(?:[^.\n]|\.(?=\w))")
            facts, plans = "plans" not in grades, "narrow" in grades or "plans" in grades
            found.append(Rule(why, re.compile(pattern), "firm" in grades, facts, plans))
    return found


_HEADING = re.compile(r"\[([a-z' ]+)\] ((?:firm|mild)(?: narrow| plans)?)")


def _logical_lines(text: str) -> list[str]:
    """Return the lines without comments, each with the indented lines that continue it."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(" "):
            lines[-1] += line.strip(" ")
        elif line and not line.startswith("#"):
            lines.append(line)
    return lines


def _filled(pattern: str, parts: dict[str, str]) -> str:
    for name, part in parts.items():
        pattern = pattern.replace(name, part)
    return pattern


# Who may be quoted, and by which words, in a sentence that reports.
_SOURCE = (
    r"(?:[\w./-]{1,60}\.(?:md|mdx|rst|txt|adoc|toml|ya?ml|py|cfg|ini|json|jsonl|js|ts|go|rs|sh|html"
    r"|lock)\b|readme|contributing|changelog|docs?|documentation|guide(?:lines?)?|manual|handbook"
    r"|wiki|runbook|comments?|docstring|issue|pr|ticket|commit|maintainers?|authors?|reviewers?"
    r"|team|template|policy|page|site|article|post|errors?|warning|messages?|output|hint|notice"
    r"|pip|npm|yarn|pnpm|git|cargo|uv|poetry|ruff|mypy|eslint|pytest|docker|kubectl|terraform"
    r"|make(?:file)?|ci|workflow|job|hook|linter|compiler|tests?|script|tool|help|usage|config"
    r"|section|step|header|log|release notes|instructions|agents|claude|spec|rfc|users?|he|she"
    r"|they|it|server|cli|api|prompt|banner|codeowners|schema|parser|function|button|label|menu"
    r"|dialog|form|field|title|screen|toast)"
)
_REPORTS = (
    r"(?:says?|said|saying|asks?|asked|tells?|told|requires?|required|recommends?|recommended"
    r"|suggests?|suggested|states?|stated|notes?|noted|advises?|instructs?|instructed|wants?"
    r"|expects?|warns?|reads?|mentions?|documents?|documented|lists?|describes?|explains?|prints?"
    r"|shows?|reports?|contains?|forbids?|demands?|insists?|announces?|proposes?|directs?|has)"
)
_DETERMINER = r"(?:(?:the|our|their|its|this|that|a|an) )?(?:\S+ ){0,2}?"
# "README says to ...", "according to the runbook, ...", and after the words: "..., says README".
REPORT_BEFORE = re.compile(
    rf"\b{_SOURCE}\b['\")\]]*(?:\s[^\s.!?]+){{0,6}}?\s(?:{_REPORTS})\b"
    rf"|\b(?:according to|as per|per|as stated in|quot(?:e|ing) from) {_DETERMINER}{_SOURCE}\b"
    r"|\b(?:laut|gemass|selon|d'apres|segun|conforme o|segundo o|de acordo com o|secondo|согласно)"
    r"\b|によると|には|根据|按照|에 따르면"
)
REPORT_AFTER = re.compile(
    rf"[,;(\"'-]\s?(?:so )?(?:says?|said|asks?|states?|notes?|warns?|reads|writes|per|see|from"
    rf"|according to|as (?:per|stated in)) {_DETERMINER}{_SOURCE}\b|\([\w./-]+\.\w{{2,4}}\)"
    r"|\b(?:sagt|heisst es|steht in|dit|dice|diz|selon|segun|secondo|laut|согласно|сказано)\b"
    r"|と(?:ある|書)|とのこと"
)


def is_report(sentence: str) -> bool:
    """Say whether the sentence reports what a document, a tool or a person says."""
    return bool(REPORT_BEFORE.search(sentence) or REPORT_AFTER.search(sentence))


# Words of people who talk about attacks rather than make them.
ABOUT_ATTACKS = re.compile(
    r"\b(?:injections?|jailbreak\w*|attacks?|attackers?|payloads?|malicious|phishing|exploits?"
    r"|poison\w*|adversarial|tests?|test_\w+|fixtures?|corpus|regex|patterns?|filters?|detect\w*"
    r"|block(?:s|ed)|reject(?:s|ed)|refus\w+|flag(?:s|ged)|catch(?:es)|caught|sanitiz\w+|strips"
    r"|strings?|phrases?|literal|keywords?|samples?|scanner|rule)\b"
)
