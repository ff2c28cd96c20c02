"""Over HTTP the user is asked too; only the client's answer to the server's own question counts."""

import json
from typing import Any

import pytest

from tests.server.http.service import Service, calling, message
from tests.server.person import Person
from tests.server.world import ERAS

FORMS: dict[str, Any] = {
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}
}
GOAL = {"name": "start_task", "arguments": {"goal": "Port the parser"}}
YES = {"consent": {"action": "accept", "content": {}}}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("reply", "action"), [("accept", "added"), ("cancel", "proposed"), ("decline", None)]
)
def test_the_user_of_an_http_client_is_asked(
    service: Service, era: str, reply: str, action: str | None
) -> None:
    person = Person(reply)
    token = service.token(f"{reply}-{era}")
    with service.connect(token, mode=era, user=person) as session:
        answer = session.call("start_task", goal="Port the parser", constraints=["tiny commits"])
        assert answer.data.get("action") == action and len(person.asked) == 1
        window = session.window()
    assert ("goal task-1" in window) == (reply == "accept")
    assert ("Port the parser" in window) == (reply != "decline")


def _post(service: Service, token: str, **params: Any) -> dict[str, Any]:
    body = json.loads(message("tools/call", **params))
    body["params"]["_meta"] |= FORMS
    headers = calling(token, **{"Mcp-Method": "tools/call", "Mcp-Name": params["name"]})
    reply = service.request(headers=headers, body=json.dumps(body).encode())
    text = reply.body.decode()
    line = next((x for x in text.splitlines() if x.startswith("data: ")), "data: " + text)
    found: dict[str, Any] = json.loads(line.removeprefix("data: "))
    return found


def test_an_answer_counts_only_with_the_question_it_belongs_to(service: Service) -> None:
    token = service.token("ann")
    unasked = _post(service, token, **GOAL, inputResponses=YES)["result"]
    assert unasked["resultType"] == "input_required"
    state = unasked["requestState"]
    other = {"name": "start_task", "arguments": {"goal": "Delete everything"}}
    for params in (
        {**GOAL, "inputResponses": YES, "requestState": "made up"},
        {**other, "inputResponses": YES, "requestState": state},
        {**GOAL, "inputResponses": {"consent": {"action": "yes"}}, "requestState": state},
    ):
        assert "error" in _post(service, token, **params), params
    asked_again = _post(service, token, **GOAL, requestState=state)["result"]
    assert asked_again["resultType"] == "input_required"
    odd: dict[str, Any] = {"consent": {"roots": []}}
    made = _post(service, token, **GOAL, inputResponses=odd, requestState=state)["result"]
    assert made["structuredContent"]["action"] == "proposed"


def test_the_same_answer_sent_twice_makes_one_task(service: Service) -> None:
    token = service.token("bea")
    state = _post(service, token, **GOAL)["result"]["requestState"]
    first, second = (
        _post(service, token, **GOAL, inputResponses=YES, requestState=state)["result"]
        for _ in range(2)
    )
    assert first["structuredContent"]["action"] == "added"
    assert (second["structuredContent"]["action"], second["structuredContent"]["id"]) == (
        "merged", "task-1",
    )  # fmt: skip


def test_no_argument_of_a_tool_answers_the_question(service: Service) -> None:
    token = service.token("cyd")
    for name in ("consent", "inputResponses", "ctx"):
        given = {"name": "start_task", "arguments": {"goal": "Port it", name: YES}}
        answer = _post(service, token, **given)["result"]
        assert answer["structuredContent"]["code"] == "bad_arguments"
