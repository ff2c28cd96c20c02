"""Searching the archive as agents do: what comes first, what is left out, and where to read on."""

import json
import re

import pytest

from keepthread.server.cli.main import main
from keepthread.server.search_answer import SNIPPET_CHARS_MAX, SNIPPET_CHARS_MIN
from keepthread.stores.embeddings import BackgroundEmbedder
from tests.server.world import Session, World


def _edit(world: World, path: str, old: str, new: str) -> None:
    given = {"file_path": str(world.tree / path), "old_string": old, "new_string": new}
    world.write(path, new)
    world.tool("Edit", given, {"filePath": given["file_path"], "success": True})


def _found(session: Session, query: str, **more: object) -> list[str]:
    answer = session.done("search_archive", query=query, **more).text
    return list(dict.fromkeys(re.findall(r"^- (\S+) @", answer, re.M)))


def test_the_latest_edit_of_a_file_is_the_newest_call_that_wrote_it(
    world: World, session: Session
) -> None:
    for n in range(1, 8):
        _edit(world, "app/routes.py", f"limit = {n}", f"limit = {n + 1}")
    _edit(world, "app/models.py", "edit = 1", "latest edit of routes = 2")
    world.bash("cat app/routes.py", "# the latest edit of app/routes.py is the latest edit\n")
    for named in ("app/routes.py", str(world.tree / "app/routes.py")):
        assert _found(session, f"latest edit of {named}")[:3] == ["call-7", "call-6", "call-5"]
    assert _found(session, "last change of app/models.py")[0] == "call-8"
    assert _found(session, "latest edit of app/views.py")[0] != "call-7"
    assert "call-7" not in _found(session, "latest edit of app/routes.py", tool="Bash")


@pytest.mark.parametrize(
    "query", ["InvoiceRouter", "invoice router", "retry_policy_max", "retry policy"]
)
def test_an_identifier_is_found_whole_and_by_its_parts(
    world: World, session: Session, query: str
) -> None:
    world.bash("ls", "README.md\nsetup.cfg\n")
    world.bash("cat app.py", "class InvoiceRouter:\n    retry_policy_max = 3\n")
    world.bash("cat other.py", "class Router:\n    retries = 5\n")
    assert _found(session, query)[0] == "call-2"


def test_filters_come_before_ranking(world: World, session: Session) -> None:
    world.read_file("docs/limits.md", "The limit of the pool is ten connections.\n")
    world.bash("cat pool.log", "limit of the pool reached, limit of the pool reached\n")
    assert _found(session, "limit of the pool", tool="Read") == ["call-1"]
    assert _found(session, "limit of the pool", scope=["path:docs"]) == ["call-1"]
    assert (
        "Nothing in the archive matches"
        in session.done("search_archive", query="limit of the pool", until="2020-01-01").text
    )


def test_what_is_not_there_gives_no_hit_and_the_nearest_miss_by_name(
    world: World, session: Session
) -> None:
    world.bash("cat ci.yml", "steps:\n  - run: make build-ci\n")
    answer = session.done("search_archive", query="kubernetes rollout history of staging run").text
    assert "Nothing in the archive matches; the nearest miss, probably not it:\n- call-1 " in answer
    assert (
        "Nothing in the archive matches. Try"
        in session.done("search_archive", query="zeppelin").text
    )


def test_reading_goes_on_where_the_snippet_was_cut(world: World, session: Session) -> None:
    filler = "".join(f"line {n} of the log\n" for n in range(400))
    world.bash("cat log", f"{filler}ERROR: disk quota exceeded on /var\n{filler}")
    answer = session.done("search_archive", query="disk quota exceeded").text
    (offset,) = re.findall(r"^- call-1 @(\d+) .*disk quota", answer, re.M)
    page = session.done("read_record", id="call-1", offset=int(offset)).text
    assert "disk quota exceeded" in page


def test_a_text_that_several_calls_printed_is_one_hit_that_names_them_all(
    world: World, session: Session
) -> None:
    for _ in range(7):
        world.bash("cat limits.conf", "pool_limit = 10\nretry_limit = 3\n")
    world.bash("cat notes.txt", "The pool_limit was raised last week\n")
    answer = session.done("search_archive", query="pool_limit").text
    (first,) = re.findall(r"^- (\S+ @0 .*pool_limit = 10.*)$", answer, re.M)
    assert first.startswith("call-7 ")
    assert "also call-6, call-5, call-4, call-3, call-2, …" in first
    assert "call-8" in answer


def test_the_hits_share_the_tokens_and_show_where_most_of_the_query_stands(
    world: World, session: Session
) -> None:
    padding = "The queue was quiet and the disk was idle. " * 8
    for n in range(12):
        text = (
            f"worker {n} started. {padding}worker {n} lost its lease after {n} minutes. {padding}"
        )
        world.bash(f"cat worker-{n}.log", text)
    long = session.done("search_archive", query="worker lost lease", limit=3, max_tokens=2000).text
    short = session.done(
        "search_archive", query="worker lost lease", limit=50, max_tokens=1000
    ).text
    hits = re.compile(r'^- call-\d+ @\d+ \[Bash [^]]*\]: "([^{].*)"$', re.M)
    assert hits.findall(long)
    assert len(hits.findall(short)) >= 10
    for answer, chars in ((long, SNIPPET_CHARS_MAX), (short, SNIPPET_CHARS_MIN)):
        assert {len(hit) for hit in hits.findall(answer)} == {chars}
        assert all("lost its lease after" in hit for hit in hits.findall(answer))


def test_a_model_that_still_loads_is_told_only_where_an_answer_is_weaker_for_it(
    world: World,
) -> None:
    world.bash("cat ci.yml", "timeout: 300")
    never_loaded = BackgroundEmbedder("none")
    with world.connect(embedder=never_loaded) as session:
        assert "embedder loading" not in session.window()
        found = session.done("search_archive", query="timeout").text
        assert found.startswith("! degraded: embedder loading")
        session.observe("The timeout is 300", source="call-1")
        assert "! degraded: embedder loading" in session.window()


def test_the_command_line_says_what_has_no_vectors_yet(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world.bash("cat ci.yml", "timeout: 300")
    monkeypatch.chdir(world.tree)
    told = "degraded: 2 passages have no vectors yet"
    assert main(["search", "timeout"], world.environ) == 0
    assert f"! {told}" in capsys.readouterr().out.splitlines()[0]
    assert main(["search", "timeout", "--json"], world.environ) == 0
    assert json.loads(capsys.readouterr().out)["status"][0].startswith(told)
    assert main(["reindex"], world.environ) == 0
    assert main(["search", "timeout"], world.environ) == 0
    assert "degraded" not in capsys.readouterr().out
