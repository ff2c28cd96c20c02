"""What joins the parts of a claim: a direction, a rate, a bound, a doer, an expectation, a limit.

All values of "the class goes from large to medium" may stand in an entry that says it the other way round.
Each rule asks for one way to join two parts, and speaks only where the entry joins the same parts otherwise.
"""

import re
from collections.abc import Sequence
from typing import Final

from keepthread.validators.locating import Hit
from keepthread.validators.sources import Source, line_at
from keepthread.validators.values import UNITS, Claim, Value
from keepthread.validators.vocabulary import content_words, is_frame, is_generic, stem, synonyms

_PART: Final = r"(?<![\w.:/@-])[`\"']?([\w.:/@-]{0,80}\w)[`\"']?"
_TO: Final = re.compile(rf"(?i)(\bfrom )?{_PART}\s*(?:\bto\b|->|→|=>)\s*{_PART}")
_ARROW: Final = r"[\"'`)\]]{0,2}\s*(?:->|→|=>|:|\bto\b|\.\.)\s*[\"'`(\[]{0,2}"
_RATE: Final = re.compile(
    r"(?i)(?:[\s-][a-z-]+){0,3}?\s?(?:\b(?:per|an?|each|every)\b\s|/\s?)(?:each )?([a-zµ]+)"
)
_COMPARED: Final = re.compile(
    r"(?i)(?:above|over|more than|greater than|exceed\w*|below|under|less than|fewer than|at least"
    r"|at most|up to|within|[<>]=?)\s*[$€£]?$"
)
_BY: Final = re.compile(
    rf"(?i){_PART} (?:(?:is|are|was|were|been|got) )?([a-z]+ed|owned|built|sent) by (?:the )?{_PART}"
)
_OVER: Final = re.compile(
    r"(?i)(?<![\w.-])([\w.-]{1,80}) (?:(?:is|was|were|are) )?"
    r"(?:chosen |picked |preferred |selected |favou?red )?over ([\w.-]{0,80}\w)"
)
_DID: Final = re.compile(r"^(?:The )?([A-Z][\w-]*) ([a-z]+ed|wrote|built|sent) ")
_WAS: Final = re.compile(
    r"(?i)\b(?:was|were|had|old|before|previously|formerly|from|no longer|remov\w*|replac\w*|drop\w*|delet\w*|instead"
    r"|rather|until|used to|chang\w*|diff|not|rais\w*|lower\w*|revert\w*|renam\w*|bump\w*|upgrad\w*|downgrad\w*)\b"
)
_EXPECTS: Final = re.compile(r"(?i)\bexpect(?:s|ed)?:?[ ]+(?:an? |the )?[<`\"']?([\w.-]*\w)")
_GOT: Final = re.compile(
    r"(?i)\b(?:got|found|received|but was|has incompatible type)[: ]\s*[<`\"']?([\w.-]*\w)"
)
_UNIVERSAL: Final = re.compile(r"(?i)\b(?:all|every|each|any)\b((?: [\w-]+){1,3})")
_LIMITED: Final = re.compile(
    r"(?i)\b(?:only|except|some|most|mostly|excluding|just)\b((?:\W+[\w-]+){1,3})"
)
_ONLY: Final = re.compile(r"(?i)\bonly (?:on|in|by|for|from|to|at|when|with|if|after|before)\b")
_OPEN: Final = re.compile(r"(?i)\b(?:any|also|as well|either|too|every|all)\b")
_RESULT: Final = re.compile(
    r"(?i)\b(?:skip(?:s|ped)|ignored|xfail\w*|deselected|fail(?:s|ed)|pass(?:es|ed)|is broken|succeeds|succeeded)\b"
)
_SKIPPED: Final = re.compile(r"(?i)\b(?:skip\w*|ignor\w*|xfail\w*|deselect\w*)\b")
_RAN: Final = re.compile(r"(?i)\b(?:passed|failed|pass|fail|ok|error)\b")
_COMMENTED: Final = re.compile(r"^\s*(?:#+|//+|--|;)\s*(?:export )?([\w.-]+)\s*[:=]")
_ASSIGNED: Final = re.compile(r"^\s*(?:export |set |const |let |var )?[\"']?([\w.-]+)[\"']?\s*[:=]")
_SENTENCES: Final = re.compile(r"(?<=[.!?;])\s+|\n|\s//\s|\s#\s")
_LINE_MAX: Final = 400
_ABOUT: Final = 0.5  # share of the claim's words from which a sentence is about the same
_TEXT_MAX: Final = 60_000


