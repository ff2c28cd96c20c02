"""Short statements of an entry, word by word: which segment a word stands in, and whether it is denied.

Sentences of prose and lines that read like one. What is code, a table or a log is left to other rules.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from keepthread.validators.judges import grammar, lexicon
from keepthread.validators.sources import Source

# An entry up to this length is read whole, a longer one where it has words of the claim.
_WHOLE_CHARS_MAX: Final = 6_000
_LINES_MAX: Final = 200
_REACH: Final = 400  # characters to either side of a word, where its line is longer
_SHORT: Final = 5  # content words
_SENTENCE_CHARS_MAX: Final = 240
_WORDS: Final = range(2, 19)  # content words of a sentence that can be told apart

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+")
_WRAPPED: Final = re.compile(  # a paragraph that goes on in the next line, which names no file
    r"(?<=[a-z,])\n(?=[a-z])(?![\w./-]+(?::\d|\.\w+$))"
)
_GUTTER: Final = re.compile(r"^\s*\d+[\t:\u2192]\s*")  # a line number
_TOKEN: Final = re.compile(r"[A-Za-z0-9_@#$][\w./@#+'’-]*\w|[A-Za-z0-9_]|[,;]|\s[–—-]{1,2}\s")
_CODE: Final = re.compile(
    r"[{}<>|=\\$^~*]|\w\(|\)\.|::|^\s*(?:def|class|import|from|return|if|for)\b.*:?$"
)
_SPLIT: Final = re.compile(r"\s*[,;]\s+|\s+(?:and|but|while|whereas|because)\s+|\s[–—-]{1,2}\s")
_SEGMENT: Final = frozenset(", ; and but while whereas because or – — -- -".split())
_PARTICLE: Final = re.compile(
    r"(?i)\b(log|sign|set|roll|back|shut|check|clean)(?:g?ging|ned|ning|ting|led|ling|ed|ing|s)? "
    r"(in|out|up|back|down)\b"
)
_HALF_DENIALS: Final = frozenset(
    "lack miss fail refuse stop nope zero 0 null false error deny only".split()
)
_PROHIBITIONS: Final = frozenset("forbid forbidden ban prohibit disallow avoid".split())
_ADVERBS: Final = frozenset("then also now so never not always only still".split())
_INSTEAD: Final = re.compile(r"(?i)\b(?:instead of|rather than|as opposed to|in place of)\b")
_EXCEPT: Final = frozenset("except excluding besides instead-of".split())
_UNSETTLED: Final = re.compile(
    r"(?i)\b(?:unless|until|if|otherwise|whether|yet|or)\b|\b(?:all|every|any|no)\w*\b.{1,40}\bbut\b"
)
_ENDS_STATE: Final = re.compile(r"\W*$|[.,;]| (?:by|in|for|and|but|on|while)\b")
_BEING: Final = frozenset("is are was were be been stays turned switched isn't aren't set".split())
TIMES: Final = frozenset("before after afterwards during until since when while".split())
HAPPENS: Final = lexicon.keys(
    "happen occur exist apply hold there ever any at all take place do everybody everyone i we ones"
)


class Term(NamedTuple):
    """One content word: what it is compared by, its segment, and whether a negation governs it."""

    text: str
    key: str
    segment: int
    denied: bool


class Statement(NamedTuple):
    """A sentence with its content words.

    ``settled`` is False where a condition or contrast bends it; ``half_denials`` are words that
    deny in their own way ("fails", "lacks"); ``head`` counts the words before its first verb.
    """

    text: str
    terms: tuple[Term, ...]
    negations: int
    settled: bool
    half_denials: frozenset[str]
    head: int

    @property
    def keys(self) -> frozenset[str]:
        """What its words are compared by."""
        return frozenset(term.key for term in self.terms)


class Stated(NamedTuple):
    """A statement of an entry, and where it stands: ``sources[source].text[start:stop]``.

    ``parts`` are its clauses, each with the subject of the first where it may lack one.
    """

    statement: Statement
    parts: tuple[Statement, ...]
    source: int
    start: int
    stop: int


@lru_cache(maxsize=1024)
def read_statement(text: str) -> Statement:
    """Read one sentence into its content words (linear in its length)."""
    terms: list[Term] = []
    lows: list[str] = []
    segment, denied, negations, head = 0, False, 0, -1
    shown = _PARTICLE.sub(lambda m: m[1] + m[2], _GUTTER.sub("", text))
    shown = _INSTEAD.sub("instead-of", shown)
    for match in _TOKEN.finditer(shown):
        word = match.group().strip()
        low = word.lower().replace("’", "'").removesuffix("'s")
        before = lows[-1] if lows else ""
        lows.append(low)
        if head < 0 and terms and grammar.is_finite(low, "", before):
            head = len(terms)
        if low in _SEGMENT:
            terms = _elliptic(terms, segment, denied)
            segment, denied = segment + 1, False
        elif low in grammar.NEGATORS or low in _EXCEPT:
            denied = not denied
            negations += low in grammar.NEGATORS
        elif lexicon.stem(low) in _PROHIBITIONS:
            denied, negations = True, negations + 1
            terms.append(Term(word, lexicon.key(low), segment, True))
            terms = [t._replace(denied=True) if t.segment == segment else t for t in terms]
        elif (
            low not in grammar.STOP
            or low in ("off", "i", "we")
            or _is_switched(low, before, shown[match.end() :])
        ):
            terms.append(Term(word, lexicon.key(low), segment, denied))
    terms = _elliptic(terms, segment, denied)
    half = {lexicon.stem(low) for low in lows} & _HALF_DENIALS
    return Statement(
        text, tuple(terms), negations, not _UNSETTLED.search(text), frozenset(half), max(0, head)
    )


def _is_switched(low: str, before: str, behind: str) -> bool:
    """Whether "on" is a state ("is on by default") and no preposition ("is on Friday")."""
    return low == "on" and before in _BEING and _ENDS_STATE.match(behind) is not None


def _elliptic(terms: list[Term], segment: int, denied: bool) -> list[Term]:
    """ "members cannot": a negation with nothing behind it denies what stands before it."""
    if not denied or any(t.denied for t in terms if t.segment == segment):
        return terms
    return [t._replace(denied=True) if t.segment == segment else t for t in terms]


@lru_cache(maxsize=512)
def parts_of(text: str) -> tuple[Statement, ...]:
    """The clauses of a sentence, those after the first with its subject before them."""
    clauses = [clause for clause in _SPLIT.split(text.rstrip(".")) if clause]
    if len(clauses) < 2:
        return ()
    whole = read_statement(text)
    subject = " ".join(t.text for t in whole.terms[: whole.head] if t.segment == 0)
    parts = [read_statement(clauses[0])]
    for clause in clauses[1:]:
        inherits = subject and _lacks_subject(clause)
        parts.append(read_statement(f"{subject} {clause}" if inherits else clause))
    return tuple(part for part in parts if len(part.terms) > 1)


def _lacks_subject(clause: str) -> bool:
    """ "is lost on restart", "released afterwards", "off on desktop" go on about the same subject."""
    lows = [low for low in re.findall(r"[a-z'’-]+", clause.lower()) if low not in _ADVERBS]
    first, second = (*lows[:2], "", "")[:2]
    if first in ("on", "off") or first in grammar.AUXILIARIES:
        return True
    if second in grammar.AUXILIARIES or grammar.is_finite(second, "", first):
        return False
    if not first.endswith("s") or first.endswith("ss"):
        return grammar.is_verbal(first)
    return second in grammar.DETERMINERS or grammar.is_finite(first, second, "")


def statements_of(sources: Sequence[Source], words: Sequence[str]) -> Iterator[Stated]:
    """Yield sentences of the entries; of long entries those around ``words`` (stems)."""
    for n, source in enumerate(sources):
        if source.writes or source.lists_paths:
            continue
        for start, stop in stretches(source, words):
            yield from _sentences(n, source.text, start, stop)


def stretches(source: Source, words: Sequence[str]) -> list[tuple[int, int]]:
    """Where to read: all of a short text, of a long one the lines that have one of the words."""
    if len(source.text) <= _WHOLE_CHARS_MAX:
        return [(0, len(source.text))]
    lines: set[tuple[int, int]] = set()
    for word in words:
        for at in source.word_places(word):
            first = max(0, at - _REACH)
            start = source.text.rfind("\n", first, at) + 1 or first
            stop = source.text.find("\n", at, at + _REACH)
            lines.add((start, stop if stop >= 0 else min(len(source.text), at + _REACH)))
    return sorted(lines)[:_LINES_MAX]


def _sentences(n: int, text: str, start: int, stop: int) -> Iterator[Stated]:
    part = _WRAPPED.sub(" ", text[start:stop])
    at, before = 0, None
    for end in [*(m.end() for m in _SENTENCE_END.finditer(part)), len(part)]:
        sentence = part[at:end].strip(" \t\n-*#>")
        if 8 < len(sentence) <= _SENTENCE_CHARS_MAX and _is_prose(sentence):
            statement = read_statement(sentence)
            if len(statement.terms) in _WORDS:
                stated = Stated(statement, parts_of(sentence), n, start + at, start + end)
                yield stated
                if before and before.stop == stated.start and _are_parallel(before, stated):
                    both = read_statement(f"{before.statement.text.rstrip('.')}; {sentence}")
                    parts = (before.statement, statement)
                    yield Stated(both, parts, n, before.start, stated.stop)
                before = stated
        at = end


def _are_parallel(one: Stated, two: Stated) -> bool:
    """Whether two short sentences say the like of two things: "I own X. Bo owns Y."."""
    terms = one.statement.terms, two.statement.terms
    if max(map(len, terms)) > _SHORT:
        return False
    return bool({t.key for t in terms[0]} & {t.key for t in terms[1]})


def _is_prose(sentence: str) -> bool:
    """Whether a line reads like a sentence: words with function words among them, and no code."""
    if _CODE.search(sentence):
        return False
    lows = re.findall(r"[a-z'’]+", sentence.lower())
    return any(low in grammar.STOP or low in grammar.NEGATORS for low in lows) or len(lows) > 3
