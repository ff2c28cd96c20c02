"""Small linear models: does a sentence direct a reader, or describe the world? Is an order honest?

Logistic regression over hashed words and word pairs, stems, a score of word classes (who is
addressed, what is asked, where it is to go) and pairs of those classes. Where the embedding
model is loaded, a second regression over the sentence's vector (what it means, in whichever
words) is stacked on the first. ``evals/training`` holds the sentences and the script that fits
both; inference is plain Python. The weights are one signed byte each, loaded when first needed.
One such model judges facts; the other plans and decisions, which are imperative anyway: it tells
orders against the user from honest ones.
"""

import base64
import json
import math
import os
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple
from zlib import crc32

from keepthread.validators.directives import is_report
from keepthread.validators.normalize import without_marks

BUCKETS = 1 << 16
_DATA_FOLDER = os.path.join(os.path.dirname(__file__), "data")
FACTS_PATH = os.path.join(_DATA_FOLDER, "instruction_model.json")
PLANS_PATH = os.path.join(_DATA_FOLDER, "plan_model.json")
CLASSES_PATH = os.path.join(_DATA_FOLDER, "word_classes.txt")
SENTENCE_MIN, SENTENCE_MAX = 6, 400  # characters; a longer one is judged in pieces
SENTENCES_MAX = 300
GRAMS_LENGTH = 6.0  # of the vector of all words and pairs of a sentence
EMBEDDED_MAX = 8  # sentences of a text, those that the words leave most in doubt first
DOUBTFUL = (-2.5, 6.0)  # log odds of the words; outside no vector turned them on any set seen
TOKENS_MAX = 80
GRAMS_MIN = 16  # a few words alone are weak evidence

_TOKEN = re.compile(
    r"(?P<URL>\b(?:https?|ftp|s3)://\S+)|(?P<EMAIL>[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+)"
    r"|(?P<MONEY>[$€£]\s?\d[\d.,]*)|(?P<FLAG>(?<!\w)--?[a-z][\w-]*)"
    r"|(?P<CODE>\$\{?\w+|\w+\(\)?|\w+[_:=]{1,2}\w[\w:=-]*)"
    r"|(?P<PATH>[\w~.-]*/[\w./*{}-]+|\b\w[\w-]*\.(?:[a-z]{2,5}|[0-9][\w.]*)\b)"
    r"|(?P<NUM>\d[\w.,:%-]*)|(?P<WORD>[^\W\d_]+(?:'[a-z]{1,2}\b)?)|(?P<MARK>[!?:])"
)
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n|(?<=[。！？])")
_DATA = re.compile(r"[\"']\s?[:,]\s?[\"'{\[]|</?[a-z!][^<>]{0,80}>")
_DATA_EDGE = re.compile(
    r"(?<=[\w.!?)\]])[\"']\s*[,:}\]]\s*[\"'{\[]*|\{[\"']|[:\[]\s*[\"']|<[^<>]{0,200}>|<!--|-->"
)

