"""Changing single values: what is asked for changes, every other byte stays."""

import re
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from memcli.errors import RefusedError
from memcli.formats.frontmatter.document import edit, parse, render
from memcli.formats.frontmatter.edit import same
from tests.tables import cases

NOTE = """\
---
# kept by hand
title:   'It''s a note'   # shown in lists
aliases: ["one", two,three ]
tags:
  - editor   # the first
  # about the second
  - "ui"

created: 2023-09-12
count: 007
rating:
published: yes
text: |
  first
  second

meta:
  owner: Ana  # asked her
  deep: {x: 1}
# the end
---
Body with trailing spaces  \n\n---\n# not: frontmatter
"""


def changed(changes: dict[str, Any], text: str = NOTE) -> list[str]:
    """Change the note; return the lines that went, with a minus, and those that came, with a plus."""
    new = edit(text, changes)
    before, after = text.split("\n"), new.split("\n")
    same_start = next((at for at, (one, two) in enumerate(zip(before, after, strict=False)) if one != two), len(before))
    before, after = before[same_start:], after[same_start:]
    while before and after and before[-1] == after[-1]:
        before.pop()
        after.pop()
    return [f"-{line}" for line in before] + [f"+{line}" for line in after]


@cases("changes", "lines")
def test_only_the_lines_of_the_changed_keys_change(changes: dict[str, Any], lines: list[str]) -> None:
    assert changed(changes) == lines


def test_new_keys_come_after_the_last_one_and_before_closing_remarks() -> None:
    assert "  deep: {x: 1}\nnew: x\n# the end\n---\n" in edit(NOTE, {"new": "x"})


def test_a_key_is_changed_and_another_removed_and_others_added_at_once() -> None:
    new = edit(NOTE, {"meta": None, "count": 8, "b": 1, "a": 2})
    assert parse(new).fields == {k: v for k, v in parse(NOTE).fields.items() if k != "meta"} | {
        "count": 8,
        "b": 1,
        "a": 2,
    }
    assert "\nb: 1\na: 2\n# the end\n" in new


@cases("head", "changes", "result")
def test_the_style_of_a_value_stays_where_it_can(head: str, changes: dict[str, Any], result: str) -> None:
    assert edit(f"---\n{head}---\nbody", changes) == f"---\n{result}---\nbody"


def test_windows_line_ends_and_byte_order_mark_stay() -> None:
    text = "\ufeff---\r\na: 1\r\ntags:\r\n  - x\r\ntext: |\r\n  one\r\n---\r\nbody\n"
    new = edit(text, {"a": 2, "tags": ["x", "z"], "text": "two\nlines\n", "z": "new"})
    assert new == (
        "\ufeff---\r\na: 2\r\ntags:\r\n  - x\r\n  - z\r\ntext: |\r\n  two\r\n  lines\r\nz: new\r\n---\r\nbody\n"
    )


@cases("text", "result")
def test_a_text_without_frontmatter_gets_a_block_in_front(text: str, result: str) -> None:
    assert edit(text, {"a": 1}) == result


@cases("text", "says")
def test_what_cannot_be_changed_safely_is_refused(text: str, says: str) -> None:
    with pytest.raises(RefusedError, match=re.escape(says)):
        edit(text, {"a": None if ">" in text else 5})


@pytest.mark.parametrize("value", [float("inf"), 10**20, "\ud800", {1: "a"}])
def test_a_value_that_would_not_come_back_is_refused(value: object) -> None:
    with pytest.raises(RefusedError):
        edit("---\na: 1\n---\n", {"a": value})


def test_a_value_is_stored_as_what_it_will_be_read_as() -> None:
    class Kind(StrEnum):
        FACT = "fact"

    assert (
        edit("---\ntype: x\ntags: [a]\n---\n", {"type": Kind.FACT, "tags": ("a",)})
        == "---\ntype: fact\ntags: [a]\n---\n"
    )
    with pytest.raises(TypeError):
        edit("---\na: 1\n---\n", {"a": {1, 2}})


KEYS = ["a", "b", "c-d", "long key", '"q k"']
VALUES = [
    "x", "two words # no", '"q"', "'s' # c", "[a, b]", "[ a,b ] # c", "['a', \"b\"]", "[a,\n  b,\n  c]", "",
    "{a: {b: c}} # d", "# only comment", "|\n  line\n  more", "|-\n  line\n\n  more\n",
    ">\n  fold\n  it\n", "> # c\n  fold", "\n  - a\n  - b # bb\n  - \"c\"", "\n- a\n# mid\n- b",
    "\n  - a: 1\n    b: 2\n  - c: 3", "\n  k: v # vv\n  l: [1, 2]\n  m:\n    n: o", "plain\n  goes on",
    '"dq\n  goes on"', "2026-11-21", "1", "1.5", "true", "~", "&x anch", "!!str 5", "\n  - - a\n    - b\n  - c",
    "\n  -\n  - z", "\n  # lead\n  - a\n\n  - b\n", "\n  - |\n    lit\n  - x", "\n  p: |\n    lit\n  q: 1",
    '"é 🎉"', "\xa0nb\xa0",
]  # fmt: skip
NEW = ["new", "no", "1.10", "2026-12-01", "a: b", "multi\nline\n", " sp ", "", "it's", "a, b", "\x07", "#z", "[x]"]
DATA = st.recursive(
    st.sampled_from([*NEW, "z" * 2000]) | st.sampled_from([1, 2.5, True]),
    lambda inner: (
        st.lists(inner | st.none(), max_size=4)
        | st.dictionaries(st.sampled_from("aklp"), inner | st.none(), max_size=3)
    ),
    max_leaves=5,
)
HEADS = st.lists(
    st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES)), min_size=1, max_size=4, unique_by=lambda pair: pair[0]
)


@settings(max_examples=300)
@given(HEADS, st.dictionaries(st.sampled_from([*KEYS[:4], "new", "q k"]), DATA | st.none(), max_size=3), st.booleans())
def test_whatever_is_changed_the_other_keys_keep_their_bytes(
    pairs: list[tuple[str, str]], changes: dict[str, Any], windows: bool
) -> None:
    blocks = [f"{key}:{'' if value[:1] == chr(10) else ' '}{value}\n" for key, value in pairs]
    text = f"---\n{''.join(blocks)}---\nbody\n"
    text = text.replace("\n", "\r\n") if windows else text
    before = parse(text)
    assume(before.problem is None)
    expected = {
        key: value for key, value in (before.fields | changes).items() if key not in changes or changes[key] is not None
    }
    new = edit(text, changes)
    after = parse(new)
    assert same(after.fields, expected)
    assert after.body == before.body
    for (key, _), block in zip(pairs, blocks, strict=True):
        name = key.strip('"')
        if name in expected and same(before.fields[name], expected[name]):
            assert (block.replace("\n", "\r\n") if windows else block).rstrip() in new
    assert edit(new, changes) == new


@given(
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), DATA, max_size=4),
    st.text(max_size=20),
)
def test_a_new_file_says_what_it_was_given(fields: dict[str, Any], body: str) -> None:
    document = parse(render(fields, body))
    assert (document.problem, document.body.strip("\r\n")) == (None, body.strip("\r\n"))
    assert same(document.fields, fields)


@pytest.mark.parametrize("head", ["~", "null", "just words"])
def test_a_frontmatter_that_is_no_map_is_refused_and_not_a_crash(head: str) -> None:
    with pytest.raises(RefusedError):
        edit(f"---\n{head}\n---\nbody\n", {"new": "x"})
