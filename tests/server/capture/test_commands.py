"""Which file a shell command shows, and which it writes."""

import time

import pytest

from keepthread.server.capture.commands import (
    expand,
    file_read_by,
    files_shown_by,
    files_written_by,
    working_folder,
)
from keepthread.server.capture.events import claude_code_call

READS = {
    "cat ci.yml": "ci.yml",
    "cat -n ci.yml": "ci.yml",
    "cat 'my notes.md'": "my notes.md",
    'head -n 20 "a b.txt"': "a b.txt",
    "head -20 app.py": "app.py",
    "tail -n +5 app.py": "app.py",
    "sed -n '1,40p' app.py": "app.py",
    "sed -n 1,40p app.py": "app.py",
    "grep -n retries app.py": "app.py",
    "grep 'a|b' app.py": "app.py",
    'rg "def main" app.py': "app.py",
    "cat app.py 2>/dev/null": "app.py",
    "cat app.py 2>&1": "app.py",
    "wc -l app.py": "app.py",
    "cat a.py b.py": "",
    "cat *.py": "",
    "cat": "",
    "": "",
    "cat a.py | head": "",
    "cat a.py; rm b.py": "",
    "cat < a.py": "",
    "cat $(ls)": "",
    "cat `ls`": "",
    "echo a.py": "",
    "python app.py": "",
    "ls app.py": "",
    "sed -i s/a/b/ app.py": "",
    "cat > notes.md": "",
}

WRITES = {
    "echo x > notes.md": ["notes.md"],
    "echo x >> notes.md": ["notes.md"],
    "echo x >notes.md": ["notes.md"],
    "make &> build.log": ["build.log"],
    "echo x | tee notes.md": ["notes.md"],
    "echo x | tee -a notes.md": ["notes.md"],
    "echo x > 'my notes.md'": ["my notes.md"],
    "cat > notes.md <<'EOF'\nretries = 3\nEOF": ["notes.md"],
    "cat <<EOF > notes.md\n> quoted\na -> b\nEOF\necho y > other.md": ["notes.md", "other.md"],
    "sed -i 's/a/b/' notes.md": ["notes.md"],
    "sed -i.bak -e s/a/b/ notes.md": ["notes.md"],
    "cd x && sed -i -e 's/a;b/c/' notes.md && make": ["notes.md"],
    "cp /tmp/x.md notes.md": ["notes.md"],
    "mv -f notes.tmp notes.md": ["notes.md"],
    "mv notes.tmp docs/": ["docs/notes.tmp"],
    "cp a.md docs": ["docs", "docs/a.md"],
    "install -m 644 a.md b.md docs": ["docs/a.md", "docs/b.md"],
    "printf x | dd of=notes.md bs=1": ["notes.md"],
    "python3 -c \"open('notes.md', 'w').write('x')\"": ["notes.md"],
    'python3 -c "open(\\"notes.md\\", mode=\\"a\\").write(1)"': ["notes.md"],
    "python3 - <<'EOF'\nPath('notes.md').write_text('x')\nEOF": ["notes.md"],
    "node -e \"fs.writeFileSync('notes.md', 'x')\"": ["notes.md"],
    "python3 -c \"print(open('notes.md').read())\"": [],
    "cp": [],
    "make 2> errors.txt": [],
    "make 2>&1": [],
    "make > /dev/null": [],
    "echo 'a > b'": [],
    'echo "x => y"': [],
    "test 1 -gt 0 && echo a->b": [],
    "cat notes.md": [],
}


@pytest.mark.parametrize(
    "command, paths",
    [
        ("cat notes.md | head -5", ["notes.md"]),
        ("cat notes.md README.md", ["notes.md", "README.md"]),
        ("make; tail -n 3 notes.md", ["notes.md"]),
        ("git add notes.md && make", []),
        ("cat > notes.md <<EOF\ncat other.md\nEOF", ["notes.md"]),
    ],
)
def test_all_files_a_reading_command_may_show_are_named(command: str, paths: list[str]) -> None:
    assert files_shown_by(command) == paths


@pytest.mark.parametrize(
    "command, expanded",
    [
        ("F=notes.md; cat > $F", "F=notes.md; cat > notes.md"),
        ("F='a/b.md' && cat ${F}", "F='a/b.md' && cat a/b.md"),
        ('cd "$PWD" && ls $OTHER', 'cd "." && ls $OTHER'),
        ("F=$(date); cat $F", "F=$(date); cat $F"),
    ],
)
def test_a_variable_that_the_command_sets_itself_stands_for_its_value(
    command: str, expanded: str
) -> None:
    assert expand(command) == expanded


@pytest.mark.parametrize("command, path", READS.items())
def test_a_simple_reading_command_names_the_file_it_shows(command: str, path: str) -> None:
    assert file_read_by(command) == path


@pytest.mark.parametrize("command, paths", WRITES.items())
def test_a_command_that_redirects_names_the_files_it_writes(command: str, paths: list[str]) -> None:
    assert files_written_by(command) == paths


@pytest.mark.parametrize(
    "command, cwd, path, wrote",
    [
        ("cat a.py", "/w/app", "/w/app/a.py", ()),
        ("cat a.py", "/w/app/sub", "/w/app/sub/a.py", ()),
        ("cd sub && cat a.py", "/w/app", "/w/app/sub/a.py", ()),
        ("cd sub && cat a.py", "/w/app/sub", "/w/app/sub/a.py", ()),  # told after the cd
        ("cd /w/app/sub && cat a.py", "/w/app", "/w/app/sub/a.py", ()),
        ("cd 'my sub' && cat a.py", "/w/app", "/w/app/my sub/a.py", ()),
        ("cd sub; echo x > notes.md", "/w/app", "", ("/w/app/sub/notes.md",)),
        ("cd .. && cat a.py", "/w/app", "/w/a.py", ()),
        ("cat /etc/hosts", "/w/app", "/etc/hosts", ()),
        ("cd $HOME && cat a.py", "/w/app", "", ()),
        ("cd ~ && cat a.py", "/w/app", "", ()),
        ("cd - && echo x > notes.md", "/w/app", "", ()),
    ],
)
def test_a_commands_files_are_those_of_the_folder_it_ran_in(
    command: str, cwd: str, path: str, wrote: tuple[str, ...]
) -> None:
    call = claude_code_call(
        {
            "hook_event_name": "PostToolUse", "tool_name": "Bash", "cwd": cwd,
            "tool_input": {"command": command}, "tool_response": {"stdout": "", "stderr": ""},
        }
    )  # fmt: skip
    assert (call.path, call.wrote) == (path, wrote)


@pytest.mark.parametrize(
    "hostile",
    ["cat " + " " * 100_000 + "2", "sed -i " + "a" * 100_000 + "'", 'cat "' * 20_000, "<<a\n" * 20_000,
     "A=b;" * 30_000 + "$A" * 9, "$A" * 50_000, "open(" * 30_000, "open('" * 30_000, "cp a " * 30_000,
     "cd " + " " * 100_000, "tee -a " * 20_000, "> " * 50_000, "cat " + "'a\"" * 30_000, "sed -i" * 20_000],
)  # fmt: skip
def test_no_command_is_long_or_odd_enough_to_hold_a_hook_up(hostile: str) -> None:
    def seconds() -> float:
        began = time.thread_time()
        file_read_by(hostile)
        files_written_by(hostile)
        files_shown_by(hostile)
        expand(hostile)
        working_folder(hostile, "/w")
        return time.thread_time() - began

    assert min(seconds() for _ in range(3)) < 0.05