def other_relation(
    claim: Claim, placed: Sequence[tuple[Value, Sequence[Hit]]], sources: Sequence[Source]
) -> str:
    """Why the entries join the claim's parts otherwise, or ""."""
    texts = [s.low[:_TEXT_MAX] for s in sources]
    return (
        _reversed(claim, texts)
        or _other_rate(claim, placed, sources)
        or _other_bound(claim, placed, sources)
        or _other_count(claim, placed, sources)
        or _old_value(claim, placed, sources)
        or _other_choice(claim, texts)
        or _other_doer(claim, texts)
        or _other_expectation(claim, texts)
        or _other_result(claim, texts)
        or _commented_out(placed, sources)
        or _other_reach(claim, texts)
    )


def _whole(token: str) -> str:
    return rf"(?<![\w.]){re.escape(token)}(?!\w|\.\w)"


def _reversed(claim: Claim, texts: Sequence[str]) -> str:
    """ "From A to B" where the entry goes from B to A."""
    for match in _TO.finditer(claim.asserted):
        one, other = match[2].lower(), match[3].lower()
        telling = match[1] or not (one.isalpha() or other.isalpha())
        if one == other or not telling:
            continue
        there = re.compile(_whole(one) + _ARROW + _whole(other))
        back = re.compile(_whole(other) + _ARROW + _whole(one))
        if any(map(back.search, texts)) and not any(map(there.search, texts)):
            return f'the cited entry goes from "{other}" to "{one}"'
    return ""


def _other_rate(
    claim: Claim, placed: Sequence[tuple[Value, Sequence[Hit]]], sources: Sequence[Source]
) -> str:
    """ "600 per second" of "600 per minute"."""
    for value, hits in placed:
        said = _rate(claim.text, value.start + len(value.text)) if value.kind == "number" else None
        rates = [_rate(sources[h.source].low, h.stop) for h in hits if not h.in_args]
        if said and rates and all(rate and rate != said for rate in rates):
            return "the cited entry says it of another time"
    return ""


def _rate(text: str, at: int) -> tuple[str, float] | None:
    """The unit that a number is given for, behind ``at``: ("s", 60.0) of "per minute"."""
    match = _RATE.match(text, at, at + 60)
    unit = UNITS.get(match[1].lower()) if match else None
    return unit if unit and unit[0] == "s" else None


def _other_bound(
    claim: Claim, placed: Sequence[tuple[Value, Sequence[Hit]]], sources: Sequence[Source]
) -> str:
    """ "Above 50" of "above 500": of a bound, no other number is within it."""
    for value, hits in placed:
        if value.about not in ("over", "under") or value.number is None:
            continue
        shown = [(sources[h.source].low, h) for h in hits if not h.in_args]
        said = _digits(value.text)
        if any(_digits(low[h.start : h.stop]) == said for low, h in shown):
            continue
        if shown and all(_COMPARED.search(low[max(0, h.start - 16) : h.start]) for low, h in shown):
            return "the cited entry gives another bound"
        counted = re.compile(rf"\d\s?{re.escape(value.noun)}(?!\w)") if value.noun else None
        if counted and not any(counted.match(low, h.stop - 1) for low, h in shown) and any(
            counted.search(s.low) for s in sources
        ):
            return f'the cited entry counts "{value.noun}" otherwise'
    return ""


