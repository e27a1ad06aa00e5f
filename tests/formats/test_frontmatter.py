"""Taking a file's text apart: what is found, what is said about what cannot be understood."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.formats.frontmatter.document import Document, load_mapping, parse, render
from memcli.formats.text_lines import Problem, conflict_marker
from tests.tables import cases

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=60)
FENCED = st.text(st.sampled_from("-- \n\n:ab[]{}#&*!|>'\"%@`?,\t\r.\ufeff\x00\ud800é<~0"), max_size=60)


def test_an_entry_is_taken_apart() -> None:
    text = "---\nid: mem_01\ntags: [editor, ui]\n---\n\nUser prefers dark mode.\n"
    assert parse(text) == Document(
        bom=False,
        newline="\n",
        head="id: mem_01\ntags: [editor, ui]\n",
        head_line=2,
        body="\nUser prefers dark mode.\n",
        body_line=5,
        fields={"id": "mem_01", "tags": ["editor", "ui"]},
        problem=None,
    )


@pytest.mark.parametrize(
    "text", ["", "text", "\n---\na: 1\n---\n", "----\na: 1\n----\n", "--- toml\na = 1\n---\n", " ---\na: 1\n---\n"]
)
def test_a_text_without_frontmatter_is_all_body(text: str) -> None:
    assert parse(text) == Document(False, "\n", None, 0, text, 1, {}, None)


@cases("text", "head", "body", "body_line")
def test_fences_stand_alone_on_their_lines(text: str, head: str, body: str, body_line: int) -> None:
    document = parse(text)
    assert (document.head, document.body, document.body_line, document.problem) == (head, body, body_line, None)


def test_a_byte_order_mark_and_windows_line_ends_are_noticed() -> None:
    document = parse("\ufeff---\r\na: é\r\n---\r\nbody")
    assert (document.bom, document.newline, document.fields, document.body) == (True, "\r\n", {"a": "é"}, "body")
    assert parse("\ufeffbody").body == "body"


@pytest.mark.parametrize("text", ["---", "---\n", "---\na: 1\n", "---\r\nA rule, then text.\r\n----\r\n"])
def test_an_unclosed_fence_is_told_and_the_file_is_text(text: str) -> None:
    document = parse(text)
    assert document.problem == Problem(1, "`---` opens frontmatter that no later `---` line closes")
    assert (document.head, document.body, document.fields) == (None, text, {})


@cases("head", "fields")
def test_values_are_plain_data_and_dates_stay_as_written(head: str, fields: dict[str, object]) -> None:
    document = parse(f"---\n{head}---\n")
    assert (document.problem, document.fields) == (None, fields)


@pytest.mark.parametrize(
    ("head", "line", "reason"),
    [
        ("title: a: b", 2, "mapping values are not allowed here; quote the value"),
        ("x: 1\r\ntitle: a: b\r", 3, "mapping values are not allowed here; quote the value"),
        ("a: \x85b: c: d", 2, "mapping values are not allowed here; quote the value"),
        ("ok: 1\ntags: [a, b\ntitle: x", 3, "a list is opened here with [ and not closed with ]"),
        ("m: {a: 1\nb: 2", 2, "a map is opened here with { and not closed with }"),
        ("a: [1,,2]", 2, "between brackets something is missing here, or they are not closed"),
        ("a: [a, b]]", 2, "one ] too many; quote the value if it is text"),
        ('t: "abc\nb: 1', 2, "a quote is opened here and not closed"),
        ('t: "abc "def" ghi"', 2, "the quotes end before the value does; write inner quotes as \\\" or ''"),
        ('t: "C:\\q"', 2, "a \\ between double quotes begins an escape; write \\\\"),
        ("created: {{date}}", 2, 'a list or map cannot be a key; quote the value if it is text, as in "{{date}}"'),
        ("a: 1\n b: 2", 3, "indented deeper, but the line above has its value already"),
        ("a: 1\nb:2\nc: 3", 3, "this line is not `key: value`; mind the space after the colon"),
        ("a:b\nc: 3", 2, "this line is not `key: value`; mind the space after the colon"),
        ("a:\n  - x\n - y", 4, "does not fit here; mend the indentation, or quote the whole value"),
        ("a:\n  - x\n  b: y", 4, "indented unlike the list items above"),
        ("a:\n\tb: 1", 3, "a tab cannot stand here; indent with spaces"),
        ("t: @me", 2, "`@` cannot begin a value; quote the value"),
        ("t: `code`", 2, "a backtick cannot begin a value; quote the value"),
        ("t: *bold* text", 2, "* begins an alias; quote the value"),
        ("t: *x", 2, "`*x` stands for nothing; quote the value if it is text"),
        ("t: &a [*a]", 2, "`*a` stands for nothing; quote the value if it is text"),
        ("t: ]", 2, "`]` cannot begin a value; quote the value"),
        ("t: - a", 2, "- begins a list; quote the value, or give the list its own lines"),
        ("t: |x\n  a", 2, "the text after | or > must begin on the next line, indented"),
        ("t: !important x", 2, "the tag '!important' is not plain data; remove it, or quote the value"),
        ("t: !!python/name:os.x", 2, "the tag '!!python/name:os.x' is not plain data; remove it, or quote the value"),
        ("t: !!int x", 2, "'x' is not what its tag says; remove the tag"),
        ("t: !!set {a}", 2, "the tag '!!set' is not plain data; remove it, or quote the value"),
        ("- a\n- b", 2, "this is a list; frontmatter is made of `key: value` lines"),
        ("just text", 2, "this is plain text; frontmatter is made of `key: value` lines"),
        ("a: 1\n2026: x", 3, 'a key must be text; quote it: "2026"'),
        ("a: 1\nb: 2\na: 3", 4, "the key 'a' is there twice; keep one"),
        ('a: 1\n"a": 3', 3, "the key 'a' is there twice; keep one"),
        ("m:\n  k: 1\n  k: 2", 4, "the key 'k' is there twice; keep one"),
        ("a: 1\nb: x\x07", 3, "character U+0007 cannot stand in frontmatter; remove it"),
        ("\ufeffa: 1", 2, "character U+FEFF cannot stand in frontmatter; remove it"),
        ("a: \ud800", 2, "character U+D800 cannot stand in frontmatter; remove it"),
        ("a: 1\n--- b: 2", 3, "a second document begins here; remove the `---`"),
        ("a: 0\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> x", 3, "a git conflict begins here; resolve it"),
        ("a: x\n" * 60_000, 2, "larger than 256 kB; this is no frontmatter"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_by_line_and_the_body_is_there(head: str, line: int, reason: str) -> None:
    document = parse(f"---\n{head}\n---\nbody\n")
    assert document.problem == Problem(line, reason)
    assert (document.fields, document.body) == ({}, "body\n")


@pytest.mark.parametrize("nest", ["[", "{a: ", "- ", "? ", "a: ["])
def test_a_nest_without_end_is_told(nest: str) -> None:
    problem = parse(f"---\n{nest * 60_000}\n---\n").problem
    assert problem is not None
    assert problem.line == 2


@pytest.mark.parametrize(
    "head",
    [
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{two}: &{two} [{', '.join([f'*{one}'] * 10)}]\n" for one, two in ["ab", "bc", "cd", "de"]),
        f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 900)}]\n",
    ],
)
def test_aliases_that_multiply_are_told(head: str) -> None:
    problem = parse(f"---\n{head}---\n").problem
    assert problem is not None
    assert problem.reason == "aliases (`*name`) multiply into too much; write it out"


@given(ANYTHING | FENCED | FENCED.map(lambda head: f"---\n{head}\n---\nbody"))
def test_nothing_that_is_written_raises_or_gets_lost(text: str) -> None:
    document = parse(text)
    assert text.endswith(document.body)
    assert (document.head or "") in text
    assert text.count("\n", 0, len(text) - len(document.body)) + 1 == document.body_line or not document.body
    if document.problem:
        assert 1 <= document.problem.line <= text.count("\n") + 1
        assert "\n" not in document.problem.reason


def test_a_settings_file_is_read_by_the_same_rules() -> None:
    assert load_mapping("\ufeffsearch:\n  weight: 0.5\nday: 2026-11-21\n") == (
        {"search": {"weight": 0.5}, "day": "2026-11-21"},
        None,
    )
    assert load_mapping("a: 1\nb: c: d\n") == ({}, Problem(2, "mapping values are not allowed here; quote the value"))


def test_a_new_file_has_its_fields_a_blank_line_and_its_text() -> None:
    fields = {"id": "mem_01", "tags": ["editor", "ui"], "at": "2026-11-21T20:15:03Z", "title": None, "strength": 3}
    text = render(fields, "\nUser prefers\ndark mode.\n\n")
    head = "---\nid: mem_01\ntags: [editor, ui]\nat: 2026-11-21T20:15:03Z\nstrength: 3\n---\n"
    assert text == f"{head}\nUser prefers\ndark mode.\n"


def test_a_new_file_can_have_windows_line_ends_or_no_text() -> None:
    assert render({"a": "x"}, "one\ntwo\r\n", "\r\n") == "---\r\na: x\r\n---\r\n\r\none\r\ntwo\r\n"
    assert render({"a": "x"}, "\n") == "---\na: x\n---\n"


def test_conflicts_are_found_through_the_frontmatter_module_too() -> None:
    assert conflict_marker("a\n<<<<<<< HEAD\n=======\n>>>>>>> b\n") == 2
