"""A large file costs time by its length and no more, and stops nothing that is asked of the others."""

import os
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memcli.formats.memory_page import sections
from memcli.index.database import texts_of
from memcli.store.addresses import Place, part
from memcli.store.workspace import Surroundings, opened
from tests.conftest import Mem
from tests.growth import growth


@pytest.mark.parametrize("heading", ["Same", "Same 2", "", "- -"])
def test_many_equal_headings_are_cut_in_time_that_grows_with_their_number(heading: str) -> None:
    def seconds(count: int) -> float:
        text = f"## {heading} x\n\nwords\n" * count
        sections.cache_clear()
        began = time.process_time()
        found = sections(text)
        assert len({section.anchor for section in found}) == count
        return time.process_time() - began

    assert growth(seconds, 2_000, 20_000, 35) < 35  # ten times as many; by the square it would be a hundred times


def test_parts_of_one_page_are_found_without_reading_it_again_for_each(mem: Mem, workspace: Path) -> None:
    (workspace / "MEMORY.md").write_text("# M\n" + "## Same\n\nwords of the build\n" * 4_000)
    where = opened(Surroundings(workspace, os.environ, datetime.now(UTC)), workspace)
    text = (workspace / "MEMORY.md").read_text()

    def seconds(parts: int) -> float:
        sections.cache_clear()
        began = time.process_time()
        for number in range(2, parts + 2):
            part(where, Place("MEMORY.md", f"same-{number}"), text)
        return time.process_time() - began

    assert growth(seconds, 1, 40, 10) < 10  # forty times as many parts


def test_equal_headings_keep_the_anchors_they_had() -> None:
    found = sections("# a\nx\n# a\nx\n# a 2\nx\n# a\nx\n# a 2\nx\n")
    assert [section.anchor for section in found] == ["a", "a-2", "a-2-2", "a-3", "a-2-3"]


def test_a_check_of_a_page_of_thousands_of_sections_grows_with_its_length(mem: Mem, workspace: Path) -> None:
    def seconds(count: int) -> float:
        (workspace / "MEMORY.md").write_text("# M\n" + "## Same\n\nwords of the build\n" * count)
        mem("search", "build", "--mode", "keyword")
        began = time.process_time()
        assert mem("check").code in (0, 1)
        return time.process_time() - began

    seconds(10)
    assert growth(seconds, 2_000, 16_000, 25) < 25  # eight times as many; by the square it would be 64 times


def test_a_file_too_large_to_index_whole_is_named_and_stops_no_command(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memcli.index.file_reader.LONGEST", 20_000)
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries/big.md").write_text("the build passed\n" * 10_000)
    mem("write", "The marzipan port is 8081", "--no-dedup")
    assert len(mem("ls").rows) == 2
    assert "marzipan" in mem("grep", "m[a-z]+pan").out
    assert "marzipan" in mem("search", "marzipan", "--mode", "keyword").out
    assert "entries/big.md:1: larger than" in mem("check").out


@pytest.mark.parametrize("words", [("zebrafinch",), ("-F", "zebrafinch"), ("-i", "ZEBRA.inch"), ("-l", "zebrafinch")])
def test_a_word_behind_the_indexed_part_of_a_file_is_found_by_grep(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr("memcli.index.file_reader.LONGEST", 20_000)
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries/big.md").write_text("the build passed\n" * 2_000 + "a zebrafinch sang\n")
    ran = mem("grep", *words)
    assert (ran.code, ran.err) == (0, "")
    assert "entries/big.md" in ran.out


def test_what_search_and_grep_did_not_look_through_is_said(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memcli.index.file_reader.LONGEST", 20_000)
    monkeypatch.setattr("memcli.search.grep.LONGEST", 30_000)
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries/big.md").write_text("the build passed\n" * 2_000 + "a zebrafinch sang\n")
    for words in (("search", "zebrafinch", "--mode", "keyword"), ("grep", "zebrafinch"), ("grep", "-c", "build")):
        ran = mem(*words)
        assert ran.err.count("entries/big.md:1: larger than") == 1, ran
        assert ran.code == (1 if words[0] == "search" else 3)
        (problem,) = [one for one in mem(*words, "--json").json["problems"] if one["left_out"]]
        assert problem["path"] == "entries/big.md"
    assert mem("ls").err == ""


def test_the_texts_of_a_large_file_are_read_in_time_that_grows_with_its_length(mem: Mem, workspace: Path) -> None:
    def seconds(count: int) -> float:
        entries = workspace / "entries"
        entries.mkdir(exist_ok=True)
        (entries / "big.md").write_text("".join(f"Paragraph {n} on the river.\n\n" * 40 for n in range(count)))
        mem("ls")
        with closing(sqlite3.connect(workspace / ".mem/index.db")) as index:
            chunks = [row[0] for row in index.execute("select chunk from chunks")]
            assert len(chunks) >= count
            began = time.process_time()
            assert len(list(texts_of(index, chunks))) == len(chunks)
            return time.process_time() - began

    assert growth(seconds, 400, 6_400, 80) < 80  # sixteen times as many; by the square it would be 256 times


def test_grep_gives_what_it_found_where_one_file_takes_too_long(mem: Mem, workspace: Path) -> None:
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries/a-slow.md").write_text("a" * 60 + "!\n")
    (workspace / "entries/z.md").write_text("the word is aab\n")
    for seconds in (1, 5, 25):  # on a busy machine a second may be over before the second file is looked at
        (workspace / "mem.yaml").write_text(f"grep.timeout: {seconds}\n")
        ran = mem("grep", r"(a|aa)+\1$x|aab")
        if ran.code == 3:
            break
    assert ran.code == 3, ran
    assert "aab" in ran.out
    assert "a-slow.md" in ran.err
    (workspace / "entries/z.md").unlink()
    assert mem("grep", r"(a|aa)+\1$x|aab").code == 2
