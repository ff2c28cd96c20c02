"""The user's words: instructions, goals and constraints are passages of what the user typed.

What is stored and served is the passage; the model's wording is only a label. Text that the
user pasted (fences, long quotes) is data, not instruction.
"""

import re
from collections.abc import Sequence

from keepthread.stores.launch import command_line
from keepthread.stores.records import DOORS, Citation, Entry
from keepthread.validators.citations import REPORTED, resolve_citation
from keepthread.validators.confidence import USER
from keepthread.validators.pasted import MASK, mask_pasted
from keepthread.validators.verdict import Refusal, Write
from keepthread.validators.view import View
from keepthread.validators.words import content_stems

_SENTENCE = re.compile(r"[^\n.!?;]+(?:[.!?;](?=\S)[^\n.!?;]*)*[.!?;]*")
_LETTERED_ITEM = re.compile(r"[a-z][.)]\s")
_LAST_WORD = re.compile(r"[\w'’]{1,20}\Z")
_GOES_ON = frozenset(
    "a an the to of and or but nor if than that in on at by for from with without as not no never ever "
    "don't doesn't isn't aren't won't can't cannot must should shall would could will may might is are was "
    "were be been always when while because unless until und oder nicht nie zu der die das ein eine".split()
)
"""Words after which a sentence goes on in the next line, even where that begins with a capital."""
_COVER_MIN = 0.5
_COSINE_MIN = 0.55
_QUOTED_MAX = 300


def resolve_instruction(write: Write, view: View) -> Refusal | Write | None:
    """``not_the_users_words``, ``unknown_source``. Fills in ``cited``, ``citations``, ``passage``, ``text``."""
    if write.source.strip() == REPORTED:
        if any(message.tool not in DOORS for message in view.user_messages()):
            return Refusal(
                "not_the_users_words",
                "the user's messages are captured in this window, so nothing needs to be reported.",
                'Cite the message: source="user" finds it.',
                _said(view),
            )
        return write._replace(reported=True, confidence=0.3, level=0)
    found = find_users_passage(write.text, write.source or "user", view)
    if isinstance(found, Refusal):
        return found
    entry, start, stop = found
    passage = entry.output[start:stop]
    others = dict(write.others)
    if write.text.strip() != passage.strip():
        others["label"] = write.text
    return write._replace(
        text=passage,
        others=others,
        cited=(entry,),
        citations=(Citation(entry.seq, start, stop),),
        passage=passage,
        level=USER,
        confidence=1.0,
        observed_at=entry.seen_at,
    )


def find_users_passage(text: str, source: str, view: View) -> tuple[Entry, int, int] | Refusal:
    """Return (message, start, stop) of the user's passage that says ``text``; else why there is none."""
    resolved = resolve_citation(source.strip(), view)
    if isinstance(resolved, Refusal):
        if source.strip() == "user":
            return Refusal(
                "not_the_users_words",
                "no message of the user was captured in this window.",
                'Where the client captures none, source="user:reported" keeps it as reported, not confirmed; '
                f"the user can confirm it with: {command_line('remember', 'TEXT')}",
            )
        return resolved
    best: tuple[float, Entry, int, int] | None = None
    known = [e for e in resolved.entries if not e.suspect]
    if not known:
        return Refusal(
            "not_the_users_words",
            f"the client's transcript of the session does not know {resolved.entries[0].id}.",
            f"Ask the user: what the user confirms ({command_line('remember', 'TEXT')}) is the user's.",
        )
    for entry in known:
        if entry.role != "user" or entry.channel != "user":
            return Refusal(
                "not_the_users_words",
                f"{entry.id} is no message that the user typed in a captured session.",
                "Instructions, goals and constraints come from the user's own messages only.",
                _said(view),
            )
        whole = _said_apart(text.strip(), entry)
        if whole is not None:
            return entry, *whole
        for start, stop in own_passages(entry.output):
            score = _agreement(text, entry.output[start:stop], view)
            if best is None or score > best[0]:
                best = (score, entry, start, stop)
    if best is None or best[0] < _COVER_MIN:
        return Refusal(
            "not_the_users_words",
            "no passage of the user's message says this.",
            "Record what the user said, nearly in the user's words; what you concluded is an inference.",
            _said(view),
        )
    return best[1], best[2], best[3]


