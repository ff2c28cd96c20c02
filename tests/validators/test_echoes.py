"""Output that repeats what a call was given proves nothing; what a program adds does."""

import json

import pytest

from keepthread.validators.echoes import without_echo
from keepthread.validators.evidence import Evidence
from keepthread.validators.grounding import ground
from tests.validators.grounding_pairs import shell

SENTENCE = "the billing worker retries 17 times"
CLAIM = "The billing worker retries 17 times"


@pytest.mark.parametrize(
    "command",
    [
        f"/usr/bin/printf '{SENTENCE}'",
        f"command echo {SENTENCE}",
        f"sudo env A=1 echo {SENTENCE}",
        f"(echo '{SENTENCE}')",
        f"if true; then echo '{SENTENCE}'; fi",
        f"for i in 1 2; do echo '{SENTENCE}'; done",
        f"true & echo '{SENTENCE}'",
        'N=17; echo "the billing worker retries $N times"',
        'A=1; B=7; echo "the billing worker retries ${A}${B} times"',
        'echo "the billing worker retries $((12+5)) times"',
        "echo 'the billing worker retries 1''7 times'",
        f"grep worker <<< '{SENTENCE}'",
        f"head -1 <(echo '{SENTENCE}')",
        f"sort <<EOF\n{SENTENCE}\nEOF",
        f"awk 'BEGIN{{print \"{SENTENCE}\"}}'",
        f"jq -n '\"{SENTENCE}\"'",
        f"node -p \"'{SENTENCE}'\"",
        f"php -r 'print \"{SENTENCE}\";'",
        f"date +'{SENTENCE}'",
        f"git log -1 --format='{SENTENCE}'",
        f"find . -maxdepth 0 -printf '{SENTENCE}'",
        f"sed '1i {SENTENCE}' empty.txt",
        f"yes '{SENTENCE}' | head -1",
        f"xargs echo {SENTENCE} < /dev/null",
        "rev <<< 'semit 71 seirter rekrow gnillib eht'",
        "echo dGhlIGJpbGxpbmcK | base64 -d",
        "python -c \"print('the billing worker retries', 12+5, 'times')\"",
    ],
)
def test_a_printed_argument_grounds_nothing(command: str) -> None:
    assert not ground(CLAIM, [shell(command, SENTENCE + "\n")]).grounded


@pytest.mark.parametrize(
    ("command", "output"),
    [
        (f"git commit -m '{SENTENCE}'", f"[main 1a2b3c4] {SENTENCE}\n 1 file changed"),
        (f"logger -s '{SENTENCE}'", f"<13>Nov 30 12:00:01 root: {SENTENCE}"),
    ],
)
def test_a_sentence_repeated_within_a_line_grounds_nothing(command: str, output: str) -> None:
    assert not ground(CLAIM, [shell(command, output)]).grounded


def test_a_failed_search_that_quotes_its_argument_grounds_nothing() -> None:
    output = f"ls: cannot access '{SENTENCE}': No such file or directory"
    assert not ground(CLAIM, [shell(f"ls '{SENTENCE}'", output, failed=True)]).grounded


@pytest.mark.parametrize(
    ("tool", "args", "output"),
    [
        (
            "TodoWrite",
            {"todos": [{"content": SENTENCE}]},
            f'{{"todos":[{{"content":"{SENTENCE}"}}]}}',
        ),
        (
            "mcp__chat__send_message",
            {"text": SENTENCE},
            f'{{"ok":true,"text":"{SENTENCE}","id":9}}',
        ),
        ("mcp__kv__create", {"key": "retries", "note": SENTENCE}, f"Created: {SENTENCE}"),
    ],
)
def test_an_answer_that_repeats_the_arguments_grounds_nothing(
    tool: str, args: dict[str, object], output: str
) -> None:
    cited = Evidence("call-1", tool=tool, args=json.dumps(args), output=output)
    assert not ground(CLAIM, [cited]).grounded


@pytest.mark.parametrize(
    ("command", "output", "claim"),
    [
        ("grep -n retries worker.toml", "4:retries = 17", "worker.toml sets retries to 17"),
        ("rg 'retries|worker' conf", "conf/worker.toml:retries = 17", "The worker has 17 retries"),
        ("cat worker.toml", "retries = 17", "The worker's retries are 17"),
        ("cat worker.toml | grep 17", "retries = 17", "The worker's retries are 17"),
        ("sed -n '1,5p' worker.toml", "retries = 17", "The worker's retries are 17"),
        ("pytest tests/test_worker.py", "tests/test_worker.py ..\n2 passed in 0.1s",
         "2 tests pass in tests/test_worker.py"),
        ("ls conf", "worker.toml\nbilling.toml", "conf contains billing.toml"),
        ("python -c 'import conf; print(conf.RETRIES)'", "17", "conf.RETRIES is 17"),
        ('echo "retries: $(cat retries.txt)"', "retries: 17", "The retries are 17"),
        ("nc -zv db 5432", "Connection to db 5432 port [tcp] succeeded!",
         "The connection to db on port 5432 succeeded"),
        ("psql -c \"select name, port from services where port = 17\"", " name | port\n billing | 17",
         "The billing service has port 17"),
        ("git commit -m 'Raise the retry limit to 17'",
         "[main 1a2b3c4] Raise the retry limit to 17\n 1 file changed",
         "Commit 1a2b3c4 changed 1 file"),
    ],
)  # fmt: skip
def test_what_a_program_adds_to_its_arguments_grounds(
    command: str, output: str, claim: str
) -> None:
    found = ground(claim, [shell(command, output)])
    assert found.grounded, found.why


def test_an_entry_that_a_tool_reads_by_its_key_grounds() -> None:
    cited = Evidence(
        "call-1",
        tool="mcp__crm__get_order",
        args='{"order":"482","fields":"status"}',
        output='{"order":"482","status":"shipped"}',
    )
    assert ground("Order 482 is shipped", [cited]).grounded


def test_blanking_keeps_offsets() -> None:
    text = "x\r\nport 1 is open\r\ny z"
    assert len(without_echo(text, "run port 1 is open", "", "Bash", failed=False)) == len(text)
