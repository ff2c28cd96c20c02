"""Settings that an entry shows, "timeout: 30", and claims that say otherwise of them.

A setting is a key with a value on one line, in whatever notation, below the sections it stands in.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from keepthread.validators.evidence import Passage
from keepthread.validators.judges import grammar
from keepthread.validators.sources import Source
from keepthread.validators.statements import stretches
from keepthread.validators.values import Claim
from keepthread.validators.vocabulary import opposites, stem, synonyms

_STATES: Final = (  # a word that stands behind a name alone: "appendonly no", "web running"
    "yes|no|on|off|running|exited|stopped|active|inactive|failed|healthy|unhealthy|up|down"
)
_SETTING: Final = re.compile(
    r"(?P<indent>[ \t]*(?:- )?)(?:export |set |const |let |var )?"
    r"[\"']?(?P<key>[A-Za-z][\w.-]{0,47}(?: [A-Za-z]\w{0,20})?)[\"']?"
    rf"(?P<sign>\s*=>\s*|\s*:\s*|\s*=\s*|[ \t]+(?=[\w./-]+;$|(?:{_STATES})$))(?P<value>[^=\s].*|)$"
)
_SECTION: Final = re.compile(r"\s*\[{1,2}[\"']?([\w.\- ]{1,60})[\"']?\]{1,2}\s*$")
_COMMENT: Final = re.compile(r"\s+(?:#|//).*$")
_PART: Final = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+|\d+")
_PARENTS_UP: Final = 60  # lines
_LINE_CHARS_MAX: Final = 200
_VALUE_CHARS_MAX: Final = 80

_EMPTY: Final = frozenset(("", "none", "null", "nil", "~", "undefined", "unset", "[]", "{}", "n/a"))
_ON: Final = frozenset("on true yes enabled enable active 1".split())
_OFF: Final = frozenset("off false no disabled disable inactive 0 never none".split())
_GIVEN: Final = r"(?:set|configured|defined|specified|given|present)"
_ABSENT: Final = re.compile(
    r"(?i)^(?:there (?:is|are) no|(?:[\w.` -]{1,40} )?(?:has|have) no|no)\s+(?P<what>[\w.` -]+)$"
    rf"|^(?:the |an? )?(?P<unset>[\w.` -]+?) (?:is|are|was)(?: not|n't| never) (?:{_GIVEN}|there)\b"
    r"|^(?:the |an? )?(?P<empty>[\w.` -]+?) (?:is|are) (?:unset|undefined|empty|missing|absent|blank)\b"
)
_PRESENT: Final = re.compile(rf"(?i)^(?:the |an? )?(?P<what>[\w.` -]+?) (?:is|are) {_GIVEN}\.?$")
_TAIL: Final = re.compile(
    rf"(?i)\s*\b(?:(?:is|are|was) )?{_GIVEN}?(?: (?:in|for|of|on|at|by) .*)?\.?$"
)
_BEING: Final = re.compile(r"(?i)\s(?:is(?: set to| now)?|are|was|equals|=|:)\s|:\s")
_NO_VALUES: Final = frozenset("set given there used needed required missing configured".split())
_PLAIN: Final = re.compile(r"[a-z][\w.:/@-]*")
_TOKENS: Final = re.compile(r"[\w.:/@-]*\w")
_ARTICLE: Final = re.compile(r"(?i)^(?:the|an?|our|its)\s+")
_NOT: Final = re.compile(r"(?i)\b(?:not|never|no longer)\b|n['’]t\b")
_STATE_WORDS: Final = re.compile(r"(?i)\b(on|off|true|false|enabled|disabled|active|inactive)\b")
_FREQUENCY: Final = {"always": "never", "never": "always"}
_NEEDS: Final = frozenset(("depends_on", "needs", "requires", "depends", "after", "extends"))
_NEEDS_CLAIM: Final = re.compile(
    r"(?i)^(?:the )?`?([\w.-]+)`?(?: \w+)? (?:depends on|needs|requires|waits for|extends) (?:the )?`?([\w.-]+)`?"
)


class Setting(NamedTuple):
    """A key with its value and the sections above it, the nearest first, and where its line stands."""

    key: str
    value: str
    sections: tuple[str, ...]
    source: int
    start: int
    stop: int


def settings_of(sources: Sequence[Source], words: Sequence[str]) -> Iterator[Setting]:
    """Yield the settings of the entries; of long entries those on lines with one of ``words``."""
    for n, source in enumerate(sources):
        if source.evidence.kind == "message" or source.lists_paths:
            continue
        for start, stop in stretches(source, words):
            at = start
            lines = source.text[start:stop].split("\n")
            for line, following in zip(lines, [*lines[1:], ""], strict=True):
                found = _read(line, following)
                if found:
                    dotted, value, depth = found
                    *outer, key = dotted.split(".")
                    sections = (*reversed(outer), *_sections(source.text, at, depth))
                    yield Setting(key, value, sections, n, at, at + len(line))
                at += len(line) + 1


def _read(line: str, following: str) -> tuple[str, str, int] | None:
    """Key, value and depth of a line that is a setting; a key above deeper lines is a section."""
    found = _SETTING.match(_COMMENT.sub("", line)) if len(line) < _LINE_CHARS_MAX else None
    if not found or not found["sign"].strip() + found["value"]:
        return None
    value = found["value"].strip().rstrip(",;").strip("\"'` ")
    depth = len(found["indent"])
    if not value and len(following) - len(following.lstrip()) > depth:
        return None
    if len(value) > _VALUE_CHARS_MAX or value.endswith(("{", "(", "[", "|")):
        return None
    return found["key"], value, depth


def _sections(text: str, at: int, depth: int) -> Iterator[str]:
    """Keys and headings above a line that are indented less, the nearest first."""
    bracketed = False
    for _ in range(_PARENTS_UP):
        if at <= 0:
            return
        start = text.rfind("\n", 0, at - 1) + 1
        line, at = text[start : at - 1], start
        if heading := _SECTION.match(line):
            if not bracketed:
                yield heading[1]
            bracketed = True
        indent = len(line) - len(line.lstrip())
        if depth and line.strip() and indent < depth:
            depth = indent
            if name := re.match(r"[\s\"'-]*([A-Za-z][\w.-]*)", line):
                yield name[1]


class _Asked(NamedTuple):
    """A claim as settings are held against it: its text and the stems of its words."""

    text: str
    words: frozenset[str]


def judge_settings(claim: Claim, sources: Sequence[Source]) -> tuple[str, Passage | None]:
    """Why the settings of the entries say otherwise than the claim, and where; ("", None) if not.

    Judged are the settings that the claim names most exactly, by key and section; all must agree.
    """
    asked = _Asked(claim.text.rstrip("."), _words(claim.text))
    settings = list(settings_of(sources, claim.words))
    ranked: dict[tuple[int, int], list[Setting]] = {}
    heads = [_words(part) for part in (*_BEING.split(asked.text, maxsplit=1), asked.text)]
    for setting in settings:
        head = next((words for words in heads if _named(setting.key, words)), None)
        if head is not None:
            within = sum(_named(section, head) for section in setting.sections)
            ranked.setdefault((len(_key_words(setting.key)), within), []).append(setting)
    nearest = ranked[max(ranked)] if ranked else []
    verdicts = [_against(asked, setting) for setting in nearest]
    if not nearest or not all(verdicts):
        why = _of_another(asked, nearest, settings)
        verdicts = [why] if why else []
    if not verdicts:
        return "", None
    first = nearest[0]
    entry = sources[first.source].evidence.entry
    return verdicts[0], Passage(entry, first.start, first.stop)


def _against(asked: _Asked, setting: Setting) -> str:
    for rule in (_absence, _needs, _switch, _state, _value):
        if why := rule(asked, setting):
            return why
    return ""


def _absence(asked: _Asked, setting: Setting) -> str:
    """ "There is no timeout" against ``timeout: 30``, "the region is set" against ``region:``."""
    text, value = asked.text, setting.value.lower()
    absent = _ABSENT.search(_TAIL.sub("", text, count=1)) or _ABSENT.search(text)
    if absent and value not in _EMPTY | _OFF | {"-1", "unlimited"}:
        what = _words(absent["what"] or absent["unset"] or absent["empty"])
        if _is_only(what, setting):
            return f'the cited entry sets {setting.key} to "{setting.value}"'
    present = _PRESENT.search(text)
    if present and value in _EMPTY and _is_only(_words(present["what"]), setting):
        return f"the cited entry leaves {setting.key} empty"
    return ""


def _needs(asked: _Asked, setting: Setting) -> str:
    """ "db depends on api" against ``api: depends_on: [db]``."""
    said = _NEEDS_CLAIM.match(asked.text)
    if not said or setting.key.lower() not in _NEEDS or not setting.sections:
        return ""
    given = re.findall(r"[\w.-]+", setting.value)
    if said[2] == setting.sections[0] and said[1] in given:
        return "the cited entry says it the other way round"
    return ""


def _switch(asked: _Asked, setting: Setting) -> str:
    """ "DEBUG is on" against ``DEBUG = False``, "never restarted" against ``restart: always``."""
    value = setting.value.lower()
    if value in _FREQUENCY and _FREQUENCY[value] in asked.text.lower().split():
        return f'the cited entry says "{setting.key}: {setting.value}"'
    on = value in _ON
    if (not on and value not in _OFF) or _ABSENT.search(asked.text):
        return ""
    said = _STATE_WORDS.search(asked.text)
    denied = len(_NOT.findall(asked.text)) % 2 == 1
    if said:
        claimed = said[1].lower() in _ON
    elif asked.words - _all_words(setting) - _words("mode default run use always"):
        return ""
    else:
        claimed = True
    if (claimed != denied) == on:
        return ""
    return f'the cited entry says "{setting.key}: {setting.value}"'


def _state(asked: _Asked, setting: Setting) -> str:
    """ "web has exited" against ``web running``."""
    value = stem(setting.value.lower())
    contrary = frozenset[str]().union(*map(opposites, synonyms(value)))
    contrary |= frozenset(other for word in contrary for other in synonyms(word))
    if _NOT.search(asked.text) or value in asked.words or not contrary & asked.words:
        return ""
    return f'the cited entry says "{setting.key}: {setting.value}"'


def _value(asked: _Asked, setting: Setting) -> str:
    """ "The log level is debug" against ``LOG_LEVEL=warning``: one word in place of another."""
    said, shown = _given(asked.text, setting).lower(), setting.value.lower()
    if (
        not said
        or not _PLAIN.fullmatch(said)
        or not _PLAIN.fullmatch(shown)
        or _NOT.search(asked.text)
    ):
        return ""
    if (
        said in shown
        or shown in said
        or said in _NO_VALUES
        or {said, shown} & (_ON | _OFF | _EMPTY)
    ):
        return ""
    if synonyms(stem(said)) & _words(f"{shown} {setting.key}"):
        return ""
    return f'the cited entry sets {setting.key} to "{setting.value}"'


def _given(text: str, setting: Setting) -> str:
    """The one word that a claim gives as the value: "K is X", "X is the K", "DiskFull notifies X"."""
    parts = _BEING.split(text, maxsplit=1)
    if len(parts) == 2:
        for head, tail in (parts, parts[::-1]):
            words = _words(head)
            only = not words - _all_words(setting) - _words("setting value option default current")
            if _named(setting.key, words) and only and len(_bare(tail).split()) == 1:
                return _bare(tail)
        return ""
    said = text.split()
    behind = [said[n + 1 :] for n, word in enumerate(said[:-1]) if stem(word) == stem(setting.key)]
    return _bare(behind[0][0]) if behind and len(behind[0]) == 1 else ""


def _bare(text: str) -> str:
    return _ARTICLE.sub("", text.strip()).strip("\"'`")


def _of_another(asked: _Asked, nearest: Sequence[Setting], settings: Sequence[Setting]) -> str:
    """The claim gives the setting it names the value of another: "the mail host is db.internal"."""
    said = {token.lower().strip(".") for token in _TOKENS.findall(asked.text)}
    if not nearest or _NOT.search(asked.text) or any(said & _tokens(s) for s in nearest):
        return ""
    if any(not _tokens(setting) for setting in nearest):
        return ""
    for other in settings:
        alike = any(other.key == s.key or other.sections == s.sections for s in nearest)
        given = said & _tokens(other) - _all_names(nearest)
        if not given or not alike or other in nearest:
            continue
        left = asked.words.difference(*map(_all_words, nearest), _words(" ".join(given)))
        if len(left) <= 1 and not _named(other.key, left):
            return f"the cited entry gives that value to {other.key}"
    return ""


def _tokens(setting: Setting) -> set[str]:
    """A value that is one word, or the first word of a command."""
    found = [token.lower() for token in _TOKENS.findall(setting.value)][:1]
    return {token for token in found if len(token) > 2} - _ON - _OFF - _EMPTY


def _all_names(settings: Sequence[Setting]) -> set[str]:
    return {name.lower() for s in settings for name in (s.key, *s.sections)}


def _named(key: str, asked: frozenset[str]) -> bool:
    """Whether the claim has every word of a key."""
    words = _key_words(key)
    return bool(words) and all(any(w in synonyms(a) for a in asked) for w in words)


def _is_only(what: frozenset[str], setting: Setting) -> bool:
    """Whether a phrase names this setting and nothing besides."""
    return _named(setting.key, what) and not any(
        not synonyms(word) & _all_words(setting) for word in what
    )


def _all_words(setting: Setting) -> frozenset[str]:
    return frozenset(w for name in (setting.key, *setting.sections) for w in _key_words(name))


def _key_words(key: str) -> tuple[str, ...]:
    parts = [part.lower() for part in _PART.findall(key)]
    return tuple(stem(part) for part in parts if not _is_empty_word(part))


def _words(text: str) -> frozenset[str]:
    """Stems of all but function words; frame words too, since keys are made of them."""
    parts = (p.lower() for p in _PART.findall(text))
    return frozenset(stem(part) for part in parts if not _is_empty_word(part))


def _is_empty_word(low: str) -> bool:
    return low in grammar.STOP or low in grammar.NEGATORS
