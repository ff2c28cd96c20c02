"""The real Claude Code, Codex and Gemini CLI against ``keepthread serve --http``, configured as docs/http.md says.

By hand: ``make test-clients`` installs them and names their folder in CLIENTS_BIN.
"""

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepthread.stores.database import open_database
from keepthread.stores.query import fetch_all
from tests.clients.scripted_apis import Call, scripted_api
from tests.clients.scripted_model import scripted_model
from tests.server.http.service import Service

pytestmark = pytest.mark.clients

PAGE = Path(__file__).resolve().parents[2] / "docs/http.md"
QUESTION = {"question": "Who owns the billing service?"}
CLIENTS = ("claude", "codex", "gemini")
NAMES = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI"}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    folder = tmp_path / "server"
    folder.mkdir(mode=0o700)
    service = Service(folder)
    yield service
    service.process.terminate()
    service.process.wait(20)


class Machine:
    """A home in which one client is connected by the words of the page, with a token."""

    def __init__(self, client: str, folder: Path, service: Service, token: str) -> None:
        self.client, self.home, self.project = client, folder / "home", folder / "mein Projekt"
        self.project.mkdir(parents=True, exist_ok=True)
        self.home.mkdir(exist_ok=True)
        self.environ = {
            "HOME": str(self.home), "PATH": f"{os.environ['CLIENTS_BIN']}:/usr/bin:/bin",
            "KEEPTHREAD_TOKEN": token, "GEMINI_API_KEY": "test-key", "ANTHROPIC_API_KEY": "test-key",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
        }  # fmt: skip
        given = re.search(
            rf"^{NAMES[client]}[^\n]*:\n\n```\w*\n(.*?)```", PAGE.read_text("utf-8"), re.M | re.S
        )
        assert given is not None
        words = (
            given[1]
            .replace("127.0.0.1:8470", f"127.0.0.1:{service.port}")
            .replace("Bearer TOKEN", f"Bearer {token}")
        )
        if client == "claude":
            self._run(shlex.split(words))
        elif client == "codex":
            (self.home / ".codex").mkdir(exist_ok=True)
            (self.home / ".codex/config.toml").write_text(words, encoding="utf-8")
        else:
            settings = json.loads(words) | {
                "security": {"auth": {"selectedType": "gemini-api-key"}}
            }
            (self.home / ".gemini").mkdir(exist_ok=True)
            (self.home / ".gemini/settings.json").write_text(json.dumps(settings), encoding="utf-8")
            trusted = {str(self.project): "TRUST_FOLDER"}
            (self.home / ".gemini/trustedFolders.json").write_text(
                json.dumps(trusted), encoding="utf-8"
            )

    def ask(self) -> str:
        """Run a session whose model asks for the window and then records a question; return what its tools answered."""
        bin = Path(os.environ["CLIENTS_BIN"])
        if self.client == "claude":
            ours = "mcp__keepthread__"
            with scripted_model() as model:
                self.environ["ANTHROPIC_BASE_URL"] = model.url
                model.scripts["Go"] = [
                    [(f"{ours}get_context", {})],
                    [(f"{ours}add_open_question", QUESTION)],
                ]
                allowed = f"{ours}get_context,{ours}add_open_question"
                self._run([str(bin / "claude"), "-p", "Go on.", "--allowedTools", allowed,
                           "--model", "claude-haiku-4-5"])  # fmt: skip
                return "\n".join(model.results("Go"))
        codex = self.client == "codex"
        ours = "mcp__keepthread__" if codex else "mcp_keepthread_"
        calls: list[Call] = [(f"{ours}get_context", {}), (f"{ours}add_open_question", QUESTION)]
        if codex:  # a turn begins before the server has answered, and a scripted model does not think meanwhile
            calls.insert(0, ("exec_command", {"cmd": "sleep 5"}))
        with scripted_api(calls) as api:
            self.environ["GOOGLE_GEMINI_BASE_URL"] = api.url
            provider = f'{{name="scripted", base_url="{api.url}/v1", env_key="GEMINI_API_KEY", wire_api="responses"}}'
            trusting = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
            scripted = [
                "-c",
                'model_provider="scripted"',
                "-c",
                f"model_providers.scripted={provider}",
            ]
            self._run(
                [str(bin / "codex"), "exec", *trusting, "-m", "gpt-5", *scripted, "Go on."]
                if codex
                else [str(bin / "gemini"), "-p", "Go on.", "--yolo", "-m", "gemini-2.5-pro"]
            )
            return json.dumps(api.requests[-1] if api.requests else {}, ensure_ascii=False)

    def _run(self, command: list[str]) -> None:
        done = subprocess.run(
            command, env=self.environ, cwd=self.project, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=180, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


def questions(service: Service, user: str) -> list[tuple[str, str]]:
    """Return (workspace, question) of what a user's database holds."""
    if not Path(service.database(user)).exists():
        return []
    reader = open_database(service.database(user), "reader")
    try:
        rows = fetch_all(
            reader,
            "SELECT w.root, b.text FROM journal j JOIN body b USING(seq) JOIN workspace w ON w.id = j.workspace "
            "WHERE j.kind = 'question' AND b.field = 'question'",
        )
        return [(str(key), str(text)) for key, text in rows]
    finally:
        reader.close()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_works_in_its_users_memory_and_with_a_wrong_token_in_none(
    client: str, tmp_path: Path, service: Service
) -> None:
    machine = Machine(client, tmp_path, service, service.token("ann"))
    answered = machine.ask()
    assert "End of memory" in answered and "question-1" in answered
    assert questions(service, "ann") == [("billing", QUESTION["question"])]
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    answered = Machine(client, stranger, service, "kt_wrong").ask()
    assert "question-" not in answered and "End of memory" not in answered
    assert questions(service, "ann") == [("billing", QUESTION["question"])]
