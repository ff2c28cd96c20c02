"""Whether the cited archive entries contain a claim: the heart of the write gate.

Every asserted value must occur in the entries, of names one suffices, and what the claim is about
must be what the entries are about. A claim with neither value nor name is compared by meaning.
Claims about runs must agree with counts and exit status; claims of absence with empty searches.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from keepthread.validators.evidence import Evidence, Passage
from keepthread.validators.locating import Hit, locate, locate_joined
from keepthread.validators.outcomes import (
    Outcome,
    counts_of,
    judge_absence,
    judge_outcome,
)
from keepthread.validators.polarity import judge_order, judge_polarity, judge_substitution
from keepthread.validators.sources import Source, find_stem
from keepthread.validators.values import Claim, Value, is_code_name, is_question, key_before, parse_claim
from keepthread.validators.vocabulary import content_words, stem, synonyms


class Grounding(NamedTuple):
    """The verdict, with what a refusal or the stored fact needs.

    ``passages`` support the claim, the best first; ``missing`` is what was not found, in the
    claim's own words; ``nearest`` (at most 3) is what to quote in a refusal.
    """

    grounded: bool
    passages: tuple[Passage, ...] = ()
    missing: tuple[str, ...] = ()
    why: str = ""
    nearest: tuple[Passage, ...] = ()
    model_written: bool = False


# Cosine of a claim with passages, one figure a passage, in [-1, 1].
Similarity = Callable[[str, Sequence[str]], Sequence[float]]

_EMBEDDED_MAX: Final = 16
_ANCHORS_MAX: Final = 24
_WINDOW: Final = 160  # characters of context on either side of an anchor
_LOST_WORD: Final = 0.8  # what a word that does not occur weighs against a claim
_LOST_CODE: Final = 1.5  # what a code-like name that does not occur weighs, in words
_LOCAL: Final = 0.4  # how much it counts that the words stand together
_ENOUGH: Final = 1.1
_NEXT_NAME: Final = 0.3  # names come in company: each after the first tells less
_SPECIFICITY: Final = {"quoted": 3.0, "code": 2.0, "path": 2.0, "url": 3.0, "hash": 3.0,
                       "date": 1.5, "version": 2.0, "number": 0.5}  # fmt: skip
_KEY: Final = re.compile(
    r"(\w+)[\"']?\s*(?::\s*[\w.|]{1,24}\s*=|[:=]{1,2}|=>|->|\b(?:is|to|of)\b)?\s*[\"'(\[^~<>=]*$"
)
_COMMIT: Final = re.compile(r"(?m)^[*|\\/ ]*(?:commit )?[0-9a-f]{7,40}\b")
_SAYS_WHAT_RAN: Final = re.compile(
    r"(?i)\b(?:ran|run|executed|invoked|searched|grepped|looked|opened|viewed|read|edited|created|wrote|"
    r"lines?|command|requested|called with|queried|listed)\b"
)


class _Found(NamedTuple):
    """What of a claim was found: hits, points for what is telling, and words by weight."""

    hits: tuple[Hit, ...]
    missing: tuple[str, ...]
    strength: float
    words: float  # sum of the weights of words found anywhere in the entries
    lost_names: float  # in words: a code name weighs more, the subject most
    in_output: bool


def ground(
    claim: str, evidence: Sequence[Evidence], similarity: Similarity | None = None
) -> Grounding:
    """Judge whether ``evidence`` contains ``claim``.

    ``similarity`` gives the cosine of the claim with passages; without it the comparison by
    meaning falls back to stems and synonyms. Linear in the length of the evidence.
    """
    if is_question(claim):
        return Grounding(False, why="a question asserts nothing; state what the source says")
    usable = [e for e in evidence if e.kind != "message" or e.role == "user"]
    if not usable:
        return Grounding(False, why="messages of the assistant or of the client are no evidence")
    asks = bool(
        re.search(
            r"(?i)\b(?:ask(?:s|ed)?|wonders?|wondered) (?:if|whether|how|what|why|when)\b", claim
        )
    )
    sources = [Source(e, keep_questions=asks) for e in usable]
    parsed = parse_claim(claim)
    refused, agreed = _judge_statements(parsed, sources)
    found = _find_all(parsed, sources, agreed)
    windows = _best_windows(parsed, sources, found.hits)
    nearest = tuple(w.passage for w in windows[:3])
    if refused:
        return Grounding(False, missing=found.missing, why=refused.why, nearest=nearest)
    if found.missing:
        return Grounding(False, missing=found.missing, why=_what_is_missing(found, sources),
                         nearest=nearest)  # fmt: skip
    if not found.in_output and not agreed:
        return Grounding(False, missing=(claim,), why=_why_nothing(sources), nearest=nearest)
    if not agreed and not _about_it(parsed, found, windows, similarity):
        return Grounding(False, missing=_unmatched(parsed, sources), nearest=nearest,
                         why="the cited entries do not speak of this")  # fmt: skip
    against = judge_polarity(parsed, [w.text for w in windows[:8]]) if windows and not agreed else ""
    against = against or ("" if agreed else _other_value(parsed, sources))
    if not _commit_says(parsed, sources, found.hits):
        against = "the cited entry says it of another commit"
    if against:
        return Grounding(False, missing=(claim,), why=against, nearest=nearest)
    passages = nearest or (_whole(sources, agreed),)
    return Grounding(True, passages, model_written=_model_wrote(passages, sources, found))


def _judge_statements(
    claim: Claim, sources: Sequence[Source]
) -> tuple[Outcome | None, Outcome | None]:
    """The first refusal among outcomes, absence and order, and the first agreement."""
    agreed = None
    for outcome in (
        judge_outcome(claim, sources),
        judge_absence(claim, sources) if claim.absence else None,
        judge_order(claim, sources),
    ):
        if outcome is None:
            continue
        if outcome.verdict in ("contradicts", "unproven"):
            return outcome, None
        if outcome.verdict == "agrees" and agreed is None:
            agreed = outcome
    return None, agreed


def _find_all(claim: Claim, sources: Sequence[Source], agreed: Outcome | None) -> _Found:
    hits: list[Hit] = []
    missing: list[str] = []
    strength, in_output = 0.0, False
    told = bool(_SAYS_WHAT_RAN.search(claim.text))
    for value in claim.values:
        places = locate(value, sources) or locate_joined(value, sources)
        proven = [p for p in places if not p.in_args or _args_prove(value, sources[p.source], told)]
        if proven:
            hits += proven[:_ANCHORS_MAX]
            shown = any(not p.in_args for p in proven)
            in_output = in_output or shown
            strength += _specificity(value) * (1.0 if shown else 0.4)
            strength += any(_is_assigned(claim, value, sources[p.source], p) for p in proven)
        elif value.negated or (agreed and agreed.accounts):
            continue
        else:
            counted = _counted(value, claim, sources)
            if counted is None:
                missing.append(value.text)
            else:
                in_output, strength = True, strength + 0.5 + 2.0 * sources[counted].searches
                hits.append(Hit(counted, 0, 1))
    named = _find_names(claim, sources)
    if named is None:
        missing += [name for name in claim.names if name.lower() not in claim.negated][:3]
        named = {}
    telling: list[float] = []
    for name, places in named.items():
        hits += places
        shown = any(not p.in_args for p in places)
        in_output = in_output or shown
        telling.append((2.0 if is_code_name(name) else 1.2) * (1.0 if shown else 0.4))
    telling.sort(reverse=True)
    strength += sum(telling[:1]) + _NEXT_NAME * sum(telling[1:])
    words, shown = _covered(claim, sources)
    lost = sum(
        (_LOST_CODE if is_code_name(name) else 1.0) + (claim.text.find(name) < 8)
        for name in claim.names
        if name not in named and name.lower() not in claim.negated
    )
    return _Found(tuple(hits), tuple(missing), strength, words, lost, in_output or shown)


def _args_prove(value: Value, source: Source, told: bool) -> bool:
    return source.writes or told or value.kind in ("path", "quoted", "code", "url")


def _is_assigned(claim: Claim, value: Value, source: Source, hit: Hit) -> bool:
    """Whether a short value stands right behind one of the claim's words: ``aspect=1``."""
    if hit.in_args or value.kind not in ("number", "code", "version"):
        return False
    key = _KEY.search(source.text[max(0, hit.start - 48) : hit.start])
    if not key:
        return False
    stems = {stem(word) for word in content_words(key.group(1))}
    return bool(stems) and any(stems & synonyms(word) for word in claim.words)


