"""Two clauses side by side: what they share, what replaces what, and which of it conflicts."""

from collections.abc import Callable
from typing import Final, NamedTuple

from keepthread.validators.judges import lexicon
from keepthread.validators.judges.reading import Clause
from keepthread.validators.judges.tokens import Token

TOLERANCE: Final = 0.08
"""How far apart two measures of one thing may be when one is given as "about"."""


class Gap(NamedTuple):
    """Tokens of the old and the new clause that stand in one place; ``start`` is the old place."""

    old: tuple[Token, ...]
    new: tuple[Token, ...]
    start_old: int
    start_new: int


class Alignment(NamedTuple):
    """Weights of what two clauses share and do not share, and the pairs that cannot both hold."""

    shared: float
    old_only: float
    new_only: float
    topic: float  # shared weight without light words, numbers and dates
    gaps: tuple[Gap, ...]
    reordered: int
    values: tuple[tuple[Token, Token], ...]
    opposites: tuple[tuple[Token, Token], ...]
    contrasts: tuple[tuple[Token, Token], ...]
    left_old: tuple[Token, ...]
    left_new: tuple[Token, ...]
    negation: bool = False  # one clause is denied and the other is not
    flipped: bool = False  # a negation against an opposite word: "not enabled", "disabled"
    finer: int = 0  # the new clause gives a version more exactly (1) or less exactly (-1)
    swapped: bool = False  # the same words with two of them exchanged
    general: bool = False  # a general word was matched with a special one

    @property
    def alone(self) -> tuple[float, float]:
        """Weights of what only the old and only the new clause says."""
        return self.old_only, self.new_only

    @property
    def exchanged(self) -> list[Gap]:
        """The places where something stands on both sides."""
        return [gap for gap in self.gaps if gap.old and gap.new]

    @property
    def cover_old(self) -> float:
        """Share of the old clause that the new one repeats (0..1)."""
        return self.shared / max(self.shared + self.old_only, 0.01)

    @property
    def cover_new(self) -> float:
        """Share of the new clause that the old one already said (0..1)."""
        return self.shared / max(self.shared + self.new_only, 0.01)


def align(old: Clause, new: Clause) -> Alignment:
    """Align by longest common subsequence, then match what was only moved or spelled otherwise."""
    pairs = _common(old.tokens, new.tokens)
    gaps = _gaps(old.tokens, new.tokens, pairs)
    left_old = set(range(len(old.tokens))) - {first for first, _ in pairs}
    left_new = set(range(len(new.tokens))) - {second for _, second in pairs}
    moved = _matches(old.tokens, new.tokens, left_old, left_new, _alike)
    flips: list[tuple[int, int]] = []
    denials = _unshared(old.denials, new), _unshared(new.denials, old)
    negation = (old.negated != new.negated) != (bool(denials[0]) != bool(denials[1]))
    if negation and not any(denials):
        flips = _matches(old.tokens, new.tokens, left_old, left_new, _are_opposite)
        negation = not flips and _denies_shared(old, new)
    matched = [*pairs, *moved, *flips]
    rest_old = tuple(old.tokens[place] for place in sorted(left_old))
    rest_new = tuple(new.tokens[place] for place in sorted(left_new))
    kept = tuple(
        gap for gap in (_without(gap, left_old, left_new) for gap in gaps) if gap.old or gap.new
    )
    shared = [old.tokens[first] for first, _ in matched]
    topic = sum(t.weight for t in shared if t.weight > 0.5 and t.kind not in ("number", "date"))
    return Alignment(
        shared=sum(token.weight for token in shared),
        old_only=sum(token.weight for token in rest_old),
        new_only=sum(token.weight for token in rest_new),
        topic=topic,
        gaps=kept,
        reordered=len(moved),
        values=_value_conflicts(kept, rest_old, rest_new, topic),
        opposites=_rivals(kept, rest_old, rest_new, opposite),
        contrasts=_rivals(kept, rest_old, rest_new, _contrast),
        left_old=rest_old,
        left_new=rest_new,
        negation=negation,
        flipped=bool(flips),
        finer=sum(_finer(old.tokens[one], new.tokens[two]) for one, two in moved),
        general=any(_is_kind_of(old.tokens[one].key, new.tokens[two].key) for one, two in moved),
        swapped=not left_old and not left_new and _swapped(old.tokens, new.tokens),
    )


def _common(old: tuple[Token, ...], new: tuple[Token, ...]) -> list[tuple[int, int]]:
    """Places of a longest common subsequence of keys."""
    start = 0
    while start < min(len(old), len(new)) and old[start].key == new[start].key:
        start += 1
    pairs = [(place, place) for place in range(start)]
    rows, columns = len(old) - start, len(new) - start
    table = [[0] * (columns + 1) for _ in range(rows + 1)]
    for row in range(rows - 1, -1, -1):
        key, below, line = old[start + row].key, table[row + 1], table[row]
        for column in range(columns - 1, -1, -1):
            if key == new[start + column].key:
                line[column] = below[column + 1] + 1
            else:
                line[column] = max(below[column], line[column + 1])
    row = column = 0
    while row < rows and column < columns:
        if old[start + row].key == new[start + column].key:
            pairs.append((start + row, start + column))
            row, column = row + 1, column + 1
        elif table[row + 1][column] >= table[row][column + 1]:
            row += 1
        else:
            column += 1
    return pairs


