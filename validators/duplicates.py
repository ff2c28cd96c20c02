"""Near duplicates: when a new statement adds nothing, its source is attached to the old one.

A correction is never a duplicate, however similar it reads: no cosine alone tells "defaults to
60" from "defaults to 600" (they are nearer than most paraphrases). So similarity only proposes;
the words decide.
"""

from typing import Final

from keepthread.validators.judges.local import Statement, judge

SIMILARITY_MIN: Final = 0.8


def is_duplicate(old: str, new: str, similarity: float | None) -> bool:
    """Whether ``new`` says what ``old`` says already.

    ``similarity`` is the cosine of their sentence embeddings, or None without a model. Never
    true where a number, unit, version, name, path, negation or opposite word differs.
    """
    if similarity is not None and similarity < SIMILARITY_MIN:
        return False
    verdict = judge(Statement(old), Statement(new), similarity)
    return verdict.label == "duplicate" and verdict.sure
