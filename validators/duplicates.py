"""Near duplicates: when a new statement adds nothing, its source is attached to the old one.

A correction is never a duplicate, however similar it reads: no cosine alone tells "defaults to
60" from "defaults to 600" (they are nearer than most paraphrases). So similarity only proposes;
the words decide.
"""

from typing import Final

from keepthread.validators.judges.lexicon import keys
from keepthread.validators.judges.local import Statement, judge
from keepthread.validators.judges.reading import Clause, read

SIMILARITY_MIN: Final = 0.8
_FILLING: Final = keys(
    "run use set call name start invoke execute value command do make with by via"
)
"""Words that a subject and its value are joined with: "builds run with X", "the build command is X".
"""


def is_duplicate(old: str, new: str, similarity: float | None, subject: str = "") -> bool:
    """Whether ``new`` says what ``old`` says already.

    ``similarity`` is the cosine of their sentence embeddings, or None without a model; ``subject`` the
    key that both were given. Never true where a number, unit, version, name, path, negation or
    opposite word differs.
    """
    if subject and _gives_the_same(old, new, subject):
        return True
    if similarity is not None and similarity < SIMILARITY_MIN:
        return False
    verdict = judge(Statement(old), Statement(new), similarity)
    return verdict.label == "duplicate" and verdict.sure


def _gives_the_same(old: str, new: str, subject: str) -> bool:
    """Whether two statements of one subject say no more than the same values of it."""
    clauses = read(old), read(new)
    if len(clauses[0]) != 1 or len(clauses[1]) != 1:
        return False
    one, two = clauses[0][0], clauses[1][0]
    named = keys(subject.replace("|", " ").lower()) | _FILLING
    left = [
        [t for t in clause.tokens if t.kind != "word" or t.key not in named] for clause in (one, two)
    ]
    told = [[(t.key, t.rough, t.link == "bound") for t in side] for side in left]
    values = any(token.kind != "word" for token in left[0])
    return values and told[0] == told[1] and _turned(one) == _turned(two)


def _turned(clause: Clause) -> tuple[object, ...]:
    """What turns the sense of the same words."""
    return clause.negated, clause.past, clause.retracted, clause.scope