def _gaps(
    old: tuple[Token, ...], new: tuple[Token, ...], pairs: list[tuple[int, int]]
) -> list[Gap]:
    gaps: list[Gap] = []
    before = (-1, -1)
    for after in [*pairs, (len(old), len(new))]:
        start_old, start_new = before[0] + 1, before[1] + 1
        if start_old < after[0] or start_new < after[1]:
            gap = Gap(old[start_old : after[0]], new[start_new : after[1]], start_old, start_new)
            gaps.append(gap)
        before = after
    return gaps


def _without(gap: Gap, left_old: set[int], left_new: set[int]) -> Gap:
    """The gap without the tokens that were matched elsewhere."""
    return Gap(
        tuple(t for place, t in enumerate(gap.old, gap.start_old) if place in left_old),
        tuple(t for place, t in enumerate(gap.new, gap.start_new) if place in left_new),
        gap.start_old,
        gap.start_new,
    )


def _matches(
    old: tuple[Token, ...],
    new: tuple[Token, ...],
    left_old: set[int],
    left_new: set[int],
    agree: Callable[[Token, Token], bool],
) -> list[tuple[int, int]]:
    """Pair left-over tokens that ``agree``, wherever they stand; takes them off what is left."""
    found: list[tuple[int, int]] = []
    for first in sorted(left_old):
        for second in sorted(left_new):
            if agree(old[first], new[second]):
                found.append((first, second))
                left_new.remove(second)
                break
    left_old -= {first for first, _ in found}
    return found


def _unshared(denials: frozenset[str], other: Clause) -> frozenset[str]:
    """The verbs that deny, without those that the other clause has as well."""
    return denials.difference(token.key for token in other.tokens)


def _denies_shared(old: Clause, new: Clause) -> bool:
    """The negation is about something that the other clause speaks of."""
    denying, other = (old, new) if old.negated else (new, old)
    keys = {token.key for token in other.tokens}
    keys |= {key for token in other.tokens for key in lexicon.keys(token.text.lower())}  # "45 seconds"
    return not denying.denied or any(
        key in keys or any(opposite(key, one) for one in keys) for key in denying.denied
    )


def _finer(old: Token, new: Token) -> int:
    if not extends(old.text, new.text):
        return 0
    return 1 if len(new.text) > len(old.text) else -1


def _swapped(old: tuple[Token, ...], new: tuple[Token, ...]) -> bool:
    """Two words changed places, and not in an enumeration ("A and B")."""
    if len(old) != len(new):
        return False
    keys = [token.key for token in old], [token.key for token in new]
    apart = [place for place, (one, two) in enumerate(zip(*keys, strict=True)) if one != two]
    if len(apart) == 2 and keys[0][apart[0]] == keys[1][apart[1]]:
        links = {old[apart[1]].link, new[apart[1]].link}
        plain = old[apart[0]].kind == old[apart[1]].kind == "word"
        beside = plain and apart[1] == apart[0] + 1 and links == {""}  # "dog is brown", "brown dog"
        return len(links) == 1 and not beside and not links <= {"and", "or", ",", "&"}
    for place in range(1, len(old) - 1):
        other = keys[1].index(keys[0][place]) if keys[0][place] in keys[1] else 0
        if keys[0][:place] == keys[1][other + 1 :] and keys[0][place + 1 :] == keys[1][:other]:
            return old[place + 1].link == new[other + 1].link
    return False


def _are_opposite(old: Token, new: Token) -> bool:
    return opposite(old.key, new.key)


def _alike(old: Token, new: Token) -> bool:
    """One word in two forms or spellings, or one measure rounded differently."""
    if old.key == new.key:
        return True
    if old.kind == new.kind == "word" and old.key[0] != new.key[0]:  # most pairs, so asked first
        return _is_kind_of(old.key, new.key)
    if old.kind == "number" and new.kind == "number":
        return same_value(old, new)
    if {old.kind, new.kind} <= {"number", "version"} and extends(old.text, new.text):
        return not old.dimension and not new.dimension
    if _is_kind_of(old.key, new.key):
        return True
    if old.kind != "word" or new.kind != "word" or old.key[0] != new.key[0]:
        return old.text.lower() == new.text.lower()
    return _is_variant(old.key, new.key)


def _is_kind_of(first: str, second: str) -> bool:
    return second in lexicon.KINDS.get(first, ()) or first in lexicon.KINDS.get(second, ())


