"""One memory takes the place of another, and the text of before comes back."""

import json
import os
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from tests.conftest import Mem, Ran
from tests.tables import cases


def put(mem: Mem, text: str, *options: str) -> tuple[str, Path]:
    row = mem("write", text, "--no-dedup", *options).rows[0]
    return row[1], Path(row[2])


def test_one_takes_the_place_of_another_and_back(mem: Mem, workspace: Path) -> None:
    old, path = put(mem, "Invoices go out by post")
    new, _ = put(mem, "Invoices go out by e-mail", "--created-at", "2026-11-01")
    before = path.read_bytes()
    shown = mem("supersede", old, new, "--dry-run")
    assert f"+superseded_by: {new}" in shown.out
    assert path.read_bytes() == before
    assert mem("supersede", old, new).rows == [["superseded", old, new]]
    assert mem("supersede", old, new).rows == [["unchanged", old, new]]
    assert [link["id"] for link in mem("read", old, "--history", "--json").json["chain"]] == [old, new]
    assert mem("read", new, "--json").json["fields"]["references"] == [old]
    assert mem("restore", old).rows == [["restored", old, path.as_posix()]]
    assert path.read_bytes() == before.replace(
        b"---\n\n", f"conflicts_with: [{new}]\nverdicts: [{new}]\n---\n\n".encode()
    )
    assert mem("restore", old).code == 5


def test_a_chain_is_shown_from_the_oldest_to_the_newest(mem: Mem, workspace: Path) -> None:
    ids = [put(mem, f"Version {number} of it", "--created-at", f"2026-0{number}-01")[0] for number in range(1, 5)]
    for old, new in pairwise(ids):
        assert mem("supersede", old, new).code == 0
    for name in ids:
        rows = mem("read", name, "--history").rows[: len(ids)]
        assert [row[2] for row in rows] == ids
        assert [row[0] for row in rows] == ["2026-01-01", "2026-02-01", "2026-03-01", "2026-04-01"]


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_circle_is_refused(mem: Mem, workspace: Path, length: int) -> None:
    ids = [put(mem, f"Member {number}")[0] for number in range(length)]
    for old, new in pairwise(ids):
        mem("supersede", old, new)
    before = [path.read_bytes() for path in sorted(workspace.rglob("*.md"))]
    ran = mem("supersede", ids[-1], ids[0])
    assert (ran.code, ran.out) == (5, "")
    assert "itself" in ran.err
    assert [path.read_bytes() for path in sorted(workspace.rglob("*.md"))] == before


def test_a_circle_or_a_hole_made_by_hand_is_told_and_hangs_nothing(mem: Mem, workspace: Path) -> None:
    one, first = put(mem, "Left branch")
    two, second = put(mem, "Right branch")
    for path, other in ((first, two), (second, one)):
        path.write_text(path.read_text().replace("---\n\n", f"status: superseded\nsuperseded_by: {other}\n---\n\n"))
    ran = mem("read", one, "--history")
    assert ran.code == 0
    assert {row[2] for row in ran.rows[:2]} == {one, two}
    assert "in a circle" in ran.err
    hole, path = put(mem, "Leads nowhere")
    path.write_text(path.read_text().replace("---\n\n", "status: superseded\nsuperseded_by: mem_gone\n---\n\n"))
    ran = mem("read", hole, "--history")
    assert ran.rows[0][2] == hole
    assert "there is no such entry" in ran.err
    mirror, path = put(mem, "Its own successor")
    path.write_text(path.read_text().replace("---\n\n", f"superseded_by: {mirror}\n---\n\n"))
    assert "in a circle" in mem("read", mirror, "--history").err
    assert mem("restore", one, mirror).code == 0
    assert mem("read", two, "--history").err == ""


