"""A large file costs time by its length and no more, and stops nothing that is asked of the others."""

import base64
import os
import random
import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memcli.formats.memory_page import sections
from memcli.index.database import texts_of
from memcli.store.addresses import Place, part
from memcli.store.workspace import Surroundings, opened
from tests.conftest import Mem, Ran
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


ANSWER = "The quagga sleeps in Maputo."
LINES = 12_000
LONG_TEXTS = {
    "paragraphs": "".join(
        f"Paragraph {n} on the river, its mud, its banks and the birds there.\n\n" for n in range(LINES)
    ),
    "one line": "".join(f"Sentence {n} on the river, its mud, its banks and the birds there. " for n in range(LINES)),
    "headings": "".join(
        f"{'#' * (1 + n % 6)} Part {n % 500}\n\nmud and birds of the river, part {n}\n\n" for n in range(LINES)
    ),
    "a table": "| n | bird | place |\n|---|---|---|\n"
    + "".join(f"| {n} | heron | bank {n} |\n" for n in range(3 * LINES)),
    "base64": f"{base64.b64encode(random.Random(1).randbytes(750_000)).decode()}\n",
}
MEASURED = """
import resource, sys, time
from memcli.cli.app import run
code = run(["search", "where does the quagga sleep", "--json"])
used = resource.getrusage(resource.RUSAGE_SELF)
# Of this program alone: `ru_maxrss` begins with what the process held that forked it.
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(f"used {used.ru_utime + used.ru_stime:.1f} s, {peak // 1024} MB", file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize("name", LONG_TEXTS)
def test_an_entry_of_a_megabyte_shows_the_line_that_answers_in_bounded_time_and_memory(
    spawn: Callable[..., Ran], workspace: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    text = LONG_TEXTS[name]
    half = text.find(" " if name == "one line" else "\n", len(text) // 2) + 1
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries/big.md").write_text(f"{text[:half]}{ANSWER}\n{text[half:]}")
    monkeypatch.setenv("MEM_SEARCH_EMBED_BUDGET", "0.2")  # most of its chunks have no vector yet
    ran = spawn(code=MEASURED)
    assert ran.code == 0, ran.err
    (hit, *_) = ran.json["hits"]
    assert ANSWER in hit["summary"]
    assert ANSWER in (workspace / "entries/big.md").read_text().split("\n")[hit["line"] - 1]
    assert "not embedded yet" in ran.err
    seconds, megabytes = re.search(r"used ([\d.]+) s, (\d+) MB", ran.err).groups()
    assert float(seconds) < 20  # measured: at most 4, most of it the first reading
    assert int(megabytes) < 500  # measured: at most 400, of a model that reads 64 chunks at once


@pytest.mark.parametrize(
    "query", ["quagga " * 1_000, f"{'mud and birds of the river, ' * 285}quagga quagga", "q" * 8_000]
)
def test_a_query_of_thousands_of_characters_is_answered(mem: Mem, workspace: Path, query: str) -> None:
    mem("write", ANSWER, "--no-dedup")
    mem("write", "Otters live at the old mill.", "--no-dedup")
    began = time.process_time()
    ran = mem("search", query, "--min-score", "0")
    assert time.process_time() - began < 10
    assert ran.code == 0, ran.err
    assert "quagga" not in query or ANSWER in ran.out.split("\n")[0]
