"""The loop of a real model where the Messages API does not let it work (test_resume.py has it working)."""

import pytest

from evals.resume.suite import run_once
from tests.evals.scripted_messages import KEY, scripted_messages
from tests.server.world import COUNTER


def test_a_key_that_the_server_refuses_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted_messages() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "another")
        with pytest.raises(RuntimeError, match="invalid api key"):
            run_once("model:claude-scripted", 1, 0, COUNTER)


def test_a_model_that_refuses_the_work_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted_messages() as server:
        server.refuses = True
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        with pytest.raises(RuntimeError, match="the model gave no answer"):
            run_once("model:claude-scripted", 1, 0, COUNTER)