@cases("arguments", "code", "words")
def test_a_mistake_is_one_clear_line(
    mem: Mem, workspace: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    names = {"old": put(mem, "Old")[0], "new": put(mem, "New")[0]}
    ran = mem("supersede", *(word.format(**names) for word in arguments))
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert words in ran.err


def test_another_successor_is_refused_until_it_is_restored(mem: Mem, workspace: Path) -> None:
    old, new, other = (put(mem, text)[0] for text in ("Old", "New", "Other"))
    mem("supersede", old, new)
    ran = mem("supersede", old, other)
    assert ran.code == 5
    assert f"`mem restore {old}` first" in ran.err
    mem("restore", old)
    assert mem("supersede", old, other).code == 0


def test_history_shows_the_commits_of_the_file(mem: Mem, workspace: Path, world: Path) -> None:
    identifier, path = put(mem, "Kept in git")
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}
    who = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Remember\tit"]):
        subprocess.run(["git", *who, *command], cwd=world, env=environ, check=True)
    row = mem("read", identifier, "--history").rows[-1]
    assert row[1:3] == ["new", "Ana"]
    assert row[4].startswith("Remember it")
    page = mem("read", "MEMORY.md", "--history", "--json").json
    assert page["chain"] == []
    assert [one["author"] for one in page["log"]] == ["Ana"]
    assert path.exists()


def test_a_dry_run_in_json_is_one_document_with_the_diff(mem: Mem, workspace: Path) -> None:
    old, new = (mem("write", text, "--no-dedup").rows[0][1] for text in ("Cats are red.", "Cats are blue."))
    ran = mem("supersede", old, new, "--dry-run", "--json")
    assert ran.json["superseded_by"] == new
    assert "+status: superseded" in ran.json["diff"]
    assert mem("ls", "--status", "superseded").rows == []


def test_two_that_superseded_each_other_on_two_branches_are_told_and_one_is_brought_back(
    mem: Mem, workspace: Path, world: Path
) -> None:
    def git(*words: str) -> str:
        identity = ("-c", "user.name=Rita", "-c", "user.email=rita@example.org", "-c", "commit.gpgsign=false")
        ran = subprocess.run(["git", "-C", str(world), *identity, *words], check=True, capture_output=True, text=True)
        return ran.stdout

    one = mem("write", "Deploys run on Fly", "--no-dedup").rows[0][1]
    other = mem("write", "Deploys run on Hetzner", "--no-dedup").rows[0][1]
    git("init", "-q")
    (world / ".git/info/attributes").write_text("*.md merge=union\n")
    git("add", "-A")
    git("commit", "-qm", "Begin")
    git("checkout", "-qb", "theirs")
    mem("supersede", one, other)
    git("commit", "-qam", "One way")
    git("checkout", "-q", "-")
    mem("supersede", other, one)
    git("commit", "-qam", "The other way")
    git("merge", "-q", "-m", "Both", "theirs")
    assert mem("search", "deploys run").code == 1, "neither is believed"
    told = mem("check")
    assert told.code == 1
    assert told.out.count("superseded in a circle") == 2
    for name in (one, other):
        ran = mem("read", name, "--history")
        assert {one, other} <= {row[2] for row in ran.rows}
        assert "in a circle: `mem restore` one of them" in ran.err
    assert mem("restore", one).code == 0
    assert [row[1] for row in mem("search", "deploys run").rows] == [one]
    assert "circle" not in mem("check").out


@pytest.mark.parametrize("how", ["forget", "forget --purge", "decay --apply --as-of 2031-01 --max-fraction 1"])
def test_what_a_forgotten_or_faded_memory_had_taken_the_place_of_goes_with_it_and_can_be_brought_back(
    mem: Mem, workspace: Path, how: str
) -> None:
    first, second, third = (
        put(mem, f"Deploys run on {place}", "--created-at", f"2026-0{number}-01")[0]
        for number, place in enumerate(("Fly", "Hetzner", "a server of ours"), 1)
    )
    mem("supersede", first, second)
    mem("supersede", second, third)
    ran = mem(*how.split(), *[third] * how.startswith("forget"))
    assert f"had taken the place of {second}, {first}, put away too: `mem restore {second}`" in ran.err
    assert mem("check").code == 0, "nothing is hidden by what nobody finds"
    assert mem("search", "deploys run").code == 1
    assert mem("restore", second).code == 0
    assert [row[1] for row in mem("search", "deploys run").rows] == [second]
    assert mem("check").code == 0