def _said_apart(text: str, entry: Entry) -> tuple[int, int] | None:
    """Return where a message that was no chat has ``text`` as a part of its own, however many sentences.

    A form shows a text and nothing else, a prompt and a command take one; pasted text is the user's
    own only where a form showed it.
    """
    if entry.tool not in DOORS:
        return None
    start = f"\n\n{entry.output}\n\n".find(f"\n\n{text}\n\n")
    if start < 0:
        return None
    span = start, start + len(text)
    pasted = MASK in mask_pasted(entry.output)[slice(*span)]
    return None if pasted and entry.tool != "elicitation" else span


def own_passages(message: str) -> list[tuple[int, int]]:
    """Return the spans of a message that are the user's own sentences, without what was pasted.

    Neighbouring sentences are joined in pairs as well, since a wish may take two.
    """
    blanked = _unwrapped(mask_pasted(message))
    spans: list[tuple[int, int]] = []
    for match in _SENTENCE.finditer(blanked):
        raw = match[0]
        start = match.start() + len(raw) - len(raw.lstrip(" \t-*•\0"))
        stop = match.start() + len(raw.rstrip(" \t\0"))
        if stop > start and "\0" not in blanked[start:stop]:
            spans.append((start, stop))
    pairs = [
        (a[0], b[1])
        for a, b in zip(spans, spans[1:], strict=False)
        if "\0" not in blanked[a[0] : b[1]]
    ]
    return spans + pairs


def _unwrapped(message: str) -> str:
    """Return the message with a blank for each line end inside a sentence.

    Half a sentence may say the opposite of the whole: "it would be a mistake to / always push".
    """
    before, *rest = message.split("\n")
    parts = [before]
    for line in rest:
        end, start = before.rstrip(), line.lstrip()
        last = _LAST_WORD.search(end)
        goes_on = end.endswith(",") or (last is not None and last[0].lower() in _GOES_ON)
        begins = start[:1].islower() and not _LETTERED_ITEM.match(start)
        joined = end[-1:] not in ("", *".!?;…\0") and (begins or (goes_on and start[:1].isalpha()))
        parts += [" " if joined else "\n", line]
        before = line
    return "".join(parts)


def _agreement(text: str, passage: str, view: View) -> float:
    """Return 0..1: the share of the text's content words in the passage, or by meaning where a model is loaded.

    Numbers and negations of the text must be in the passage, whatever the rest says.
    """
    mine, theirs = content_stems(text), content_stems(passage)
    if not mine or not theirs:
        return 0.0
    if {w for w in mine if any(c.isdigit() for c in w)} - theirs or _negated(text) != _negated(
        passage
    ):
        return 0.0
    cover = len(mine & theirs) / len(mine)
    if cover >= _COVER_MIN:
        return cover + 0.1 * len(mine & theirs) / len(theirs)
    cosine = view.similarity(text, [passage])
    return _COVER_MIN + 0.01 if cosine and cosine[0] >= _COSINE_MIN and mine & theirs else cover


def _negated(text: str) -> bool:
    return bool(
        re.search(
            r"\b(?:not|never|no|don'?t|do not|without|avoid|stop|nicht|kein\w*|nie|pas|jamais|nunca)\b",
            text,
            re.I,
        )
    )


def _said(view: View) -> tuple[tuple[str, str], ...]:
    messages: Sequence[Entry] = view.user_messages()[:3]
    return tuple((f"the user said, {m.id}", m.output[:_QUOTED_MAX]) for m in messages)
