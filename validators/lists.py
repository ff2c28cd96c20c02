"""Things that a claim lists: "default, mail and exports" asserts each of them."""

import re
from collections.abc import Sequence
from typing import Final

from keepthread.validators.sources import Source
from keepthread.validators.values import Claim, is_code_name
from keepthread.validators.vocabulary import aliases, content_words, is_generic, stem, synonyms

_ITEM: Final = r"[`\"']?([\w.@/+-]*\w)[`\"']?"
_LIST: Final = re.compile(rf"{_ITEM}((?:, {_ITEM})*),? (?:and|or) {_ITEM}")
_COMPLEMENT: Final = re.compile(
    r"\b(?:(?:manager|backend|database|framework|engine|provider|role|owner|author|default|format"
    r"|language|licen[cs]e|branch|broker|driver|registry|runner|region|encoding|algorithm|strategy"
    r"|policy|type|name|scheduler|library|tool) is|called|named|defaults? to|set to"
    r"|(?:pushed|merged|deployed|published|uploaded|sent|migrated|backported|rebased|forwarded) (?:on)?to)"
    r" (?:(?:an?|the) )?([A-Za-z]{3,})(?=[.,;]|$| (?:on|in|by|for|as|and|with|from)\b)"
)
_BETWEEN: Final = re.compile(rf", {_ITEM}")
_COMPOUND: Final = re.compile(r"(?<![\w./-])([A-Za-z]{3,})-([A-Za-z]{2,})(?![\w/-])")


def unlisted(claim: Claim, sources: Sequence[Source]) -> list[str]:
    """Items of the claim's lists that the entries lack although they have others of the list.

    Of two joined items both must be names, since "fast and simple" lists nothing.
    """
    lost: list[str] = []
    for match in _LIST.finditer(claim.asserted):
        items = [match[1], *_BETWEEN.findall(match[2]), match[4]]
        if len(items) < 3 and not all(map(_is_name, items)):
            continue
        missing = [i for i in items if i.lower() not in claim.negated and not _stands(i, sources)]
        if 0 < len(missing) < len(items) and not any(i.isdigit() for i in items):
            lost += [i for i in missing if content_words(i) or not i.isalpha()]
    return lost


def lost_complement(claim: Claim, sources: Sequence[Source]) -> list[str]:
    """The word that the claim gives an attribute ("the role is X"), where the entries lack it."""
    return [
        match[1]
        for match in _COMPLEMENT.finditer(claim.asserted)
        if content_words(match[1]) and not is_generic(stem(match[1]))
        and match[1].lower() not in claim.negated and not _stands(match[1], sources)
    ]  # fmt: skip


def other_compound(claim: Claim, sources: Sequence[Source]) -> str:
    """Why a compound is another one there: "half_even", not "half-up"; or ""."""
    for match in _COMPOUND.finditer(claim.asserted):
        first, last = match[1].lower(), match[2].lower()
        same = re.compile(rf"(?<![a-z]){first}[-_ ]?{last}")
        other = re.compile(rf"(?<![a-z]){first}[-_](?!{last})([a-z]{{2,}})(?![a-z])")
        if any(same.search(s.low) or same.search(s.args_low) for s in sources):
            continue
        found = next((m for s in sources if (m := other.search(s.low))), None)
        if found and not any(s.find_word(stem(last)) >= 0 for s in sources):
            return f'the cited entry says "{found.group()}", not "{match.group()}"'
    return ""


def _is_name(item: str) -> bool:
    return is_code_name(item) or item[:1].isupper() or (len(item) > 2 and item.isupper())


def _stands(item: str, sources: Sequence[Source]) -> bool:
    low = item.lower()
    words = {low, *aliases(low)} | synonyms(stem(low))
    return any(
        low in source.low or low in source.args_low
        or any(source.find_word(stem(w), in_args=a) >= 0 for w in words for a in (False, True))
        for source in sources
    )  # fmt: skip