def put_version(mem: Mem, text: str, *options: str) -> str:
    return mem("write", text, "--no-dedup", *options).rows[0][1]


def listed(mem: Mem, name: str) -> list[tuple[str, str]]:
    """Give status and summary of a memory's history, the oldest first."""
    return [(link["status"], link["summary"]) for link in mem("read", name, "--history", "--json").json["chain"]]


def by_the_memory_tool(mem: Mem, one: str) -> Ran:
    path = mem("read", one, "--json").json["path"].removeprefix("entries/")
    call = {"command": "str_replace", "path": f"/memories/{path}", "old_str": "Fly", "new_str": "Hetzner"}
    return mem("memory-tool", stdin=json.dumps(call))


CHANGES = {
    "write --id": lambda mem, one: mem("write", "--id", one, "Deploys run on Hetzner"),
    "edit --replace": lambda mem, one: mem("edit", one, "--replace", "Fly", "Hetzner"),
    "memory tool": by_the_memory_tool,
}


@pytest.mark.parametrize("door", CHANGES)
def test_the_text_that_is_written_over_is_in_the_history_and_comes_back(mem: Mem, workspace: Path, door: str) -> None:
    one = put_version(mem, "Deploys run on Fly", "--tag", "ops")
    assert CHANGES[door](mem, one).code == 0
    assert mem("read", one).out == "Deploys run on Hetzner\n"
    assert listed(mem, one) == [("archived", "Deploys run on Fly"), ("active", "Deploys run on Hetzner")]
    old = mem("read", one, "--history").rows[0][2]
    assert mem("read", old).out == "Deploys run on Fly\n"
    assert [row[1] for row in mem("search", "where do deploys run").rows] == [one], "the old text is out of search"
    assert mem("check").out == ""
    assert mem("restore", old).code == 0
    assert mem("read", one).out == "Deploys run on Fly\n"
    assert [text for _, text in listed(mem, one)][-2:] == ["Deploys run on Hetzner", "Deploys run on Fly"]


def test_a_change_that_takes_nothing_away_keeps_no_second_copy(mem: Mem, workspace: Path) -> None:
    one = put_version(mem, "Deploys run on Fly")
    mem("write", "--id", one, "Deploys run on Fly\n\nThe region is ams.")
    mem("write", "--id", one, "--tag", "ops")
    assert not list((workspace / "archive").rglob("*.md"))


def test_a_private_memory_s_old_text_is_private(mem: Mem, workspace: Path) -> None:
    path = workspace.parent / mem("write", "Deploys run on Fly", "--no-dedup").rows[0][2]
    path.chmod(0o600)
    mem("write", "--id", path.relative_to(workspace).as_posix(), "Deploys run on Hetzner")
    (old,) = (workspace / "archive").rglob("*.md")
    assert old.stat().st_mode & 0o777 == 0o600


def test_other_wordings_go_with_the_text_they_are_of(mem: Mem, workspace: Path) -> None:
    one = mem("write", "Deploys run on Fly").rows[0][1]
    mem("write", "The deploys run on Fly")
    mem("write", "--id", one, "Deploys run on Hetzner")
    assert "wordings" not in mem("read", one, "--json").json["fields"]
    old = mem("read", one, "--history").rows[0][2]
    assert mem("read", old, "--json").json["fields"]["wordings"] == ["Deploys run on Fly"]
    mem("restore", old)
    assert mem("read", one, "--json").json["fields"]["wordings"] == ["Deploys run on Fly"]


PAGES = {
    "write --id": lambda mem, page: mem("write", "--id", page, "# Nothing\n"),
    "edit": lambda mem, page: mem("edit", page, "--replace", "- Uses tabs\n- Ships on Mondays\n", ""),
    "memory tool": lambda mem, page: mem(
        "memory-tool",
        stdin=json.dumps(
            {"command": "str_replace", "path": f"/memories/{page}", "old_str": "tabs", "new_str": "spaces"}
        ),
    ),
}