def _other_value(claim: Claim, sources: Sequence[Source]) -> str:
    """Why a stated number is wrong where the entries assign its key another one, or ""."""
    for value in claim.values:
        key = key_before(claim, value) if value.kind == "number" and not value.negated else ""
        if not key or value.unit or value.about or value.of_line:
            continue
        shown = [m.group(1) for s in sources for m in _assignments(key, s.low)]
        together = any(
            find_stem(s.low, s.text, key, *_line_around(s.text, h.start)) >= 0
            for h in locate(value, sources)
            for s in [sources[h.source]]
            if not h.in_args
        )
        if shown and not together:
            return f"the cited entry says {shown[0]}, not {value.text}"
    return ""


def _assignments(key: str, low: str) -> list[re.Match[str]]:
    prefix = key[:-1] if key.endswith("i") else key
    return list(re.finditer(rf"(?<![a-z]){re.escape(prefix)}[a-z]{{0,4}}[\"']?\s?[:=]\s?(\d[\d.]*)", low))


def _line_around(text: str, at: int) -> tuple[int, int]:
    stop = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, stop if stop >= 0 else len(text)


def _specificity(value: Value) -> float:
    if value.kind != "number":
        return _SPECIFICITY[value.kind] * min(1.0, len(value.text) / 6)
    if "." in value.text:
        return 1.5
    digits = len(re.sub(r"\D", "", value.text)) or 1
    return 0.5 + 0.4 * (digits - 1) + 0.5 * bool(value.unit)