def _other_count(
    claim: Claim, placed: Sequence[tuple[Value, Sequence[Hit]]], sources: Sequence[Source]
) -> str:
    """ "2 files changed" of "1 file changed, 2 insertions", "4 are available" of "4 total, 3 available"."""
    last = re.search(r"([a-z]{3,})\.?$", claim.asserted.lower())
    for value, hits in placed:
        shown = [h for h in hits if not h.in_args]
        if value.kind != "number" or value.unit or value.about or value.negated or not shown:
            continue
        if value.of_line or len([v for v in claim.values if v.kind == "number"]) > 1:
            continue
        for noun in dict.fromkeys([value.noun, last[1] if last else ""]):
            counts = _counts(noun, sources)
            if counts and _number_of(value) not in counts and _counts_another(shown, claim, sources):
                return f'the cited entry counts "{noun}" otherwise'
    return ""


def _counts(noun: str, sources: Sequence[Source]) -> set[float]:
    """The numbers that stand right before a noun."""
    if len(noun) < 3 or not content_words(noun):
        return set()
    pattern = re.compile(rf"(?<![\w.:/-])(\d+)[ ]{re.escape(noun.removesuffix('s'))}s?(?![\w-])")
    return {float(m[1]) for s in sources for m in pattern.finditer(s.low[:_TEXT_MAX])}


def _counts_another(hits: Sequence[Hit], claim: Claim, sources: Sequence[Source]) -> bool:
    """Whether a word stands behind each hit that the claim does not have."""
    said = {a for w in content_words(claim.text) for a in synonyms(stem(w))}
    behind = [re.match(r" ([a-z]{3,})", sources[h.source].low[h.stop : h.stop + 24]) for h in hits]
    return all(m and stem(m[1]) not in said for m in behind)


def _number_of(value: Value) -> float:
    return value.number if value.number is not None else -1.0


def _old_value(
    claim: Claim, placed: Sequence[tuple[Value, Sequence[Hit]]], sources: Sequence[Source]
) -> str:
    """What a diff takes away is told as what is, or the change the other way round."""
    sides = []
    for value, hits in placed:
        shown = [h for h in hits if not h.in_args]
        signs = {_sign(sources[h.source].low, h.start) for h in shown}
        if value.kind in ("number", "version", "code", "quoted", "url") and len(signs) == 1:
            sides.append((value, signs.pop()))
    told = [(v, sign) for v, sign in sides if sign]
    if len(told) == 1 and told[0][1] == "-" and not _WAS.search(claim.text):
        return f'the cited diff takes "{told[0][0].text}" away'
    if len(told) == 2 and re.search(r"(?i)\bfrom\b.+\bto\b", claim.text):
        first, second = sorted(told, key=lambda pair: pair[0].start)
        if (first[1], second[1]) == ("+", "-"):
            return f'the cited diff goes from "{second[0].text}" to "{first[0].text}"'
    return ""


def _sign(low: str, at: int) -> str:
    """``-`` or ``+`` of a line of a diff; "" of any other line."""
    if "\n@@ " not in low and not low.startswith("@@ "):
        return ""
    line = line_at(low, at, at, _LINE_MAX)
    return line[0] if line[:1] in ("-", "+") and line[:3] not in ("---", "+++") else ""


def _other_choice(claim: Claim, texts: Sequence[str]) -> str:
    """ "B was chosen over A" of "A over B"."""
    for match in _OVER.finditer(claim.asserted):
        one, other = match[1].lower(), match[2].lower()
        if any(re.search(rf"{_whole(other)} over {_whole(one)}", t) for t in texts):
            return f'the cited entry prefers "{other}"'
    return ""


def _digits(number: str) -> str:
    return re.sub(r"[,_\s]", "", number)


