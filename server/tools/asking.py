"""Asking the user through the client, where it can: a form that is accepted or declined, in both protocol eras.

Only a client answers a form; no argument of a tool does. Nothing waits inside a transaction or on the
thread that owns the database. The revision of 2026-07-28 ends the call with the question, and the
client calls again with the answer; the older ones ask in the middle of the call, which waits for
``PATIENCE_SECONDS`` at most.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import anyio
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult

from keepthread.server.proposals import Proposal
from keepthread.server.tools.base import Run
from keepthread.validators.verdict import Outcome

PATIENCE_SECONDS = 45.0
"""Below the minute after which common clients give a tool call up."""

ANSWER_SECONDS_MAX = 86_400.0
"""For how long the newer era's answer to a question is taken."""

_STATELESS_SINCE = "2026-07-28"
_KEY = "consent"
_FORM: dict[str, Any] = {"type": "object", "properties": {}}


class Reply(NamedTuple):
    """``accept`` or ``decline`` from the user, or ``""`` for neither, and then why."""

    action: str
    why: str = ""


def can_ask(ctx: Context[Any, Any]) -> bool:
    """True where the client says that it shows forms (an empty capability is the older way to say it)."""
    capabilities = ctx.client_capabilities
    found = None if capabilities is None else capabilities.elicitation
    return found is not None and (found.form is not None or found.url is None)


async def ask_user(ctx: Context[Any, Any], question: str) -> Reply | InputRequiredResult:
    """Return the user's reply to ``question``, or what the call must answer so that the client asks."""
    form = ElicitRequestFormParams(message=question, requested_schema=_FORM)
    if (ctx.protocol_version or "") < _STATELESS_SINCE:
        return await _ask_now(ctx, form)
    answer = (ctx.input_responses or {}).get(_KEY)
    if answer is None or ctx.request_state != question:  # not asked yet, or something else
        asked = ElicitRequest(params=form)
        return InputRequiredResult(input_requests={_KEY: asked}, request_state=question)
    return _reply(answer)


async def _ask_now(ctx: Context[Any, Any], form: ElicitRequestFormParams) -> Reply:
    reply = Reply("", f"the user did not answer within {PATIENCE_SECONDS:.0f} s")
    with anyio.move_on_after(PATIENCE_SECONDS):
        try:
            answer = await ctx.session.elicit_form(form.message, _FORM, ctx.request_id)
        except (MCPError, ValueError) as error:  # its error, or an answer that is no valid one
            return Reply("", f"the client could not ask the user ({type(error).__name__})")
        reply = _reply(answer)
    return reply


def _reply(answer: object) -> Reply:
    if not isinstance(answer, ElicitResult):
        return Reply("", "the client's answer to the question is no valid one")
    if answer.action == "cancel":
        return Reply("", "the user closed the question without an answer")
    return Reply(answer.action)


async def with_the_user(
    ctx: Context[Any, Any],
    run: Run,
    propose: Callable[[], Proposal | None],
    write: Callable[[], Outcome],
) -> Outcome | InputRequiredResult:
    """Put a proposal to the user first; ``write`` it unconfirmed where the user says neither yes nor no.

    Raises Refused where the gate would refuse it, before anything is asked, and where the user declines.
    """
    if not can_ask(ctx):
        return _unconfirmed(await run(write), "this client cannot ask the user")
    proposal: Proposal | None = await run(propose)
    if proposal is None:
        return cast(Outcome, await run(write))
    reply = await ask_user(ctx, proposal.question)
    if isinstance(reply, InputRequiredResult):
        return reply
    if reply.action == "accept":
        kept: Outcome = await run(proposal.keep)
        return kept._replace(remarks=("the user confirmed these very words", *kept.remarks))
    if reply.action == "decline":
        await run(proposal.drop)
    return _unconfirmed(await run(write), reply.why)


def _unconfirmed(outcome: Outcome, why: str) -> Outcome:
    return (
        outcome if outcome.action == "merged" else outcome._replace(remarks=(*outcome.remarks, why))
    )
