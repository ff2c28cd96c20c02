"""What an entry gives to one name: its assignment, its type, its state in git, its counts, its place under a heading.

"MAX_ATTEMPTS is 200" has both parts in a file in which 200 is the delay. Each rule finds where the entry speaks of
the claim's name, and objects only where it gives that name something else of the same kind.
"""

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from keepthread.validators.locating import Hit
from keepthread.validators.outcomes import OUTCOME_STEMS
from keepthread.validators.sources import Source, line_at
from keepthread.validators.values import Claim, Value
from keepthread.validators.vocabulary import content_words, opposites, stem, synonyms

_TEXT_MAX: Final = 60_000
_PLACES_MAX: Final = 12
_LINE_MAX: Final = 300
_LINES_MAX: Final = 400
_IS: Final = re.compile(r"(?i)^(?:the )?[`\"']?([A-Za-z_][\w.-]*)[`\"']? (?:is|equals|was|=|:) [`\"']?(-?\d[\d_.,]*)")
_TYPE: Final = (
    "string|text|int|integer|bigint|smallint|int32|int64|u32|u64|float|double|decimal|numeric|bool|boolean|number|uuid"
    "|timestamp|jsonb|json|bytes|varchar|enum|array|object"
)
_TYPED: Final = re.compile(
    rf"(?i)^(?:the )?[`\"']?([\w.]+)(?:\(\))?[`\"']?(?: column| field| property)? "
    rf"(?:is|returns|has type|holds) (?:an? |of type )?[`\"']?({_TYPE})\b"
)
_ANY_TYPE: Final = re.compile(rf"(?<![\w.])(?:{_TYPE})(?![\w.])")
_PORCELAIN: Final = re.compile(r"(?im)^([ MADRCU?!]{2}) (\S+)$")
_LETTERS: Final = {
    "modified": "M", "changed": "M", "added": "A", "deleted": "D", "removed": "D", "untracked": "?", "renamed": "R",
}  # fmt: skip
_GIT_STATE: Final = re.compile(
    rf"(?i)(?<!\S)(\S{{1,200}}) (?:is|was) (?:newly |now |still )?({'|'.join(_LETTERS)})\b"
)
_COUNTED: Final = re.compile(r"(?<![\w-])([a-z][\w-]{0,60})=(\d+)(?![\w.])")
_HEADING: Final = re.compile(r"(?m)^(#{1,5}) .+$")
_ASSIGNED_TO: Final = re.compile(r"\b(?:is|was) assigned to ([A-Z]?[a-z]+)(?![\w-])")
_DID: Final = re.compile(r"^(?:The )?([A-Z]?[a-z][\w-]*) (opened|created|filed|reported|reviewed) ")
_PEOPLE: Final = {
    "assigned": "assignees?", "opened": "user|author|creator|reporter", "created": "user|author|creator|reporter",
    "filed": "user|author|creator|reporter", "reported": "reporter|user|author",
    "reviewed": "reviewers?|requested_reviewers",
}  # fmt: skip
_PERSON_KEYS: Final = frozenset("login name displayname value id email username".split())
_KEYED: Final = re.compile(r"\"([a-z][\w.-]{1,60})\"[ \t]*:[ \t]*(-?\d[\d.]*)(?![\w:])")
_BOX: Final = re.compile(r"(?m)^\s*(?:[-*] )?\[([ xX])\] (\S.*)$")
_DONE: Final = re.compile(r"(?i)\b(?:applied|done|completed?|checked|finished|run|migrated)\b")
_NOT_DONE: Final = re.compile(r"(?i)\b(?:not|never|yet to|pending|un\w+)\b|n't\b")
_ALL: Final = re.compile(r"(?i)\b(?:all|every|each)\b")
_NONE_IS: Final = re.compile(r"(?i)^no \w+(?: \w+)? (?:is|are|was|were|has been|have been) ([a-z]+)\.?$")
_FULL_NAME: Final = re.compile(r"\b([A-Z][a-z]+) ([A-Z][a-z]+)\b")
_LAST: Final = re.compile(r"(?i)\b([a-z]{3,}) (of|on|at|in|with|for|by) (?:the )?([a-z]{3,})\.?$")


def other_attribute(
    claim: Claim, placed: Sequence[tuple[Value, Sequence[Hit]]], sources: Sequence[Source]
) -> str:
    """Why the entries give the claim's name something else, or ""."""
    texts = [s.low[:_TEXT_MAX] for s in sources]
    return (
        _other_assignment(claim, texts)
        or _other_type(claim, texts)
        or _other_git_state(claim, texts)
        or _other_counts(claim, texts)
        or _other_heading(placed, sources)
        or _other_key(claim, placed, sources)
        or _other_box(claim, texts)
        or _some_after_all(claim, texts)
        or _other_first_name(claim, sources)
        or _other_person(claim, texts)
        or _other_grade(claim, texts)
        or _other_object(claim, texts)
    )


