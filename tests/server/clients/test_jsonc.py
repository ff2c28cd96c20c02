"""Settings are edited as text: what people wrote around our entry stays as they wrote it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepthread.server.clients.jsonc import NotJson, append, drop, find, parse, put

COMMENTED = """{
\t// servers of mine
\t"mcpServers": {
\t\t"other": {"command": "x"}, // why /* not */ y
\t},
\t/* the rest, "quoted": { */
\t"theme": "dark"
}
"""


def test_comments_order_and_tabs_stay() -> None:
    added = put(COMMENTED, ("mcpServers", "ours"), {"command": "/a b/ü"})
    lines = added.splitlines()
    assert [line for line in COMMENTED.splitlines() if line not in lines] == []
    assert lines[4:7] == ['\t\t"ours": {', '\t\t\t"command": "/a b/ü"', "\t\t}"]
    assert find(added, ("mcpServers", "ours")) == {"command": "/a b/ü"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '{\n  "a": {\n    "b": 1\n  }\n}\n'),
        ("{}", '{\n  "a": {\n    "b": 1\n  }\n}'),
        ('{"x": 1}', '{"x": 1, "a": {"b": 1}}'),
        ('{\r\n "x": 1\r\n}\r\n', '{\r\n "x": 1,\r\n "a": {\r\n  "b": 1\r\n }\r\n}\r\n'),
        ('{\n  // none yet\n}', '{\n  // none yet\n  "a": {\n    "b": 1\n  }\n}'),
        ('{"a": {"b": 2}}', '{"a": {"b": 1}}'),
        ('\ufeff{"a": {}}', '\ufeff{"a": {\n  "b": 1\n}}'),
    ],
)  # fmt: skip
def test_a_value_is_put_in_the_style_of_the_file(text: str, expected: str) -> None:
    assert put(text, ("a", "b"), 1) == expected


@pytest.mark.parametrize("text", ['{"a": [1, 2]}', '{\n  "a": [\n    1,\n    2 // two\n  ]\n}'])
def test_an_element_is_appended_and_dropped_again(text: str) -> None:
    added = append(text, ("a",), 3)
    assert find(added, ("a",)) == [1, 2, 3]
    assert drop(added, ("a", 2)) == text


def test_what_would_be_left_empty_goes_too() -> None:
    assert drop('{"x": 1, "a": {"b": {"c": 1}}}', ("a", "b", "c")) == '{"x": 1}'
    assert drop('{"a": {"b": 1}}', ("a", "b")) == "{}"
    assert drop('{"a": 1, "b": 2}', ("a",)) == '{"b": 2}'


@pytest.mark.parametrize(
    "text", ['{"a": 1', "{a: 1}", '{"a" 1}', '{"a": tru}', "[1 2]", "{} {}", "nul", "[" * 999]
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(NotJson):
        parse(text)


def test_a_place_of_another_type_is_not_overwritten() -> None:
    with pytest.raises(NotJson):
        put('{"mcpServers": []}', ("mcpServers", "ours"), {})
    with pytest.raises(NotJson):
        append('{"hooks": {"Stop": {}}}', ("hooks", "Stop"), {})


_NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | _NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(_NAMES, _VALUES, max_size=4), _VALUES, st.sampled_from([None, 1, "\t", 4]))
def test_adding_and_dropping_leaves_any_file_as_it_was(
    before: dict[str, object], value: object, indent: int | str | None
) -> None:
    before.pop("ours", None)
    text = json.dumps(before, indent=indent, ensure_ascii=False)
    added = put(text, ("ours", "server"), value)
    assert parse(added).value == {**before, "ours": {"server": value}}
    assert drop(added, ("ours", "server")) == text