def _is_variant(first: str, second: str) -> bool:
    """Another form ("approved", "approval") or a misspelling of one word."""
    least, longest = sorted((len(first), len(second)))
    if least < 5 or opposite(first, second):
        return False
    if ("-" in first) != ("-" in second):
        return first.replace("-", "") == second.replace("-", "")  # not "build" and "build-all"
    common = 0
    while common < least and first[common] == second[common]:
        common += 1
    if common >= 5 and longest - common <= 4 and least - common <= 1:
        return True
    return longest > 5 and (_one_edit(first, second) or _inserted(first, second, common))


def _inserted(first: str, second: str, common: int) -> bool:
    """One or two letters are missing inside a longer word ("documention")."""
    short, long = sorted((first, second), key=len)
    missing = len(long) - len(short)
    return 2 < common < len(short) > 7 and missing <= 2 and long.endswith(short[common:])


def _one_edit(first: str, second: str) -> bool:
    """Whether one insertion, deletion, substitution or swap leads from one word to the other."""
    if abs(len(first) - len(second)) > 1:
        return False
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
    rests = first[start:], second[start:]
    return (
        rests[0][1:] == rests[1][1:]
        or rests[0][1:] == rests[1]
        or rests[0] == rests[1][1:]
        or (rests[0][:2] == rests[1][:2][::-1] and rests[0][2:] == rests[1][2:])
    )


def same_value(old: Token, new: Token) -> bool:
    """Whether two numbers measure the same, roundings of "about" allowed for."""
    if old.dimension != new.dimension:
        return False
    if old.dimension == "bytes" and _unit(old) != _unit(new):
        least, most = sorted((old.value, new.value))
        if least > 0 and any(abs(most / least - 1.024**power) < 1e-6 for power in range(1, 5)):
            return True  # 1 GB is 1000 MB to some and 1024 MB to others
    slack = TOLERANCE if old.rough or new.rough else 1e-6
    return abs(old.value - new.value) <= slack * max(abs(old.value), abs(new.value))


def _unit(measure: Token) -> str:
    return measure.text.lower().lstrip("0123456789.,_ +-~")


def _value_conflicts(
    gaps: tuple[Gap, ...],
    rest_old: tuple[Token, ...],
    rest_new: tuple[Token, ...],
    topic: float,
) -> tuple[tuple[Token, Token], ...]:
    """Numbers and versions that measure one thing in both clauses and differ."""
    found: list[tuple[Token, Token]] = []
    for gap in gaps:
        if len(gap.old) <= 3 and len(gap.new) <= 3:
            for one in gap.old:
                found += [(one, two) for two in gap.new if _comparable_in_place(one, two)]
    for one in rest_old:
        for two in rest_new:
            if one.kind == two.kind == "score" and topic >= 1.0:
                found.append((one, two))
            if one.kind == two.kind == "number" and one.dimension == two.dimension:
                if set(one.near) & set(two.near) or (one.dimension and topic >= 2.0):
                    found.append((one, two))
    return tuple(dict.fromkeys(found))


def _comparable_in_place(old: Token, new: Token) -> bool:
    if old.kind == new.kind == "number":
        if old.near and new.near and not set(old.near) & set(new.near) and not old.dimension:
            return False  # six chairs, two lamps
        return old.dimension == new.dimension and not same_value(old, new)
    if old.kind != new.kind or old.kind not in ("version", "score"):
        whole = old if old.kind == "number" else new
        if {old.kind, new.kind} != {"number", "version"} or whole.dimension:
            return False
    return old.key != new.key


def extends(old: str, new: str) -> bool:
    """Whether one version says the other more exactly (3 and 3.11)."""
    short, long = sorted((old.lower().lstrip("v"), new.lower().lstrip("v")), key=len)
    return long.startswith(short + ".") and long[len(short) :].replace(".", "").isdigit()


def opposite(first: str, second: str) -> bool:
    """Whether two keys cannot both hold of one thing."""
    if first == second:
        return False
    return second in lexicon.OPPOSITES.get(first, ()) or _prefixed(first, second)


def _prefixed(first: str, second: str) -> bool:
    if first[-1] != second[-1]:
        return False
    short, long = (first, second) if len(first) < len(second) else (second, first)
    if len(short) < 4 or not long.endswith(short):
        return False
    return long.removesuffix(short).rstrip("-") in _REVERSING


_REVERSING: Final = frozenset({"un", "in", "im", "non", "dis", "ir", "de", "anti"})


def _contrast(first: str, second: str) -> bool:
    return second in lexicon.CONTRASTS.get(first, ())


def _rivals(
    gaps: tuple[Gap, ...],
    rest_old: tuple[Token, ...],
    rest_new: tuple[Token, ...],
    rival: Callable[[str, str], bool],
) -> tuple[tuple[Token, Token], ...]:
    """Rival words in one place; anywhere, where little else differs."""
    sides = [(gap.old, gap.new) for gap in gaps]
    if max(len(rest_old), len(rest_new)) <= 4:
        sides.append((rest_old, rest_new))
    found = [
        (one, two) for old, new in sides for one in old for two in new if rival(one.key, two.key)
    ]
    return tuple(dict.fromkeys(found))
