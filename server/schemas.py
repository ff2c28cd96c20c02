"""Argument types and answers of the tools. Pydantic lives here, so that nothing else need import it.

Schemas must pass in every client: flat objects, a type for every property, defaults that are not
null, no references. ``null`` and JSON text sent in place of a list are taken as what they mean.
"""

import json
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

NUMBER_MAX = 1_000_000_000


def _text(value: Any) -> Any:
    return "" if value is None or value == "null" else value


def _list(value: Any) -> Any:
    if value is None or value in ("", "null", ["null"]):
        return []
    if isinstance(value, str):
        if value.lstrip().startswith("["):
            try:
                return json.loads(value)
            except ValueError:
                return [value]
        return [value]
    return value


def _number(value: Any) -> Any:
    return 0 if value in (None, "", "null") else value


def _bounded(value: int) -> int:
    if value > NUMBER_MAX:
        raise ValueError(f"at most {NUMBER_MAX} is taken")
    return value


def _flag(value: Any) -> Any:
    return False if value in (None, "", "null") else value


Text = Annotated[str, BeforeValidator(_text)]
Texts = Annotated[list[str], BeforeValidator(_list)]
Number = Annotated[int, Field(ge=0), BeforeValidator(_number), AfterValidator(_bounded)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Kind = Literal["observation", "inference", "instruction-from-user"]
Stage = Annotated[Literal["plan", "execute", "review"], BeforeValidator(lambda v: v or "execute")]


class Answer(BaseModel):
    """What a writing tool answers; its text says the same."""

    action: str
    id: str
    message: str


class FactAnswer(Answer):
    """What ``record_fact`` answers."""

    confidence: float = 0.0
    source: str = ""
    passage: str = ""
    superseded: list[str] = []
    disputed_with: list[str] = []