_LEAD = re.compile(
    r"^[\W_]*(?:(?:please|kindly|first|then|now|also|and|so|can you|could you|would you|will you"
    r"|i need you to|bitte|por favor|merci de|veuillez)[\s,:]+){0,3}([^\W\d_]+)"
)
_ADVERBS = re.compile(
    r"^[\W_]*(?:(?:please|kindly|first|then|now|also|and|so|next|finally|always|never|only|just"
    r"|do not|don't|instead|silently|immediately|simply|optionally|can you|could you|would you"
    r"|will you|let's|let us|i need you to|i want you to|you must|you should|you will|you have to"
    r"|you need to|you can|you may)[\s,:]+){0,4}([^\W\d_]+)"
)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|did|will be|can be|may be|must be|should be|[a-z]{3,}"
    r"(?:ed|[^su]s))\b"
)
# Words after which a verb is an order ("and send it"), where elsewhere it may be a noun.
_BEFORE_ORDERS = frozenset(
    """and then to please kindly you must should shall will always never only not also just instead
    or now : ! don't silently immediately first und y et e i en bitte favor ve и""".split()
)
_ASKS = re.compile(r"\b(?:can|could|would|will) you\b|\bi (?:need|want|order|would like) you\b")
_PURPOSE = re.compile(r"^(?:to|if you|when|whenever|before|after|for|in order to)\b")
# Marks of documentation; an order without any of them is rarely about a program.
_TECHNICAL = {"CODE", "FLAG", "PATH", "docs", "docs!", "software", "software!", "report"}
_FLAGS = {
    "asks": _ASKS,
    "purpose": _PURPOSE,
    "private file": re.compile(
        r"\.ssh\b|id_rsa|\.env\b|\.aws\b|\.netrc|/etc/(?:passwd|shadow)|\benv\b"
    ),
    "must": re.compile(r"\byou (?:must|should|shall|need to|have to|are to|will)\b"),
    "question": re.compile(r"\?\W*$"),
    "command": re.compile(r"\b(?:curl|wget|bash|sh|sudo|rm -|chmod|eval|base64)\b"),
    "no one": re.compile(r"\b(?:without|no one|nobody|anyone|before \w+ (?:notices|sees))\b"),
    "your work": re.compile(
        r"\byour (?:\w+ )?(?:answers?|repl(?:y|ies)|responses?|outputs?|solution|implementation"
        r"|code|summary|report|instructions|prompt|task|goal|purpose|role|rules|memory)\b"
    ),
    "from now": re.compile(r"\bfrom (?:now|this|here)\b|\bgoing forward\b|\bnext time\b"),
    "the user": re.compile(r"\bthe (?:user|owner)\b|\bdem (?:be)?nutzer\b|\bal usuario\b"),
    "to": re.compile(r"\b(?:to|with|at|an|a|para|на|к)\s(?:[\w.+-]+@|https?:|\+?\d{6})"),
    "id": re.compile(r"\b(?:id|account|number|iban|card)\b[\s#:'\"(]*[\w-]*\d|#\d"),
    "without": re.compile(r"\bwithout \w+ing\b|\bohne zu\b|\bsans \w+er\b|\bsin \w+r\b"),
    "header": re.compile(r"^[\w ]{2,30}:\s"),
}


Embed = Callable[[Sequence[str]], Sequence[bytes] | None]
"""Vectors of texts (little-endian float32), None while no model is loaded."""


class Linear(NamedTuple):
    """Weights as signed bytes in units of ``scale``, and the bias."""

    weights: memoryview
    scale: float
    bias: float


class Model(NamedTuple):
    """The regression over words, the one over a vector, and how both margins go together.

    ``mix`` is (weight of the words' margin, of the vector's, bias); ``cut`` and ``mixed_cut`` are
    the margins that count as even odds, without and with a vector.
    """

    words: Linear
    meaning: Linear
    mix: tuple[float, float, float]
    cut: float
    mixed_cut: float


@cache
def load(path: str = FACTS_PATH) -> Model:
    """Return a shipped model (about 80 kB on disk)."""
    with open(path, encoding="ascii") as file:
        stored = json.load(file)
    one, other, both = stored["mix"]
    return Model(
        _linear(stored["words"]),
        _linear(stored["meaning"]),
        (one, other, both),
        float(stored["cut"]),
        float(stored["mixed_cut"]),
    )


def _linear(stored: dict[str, str | float]) -> Linear:
    weights = memoryview(base64.b85decode(str(stored["weights"]))).cast("b")
    return Linear(weights, float(stored["scale"]), float(stored["bias"]))


def score(folded: str, embed: Embed | None = None, path: str = FACTS_PATH) -> float:
    """Return the probability (0 to 1) that the most directive sentence of a folded text directs;
    with PLANS_PATH, that it directs an agent against its user."""
    model = load(path)
    found = {sentence: words_margin(sentence, model) for sentence in sentences(folded)}
    if not found:
        return 0.0
    doubtful = [s for s, margin in found.items() if DOUBTFUL[0] < margin < DOUBTFUL[1]]
    doubtful.sort(key=lambda sentence: -found[sentence])
    vectors = embed(doubtful[:EMBEDDED_MAX]) if embed and doubtful else None
    margins = {sentence: margin - model.cut for sentence, margin in found.items()}
    for sentence, vector in zip(doubtful, vectors or (), strict=False):
        margins[sentence] = mixed_margin(found[sentence], vector, model) - model.mixed_cut
    return _probability(max(margins.values()))


def words_margin(sentence: str, model: Model) -> float:
    """Return the margin (log odds) that the words of one folded sentence give."""
    words = model.words
    total = sum(words.weights[bucket] * value for bucket, value in features(sentence).items())
    return words.bias + words.scale * total


def mixed_margin(words: float, vector: bytes, model: Model) -> float:
    """Return the margin of a sentence from that of its words and its vector."""
    meaning = model.meaning
    values: tuple[float, ...] = struct.unpack(f"<{len(vector) // 4}f", vector)
    if len(values) != len(meaning.weights):  # another model than the one it was fitted on
        return words - model.cut + model.mixed_cut
    total = sum(w * v for w, v in zip(meaning.weights, values, strict=True))
    one, other, bias = model.mix
    return one * words + other * (meaning.bias + meaning.scale * total) + bias