def _counted(value: Value, claim: Claim, sources: Sequence[Source]) -> int | None:
    if value.kind != "number" or value.unit or value.number is None:
        return None
    return next((n for n, count in counts_of(value, claim, sources) if count == value.number), None)


def _find_names(claim: Claim, sources: Sequence[Source]) -> dict[str, list[Hit]] | None:
    """Hits of the claim's names; None where it has names and none of them occurs."""
    wanted = [name for name in claim.names if name.lower() not in claim.negated]
    found = {name: locate(Value(name, "code", 0), sources)[:6] for name in wanted}
    found = {name: hits for name, hits in found.items() if hits}
    return None if wanted and not found else found


def _covered(claim: Claim, sources: Sequence[Source]) -> tuple[float, bool]:
    """The weight of the claim's words that the entries have, and whether output has any."""
    weights = [_word_weight(word, sources) for word in topic_words(claim)]
    return sum(weight for weight, _ in weights), any(shown for _, shown in weights)


def topic_words(claim: Claim) -> list[str]:
    """Stems that tell what a claim is about: those it affirms, or all where it affirms none."""
    return [w for w in claim.words if w not in claim.negated] or list(claim.words)


def _word_weight(word: str, sources: Sequence[Source]) -> tuple[float, bool]:
    if any(source.find_word(word) >= 0 for source in sources):
        return 1.0, True
    others = synonyms(word) - {word}
    if any(source.find_word(other) >= 0 for other in others for source in sources):
        return 0.8, True
    asked = any(
        source.find_word(w, in_args=True) >= 0 for w in {word, *others} for source in sources
    )
    return (0.7, False) if asked else (0.0, False)


class _Window(NamedTuple):
    passage: Passage
    text: str
    score: float
    covered: float


