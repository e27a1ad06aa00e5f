"""Frontmatter is read as text, and an edit changes the lines of its keys only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.formats import frontmatter
from memcli.formats.frontmatter import FrontmatterError, edit, format_document, parse

REAL = """---
# written by hand
title:   "A title: with a colon"   # inline
created: 2026-01-02
tags:
  - one
  - 'two'   # second
Status: yes
count: 007
nested:
  deep: {a: 1, b: [2, 3]}
quote: >
  folded
  text
---

Body --- stays.
---
"""


def test_values_stay_the_text_that_somebody_wrote() -> None:
    fields = parse(REAL).fields
    assert fields["created"] == "2026-01-02"
    assert fields["Status"] == "yes"
    assert str(fields["count"]) in ("7", "007")
    assert fields["tags"] == ["one", "two"]


@pytest.mark.parametrize("key", ["title", "tags", "nested", "quote", "created", "new"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_an_edit_changes_the_lines_of_its_key_only(key: str, ending: str) -> None:
    text = REAL.replace("\n", ending)
    edited = edit(text, {key: "x"})
    before = [line for line in text.splitlines(keepends=True) if not belongs(line, key)]
    after = [line for line in edited.splitlines(keepends=True) if line in before]
    assert after == before
    assert parse(edited).fields == {**parse(text).fields, key: "x"}


def belongs(line: str, key: str) -> bool:
    own = {
        "title": ("title:",),
        "tags": ("tags:", "  - "),
        "nested": ("nested:", "  deep:"),
        "quote": ("quote:", "  folded", "  text"),
        "created": ("created:",),
        "new": (),
    }
    return bool(own[key]) and line.startswith(own[key])


def test_an_inline_comment_and_a_byte_order_mark_survive() -> None:
    text = "\ufeff---\nid: a  # mine\n---\nx\n"
    assert edit(text, {"id": "b"}) == "\ufeff---\nid: b  # mine\n---\nx\n"


def test_deleting_a_key_keeps_the_comment_of_the_next() -> None:
    text = "---\na: 1\n# about b\nb: 2\n---\n"
    assert edit(text, {"a": None}) == "---\n# about b\nb: 2\n---\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("t:\n- 'a'\n# about b\n- b # mine\n", "t:\n- 'a'\n# about b\n- b # mine\n- \"c, d\"\n"),
        ("t: ['a', \"b\"] # mine\n", 't: [\'a\', "b", "c, d"] # mine\n'),
        ("t: [a, # mine\n  b]\n", 't: [a, b, "c, d"]\n'),
        ("t:\n  - >\n    a\n  - b\n", 't: ["a\\n", b, "c, d"]\n'),
    ],
)
def test_a_list_stays_in_its_style(before: str, after: str) -> None:
    items = [*parse(f"---\n{before}---\n").fields["t"], "c, d"]
    assert edit(f"---\n{before}x: 1\n---\n", {"t": items}) == f"---\n{after}x: 1\n---\n"


def test_a_file_without_frontmatter_gets_one() -> None:
    assert (
        edit("Just text.\n", {"status": "forgotten"})
        == "---\nstatus: forgotten\n---\n\nJust text.\n"
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("---\ntitle: a: b\n---\n", 2),
        ("---\nok: 1\nlist: [a\n---\n", 4),
        ("---\n- a\n- b\n---\n", 2),
        ("---\na: 1\na: 2\n---\n", 2),
        ("---\n\tkey: tab\n---\n", 2),
        ("---\nopen: yes\nno end\n", 1),
    ],
)
def test_bad_yaml_is_reported_with_its_line_and_never_edited(text: str, line: int) -> None:
    with pytest.raises(FrontmatterError) as caught:
        parse(text)
    assert caught.value.line == line
    with pytest.raises(FrontmatterError):
        edit(text, {"status": "forgotten"})


def test_an_edit_through_an_anchor_is_refused() -> None:
    text = "---\nbase: &b [x]\nother: *b\n---\n"
    with pytest.raises(FrontmatterError):
        edit(text, {"base": None})


SCALARS = st.one_of(st.text(max_size=30), st.booleans(), st.integers(-9999, 9999))
VALUES = st.one_of(SCALARS, st.lists(st.text(max_size=12), max_size=4))
KEYS = st.from_regex(r"[a-z][a-z_]{0,10}", fullmatch=True)


@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_every_value_is_read_back_as_it_was_written(fields: dict[str, object]) -> None:
    text = format_document(fields, "Body")
    assert parse(text).fields == fields


@given(st.dictionaries(KEYS, SCALARS, min_size=1, max_size=5))
def test_the_fast_parser_agrees_with_yaml(fields: dict[str, object]) -> None:
    head = parse(format_document(fields, "")).head
    simple = frontmatter.parse_simple(head)
    assert simple is None or simple == frontmatter.parse_yaml(head)


@given(st.text(alphabet="ab:#-[]{},'\" \n0.1|>&*!%@`?", max_size=60))
def test_the_fast_parser_agrees_with_yaml_on_any_head(head: str) -> None:
    simple = frontmatter.parse_simple(head + "\n")
    if simple is not None:
        assert simple == frontmatter.parse_yaml(head + "\n")


@given(st.dictionaries(KEYS, VALUES, max_size=4), KEYS, VALUES)
def test_an_edit_is_read_back(fields: dict[str, object], key: str, value: object) -> None:
    text = format_document(fields, "Body")
    assert parse(edit(text, {key: value})).fields == {**fields, key: value}
