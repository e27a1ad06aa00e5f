"""What `mem promote` puts on the page, and how the page follows its memories."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memcli.formats.memory_page import page_line
from tests.cli.test_review import answer, flagged
from tests.conftest import Mem
from tests.tables import cases


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


@cases("arguments", "code", "words")
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


OLD, NEW = "The rent is 1,400 a month", "The rent is 1,450 a month"
OTHER = "The landlord is called Novak"
Way = Callable[[Mem, Path, str], object]


def lines(workspace: Path) -> list[str]:
    """Return what the promoted lines of the page say."""
    page = (workspace / "MEMORY.md").read_text()
    return re.findall(r"^- (.*) <!-- mem_\w+ [0-9a-f]{6} -->$", page, re.MULTILINE)


def file_of(workspace: Path, identifier: str) -> Path:
    return next(path for path in (workspace / "entries").rglob("*.md") if f"id: {identifier}" in path.read_text())


def by_hand(workspace: Path, identifier: str, old: str, new: str) -> None:
    """Change a file as an editor does."""
    path = file_of(workspace, identifier)
    path.write_text(path.read_text().replace(old, new))
    os.utime(path, (1.79e9, 1.79e9))


@pytest.fixture
def rent(mem: Mem, workspace: Path) -> str:
    """Write two memories, the first with a key, and promote them; return the id of the first."""
    first: str = mem("write", OLD, "--key", "home/rent", "--source", "user").rows[0][1]
    second: str = mem("write", OTHER, "--source", "user").rows[0][1]
    mem("promote", first, second)
    assert sorted(lines(workspace)) == sorted([OLD, OTHER])
    return first


CORRECTED: dict[str, Way] = {
    "edit": lambda mem, _, name: mem("edit", name, "--replace", "1,400", "1,450"),
    "write --id": lambda mem, _, name: mem("write", NEW, "--id", name),
    "write of its key": lambda mem, _, name: mem("write", NEW, "--key", "home/rent", "--source", "user"),
    "write --supersedes": lambda mem, _, name: mem("write", NEW, "--supersedes", name, "--source", "user"),
    "supersede": lambda mem, _, name: mem("supersede", name, mem("write", NEW, "--no-dedup").rows[0][1]),
    "by hand": lambda mem, workspace, name: (
        by_hand(workspace, name, "1,400", "1,450"),
        mem("search", "rent"),
    ),
}
"""Ways to correct a memory, each with what it takes until the page says so."""

PUT_AWAY: dict[str, Way] = {
    "forget": lambda mem, _, name: mem("forget", name),
    "forget --purge": lambda mem, _, name: mem("forget", name, "--purge"),
    "status by hand": lambda mem, workspace, name: (
        by_hand(workspace, name, "source: user", "source: user\nstatus: superseded"),
        mem("ls"),
    ),
    "expired, and tended": lambda mem, _, name: (
        mem("edit", name, "--replace", "source: user", "source: user\nexpires_at: 2026-11-01"),
        mem("tend"),
    ),
    "faded": lambda mem, workspace, name: (
        [by_hand(workspace, name, f"{key}: 2026", f"{key}: 2011") for key in ("created_at", "updated_at")],
        mem("decay", "--apply", "--max-fraction", "1"),
    ),
}


def test_a_change_by_hand_reaches_the_page_also_where_an_edit_of_another_memory_comes_first(
    mem: Mem, workspace: Path, rent: str
) -> None:
    other = mem("write", "The cellar is dry.").rows[0][2]
    by_hand(workspace, rent, "1,400", "1,450")
    mem("edit", other, "--replace", "dry", "damp")
    mem("ls")
    assert sorted(lines(workspace)) == sorted([NEW, OTHER])


@pytest.mark.parametrize("way", CORRECTED)
def test_a_corrected_memory_has_its_new_words_on_the_page(mem: Mem, workspace: Path, rent: str, way: str) -> None:
    CORRECTED[way](mem, workspace, rent)
    assert sorted(lines(workspace)) == sorted([NEW, OTHER])
    assert mem("promote", "--auto").out == "", "nothing is left to be done"
    recalled = mem("recall", "what is the rent?").out
    assert "1,450" in recalled
    assert "1,400 a month" not in recalled.replace(f"was: {OLD}", "")


@pytest.mark.parametrize("way", PUT_AWAY)
def test_the_line_of_a_memory_that_is_put_away_goes(mem: Mem, workspace: Path, rent: str, way: str) -> None:
    PUT_AWAY[way](mem, workspace, rent)
    assert lines(workspace) == [OTHER]


def test_a_session_begins_with_the_words_that_a_person_gave_an_entry_by_hand(
    mem: Mem, workspace: Path, rent: str
) -> None:
    by_hand(workspace, rent, "1,400", "1,450")
    event = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(workspace.parent), "source": "startup"}
    begun = mem("hook", "run", "claude-code", stdin=json.dumps(event)).out
    assert "1,450" in begun
    assert "1,400" not in begun


def test_a_line_that_a_person_changed_is_theirs(mem: Mem, workspace: Path, rent: str) -> None:
    page = workspace / "MEMORY.md"
    page.write_text(page.read_text().replace(OLD, "Rent: 1,400, due on the first"))
    before = page.read_text()
    mem("edit", rent, "--replace", "1,400", "1,450")
    mem("search", "rent")
    assert page.read_text() == before


def test_what_an_agent_makes_of_it_is_not_put_on_the_page(mem: Mem, workspace: Path, rent: str) -> None:
    mem("edit", rent, "--replace", "1,400", "1,500", "--source", "observed")
    assert lines(workspace) == [OTHER]


def test_undo_brings_back_the_memory_and_its_line(mem: Mem, workspace: Path, rent: str) -> None:
    mem("edit", rent, "--replace", "1,400", "1,450")
    mem("undo")
    assert sorted(lines(workspace)) == sorted([OLD, OTHER])
    assert OLD in file_of(workspace, rent).read_text()


def test_a_page_in_conflict_and_another_command_at_work_leave_it_for_later(
    mem: Mem, workspace: Path, rent: str
) -> None:
    page = workspace / "MEMORY.md"
    sound = page.read_text()
    page.write_text(f"{sound}\n<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")
    by_hand(workspace, rent, "1,400", "1,450")
    mem("search", "rent")
    assert OLD in page.read_text()
    page.write_text(sound)
    mem("search", "rent")
    assert NEW in page.read_text()


def test_a_clone_that_is_not_trusted_keeps_its_page(mem: Mem, workspace: Path, rent: str, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["cp", "-r", str(workspace), str(clone)], check=True)
    by_hand(clone, rent, "1,400", "1,450")
    before = (clone / "MEMORY.md").read_text()
    mem("search", "rent", "--workspace", str(clone))
    assert (clone / "MEMORY.md").read_text() == before


def test_what_the_page_says_already_is_not_put_there_again(mem: Mem, workspace: Path) -> None:
    page = workspace / "MEMORY.md"
    page.write_text(f"{page.read_text()}\n## House\n\n* {OLD.upper()}.\n")
    identifier = mem("write", OLD, "--strength", "3", "--source", "user").rows[0][1]
    assert "MEMORY.md says it already" in mem("promote", "--auto").err
    assert "says it already" in mem("promote", identifier).err
    assert lines(workspace) == []


def test_a_page_that_is_a_link_to_itself_is_left_and_search_goes_on(mem: Mem, workspace: Path, rent: str) -> None:
    (workspace / "MEMORY.md").unlink()
    (workspace / "MEMORY.md").symlink_to("MEMORY.md")
    by_hand(workspace, rent, "1,400", "1,450")
    assert "1,450" in mem("search", "rent").out
