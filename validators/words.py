"""Words as rules compare them: content words, lower case, roughly stemmed."""

import re

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_FUNCTION = frozenset(
    "a an the and or but if then than that this these those of to in on at by for from with without as is "
    "are was were be been being am do does did done doing have has had having will would shall should can "
    "could may might must it its he she they we you i me my our your his her their them us him who whom "
    "which what when where why how there here so also just only very too not no nor never don't doesn't "
    "isn't aren't wasn't won't can't please user wants want wanted asks asked said says prefers prefer "
    "preferred like likes always".split()
)
_SUFFIXES = ("ations", "ation", "ings", "ing", "edly", "ed", "ies", "es", "ly", "s")


def content_stems(text: str) -> set[str]:
    """Return the stems of the words that carry meaning."""
    words = (w.lower().replace("’", "'") for w in _WORD.findall(text))
    return {stem(w) for w in words if w not in _FUNCTION}


def stem(word: str) -> str:
    """Cut common English endings; crude, and the same for both sides of a comparison."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            base = word[: -len(suffix)]
            return base + "y" if suffix == "ies" else base.rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word
