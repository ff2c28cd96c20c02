"""One table of Codex's configuration comes and goes; the rest is not touched."""

import tomllib

import pytest

from keepthread.server.clients.toml_table import NotToml, drop_table, put_table

PATH = ("mcp_servers", "keepthread")
TABLE = {"command": '/a "b"/ü/keepthread', "args": ["serve"]}
MINE = '# mine\nmodel = "o5"\n\n[mcp_servers.other]\ncommand = "x" # why\n'


@pytest.mark.parametrize("text", ["", MINE, MINE.rstrip("\n"), MINE + "\n[[hooks.Stop]]\nx = 1\n"])
def test_a_table_is_added_and_the_rest_stays(text: str) -> None:
    added = put_table(text, PATH, TABLE)
    assert added.startswith(text)
    assert tomllib.loads(added)["mcp_servers"]["keepthread"] == TABLE
    assert put_table(added, PATH, TABLE) == added
    assert drop_table(added, PATH).rstrip("\n") == text.rstrip("\n")


def test_a_table_in_the_middle_goes_with_its_sub_tables() -> None:
    ours = '[mcp_servers."keepthread"]\ncommand = "old"\n[mcp_servers.keepthread.env]\nA = "1"\n'
    text = f'a = 1\n{ours}\n[mcp_servers.other]\ncommand = "x"\n'
    assert drop_table(text, PATH) == 'a = 1\n\n[mcp_servers.other]\ncommand = "x"\n'


@pytest.mark.parametrize(
    "text",
    [
        "a = ",
        'mcp_servers = {keepthread = {command = "x"}}\n',
        'mcp_servers.keepthread.command = "x"\n',
    ],
)
def test_what_cannot_be_edited_as_text_is_refused(text: str) -> None:
    with pytest.raises(NotToml):
        drop_table(text, PATH)
