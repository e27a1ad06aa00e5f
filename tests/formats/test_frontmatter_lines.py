"""The quick reader says what YAML says, or nothing."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.errors import MemError
from memcli.formats.frontmatter import document as frontmatter_lines
from memcli.formats.frontmatter.document import edit, load_mapping, read_lines
from memcli.formats.frontmatter.edit import same
from tests.tables import cases, table

KEYS = ["a", "b", "key-1", "_x", "title", "true", "null", "yes", "a b", '"q"', "é", "1", "-1", "-", "?", "<<", "a.b"]
WORDS = table(__file__, "WORDS")
INDENTS = st.sampled_from(["", "", "", "  ", "  ", "    ", " ", "\t"])
ENDS = st.sampled_from(["", "", "", " ", "  # c", " #", "\r"])
PAIRS = st.tuples(
    INDENTS, st.sampled_from(KEYS), st.sampled_from([": ", ": ", ":", ":  ", " : "]), st.sampled_from(WORDS), ENDS
)
ITEMS = st.tuples(INDENTS, st.sampled_from(["- ", "- ", "-  ", "-", "- - "]), st.sampled_from(WORDS), ENDS)
LONE = st.tuples(INDENTS, st.sampled_from(WORDS) | st.just("# c: d"))
USUAL = st.sampled_from(["a: x", "b: 1", "c:", "  - y", "  - z", "d: [a, b]", "- k", "  e: f", "  g:", "    - h", ""])
BLOCKS = st.lists(USUAL | (PAIRS | ITEMS | LONE).map("".join), max_size=5).map(lambda lines: "\n".join(lines) + "\n")


def by_yaml(head: str) -> dict[str, object] | None:
    """Read a block without the quick reader."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("memcli.formats.frontmatter.document.read_lines", lambda _: None)
        fields, problem = load_mapping(head)
    return None if problem else fields


@settings(max_examples=400)
@given(BLOCKS)
def test_what_it_reads_means_the_same_to_yaml(head: str) -> None:
    quick = read_lines(head)
    assert quick is None or same(quick, by_yaml(head))


@settings(max_examples=400)
@given(
    st.sampled_from(["k: ", "k:\n", "k:\n- ", "k: [", "k", "k:\n  l: "]),
    st.text(st.sampled_from("ab:  - \n#[],\"'.1-0e é/+x"), max_size=12),
    st.sampled_from(["", "]"]),
)
def test_what_it_reads_of_a_scribble_means_the_same_to_yaml(begin: str, middle: str, end: str) -> None:
    head = f"{begin}{middle}{end}\n"
    quick = read_lines(head)
    assert quick is None or same(quick, by_yaml(head))


@cases("head", "fields")
def test_it_reads_what_people_write(head: str, fields: dict[str, object]) -> None:
    assert read_lines(head) == fields
    assert by_yaml(head) == fields


@pytest.mark.parametrize(
    "head",
    [
        "a: b: c", "a: |\n  text", "a: {b: c}", "a: 1\na: 2", "- a", "a: [b", "a: x\n  y", "a:\n  - b\n c: d", "a: *b",
        'a: "b\\n"', "1: a", "a: b\tc", "a: b\x07", "a: b\u2028c", "k" * 101 + ": v",
        "\n".join("  " * level + "a:" for level in range(9)),
    ],
)  # fmt: skip
def test_it_declines_what_takes_yaml(head: str) -> None:
    assert read_lines(head + "\n") is None


def test_nothing_but_its_own_signal_is_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: str) -> object:
        raise ZeroDivisionError

    monkeypatch.setattr(frontmatter_lines, "read_plain", broken)
    with pytest.raises(ZeroDivisionError):
        read_lines("a: b\n")


@given(BLOCKS, st.dictionaries(st.sampled_from(["new", "conflicts_with", "é"]), st.sampled_from(["x", 7, ["a", "b"]])))
@settings(max_examples=400)
def test_a_new_key_stands_where_yaml_would_have_it_stand(head: str, new: dict[str, object]) -> None:
    def edited() -> str:
        try:
            return edit(f"---\n{head}---\nbody\n", new)
        except MemError as error:
            return str(error)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("memcli.formats.frontmatter.document.takes_lines", lambda _: False)
        slowly = edited()
    assert edited() == slowly


def test_a_flag_on_an_ordinary_entry_loads_no_yaml() -> None:
    code = (
        "import sys\nfrom memcli.formats.frontmatter.document import edit\n"
        "print(edit('---\\nid: mem_1\\ntags: [a]\\n---\\nx\\n', {'conflicts_with': ['mem_2']}), 'yaml' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "---\nid: mem_1\ntags: [a]\nconflicts_with: [mem_2]\n---\nx\n False\n"
