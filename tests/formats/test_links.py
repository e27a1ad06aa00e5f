"""Links and citations in a text are found."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.formats.links import Citation, Link, bare, blob_id, digest_of, found_at, lines_of, links, read_citation
from tests.tables import cases


@cases("text", "target", "is_path")
def test_a_link_names_its_target(text: str, target: str, is_path: bool) -> None:
    assert list(links(f"\n{text}\n")) == [Link(2, target, is_path)]


@cases("text")
def test_code_the_web_and_other_files_are_no_links(text: str) -> None:
    assert list(links(text)) == []


def test_text_behind_a_closed_fence_counts_again() -> None:
    assert [link.line for link in links("```\n[[a]]\n```\n[[b]]\n")] == [4]


def test_many_brackets_take_no_time() -> None:
    assert list(links("[[" * 50_000 + "`" * 50_000 + "](" * 50_000)) == []


def test_a_reference_may_be_written_as_a_link() -> None:
    assert [bare(one) for one in ("[[a|b]]", " a ", "[[a]] and [[b]]")] == ["a", "a", "[[a]] and [[b]]"]


LINES = st.lists(
    st.sampled_from([b"", b"}", b"a = 1", b"b = 2", b"return a", "grün".encode()]), min_size=1, max_size=30
)


def cited(lines: list[bytes], first: int, last: int) -> Citation:
    return Citation("src/a.py", first, last, "0" * 12, digest_of(lines[first - 1 : last]))


@pytest.mark.parametrize("path", ["src/api.py", "with space,comma.py", "a@b#c:d.py", "ü/日本.md", "x:1-2"])
@pytest.mark.parametrize("lines", [(12, 20), (7, 7)])
def test_a_citation_is_read_as_it_was_written(path: str, lines: tuple[int, int]) -> None:
    citation = Citation(path, *lines, "3f2a19c4d5e6", "0123456789abcdef01234567")
    assert read_citation(str(citation)) == citation
    assert read_citation(citation.place) == citation._replace(blob="", digest="")


@pytest.mark.parametrize(
    "text", ["src/api.py", "", ":3", "src/api.py:", "src/api.py:x", "src/api.py:1-2@zz#1", "a\nb:3"]
)
def test_what_names_no_lines_is_no_citation(text: str) -> None:
    assert read_citation(text) is None


@pytest.mark.parametrize("data", [b"", b"one\n", b"\xff\xfe\r\n" * 70_000])
def test_a_files_id_is_the_one_git_gives_it(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "file").write_bytes(data)
    told = subprocess.run(["git", "hash-object", "--no-filters", "file"], cwd=tmp_path, capture_output=True, check=True)
    assert told.stdout.decode().startswith(blob_id(data))


@given(LINES, st.data())
def test_lines_that_only_moved_are_found(lines: list[bytes], data: st.DataObject) -> None:
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    above = data.draw(st.lists(st.binary(max_size=3).map(lambda text: b"#" + text.replace(b"\n", b"")), max_size=5))
    citation = cited(lines, first, last)
    start = found_at([*above, *lines], citation)
    size = last - first + 1
    if start:
        assert [*above, *lines][start - 1 : start - 1 + size] == lines[first - 1 : last]
    else:
        assert not b"".join(lines[first - 1 : last]).strip(b"}"), "only lines without a word stand nowhere else"


@given(LINES, st.data())
def test_a_word_that_changed_is_noticed(lines: list[bytes], data: st.DataObject) -> None:
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    place = data.draw(st.integers(first, last)) - 1
    changed = [*lines[:place], b"x = " + lines[place], *lines[place + 1 :]]
    citation = cited(lines, first, last)
    start = found_at(changed, citation)
    assert start != first
    assert start == 0 or changed[start - 1 : start + last - first] == lines[first - 1 : last], "a copy stands elsewhere"


def test_a_lone_bracket_elsewhere_does_not_pass_for_the_one_cited() -> None:
    assert found_at([b"{", b"}", b"x"], cited([b"{", b"x", b"}"], 3, 3)) == 0


@pytest.mark.parametrize("data", [b"a\nb\n", b"a\r\nb\r\n", b"a\nb", b"a\r\nb"])
def test_line_ends_are_no_part_of_lines(data: bytes) -> None:
    assert lines_of(data) == [b"a", b"b"]


def test_a_large_file_of_equal_lines_is_looked_through_in_linear_time() -> None:
    lines = [b"same"] * 100_000
    citation = cited(lines, 1, 1000)._replace(digest="00000000" + "0" * 16)
    assert found_at(lines, citation) == 0