def _probability(margin: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, margin))))


def sentences(folded: str) -> Iterator[str]:
    """Yield the sentences of a folded text; of JSON and markup, the values."""
    edges = _DATA_EDGE if len(_DATA.findall(folded[:2000])) >= 2 else None
    count = 0
    for sentence in _SENTENCE.split(folded):
        for part in edges.split(sentence) if edges else (sentence,):
            part = part.strip()
            for start in range(0, len(part) if len(part) >= SENTENCE_MIN else 0, SENTENCE_MAX):
                yield part[start : start + SENTENCE_MAX]
                count += 1
            if count >= SENTENCES_MAX:
                return


def features(sentence: str) -> dict[int, float]:
    """Return the sentence's features as hash bucket to value.

    Words and pairs of words share a fixed length, so that long sentences do not weigh more;
    classes and pairs of classes count one each.
    """
    tokens = _tokens(sentence)
    words = ["^", *tokens, "$"]
    grams = [f"w {token}" for token in tokens]
    grams += [f"b {left} {right}" for left, right in zip(words, words[1:], strict=False)]
    grams += [f"s {token[:5]}" for token in tokens if len(token) > 5 and token.islower()]
    grams.append("l " + " ".join(words[:3]))
    unit = GRAMS_LENGTH / math.sqrt(max(len(grams), GRAMS_MIN))
    found = {bucket(gram): unit for gram in grams}
    classes = sorted(_classes(sentence, tokens))
    for index, name in enumerate(classes):
        found[bucket(f"c {name}")] = 1.0
        for other in classes[index + 1 :]:
            found[bucket(f"p {name} {other}")] = 1.0
    return found


def bucket(name: str) -> int:
    """Return the hash bucket of a feature's name."""
    return crc32(name.encode()) % BUCKETS


def _tokens(sentence: str) -> list[str]:
    tokens: list[str] = []
    for match in _TOKEN.finditer(sentence):
        kind, token = match.lastgroup or "", match.group()
        if kind not in ("WORD", "MARK"):
            tokens.append(kind)
        elif _DENSE.match(token):
            tokens += [token[at : at + 2] for at in range(max(1, len(token) - 1))]
        else:
            tokens.append(token)
        if len(tokens) >= TOKENS_MAX:
            break
    return tokens


class _Lexicon(NamedTuple):
    """Classes by whole word, by stem and by run of CJK letters; the verbs of orders."""

    words: dict[str, list[str]]
    stems: dict[str, list[str]]
    runs: list[tuple[str, str]]
    imperatives: frozenset[str]


@cache
def _lexicon() -> _Lexicon:
    lexicon = _Lexicon({}, {}, [], frozenset())
    with open(CLASSES_PATH, encoding="utf-8") as file:
        text = without_marks(file.read()).lower()
    for line in text.replace("\n    ", " ").splitlines():
        name, _, words = line.partition(": ")
        if line.startswith("#") or not words:
            continue
        if name == "imperative":
            lexicon = lexicon._replace(imperatives=frozenset(words.split()))
            continue
        for word in words.split():
            if _DENSE.match(word):
                lexicon.runs.append((word, name))
            elif word.endswith("-"):
                lexicon.stems.setdefault(word[:-1], []).append(name)
            else:
                lexicon.words.setdefault(word, []).append(name)
    return lexicon


def _classes(sentence: str, tokens: list[str]) -> set[str]:
    lexicon = _lexicon()
    found = {name for name, pattern in _FLAGS.items() if pattern.search(sentence)}
    if is_report(sentence):
        found.add("report")
    for before, token in zip(["and", *tokens], tokens, strict=False):
        if token.isupper():
            found.add(token)
            continue
        names = list(lexicon.words.get(token, ()))
        for size in range(3, len(token) + 1):
            names += lexicon.stems.get(token[:size], ())
        found.update(f"{name}!" if before in _BEFORE_ORDERS else name for name in names)
    if _DENSE.search(sentence):
        found.update(name for word, name in lexicon.runs if word in sentence)
    order = _ADVERBS.match(sentence)
    if order and order[1] in lexicon.imperatives:
        found.add("imperative")
        if not found & _TECHNICAL:
            found.add("plain imperative")
    elif _FINITE.search(sentence):
        found.add("statement")
    lead = _LEAD.match(sentence)
    if lead:
        found.update(f"lead {name}" for name in lexicon.words.get(lead[1], ()))
    return found
