"""Exact search: the lines grep would print, on every file there is."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import UsageError
from memcli.search.grep import Pattern, finder
from tests.conftest import Mem
from tests.tables import cases

TEXT = "foo\nbar foo\n\nfoobar\n  baz\n"


def found(expression: str, text: str = TEXT, **options: bool) -> list[int]:
    return [number + 1 for number in finder(Pattern(expression, **options))(text)]


@cases("expression", "lines")
def test_an_expression_is_tried_on_each_line_alone(expression: str, lines: list[int]) -> None:
    assert found(expression) == lines
    assert found(expression, TEXT.replace("\n", "\r\n")) == lines


@given(
    st.text("ab \n", max_size=30),
    st.sampled_from(
        ["a", "a+b", "[^a]", "[^a]+", "a[^b]*a", r"\s", "^b", "b$", "^$", "a?", "(a|b) ", r"b\B", ".a", "a{2,}"]
    ),
)
def test_what_it_finds_is_what_the_lines_say(text: str, expression: str) -> None:
    lines = text.split("\n")[:-1] if text.endswith("\n") or not text else text.split("\n")
    assert found(expression, text) == [n for n, line in enumerate(lines, 1) if re.search(expression, line)]


@given(st.text("ab.*\n", max_size=30), st.text("ab.*", min_size=1, max_size=3))
def test_a_fixed_text_is_no_expression(text: str, wanted: str) -> None:
    assert found(wanted, text, fixed=True) == [n for n, line in enumerate(text.split("\n"), 1) if wanted in line]


@given(st.text("ab -.\r\n", max_size=30), st.text("ab -", min_size=1, max_size=3))
def test_a_plain_expression_is_found_as_the_same_in_brackets(text: str, wanted: str) -> None:
    assert Pattern(wanted).part == wanted
    assert Pattern(f"({wanted})").part == Pattern(f"{wanted}.").part == Pattern(wanted, ignore_case=True).part == ""
    assert found(wanted, text) == found(f"({wanted})", text)


def test_words_and_cases() -> None:
    assert found("foo", words=True) == [1, 2]
    assert found("FOO") == []
    assert found("FOO", ignore_case=True) == [1, 2, 4]
    assert found("FOO", fixed=True, ignore_case=True, words=True) == [1, 2]
    assert found("foo|baz", words=True) == [1, 2, 5]
    assert found("STRASSE", "die strasse\nÜBER\n", ignore_case=True) == [1]
    assert found("über", "die strasse\nÜBER\n", ignore_case=True) == [2]


def test_a_fixed_text_of_two_lines_is_told_by_its_first() -> None:
    assert found("foo\n\nfoo", fixed=True) == [2]


@pytest.mark.parametrize("expression", ["(", "[", "*a", "a{2,1}", r"\1", "(?P<n>", "(?<=a*)("])
def test_what_is_no_expression_is_told(expression: str) -> None:
    with pytest.raises(UsageError, match="not a regular expression"):
        finder(Pattern(expression))


def test_an_expression_that_would_take_for_ever_is_stopped() -> None:
    with pytest.raises(TimeoutError):
        finder(Pattern(r"(a|aa)+\1$x", seconds=0.05))("a" * 60 + "\n")


def test_the_time_is_for_all_files_together(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace / "entries").mkdir()
    for number in range(50):
        (workspace / "entries" / f"{number}.md").write_text("a" * 21 + "\n")
    monkeypatch.setenv("MEM_GREP_TIMEOUT", "0.1")
    ran = mem("grep", r"(a|aa)+\1$x")
    assert (ran.code, ran.out) == (2, "")
    assert "grep.timeout" in ran.err


def test_it_agrees_with_grep(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)
    if shutil.which("grep") is None:
        pytest.fail("the system has no grep to compare with")
    (workspace / "entries").mkdir()
    (workspace / "entries" / "a.md").write_text(TEXT)
    (workspace / "entries" / "b.md").write_bytes(b"foo\n\n\nlast line without an end: foo")
    for options in (["foo"], ["-i", "FOO"], ["-w", "foo"], ["-F", "a.e"], ["^$"], ["-c", "foo"], ["-l", "baz"],
                    ["-C", "1", "foob"], ["-n", "x*"], ["[^o]$"]):  # fmt: skip
        words = [word for word in options if word != "-n"]
        theirs = subprocess.run(
            ["grep", "-rnE" if "-F" not in words else "-rn", *words, "entries"],
            cwd=workspace,
            capture_output=True,
            text=True,
            check=False,
        )
        lines = [line for line in theirs.stdout.splitlines() if not line.endswith(":0") or "-c" not in words]
        ours = mem("grep", *words, "--path", "entries/")
        assert (sorted(ours.out.splitlines()), ours.code) == (sorted(lines), theirs.returncode), options


def test_everything_is_looked_through_and_told_by_its_place(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    for name, text in {
        "MEMORY.md": "# Zoo\n\nquagga one\n",
        "HISTORY-2026-11.md": "## 2026-11-02T10:00:00Z <!-- hist_a -->\n\nquagga two\n",
        "notes/2026-11-21.md": "[10:00] quagga three\n",
        "entries/old.md": "---\nstatus: superseded\n---\nquagga four\n",
        "entries/broken.md": "---\ntitle: a: b\n---\nquagga five\n",
        "entries/merge.md": "<<<<<<< a\nquagga six\n=======\nx\n>>>>>>> b\n",
        "entries/bytes.md": b"quagga \xff seven\n",
        "archive/entries/gone.md": "quagga eight\n",
    }.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    ran = mem("grep", "quagga")
    assert ran.out == (
        "HISTORY-2026-11.md:3:quagga two\nMEMORY.md:3:quagga one\nentries/broken.md:4:quagga five\n"
        "entries/bytes.md:1:quagga \ufffd seven\nentries/merge.md:2:quagga six\nentries/old.md:4:quagga four\n"
        "notes/2026-11-21.md:1:[10:00] quagga three\n"
    )
    assert mem("grep", "quagga", "--archived", "-l").out.startswith("HISTORY-2026-11.md\n")
    assert "archive/entries/gone.md" in mem("grep", "quagga", "--archived", "-l").out
    assert mem("grep", "quagga", "--kind", "note", "-c").out == "notes/2026-11-21.md:1\n"
    assert mem("grep", "quagga", "--status", "superseded", "-l").out == "entries/old.md\n"