def _other_assignment(claim: Claim, texts: Sequence[str]) -> str:
    """ "NAME is 200" of ``NAME: u32 = 5``."""
    match = _IS.match(claim.asserted)
    if match is None or not re.search(r"_|[a-z][A-Z]", match[1]):
        return ""
    name, said = match[1].lower(), _plain(match[2])
    given = re.compile(rf"(?<![\w.]){re.escape(name)}[\"']?(?:\s*:\s*[\w<>]+)?\s*(?:=|:=|:)\s*[\"']?(-?\d[\d_.,]*)")
    found = {_plain(m[1]) for t in texts for m in given.finditer(t)}
    return f'the cited entry sets "{match[1]}" otherwise' if found and said not in found else ""


def _plain(number: str) -> str:
    return number.replace("_", "").replace(",", "").rstrip(".")


def _other_type(claim: Claim, texts: Sequence[str]) -> str:
    """ "X is a string" where each line of X that has a type has another one."""
    match = _TYPED.match(claim.asserted)
    if match is None:
        return ""
    name, said = match[1].lower().rpartition(".")[2], match[2].lower()
    typed = [set(_ANY_TYPE.findall(line)) for line in _lines_with(name, texts)]
    typed = [types for types in typed if types]
    if typed and not any(said in types for types in typed):
        return f'the cited entry gives "{name}" another type'
    return ""


def _other_git_state(claim: Claim, texts: Sequence[str]) -> str:
    """ "X is modified" of ``?? X`` in the short form of ``git status``."""
    match = _GIT_STATE.search(claim.asserted)
    if match is None:
        return ""
    path = match[1].lower().strip("`\"'")
    letters = {m[1].upper() for t in texts for m in _PORCELAIN.finditer(t) if m[2].endswith(path)}
    letter = _LETTERS[match[2].lower()]
    if letters and not any(letter in shown for shown in letters):
        return f'the cited status of "{path}" is "{min(letters)}"'
    return ""


def _other_counts(claim: Claim, texts: Sequence[str]) -> str:
    """ "web1 was unreachable" of ``web1 : unreachable=0``, "9 changed" of ``ok=9 changed=0``."""
    if claim.negated:
        return ""
    words = {stem(w) for w in content_words(claim.asserted)}
    numbers = {_plain(v.text) for v in claim.values if v.kind == "number"}
    named = {w for w in claim.text.lower().split() if stem(w) not in OUTCOME_STEMS}
    for text in texts:
        for line in text.split("\n", _LINES_MAX)[:_LINES_MAX]:
            pairs = dict(_COUNTED.findall(line))
            head = re.match(r"\s*([\w.-]+)", line)
            if len(pairs) < 2 or head is None or head[1] not in named:
                continue
            told = {key: n for key, n in pairs.items() if stem(key) in words}
            if told and not numbers and all(n == "0" for n in told.values()):
                return f'the cited entry says "{"".join(f"{k}={n}" for k, n in told.items())}"'
            if told and numbers and not numbers & set(told.values()):
                return f'the cited entry counts "{min(told)}" otherwise'
    return ""


def _other_heading(
    placed: Sequence[tuple[Value, Sequence[Hit]]], sources: Sequence[Source]
) -> str:
    """A value that stands only under another heading than the one that the claim names."""
    shown = [(v, [h for h in hits if not h.in_args]) for v, hits in placed]
    shown = [(v, hits) for v, hits in shown if hits and len({h.source for h in hits}) == 1]
    for value, hits in shown:
        low = sources[hits[0].source].low
        heads = [m.span() for m in _HEADING.finditer(low)]
        if len(hits) != 1 or len(heads) < 2:
            continue
        at = next((n for n, (a, b) in enumerate(heads) if a <= hits[0].start < b), None)
        if at is None:
            continue
        start, stop = heads[at][0], heads[at + 1][0] if at + 1 < len(heads) else len(low)
        for other, places in shown:
            alike = other is not value and places[0].source == hits[0].source
            if alike and not any(start <= h.start < stop for h in places):
                return f'the cited entry says it under another heading than "{value.text}"'
    return ""


def _other_key(
    claim: Claim, placed: Sequence[tuple[Value, Sequence[Hit]]], sources: Sequence[Source]
) -> str:
    """ "4 nodes" of ``"nodes": 3, "unassigned": 4``: another key has more of the claim than the number's own."""
    words = {a for w in content_words(claim.asserted) for a in synonyms(stem(w))}
    for value, hits in placed:
        shown = [h for h in hits if not h.in_args]
        if value.kind != "number" or value.unit or value.about or value.negated or not shown:
            continue
        keys = [pair for s in sources for pair in _KEYED.findall(s.low[:_TEXT_MAX])]
        own = [_said_of(key, words) for key, number in keys if _plain(number) == _plain(value.text)]
        rivals = [_said_of(key, words) for key, number in keys if _plain(number) != _plain(value.text)]
        if own and rivals and max(rivals) > max(own) and len(own) == len(shown):
            return f'the cited entry gives "{value.text}" to another key'
    return ""


def _said_of(key: str, words: set[str]) -> int:
    """How many words of a key the claim has."""
    return len({stem(part) for part in re.split(r"[^a-z]+", key)} & words)


