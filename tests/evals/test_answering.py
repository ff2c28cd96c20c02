"""A model answers from a window: against a local server that speaks the Messages API."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from evals.__main__ import main
from evals.answering import Reader, reader_of
from evals.suites.probes import Probe

RUNS = Path(__file__).parent / "samples" / "runs"
PROBES = [Probe("goal", "What is the goal?", "Ship it"), Probe("tests", "How many?", "3 passed")]


class Api:
    """A Messages server that gives ``texts`` in order, and keeps what it was asked."""

    def __init__(self, texts: list[str]) -> None:
        self.asked: list[dict[str, Any]] = []
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                api.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                answer = {
                    "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                    "stop_reason": "end_turn", "stop_sequence": None,
                    "usage": {"input_tokens": 1, "output_tokens": 1},
                    "content": [{"type": "text", "text": texts[len(api.asked) - 1]}],
                }  # fmt: skip
                data = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                """Keep quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    made: list[tuple[Api, threading.Thread]] = []

    def start(texts: list[str]) -> Api:
        api = Api(texts)
        thread = threading.Thread(target=api.server.serve_forever, daemon=True)
        thread.start()
        made.append((api, thread))
        monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{api.server.server_port}")
        return api

    yield start
    for api, thread in made:
        api.server.shutdown()
        api.server.server_close()
        thread.join()


def test_answers_come_from_the_window_alone_and_are_judged(serve: Any) -> None:
    api = serve(['{"answers": ["Ship it", "unknown"]}', '{"right": [true, false]}'])
    assert Reader().answers("- goal task-1: Ship it", PROBES) == [True, False]
    answered, judged = api.asked
    said = json.loads(answered["messages"][0]["content"])
    assert said == {
        "WINDOW": "- goal task-1: Ship it",
        "QUESTIONS": ["What is the goal?", "How many?"],
    }
    assert json.loads(judged["messages"][0]["content"])[1] == {
        "question": "How many?",
        "right": "3 passed",
        "given": "unknown",
    }


def test_what_the_model_leaves_out_is_wrong(serve: Any) -> None:
    serve(['{"answers": ["Ship it"]}', '{"right": [true]}'])
    assert Reader().answers("window", PROBES) == [True, False]


def test_a_model_that_answers_nothing_usable_ends_the_run_and_counts_as_no_figure(
    serve: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(["I would rather not."])
    out = tmp_path / "rows.jsonl"
    assert main(["probes", "--data", str(RUNS), "--out", str(out), "--budgets", "3000"]) == 1
    assert "goes on where it stopped" in capsys.readouterr().err
    assert out.read_text() == ""


def test_without_a_key_no_model_is_asked() -> None:
    assert reader_of({}) is None