def _other_doer(claim: Claim, texts: Sequence[str]) -> str:
    """ "A is blocked by B" of "blocked by A"."""
    for match in _BY.finditer(claim.asserted):
        one, verb, other = (part.lower() for part in match.groups())
        by = rf"\b{re.escape(verb)} by (?:the )?[`\"']?"
        if any(re.search(by + _whole(one), t) for t in texts) and not any(
            re.search(by + _whole(other), t) for t in texts
        ):
            return f'the cited entry says "{verb} by {one}"'
    did = _DID.match(claim.asserted)
    if did:
        name, verb = did[1].lower(), did[2].lower()
        doers = {m[1] for t in texts for m in re.finditer(rf"\b{verb} by (?:the )?([\w-]+)", t)}
        if doers and name not in doers:
            return f'the cited entry says "{verb} by {min(doers)}"'
    return ""


def _other_expectation(claim: Claim, texts: Sequence[str]) -> str:
    """ "X expects a str" of "has incompatible type str; expected int"."""
    match = _EXPECTS.search(claim.asserted)
    if match is None:
        return ""
    said = match[1].lower()
    expected = {m[1] for t in texts for m in _EXPECTS.finditer(t)}
    got = {m[1] for t in texts for m in _GOT.finditer(t)}
    return f'the cited entry got "{said}"' if said in got - expected else ""


def _other_result(claim: Claim, texts: Sequence[str]) -> str:
    """ "test_x is skipped" of a test that ran, "test_x fails" of one that was skipped."""
    verb = _RESULT.search(claim.asserted)
    if verb is None:
        return ""
    skips = _SKIPPED.search(verb.group()) is not None
    for name in re.findall(r"(?<![\w.:/-])[\w.:/-]{0,80}(?:_|::)\w{1,80}", claim.asserted[: verb.start()].lower()):
        found = [
            line_at(t, *m.span(), _LINE_MAX) for t in texts for m in re.finditer(_whole(name), t)
        ]
        ran = any(map(_RAN.search, found))
        skipped = any(map(_SKIPPED.search, found))
        if ran != skipped and skipped != skips:
            return f'the cited entry says that "{name}" {"was skipped" if skipped else "ran"}'
    return ""


def _commented_out(
    placed: Sequence[tuple[Value, Sequence[Hit]]], sources: Sequence[Source]
) -> str:
    """A value that only a comment gives to a key that is set to another one."""
    for value, hits in placed:
        shown = [h for h in hits if not h.in_args]
        keys = {_commented_key(sources[h.source].low, h.start) for h in shown}
        if len(keys) != 1 or not (key := keys.pop()):
            continue
        low = sources[shown[0].source].low[:_TEXT_MAX]
        if any((m := _ASSIGNED.match(line)) and m[1] == key for line in low.split("\n")):
            return f'"{value.text}" stands in a comment, and "{key}" is set to something else'
    return ""


def _commented_key(low: str, at: int) -> str:
    match = _COMMENTED.match(line_at(low, at, at, _LINE_MAX))
    return match[1] if match else ""


def _other_reach(claim: Claim, texts: Sequence[str]) -> str:
    """ "All X are Y" of "only some X are Y", and "only on X" of "on any"."""
    everything = _UNIVERSAL.search(claim.asserted)
    of = _stems(everything[1]) if everything and not _LIMITED.search(claim.asserted) else set()
    nothing_else = _ONLY.search(claim.asserted)
    words = _stems(claim.asserted)
    for text in texts if of or nothing_else else ():
        shares = [(_share(words, s), s) for s in _SENTENCES.split(text)]
        best = max((share for share, _ in shares), default=0.0)
        near = [s for share, s in shares if share >= max(_ABOUT, best)]
        if any(of & _stems(m[1]) for s in near for m in _LIMITED.finditer(s)):
            return "the cited entry says it of some only"
        if nothing_else and any(map(_OPEN.search, near)) and not any(map(_LIMITED.search, near)):
            return "the cited entry does not say that it is so only there"
    return ""


def _stems(text: str) -> set[str]:
    words = {w for w in map(stem, content_words(text)) if not is_frame(w)}
    return {w for w in words if not is_generic(w)} or words


def _share(words: set[str], sentence: str) -> float:
    there = {stem(w) for w in content_words(sentence[:_LINE_MAX])}
    found = sum(bool(({w} | synonyms(w)) & there) for w in words)
    return found / len(words) if words else 0.0
