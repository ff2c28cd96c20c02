"""What the agent wrote itself is no evidence about the world, however it was written and read back."""

from pathlib import Path

import pytest

from tests.server.world import World

TEXT = "The staging database listens on port 5432.\n"
CLAIM = "The staging database listens on port 5432"


def confidence(world: World, source: str) -> float:
    with world.connect() as session:
        return float(session.observe(CLAIM, source).data["confidence"])


@pytest.mark.parametrize(
    "command, failed",
    [
        (f"F=notes.md; cat > $F <<EOF\n{TEXT}EOF", False),
        (f"cat > notes.tmp <<EOF\n{TEXT}EOF\nmv notes.tmp notes.md", False),
        ("cp /tmp/x notes.md", False),
        (f"cat > notes.md <<EOF\n{TEXT}EOF\nfalse", True),
        ("cd docs/../ && python3 -c \"open('notes.md','w').write('x')\"", False),
        (f'cd "$PWD" && cat > notes.md <<EOF\n{TEXT}EOF', False),
    ],
)
def test_a_note_written_in_the_shell_is_marked_when_it_is_captured(
    tmp_path: Path, command: str, failed: bool
) -> None:
    world = World(tmp_path)
    world.bash(command, "", failed=failed)
    world.write("notes.md", TEXT)
    with world.connect() as session:
        source = session.done("capture_file", path="notes.md").text.partition(":")[0]
        assert session.observe(CLAIM, source).data["confidence"] <= 0.4


@pytest.mark.parametrize("ending", ["mdx", "text", "notes", "html", "csv", "tex"])
def test_a_note_of_any_prose_format_is_marked(tmp_path: Path, ending: str) -> None:
    world = World(tmp_path)
    path = str(world.tree / f"n.{ending}")
    world.tool("Write", {"file_path": path, "content": TEXT}, {"type": "create", "content": TEXT})
    world.read_file(f"n.{ending}", TEXT)
    assert confidence(world, "tool:Read") <= 0.4


@pytest.mark.parametrize("command", ["cat {} | head -5", "cat {} README.md", "make; tail -3 {}"])
@pytest.mark.parametrize("folder", ["w", "elsewhere"])
def test_a_note_shown_among_other_things_is_marked_inside_the_tree_and_outside(
    tmp_path: Path, command: str, folder: str
) -> None:
    world = World(tmp_path)
    path = tmp_path / folder / "notes.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(TEXT)
    world.tool("Write", {"file_path": str(path), "content": TEXT}, {"type": "create"})
    world.bash(command.format(path), TEXT)
    assert confidence(world, "tool:Bash") <= 0.4


def test_a_file_the_agent_never_wrote_is_evidence(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.bash("echo x > other.md; git add notes.md", "")
    world.read_file("notes.md", TEXT)
    world.bash("cat notes.md | head -5", TEXT)
    assert confidence(world, "call-2") == confidence(world, "call-3") == 0.8


def test_code_the_agent_wrote_is_evidence_and_says_who_wrote_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    for name in ("app.py", "given.py"):
        world.write(name, "retries = 3\n")
    path = str(world.tree / "app.py")
    world.tool("Write", {"file_path": path, "content": "retries = 3\n"}, {"type": "create"})
    with world.connect() as session:
        for name in ("app.py", "given.py"):
            entry = session.done("capture_file", path=name).text.partition(":")[0]
            session.observe(f"retries is 3 in {name}", entry, scope=[f"file:{name}"])
        window = session.window()
        lines = {line[:8]: line for line in window.splitlines() if line.startswith("- fact-")}
        assert "file written by the agent" in lines["- fact-1"], window
        assert "file written by the agent" not in lines["- fact-2"]
        pages = [session.done("read_record", id=i).text for i in ("fact-1", "call-2", "fact-2")]
        assert ["file written by the agent" in page for page in pages] == [True, True, False]
