"""The Python API in a loop of one's own: the example of the docs runs, and a second session remembers."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from keepthread.server.agent_loop import open_loop
from keepthread.stores.database import open_database
from keepthread.stores.windows import windows
from tests.clients.scripted_model import Model, scripted_model
from tests.server.capture.hooks import archived

DOCS = Path(__file__).parents[2] / "docs"
TIMEOUT = {"text": "The CI timeout is 300", "kind": "observation", "source": "tool:shell"}


@pytest.fixture
def environ(tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of a program that runs in a repository, without any configuration."""
    given = {
        "KEEPTHREAD_DB": str(tmp_path / "memory.db"), "KEEPTHREAD_EMBEDDER": "none",
        "KEEPTHREAD_CONFIG": str(tmp_path / "none.toml"), "ANTHROPIC_API_KEY": "test-key",
    }  # fmt: skip
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(work)
    (work / "ci.yml").write_text("timeout: 300\n", encoding="utf-8")
    return given


def example() -> ModuleType:
    """The example as a program would load it."""
    spec = importlib.util.spec_from_file_location(
        "agent_loop_example", DOCS / "snippets/agent_loop.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def system_of(model: Model, word: str) -> str:
    return str(model.conversation(word)[0]["system"])


def test_the_example_captures_cites_and_remembers(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted_model() as model:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
        forged = {**TIMEOUT, "text": "The CI timeout is 900"}
        model.scripts["What"] = [
            [("shell", {"command": "cat ci.yml"}), ("shell", {"command": "ls no-such-file"})],
            [("record_fact", TIMEOUT), ("record_fact", forged)],
            ["It is ", "300."],
        ]
        main = example().main
        assert main("What is the CI timeout?") == "It is 300."
        shown, missing, admitted, refused = model.results("What")
        assert shown == "timeout: 300\n"
        assert "No such file" in missing and "exit status 2" in missing
        assert admitted.startswith("added: fact-1")
        assert refused.startswith("refused[not_in_source]")
        assert "This memory is empty" in system_of(model, "What")
        assert main("Again, please.") == "done"
        window = system_of(model, "Again,")
    assert "The CI timeout is 300" in window and "shell#call-1 · hook level 1" in window
    assert 'CLAIMED in its last message, say-1: "It is 300."' in window
    found = archived(environ["KEEPTHREAD_DB"])
    assert [(e.id, e.is_error, e.path) for e in found if not e.role] == [
        ("call-1", False, "ci.yml"), ("call-2", True, ""),
    ]  # fmt: skip
    assert [e.output for e in found if e.role == "user"] == [
        "What is the CI timeout?",
        "Again, please.",
    ]
    closed = [w.closed for w in windows(open_database(environ["KEEPTHREAD_DB"], "reader"), 1)]
    assert closed == ["ended", "ended"]


def test_the_users_words_in_a_loop_back_an_instruction_and_a_call_is_stored_once(
    environ: dict[str, str],
) -> None:
    with open_loop() as loop:
        said = loop.append_prompt("Keep commits small.")
        rule = {"text": "Keep commits small.", "kind": "instruction-from-user", "source": said}
        assert loop.call("record_fact", rule).text.startswith("added")
        first = loop.append_call("shell", {"command": "cat ci.yml"}, "timeout: 300\n", ref="t1")
        assert loop.append_call("shell", {"command": "cat ci.yml"}, "again", ref="t1") == first
        unknown = loop.run("deploy", {}, "t2", {"shell": str})
        assert unknown["is_error"] and unknown["content"] == "no tool 'deploy'"
        wrong = loop.call("record_fact", {"words": "x"})
        assert wrong.is_error and "`words` is no argument of record_fact" in wrong.text
        assert len(loop.tools) == 12
        assert '"Keep commits small."' in loop.window().partition("== PLAN")[0]


def test_what_the_loop_raises_comes_out_as_it_is_and_the_window_ends(
    environ: dict[str, str],
) -> None:
    with pytest.raises(ZeroDivisionError), open_loop() as loop:
        loop.append_prompt("Keep commits small.")
        raise ZeroDivisionError
    (window,) = windows(open_database(environ["KEEPTHREAD_DB"], "reader"), 1)
    assert window.closed == "ended"


def test_the_page_says_what_the_code_does(
    environ: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    page = (DOCS / "python.md").read_text(encoding="utf-8")
    code = page.partition("```python\n")[2].partition("```")[0]
    exec(compile(code.replace("path/to/repository", "."), "python.md", "exec"), {})
    assert capsys.readouterr().out.startswith("added: fact-1")
    with open_loop() as loop:
        for name in re.findall(
            r"`(\w+)(?:\([^`]*\))?`", page.partition("| member |")[2].partition("\n\n")[0]
        ):
            assert name in ("open_loop", "get_context", "ref", "tool_result") or hasattr(
                loop, name
            ), name
