"""What `mem promote` shows and does."""

from pathlib import Path

import pytest

from memcli.formats.memory_page import page_line
from tests.cli.test_review import answer, flagged
from tests.conftest import Mem


@pytest.fixture
def tabs(mem: Mem, workspace: Path) -> str:
    """Write a confirmed memory and give its id."""
    identifier: str = mem("write", "User prefers tabs.", "--strength", "3").rows[0][1]
    return identifier


def test_auto_shows_a_diff_and_apply_does_it(mem: Mem, workspace: Path, tabs: str) -> None:
    before = (workspace / "MEMORY.md").read_text()
    ran = mem("promote", "--auto")
    assert ran.code == 0
    assert ran.out.startswith("--- a/MEMORY.md\n+++ b/MEMORY.md\n@@ ")
    assert f"+- User prefers tabs. <!-- {tabs} " in ran.out
    assert (workspace / "MEMORY.md").read_text() == before
    assert mem("promote", "--auto", "--apply").rows == [["promoted", tabs, "User prefers tabs."]]
    assert tabs in mem("read", "MEMORY.md").out
    assert mem("promote", "--auto").out == ""


def test_by_id_it_is_done_at_once_and_taken_back_by_demote(mem: Mem, workspace: Path, tabs: str) -> None:
    before = (workspace / "MEMORY.md").read_text()
    assert mem("promote", tabs[-6:]).rows == [["promoted", tabs, "User prefers tabs."]]
    assert mem("promote", tabs).rows == []
    assert mem("promote", "--demote", tabs[-6:]).rows == [["demoted", tabs, ""]]
    assert (workspace / "MEMORY.md").read_text() == before


def test_json_has_the_lines_the_budget_and_the_diff(mem: Mem, workspace: Path, tabs: str) -> None:
    document = mem("promote", "--auto", "--json").json
    assert document["promoted"] == [{"id": tabs, "statement": "User prefers tabs."}]
    assert (document["applied"], document["budget"], document["path"]) == (False, 4096, "MEMORY.md")
    assert 0 < document["bytes"] < 100
    assert "+- User prefers tabs." in document["diff"]


def test_what_stays_out_is_told_in_one_line_a_reason(
    mem: Mem, workspace: Path, tabs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mem("write", "User prefers a dark theme.", "--strength", "3")
    monkeypatch.setenv("MEM_PROMOTE_BUDGET", "0")
    ran = mem("promote", "--auto")
    assert ran.out == ""
    assert ran.err.count("\n") == 1
    assert "and 1 more stay out: over the budget" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "nothing to promote"),
        (("x", "--auto"), 2, "--auto"),
        (("--auto", "--demote"), 2, "nothing to promote"),
        (("nosuch",), 4, "no entry"),
        (("--demote", "nosuch"), 4, "no promoted line"),
        (("MEMORY.md",), 5, "not an entry"),
    ],
)
def test_a_mistake_is_one_clear_line(mem: Mem, tabs: str, arguments: tuple[str, ...], code: int, words: str) -> None:
    ran = mem("promote", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert words in ran.err


def test_switched_off_it_refuses(mem: Mem, tabs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEM_PROMOTE_ENABLED", "no")
    assert mem("promote", tabs).code == 5


def test_a_line_is_that_of_the_memory_its_own_is_made_one_with(mem: Mem, workspace: Path) -> None:
    kept, gone = flagged(mem, "Tests run in parallel.", "The tests are run side by side.", source="user")
    assert mem("promote", gone).code == 0
    answer(mem, "same", "--source", "user")
    (line,) = (line for line in (workspace / "MEMORY.md").read_text().splitlines() if "ests" in line)
    assert line == page_line(kept, "The tests are run side by side.")