@pytest.mark.parametrize("door", PAGES)
@pytest.mark.parametrize("page", ["MEMORY.md", "notes/2026-11-20.md"])
def test_a_page_that_was_written_over_comes_back_as_it_was_and_the_other_text_is_kept(
    mem: Mem, workspace: Path, door: str, page: str
) -> None:
    (workspace / page).parent.mkdir(exist_ok=True)
    before = "# Memory\n\n- Uses tabs\n- Ships on Mondays\n\nThe end.\n"
    (workspace / page).write_text(before)
    if (page, door) == ("notes/2026-11-20.md", "write --id"):
        pytest.skip("a day's notes are added to")
    assert PAGES[door](mem, page).code == 0
    after = (workspace / page).read_text()
    assert after != before
    (row,) = mem("read", page, "--history").rows
    assert ("tabs" in row[4], row[1]) == (True, "archived")
    ran = mem("restore", page)
    assert (ran.code, ran.err) == (0, "")
    assert (workspace / page).read_text() == before
    assert mem("restore", page).code == 0
    assert (workspace / page).read_text() == after
    assert mem("restore", row[2]).code == 0, "an earlier text is named by its path"
    assert (workspace / page).read_text() == before
    assert mem("check").out == ""


def test_a_page_that_was_never_written_over_is_said_to_have_no_earlier_text(mem: Mem, workspace: Path) -> None:
    (workspace / "MEMORY.md").write_text("# Memory\n")
    ran = mem("restore", "MEMORY.md")
    assert (ran.code, ran.out) == (5, "")
    assert ran.err == "mem: no earlier text of MEMORY.md is kept: there is nothing to restore\n"


def test_a_line_that_a_model_takes_out_of_the_page_is_kept(mem: Mem, workspace: Path) -> None:
    (workspace / "MEMORY.md").write_text("# Memory\n\n- Ships on Mondays\n- Uses tabs\n")
    mem("edit", "MEMORY.md", "--replace", "- Ships on Mondays\n", "")
    assert "- Ships on Mondays" in "".join(path.read_text() for path in (workspace / "archive").rglob("*.md"))
    assert mem("check").out == ""


def test_a_version_whose_entry_is_forgotten_says_what_to_do(mem: Mem, workspace: Path) -> None:
    one = put_version(mem, "Deploys run on Fly")
    mem("write", "--id", one, "Deploys run on Hetzner")
    old = mem("read", one, "--history").rows[0][2]
    mem("forget", one)
    ran = mem("restore", old)
    assert ran.code == 4
    assert f"`mem restore {one}` first" in ran.err


def test_restoring_a_superseded_memory_flags_it_with_what_took_its_place(mem: Mem, workspace: Path) -> None:
    old, new = put_version(mem, "Invoices go out by post"), put_version(mem, "Invoices go out by e-mail")
    mem("supersede", old, new)
    ran = mem("restore", old)
    assert (ran.code, new in ran.err) == (0, True)
    assert {row[0] for row in mem("ls", "--conflicts").rows} == {old, new}


def test_forgetting_what_took_a_place_offers_the_older_one(mem: Mem, workspace: Path) -> None:
    old, new = put_version(mem, "Invoices go out by post"), put_version(mem, "Invoices go out by e-mail")
    mem("supersede", old, new)
    ran = mem("forget", new)
    assert f"`mem restore {old}`" in ran.err
    assert mem("search", "invoices").rows == []
    assert mem("check").code == 0, "both are in the archive, which nobody finds by chance"
    mem("restore", old)
    assert [row[1] for row in mem("search", "invoices").rows] == [old]
    assert mem("check").code == 0


@pytest.mark.parametrize("first", [(), ("--project", "shop")])
def test_the_same_text_with_and_without_a_project_is_one_memory(
    mem: Mem, workspace: Path, first: tuple[str, ...]
) -> None:
    one = mem("write", "Deploys run on Fly", *first).rows[0][1]
    other = () if first else ("--project", "shop")
    assert mem("write", "deploys run on Fly.", *other).rows[0][:2] == ["merged", one]
    assert mem("read", one, "--json").json["fields"]["project"] == "shop"
    assert mem("write", "Deploys run on Fly", "--project", "blog").rows[0][0] == "created"