def _other_box(claim: Claim, texts: Sequence[str]) -> str:
    """ "0003 has been applied" of ``[ ] 0003``, and "all are done" where a box is empty."""
    done = _DONE.search(claim.asserted)
    if done is None or claim.negated:
        return ""
    denied = _NOT_DONE.search(claim.asserted) is not None
    boxes = [m.groups() for t in texts for m in _BOX.finditer(t)]
    if _ALL.search(claim.asserted) and not denied and any(not box.strip() for box, _ in boxes):
        return "the cited entry has an empty box"
    for box, line in boxes:
        name = line.split(" ", 1)[0]
        if len(name) > 3 and name in claim.asserted.lower() and bool(box.strip()) == denied:
            return f'the box before "{name}" is {"checked" if box.strip() else "empty"}'
    return ""


def _some_after_all(claim: Claim, texts: Sequence[str]) -> str:
    """ "No test was skipped" of ``Skipped: 2``."""
    match = _NONE_IS.match(claim.asserted)
    if match is None:
        return ""
    word = re.escape(match[1].lower())
    some = re.compile(rf"(?<![a-z]){word}\s?[:=]\s?([1-9]\d*)|(?<![\w.])([1-9]\d*) {word}(?![a-z])")
    found = next((m for t in texts if (m := some.search(t))), None)
    return f'the cited entry says "{found.group()}"' if found else ""


def _other_first_name(claim: Claim, sources: Sequence[Source]) -> str:
    """ "Tom Fox" of an entry whose only Fox is Lena."""
    for first, last in _FULL_NAME.findall(claim.asserted):
        texts = [s.text[:_TEXT_MAX] for s in sources]
        named = {m[1] for t in texts for m in re.finditer(rf"\b([A-Z][a-z]+) {last}\b", t)}
        if named and first not in named and not any(first in t for t in texts):
            return f'the cited entry names {min(named)} {last}'
    return ""


def _other_person(claim: Claim, texts: Sequence[str]) -> str:
    """ "PAY-131 is assigned to Jon" where JSON has another ``assignee``, or null."""
    assigned, did = _ASSIGNED_TO.search(claim.asserted), _DID.match(claim.asserted)
    if assigned:
        person, keys = assigned[1].lower(), _PEOPLE["assigned"]
    elif did:
        person, keys = did[1].lower(), _PEOPLE[did[2]]
    else:
        return ""
    given = [_until_next_key(t, m.end()) for t in texts for m in re.finditer(rf'"(?:{keys})"\s*:', t)]
    if given and not any(person in value for value in given) and any(person in t for t in texts):
        return f'the cited entry does not give "{person}" for that'
    return ""


def _until_next_key(text: str, at: int) -> str:
    """The JSON value at ``at``, up to the next key that is not one of a person's own."""
    for match in re.finditer(r'"(\w+)"\s*:', text[at : at + _LINE_MAX]):
        if match[1] not in _PERSON_KEYS:
            return text[at : at + match.start()]
    return text[at : at + _LINE_MAX]


def _other_grade(claim: Claim, texts: Sequence[str]) -> str:
    """ "Of low priority" of ``"priority": "High"``."""
    said = {stem(w) for w in content_words(claim.asserted)}
    for word in re.findall(r"[a-z]{4,}", claim.asserted.lower()):
        key = re.compile(
            rf"(?<![\w-]){word}[\"']?[ \t]*[:=][ \t]*(?:\{{\s*\"(?:name|value)\"\s*:\s*)?[\"']?([a-z]+)"
        )
        given = {m[1] for t in texts for m in key.finditer(t)}
        if len(given) == 1:
            (one,) = given
            if opposites(stem(one)) & said and stem(one) not in said:
                return f'the cited entry says "{one}"'
    return ""


def _other_object(claim: Claim, texts: Sequence[str]) -> str:
    """ "The rollout of cart" of "the rollout of search", where no cart is anywhere."""
    match = _LAST.search(claim.asserted)
    if match is None:
        return ""
    head, link, last = match.groups()
    forms = synonyms(stem(last))
    if not content_words(last) or any(_has_stem(t, forms) for t in texts):
        return ""
    there = re.compile(rf"(?<![a-z]){re.escape(head.lower())} {link.lower()} (?:the |[\w-]+/)?([a-z][\w-]*)")
    others = {m[1] for t in texts for m in there.finditer(t)}
    return f'the cited entry says "{head} {link} {min(others)}"' if others else ""


def _has_stem(text: str, forms: frozenset[str]) -> bool:
    return any(stem(w) in forms for form in forms for w in re.findall(rf"{re.escape(form[:4])}[a-z]*", text))


def _lines_with(name: str, texts: Sequence[str]) -> list[str]:
    whole = re.compile(rf"(?<![\w]){re.escape(name)}(?!\w)")
    places = ((text, m.start(), m.end()) for text in texts for m in whole.finditer(text))
    return [line_at(*place, _LINE_MAX) for place in islice(places, _PLACES_MAX)]
