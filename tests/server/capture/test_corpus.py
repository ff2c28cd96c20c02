"""Reference documents: archived from the work tree, cited by facts, watched, and read again when changed."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from keepthread.server.capture import corpus
from keepthread.server.capture.corpus import CorpusFault, import_corpus
from keepthread.server.cli.main import main
from keepthread.server.memory import Memory
from keepthread.stores.query import fetch_all
from tests.server.handoff.repository import Repository
from tests.server.world import World

PORTS = "# Ports\n\nThe billing service listens on port 8443.\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def bring(
    world: World, path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    *options: str,
) -> dict[str, Any]:
    """Run ``keepthread import PATH`` in the work tree."""
    for name, value in {**world.environ, "KEEPTHREAD_CONFIG": "/none"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(world.tree)
    capsys.readouterr()
    assert main(["import", path, "--json", *options], os.environ) == 0
    return dict(json.loads(capsys.readouterr().out))


def entries(memory: Memory) -> list[tuple[str, str]]:
    """Return (path, text) of the entries made by imports."""
    return fetch_all(
        memory.reader,
        "SELECT p.text, o.text FROM entry e JOIN body p ON p.seq = e.seq AND p.field = 'path' "
        "JOIN body o ON o.seq = e.seq AND o.field = 'output' WHERE e.tool = 'import' ORDER BY e.seq",
    )


def test_a_dry_run_counts_what_an_import_then_does(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world.write("docs/ports.md", PORTS)
    world.write("docs/long.md", "word " * 30_000)
    world.write("docs/.env", "A=b")
    counted = bring(world, "docs/", monkeypatch, capsys, "--dry-run")
    assert not world.db.exists() and (counted["files"], counted["entries"]) == (2, 3)
    assert bring(world, "docs/", monkeypatch, capsys) == counted
    again = bring(world, "docs/", monkeypatch, capsys, "--dry-run")
    assert (again["files"], again["unchanged"]) == (0, 2)


def test_a_fact_cites_an_imported_document_and_goes_stale_with_it(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world.write("docs/ports.md", PORTS)
    done = bring(world, "docs/", monkeypatch, capsys)
    assert (done["files"], done["entries"], done["unchanged"], done["skipped"]) == (1, 1, 0, [])
    with world.connect() as session:
        answer = session.done(
            "record_fact", text="The billing service listens on port 8443",
            kind="observation", source="file:docs/ports.md",
        )  # fmt: skip
        assert "call-1" in answer.text
        found = session.done("search_archive", query="billing port").text
        assert "docs/ports.md" in found and "8443" in found
        window = session.done("get_context").text
        assert "import#call-1" in window and "STALE" not in window
        assert "last steps" not in window, "a document is no step of the work"

        world.write("docs/ports.md", PORTS.replace("8443", "9443"))
        assert "STALE" in session.done("get_context").text
        page = session.done("read_record", id="fact-1").text
        was, now = page.partition("STALE: ")[2].split(" was ")[1].split(", is now ")
        assert len(was) == len(now.split(";")[0]) == 64 and was != now.split(";")[0]


def test_an_import_of_a_changed_file_verifies_the_facts_whose_passage_still_stands(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    between = "Every service has a port of its own, given by the platform team.\n" * 9
    world.write("docs/ports.md", f"{PORTS}{between}The mail service listens on port 2525.\n")
    bring(world, "docs", monkeypatch, capsys)
    with world.connect() as session:
        for name, port in (("billing", 8443), ("mail", 2525)):
            session.done(
                "record_fact", text=f"The {name} service listens on port {port}",
                kind="observation", source="file:docs/ports.md",
            )  # fmt: skip
        world.write("docs/ports.md", f"{PORTS}{between}The mail service listens on port 25.\n")
        assert session.done("get_context").text.count("STALE") == 2
        assert bring(world, "docs", monkeypatch, capsys)["files"] == 1
        window = session.done("get_context").text
        stale = [line for line in window.splitlines() if "STALE" in line]
        assert len(stale) == 1 and "fact-2" in stale[0]


def test_a_second_import_touches_only_what_changed(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.md", "b.py", "sub/c.txt"):
        world.write(f"docs/{name}", f"about {name}\n")
    assert bring(world, "docs", monkeypatch, capsys)["files"] == 3
    world.write("docs/b.py", "def changed(): ...\n")
    os.utime(world.tree / "docs/a.md", (1, 1))  # touched, not changed
    done = bring(world, "docs", monkeypatch, capsys)
    assert (done["files"], done["unchanged"]) == (1, 2)
    world.write("docs/b.py", "about b.py\n")  # as it was at first: the archive shows it again
    assert bring(world, "docs/b.py", monkeypatch, capsys)["files"] == 1
    memory = world.memory()
    assert [path for path, _ in entries(memory)].count("docs/b.py") == 3
    assert entries(memory)[-1] == ("docs/b.py", "about b.py\n")
    memory.close()


def test_what_is_no_document_stays_out_and_says_why(
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(corpus, "FILE_BYTES_MAX", 5_000)
    repository = Repository(world.tree)
    repository.write(".gitignore", "build/\n*.tmp\n")
    secret = tmp_path / "outside.txt"
    secret.write_text("what lies outside\n", encoding="utf-8")
    for path in ("build/made.md", "notes.tmp", "deploy.pem", ".env.local", "yarn.lock", "ok.md"):
        repository.write(f"{path}", "text\n")
    repository.write("large.md", "x" * 5_001)
    repository.write("empty.md", " \n")
    (world.tree / "logo.png").write_bytes(b"\x89PNG\0\0")
    (world.tree / "latin.txt").write_bytes("Grüße\n".encode("latin-1"))
    (world.tree / "link.md").symlink_to(secret)
    (world.tree / "folder").symlink_to(tmp_path)
    done = bring(world, ".", monkeypatch, capsys)
    why = {s["path"]: s["why"] for s in done["skipped"]}
    assert why["deploy.pem"] == why[".env.local"] == "holds keys or passwords, by its name"
    assert why["yarn.lock"].startswith("is made by a tool")
    assert why["logo.png"] == why["latin.txt"] == "is no text in UTF-8"
    assert "at most 5000 are read" in why["large.md"] and why["empty.md"] == "is empty"
    assert "links are not followed" in why["link.md"] and "folder" in why
    memory = world.memory()
    assert [path for path, _ in entries(memory)] == [".gitignore", "ok.md"]
    memory.close()


def test_without_version_control_hidden_and_made_folders_stay_out(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in ("a.md", ".hidden.md", ".cache/b.md", "node_modules/c/readme.md", "deep/d.md"):
        world.write(path, "text\n")
    bring(world, ".", monkeypatch, capsys)
    memory = world.memory()
    assert [path for path, _ in entries(memory)] == ["a.md", "deep/d.md"]
    memory.close()


def test_secrets_in_a_document_are_removed_before_it_is_stored(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    world.write("docs/setup.md", f"export TOKEN={token}\n")
    bring(world, "docs", monkeypatch, capsys)
    memory = world.memory()
    ((_, text),) = entries(memory)
    assert token not in text and "TOKEN" in text
    memory.close()


def test_a_long_file_is_archived_whole_in_parts(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(corpus, "PART_CHARS", 1_000)
    text = "".join(f"line {n} of the handbook\n" for n in range(200))
    world.write("docs/handbook.txt", text)
    done = bring(world, "docs", monkeypatch, capsys)
    assert done["files"] == 1 and done["entries"] > 3
    memory = world.memory()
    parts = [part for _, part in entries(memory)]
    assert "".join(parts) == text and all(part.endswith("\n") for part in parts)
    memory.close()
    assert bring(world, "docs", monkeypatch, capsys)["unchanged"] == 1
    with world.connect() as session:
        for line in (3, 150):
            session.done(
                "record_fact", text=f"Line {line} is of the handbook", kind="observation",
                source="file:docs/handbook.txt",
            )  # fmt: skip


def test_documents_outside_the_workspace_are_refused(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "other").mkdir()
    (world.tree / "way-out").symlink_to(tmp_path / "other")
    for name, value in {**world.environ, "KEEPTHREAD_CONFIG": "/none"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(world.tree)
    for path in ("../other", "way-out"):
        assert main(["import", path], os.environ) == 2
        assert "outside the workspace" in capsys.readouterr().err


def test_more_files_than_one_import_takes_are_refused_before_any_is_stored(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "FILES_MAX", 2)
    for n in range(3):
        world.write(f"docs/{n}.md", "text\n")
    memory = world.memory()
    with pytest.raises(CorpusFault, match="3 files; at most 2"):
        import_corpus(memory.capture, memory.place, str(world.tree / "docs"))
    assert entries(memory) == []
    memory.close()


def test_progress_is_told_by_batches(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "BATCH", 2)
    for n in range(5):
        world.write(f"docs/{n}.md", f"text {n}\n")
    memory = world.memory()
    told: list[int] = []
    import_corpus(memory.capture, memory.place, str(world.tree), told.append)
    assert told == [2, 4, 5]
    memory.close()