def _best_windows(claim: Claim, sources: Sequence[Source], hits: Sequence[Hit]) -> list[_Window]:
    """Stretches of output around hits and words, those with most of the claim first."""
    anchors = {(h.source, h.start // _WINDOW): h for h in hits if not h.in_args}
    words = topic_words(claim)
    for n, source in enumerate(sources):
        for word in words:
            for at in source.word_places(word):
                anchors.setdefault((n, at // _WINDOW), Hit(n, at, at + 1))
    windows = [
        _window(claim, words, sources[h.source], h, hits) for h in list(anchors.values())[:64]
    ]
    windows.sort(key=lambda w: -w.score)
    distinct: list[_Window] = []
    for window in windows:
        if all(window.passage.entry != w.passage.entry or window.passage.start >= w.passage.stop
               or window.passage.stop <= w.passage.start for w in distinct):  # fmt: skip
            distinct.append(window)
    return distinct[:_EMBEDDED_MAX]


def _window(
    claim: Claim, words: Sequence[str], source: Source, anchor: Hit, hits: Sequence[Hit]
) -> _Window:
    text = source.text
    start = max(0, anchor.start - _WINDOW)
    if start:
        start = text.find("\n", start, anchor.start) + 1 or start
    stop = min(len(text), anchor.stop + _WINDOW)
    if stop < len(text):
        end = text.rfind("\n", anchor.stop, stop)
        stop = end if end >= 0 else stop
    found = sum(
        1.0 if find_stem(source.low, text, w, start, stop) >= 0 else
        0.8 * any(find_stem(source.low, text, s, start, stop) >= 0 for s in synonyms(w) - {w})
        for w in words
    )  # fmt: skip
    inside = {
        h for h in hits if not h.in_args and h.source == anchor.source and start <= h.start < stop
    }
    asked = sum(0.7 for w in words if find_stem(source.low, text, w, start, stop) < 0
                and source.find_word(w, in_args=True) >= 0)  # fmt: skip
    covered = min(1.0, (found + asked) / len(words)) if words else 1.0
    return _Window(Passage(source.evidence.entry, start, stop), text[start:stop],
                   found + 1.5 * len(inside), covered)  # fmt: skip


def _about_it(
    claim: Claim,
    found: _Found,
    windows: Sequence[_Window],
    similarity: Similarity | None,
) -> bool:
    """Whether the entries speak of what the claim speaks of.

    What is telling (values, names) must outweigh the words that do not occur.
    """
    if found.strength == 0:
        return _means_it(claim, windows, similarity)
    total = len(topic_words(claim))
    local = max([w.covered for w in windows[:8]], default=0.0) * total
    words = found.words + _LOCAL * (local - found.words)
    against = total - words + found.lost_names
    if found.strength + 0.5 * words >= _ENOUGH + _LOST_WORD * against:
        return True
    if similarity is None or not windows:
        return False
    texts = [w.text for w in windows[:_EMBEDDED_MAX]]
    return max(similarity(claim.text, texts)) >= 0.4


def _means_it(
    claim: Claim, windows: Sequence[_Window], similarity: Similarity | None
) -> bool:
    """Compare by meaning a claim that has neither value nor name."""
    if not windows or not claim.words:
        return False
    best = max(windows[:_EMBEDDED_MAX], key=lambda w: w.covered)
    if judge_substitution(claim, best.text):
        return False
    if best.covered >= 0.8:
        return True
    if similarity is None or best.covered < 0.3:
        return False
    return max(similarity(claim.text, [w.text for w in windows[:_EMBEDDED_MAX]])) >= 0.55


def _commit_says(claim: Claim, sources: Sequence[Source], hits: Sequence[Hit]) -> bool:
    """Whether the entry of a commit id speaks of the claim's words, not another commit's."""
    ids = [v for v in claim.values if v.kind == "hash" and not v.negated]
    words = [w for w in claim.words if w not in ("commit", "hash", "sha")]
    if len(ids) != 1 or not words:
        return True
    best = here = 0.0
    for hit in hits:
        source = sources[hit.source]
        if hit.in_args or not ids[0].text[:7].lower() == source.low[hit.start : hit.start + 7]:
            continue
        following = _COMMIT.search(source.low, hit.stop)
        stop = following.start() if following else len(source.low)
        here = max(here, sum(_stands(source, w, hit.start, stop) for w in words))
        best = max(best, sum(_stands(source, w, 0, -1) for w in words))
    return here >= 0.5 * best


def _stands(source: Source, word: str, start: int, stop: int) -> bool:
    return any(find_stem(source.low, source.text, w, start, stop) >= 0 for w in synonyms(word))


def _unmatched(claim: Claim, sources: Sequence[Source]) -> tuple[str, ...]:
    missing = [
        m.group() for m in re.finditer(r"[A-Za-z][\w-]+", claim.text)
        if (w := next((w for w in claim.words if w and m.group().lower().startswith(w[:4])), ""))
        and _word_weight(w, sources)[0] == 0
    ]  # fmt: skip
    return tuple(dict.fromkeys(missing)) or (claim.text,)


def _what_is_missing(found: _Found, sources: Sequence[Source]) -> str:
    shown = ", ".join(f'"{item}"' for item in found.missing[:3])
    only_args = any(item.lower() in s.args_low for item in found.missing for s in sources)
    if only_args:
        return f"{shown} stands only in the call's own arguments, which prove only what was run"
    return f"the cited entries do not contain {shown}"


def _why_nothing(sources: Sequence[Source]) -> str:
    if any(s.evidence.output.strip() and not s.text.strip() for s in sources):
        return "the output only echoes the command's own arguments"
    if all(not s.text.strip() for s in sources):
        return "the cited output is empty; the call's arguments prove only what was run"
    return "the cited entries do not speak of this"


def _whole(sources: Sequence[Source], agreed: Outcome | None) -> Passage:
    source = sources[agreed.source if agreed else 0]
    stop = min(len(source.text), (agreed.stop if agreed else 0) or 200)
    return Passage(
        source.evidence.entry, agreed.start if agreed and agreed.start <= stop else 0, stop
    )


def _model_wrote(passages: Sequence[Passage], sources: Sequence[Source], found: _Found) -> bool:
    entries = {p.entry for p in passages}
    written = [s.evidence.model_written for s in sources if s.evidence.entry in entries]
    only_args = bool(found.hits) and all(h.in_args and sources[h.source].writes for h in found.hits)
    return all(written) or only_args
