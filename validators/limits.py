"""Shape and size: a limit on everything a model may write."""

import re

from keepthread.stores.clock import seconds, stamp
from keepthread.stores.launch import command_line
from keepthread.validators.verdict import Refusal, Write
from keepthread.validators.view import View

TEXT_CHARS_MAX = 1_000
CHARS_MAX = {
    "text": TEXT_CHARS_MAX,
    "decision": 1_000,
    "question": 1_000,
    "subject": 200,
    "expires_when": 200,
    "title": 200,
}
"""By argument name; the others may have WORDS_CHARS_MAX."""
WORDS_CHARS_MAX = 2_000
LIST_MAX = 20
TITLES_MAX = 100

_NAMED = {
    "decision": "decision", "plan": "title", "question": "question", "answer": "answer",
    "retraction": "reason", "task": "goal", "handoff": "doing",
}  # fmt: skip
"""What the main text of a kind of write is called by the tool."""

_TAG = re.compile(r"([a-z][a-z0-9_-]{0,31}):(\S(?:.{0,198}\S)?)")


def check_length(write: Write, view: View) -> Refusal | None:
    """``too_long``: one fact is one conclusion, 1 to 1,000 characters; other words have limits too.

    The gate asks this first of all, so that nothing reads a text of any length, and again of what was resolved.
    """
    for field, text in write.words().items():
        name = _NAMED.get(write.kind, field) if field == "text" else field
        limit = CHARS_MAX.get(name, WORDS_CHARS_MAX)
        if len(text) > limit:
            return Refusal(
                "too_long",
                f"`{name}` has {len(text)} characters, at most {limit} are taken.",
                "Put detail in description."
                if name == "title"
                else "Say the one conclusion that matters; the rest stays in the archive and can be cited.",
            )
    if len(write.supports_given) > LIST_MAX:
        return Refusal(
            "too_long",
            f"`supports` has {len(write.supports_given)} members, at most {LIST_MAX} are taken.",
            "Name those that the conclusion cannot do without.",
        )
    return None


def check_empty(write: Write, view: View) -> Refusal | None:
    """``too_long``, which also means: not even one character."""
    if write.text.strip():
        return None
    return Refusal("too_long", "the text is empty.", "Write one sentence.")


def parse_scope(write: Write, view: View) -> Refusal | Write | None:
    """``bad_scope``: scope is a list of ``name:value`` tags. Fills in ``scope``.

    ``user:*`` is never taken as a tag: only the user's own channel sets ``user_scope``.
    """
    if not write.scope_given:
        return None
    if len(write.scope_given) > LIST_MAX:
        return Refusal(
            "bad_scope",
            f"{len(write.scope_given)} scope tags; at most {LIST_MAX}.",
            "Keep those that decide.",
        )
    tags: list[tuple[str, str]] = []
    for given in write.scope_given:
        match = _TAG.fullmatch(given.strip())
        if match is None:
            return Refusal(
                "bad_scope",
                f"scope tag {given[:60]!r} is not `name:value`.",
                'Write for example ["repo:billing", "path:services/invoice/"].',
            )
        tags.append((match[1], match[2]))
    if ("user", "*") in tags:
        return Refusal(
            "bad_scope",
            "only the user says what applies in every workspace.",
            "Leave `user:*` out; the record then holds in this workspace. "
            f"The user widens it with: {command_line('remember', '--everywhere', 'TEXT')}",
        )
    return write._replace(scope=tuple(sorted(set(tags))))


def check_times(write: Write, view: View) -> Refusal | Write | None:
    """``bad_time``: ``observed_at`` and an ISO ``expires_when`` must be times. Fills in ``expires_at``."""
    if write.observed_at:
        try:
            observed = seconds(write.observed_at)
        except ValueError:
            return Refusal(
                "bad_time",
                f"observed_at {write.observed_at[:40]!r} is no ISO 8601 time with a zone.",
                "Leave it empty: the time of the cited entry is used.",
            )
        write = write._replace(observed_at=stamp(min(observed, view.now)))
    expires = write.expires_when.strip()
    if re.match(r"\d{4}-\d\d-\d\d", expires):
        try:
            at = seconds(expires if "T" in expires else f"{expires}T23:59:59Z")
        except ValueError:
            return Refusal(
                "bad_time",
                f"expires_when {expires[:40]!r} begins like a date but is no ISO 8601 time.",
                "Write 2026-12-31T00:00:00Z, changed:PATH, task_end, or in words what would make it untrue.",
            )
        if at <= view.now:
            return Refusal("bad_time", "expires_when is in the past.", "Record what holds now.")
        write = write._replace(expires_at=stamp(at))
    return write
