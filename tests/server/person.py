"""The user at a client that shows forms: replies as told, and remembers what was asked."""

from typing import Any

import anyio
from mcp.types import ElicitRequestFormParams, ElicitResult, ErrorData


class Person:
    """A client's elicitation callback. ``reply`` is an action, ``never``, ``error``, or ``garbage``."""

    def __init__(self, reply: str = "accept") -> None:
        self.reply = reply
        self.asked: list[str] = []

    async def __call__(self, context: Any, params: Any) -> ElicitResult | ErrorData:
        assert isinstance(params, ElicitRequestFormParams)
        assert params.requested_schema == {"type": "object", "properties": {}}
        self.asked.append(params.message)
        if self.reply == "never":
            await anyio.sleep_forever()
        if self.reply == "error":
            return ErrorData(code=-32603, message="no window to show it in")
        if self.reply == "garbage":
            return ElicitResult.model_construct(action="maybe", content={"goal": "Ship it"})
        given: dict[str, Any] = {"action": self.reply} | (
            {"content": {}} if self.reply == "accept" else {}
        )
        return ElicitResult.model_validate(given)
