"""What is shown beside a pull request says what it should, and no text of a memory is more than text there."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.cli.diff import LONGEST, MARK, code, fenced
from tests.conftest import Mem
from tests.scenes import commit, git
from tests.tables import cases

SECRET = "ghp_A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B"


@pytest.fixture
def repository(workspace: Path, world: Path) -> Path:
    git(world, "init", "-q", "-b", "main")
    commit(world)
    return workspace


def outside_of_code(markdown: str) -> str:
    """Return a page of markdown without its code: a fence ends at one as long, a span at as many backticks."""
    kept: list[str] = []
    fence = ""
    for line in markdown.split("\n"):
        mark = re.match(r" {0,5}(`{3,}|~{3,})", line)
        if fence:
            closes = mark and mark[1].startswith(fence) and not line.strip(f" {fence[0]}")
            fence = "" if closes else fence
        elif mark:
            fence = mark[1]
        else:
            kept.append("".join(_without_spans(line)))
    assert not fence, "a block of code is never closed"
    return "\n".join(kept)


def _without_spans(line: str) -> Iterator[str]:
    while opening := re.search(r"`+", line):
        yield line[: opening.start()]
        closing = re.search(rf"(?<!`){opening[0]}(?!`)", line[opening.end() :])
        if closing is None:
            yield line[opening.start() :]
            return
        line = line[opening.end() + closing.end() :]
    yield line


@given(st.text(st.sampled_from("`~ \n@<>[]()#-\\a\u2028\x1b"), max_size=60))
def test_inline_code_holds_whatever_is_in_it(text: str) -> None:
    shown = code(text)
    assert "\n" not in shown
    assert outside_of_code(f"x {shown} y") == "x  y"


@given(st.lists(st.text(st.sampled_from("`~ @<>#-a\u2028\r\x0b"), max_size=20).map("+".__add__), max_size=8))
def test_a_block_of_code_holds_whatever_is_in_it(lines: list[str]) -> None:
    assert outside_of_code(f"x\n{fenced(lines)}y").split() == ["x", "y"]


@cases("text")
def test_a_memory_says_nothing_outside_of_code(repository: Path, mem: Mem, text: str) -> None:
    name = re.sub(r"[/\x00-\x1f]", "", text)[:40]
    (repository / "entries").mkdir(exist_ok=True)
    body = text.replace("\x1b", "").replace("\x0b", "").replace("\x0c", "")
    quoted = json.dumps(text)
    (repository / f"entries/{name}.md").write_text(
        f"---\nid: mem_{name[:2]}\ntitle: {quoted}\nmood: {quoted}\n---\n\n{body}\n"
    )
    (repository / "notes").mkdir(exist_ok=True)
    (repository / "notes/2026-11-21.md").write_text(f"[10:10] {body}\n")
    (repository / "MEMORY.md").write_text(f"{body}\n")
    (repository / "mem.yaml").write_text(f"{quoted}: {quoted}\n")
    ran = mem("diff", "--format", "markdown")
    assert ran.code == 0
    page = ran.out
    assert page.count(MARK) >= 1
    assert page.startswith(MARK)
    said = set(re.findall(r"[a-z]+", outside_of_code(page.removeprefix(MARK)).lower()))
    assert said <= {"memory", "new", "on", "the", "page", "in", "notes", "settings", "note", "setting", "unreadable"}
    assert not re.search(r"[@\[\]\\\u202e\u2066\x1b]|https?:", outside_of_code(page))


def test_a_long_comment_ends_with_what_had_no_room(repository: Path, mem: Mem) -> None:
    (repository / "entries").mkdir(exist_ok=True)
    for number in range(400):
        text = f"Number {number}. " + "Long words. " * 40
        (repository / f"entries/{number}.md").write_text(f"---\nid: mem_{number:05}\n---\n\n{text}\nSecond line.\n")
    page = mem("diff", "--format", "markdown").out
    assert len(page) <= LONGEST + 200
    assert "changes more had no room here" in page
    assert page.startswith(f"{MARK}\n### Memory: 400 new\n")


def test_nothing_changed_is_said_so_that_an_older_comment_can_be_replaced(repository: Path, mem: Mem) -> None:
    assert "### Memory: nothing changed" in mem("diff", "--format", "markdown").out


@pytest.fixture
def broken(repository: Path, world: Path, mem: Mem) -> Path:
    """Give a workspace with one old fault that is committed, and two new ones."""
    (repository / "entries").mkdir(exist_ok=True)
    (repository / "entries/old.md").write_text("---\nid: mem_old\n---\n\nSee [[nobody]].\n")
    commit(world)
    (repository / "entries/a, b:c.md").write_text(f"---\nid: mem_new\n---\n\nSee [[100% gone]].\nKey {SECRET}\n")
    return repository


def test_only_what_changed_since_is_looked_at_secrets_included(broken: Path, world: Path, mem: Mem) -> None:
    assert len(mem("check", "--json").json["problems"]) == 3
    for committed in (False, True):
        if committed:
            commit(world)
        ran = mem("check", "--since", "HEAD~1" if committed else "HEAD", "--json")
        assert ran.code == 1
        assert [(one["rule"], one["line"]) for one in ran.json["problems"]] == [("link", 5), ("secret", 6)]
    assert mem("check", "--since", "HEAD").code == 0


def test_what_a_branch_was_behind_of_is_not_its_fault(broken: Path, world: Path, mem: Mem) -> None:
    git(world, "switch", "-qc", "side")
    commit(world)
    git(world, "switch", "-q", "main")
    (broken / "entries/old.md").write_text("---\nid: mem_old\n---\n\nAll is well.\n")
    git(world, "commit", "-qam", "mend")
    git(world, "switch", "-q", "side")
    found = [mem("check", "--since", words, "--json").json["problems"] for words in ("main", "main...")]
    places = [{one["path"] for one in some} for some in found]
    assert places == [{"entries/a, b:c.md", "entries/old.md"}, {"entries/a, b:c.md"}]


def test_each_fault_is_a_line_that_problem_matchers_read(broken: Path, mem: Mem) -> None:
    lines = mem("check", "--since", "HEAD").out.splitlines()
    assert [line.split(": ")[0] for line in lines] == ["memory/entries/a, b:c.md:5", "memory/entries/a, b:c.md:6"]


def test_a_link_out_of_the_workspace_is_noticed_since(broken: Path, mem: Mem) -> None:
    (broken / "entries/l.md").symlink_to("/etc/passwd")
    assert "outside" in {one["rule"] for one in mem("check", "--since", "HEAD", "--json").json["problems"]}


@cases("words")
def test_what_does_not_go_together_is_refused(repository: Path, mem: Mem, words: tuple[str, ...]) -> None:
    ran = mem("check", *words)
    assert (ran.code, ran.out) == (2, "")
