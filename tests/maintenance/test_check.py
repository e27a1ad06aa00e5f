"""Every invariant of the formats: what breaks it is named by path and line, and what keeps it passes."""

import os
import shutil
from pathlib import Path

import pytest

from memcli.formats.entry import Entry
from memcli.formats.memory_page import page_line
from memcli.git.run import Staged
from memcli.maintenance.checks import check, check_some
from memcli.maintenance.invariants import circles
from memcli.store.workspace import Workspace
from tests.conftest import FIXTURES, Mem
from tests.scenes import at
from tests.tables import cases
from tests.two_branches import Repository


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return at(tmp_path / "memory")


def put(workspace: Workspace, path: str, text: str) -> Path:
    file = workspace.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def entry(identifier: str, head: str = "", body: str = "It is so.") -> str:
    return f"---\nid: {identifier}\ncreated_at: 2026-11-20T00:00:00Z\n{head}---\n\n{body}\n"


def said(workspace: Workspace) -> list[str]:
    return [str(fault) for fault in check(workspace).faults]


def test_a_sound_workspace_has_nothing_wrong(workspace: Workspace) -> None:
    put(workspace, "MEMORY.md", "# Memory\n\n<!-- mem:keep -->\nMine.\n<!-- /mem:keep -->\n- [One](entries/one.md)\n")
    links = "[[two]], [[Two by title]], [[mem_b|b]], ![[picture.png]], [up](../MEMORY.md), [out](../../README.md)"
    put(
        workspace,
        "entries/one.md",
        entry("mem_a", "conflicts_with: [mem_b]\nverdicts: [mem_b]\nreferences: [mem_c, TM-1]\n", links),
    )
    put(workspace, "entries/deep/two.md", entry("mem_b", "title: Two by title\n"))
    put(workspace, "archive/entries/c.md", entry("mem_c", "superseded_by: mem_gone\n", "[[nowhere]]"))
    put(workspace, "entries/old.md", entry("mem_d", "status: superseded\nsuperseded_by: mem_a\n"))
    put(workspace, "assets/picture.png", "")
    put(workspace, "HISTORY-2026-11.md", "## 2026-11-01T10:00:00Z <!-- hist_a -->\n\n[2026-11-01 10:00] x.\n")
    put(workspace, "notes/2026-11-20.md", "[10:00] User: [[anything]] | Assistant: yes\n")
    put(workspace, "entries/plain.md", "No frontmatter.\n")
    assert said(workspace) == []


def test_in_the_year_of_the_fixtures_only_what_was_broken_on_purpose_is_wrong(workspace: Workspace) -> None:
    shutil.copytree(FIXTURES / "workspace", workspace.root, dirs_exist_ok=True)
    assert [(one.path.rpartition("/")[2], one.line, one.rule) for one in check(workspace).faults] == [
        ("reading-list-japanese-tnktdh.md", 17, "link"),
        ("broken-fence-kntwx3.md", 1, "read"),
        ("broken-list-07hdwc.md", 4, "read"),
        ("broken-title-8bc09v.md", 4, "read"),
    ]


@pytest.mark.parametrize(
    ("path", "text", "line", "words"),
    [
        ("entries/a.md", "---\ntitle: a: b\n---\n", 2, "quote the value"),
        ("entries/a.md", entry("a", "trust: .nan\n"), 4, "is not a number"),
        ("entries/a.md", entry("a", "trust: 1e300\n"), 4, "between 0 and 1"),
        ("entries/a.md", entry("a", "trust: -1\n"), 4, "between 0 and 1"),
        ("entries/a.md", entry("a", "strength: strong\n"), 4, "whole number"),
        ("entries/a.md", entry("a", "expires_at: 2026-02-30\n"), 4, "not a date that exists"),
        ("entries/a.md", entry("a", "", "x\n<<<<<<< a\n=======\n>>>>>>> b"), 7, "conflict marker"),
        ("entries/a.md", entry("a", "superseded_by: mem_gone\n"), 4, "superseded_by names mem_gone"),
        ("entries/a.md", entry("a", "conflicts_with:\n  - mem_gone\n"), 5, "conflicts_with names mem_gone"),
        ("entries/a.md", entry("a", 'references: ["[[gone]]"]\n'), 4, "references names [[gone]]"),
        ("entries/a.md", entry("a", "references: [hist_gone]\n"), 4, "references names hist_gone"),
        ("entries/a.md", entry("a", "", "one\n\nsee [[gone]]"), 8, "links to gone"),
        ("entries/a.md", entry("a", "", "[words](gone.md)"), 6, "links to gone.md"),
        ("entries/a.md", entry("a", "superseded_by: a\n"), 4, "superseded in a circle: a → a"),
        ("MEMORY.md", "x\n<!-- mem:promoted -->\n", 2, "never closed"),
        ("MEMORY.md", "x\n<!-- mem:keep -->\n", 2, "never closed"),
        ("MEMORY.md", "x\n<!-- /mem:keep -->\n", 2, "without its other half"),
        (
            "MEMORY.md",
            f"<!-- mem:promoted -->\n{page_line('gone', 'x')}\n<!-- /mem:promoted -->\n",
            2,
            "gone is not there",
        ),
        ("MEMORY.md", "line\n" * 2000, 1639, "10,000 bytes are more than memory.budget (8,192)"),
        ("MEMORY.md", "- [Role](user_role.md)\n", 1, "links to user_role.md"),
        ("HISTORY-2026-11.md", "## 2026-11-02T10:00:00Z\n\nb\n\n## 2026-11-01T10:00:00Z\n\na\n", 5, "after one of"),
        ("HISTORY-2026-11.md", "## 2026-11-31T10:00:00Z\n\nx\n", 1, "no time that exists"),
        ("HISTORY-2026-13.md", "", 1, "2026-13 in its name"),
        ("notes/2026-02-30.md", "[10:00] x\n", 1, "2026-02-30 in its name"),
        ("sessions/s/session.jsonl", '{"role": "user", "content": "x"}\nno json\n{}\n', 2, "JSON"),
        ("mem.yaml", "search:\n  limt: 3\n", 2, "unknown setting search.limt"),
    ],
)
def test_what_breaks_an_invariant_is_named_by_its_line(
    workspace: Workspace, path: str, text: str, line: int, words: str
) -> None:
    put(workspace, path, text)
    found = [one for one in check(at(workspace.root)).faults if words in one.reason]
    assert [(one.path, one.line) for one in found] == [(path, line)]


def test_the_younger_of_two_files_with_one_id_is_the_one_too_many(workspace: Workspace) -> None:
    put(workspace, "entries/a.md", entry("mem_a").replace("11-20", "11-21"))
    put(workspace, "entries/b.md", entry("mem_a"))
    put(workspace, "archive/entries/a.md", entry("mem_a").replace("11-20", "11-01"))
    assert said(workspace) == [
        "archive/entries/a.md:2: has the id mem_a of entries/b.md: give one of them another",
        "entries/a.md:2: has the id mem_a of entries/b.md: give one of them another",
    ]


def test_a_successor_does_not_leave_the_old_one_active(workspace: Workspace) -> None:
    put(workspace, "entries/a.md", entry("mem_a", "superseded_by: mem_b\n"))
    put(workspace, "entries/b.md", entry("mem_b"))
    assert said(workspace) == [
        "entries/a.md:4: is superseded by mem_b but active: change its status, or take that away"
    ]


def test_a_chain_of_ten_thousand_is_followed_in_no_time() -> None:
    after = {number: number + 1 for number in range(10_000)} | {9_999: 9_998}
    chain = [("p", "", Entry(id=str(one), body="", superseded_by=str(two))) for one, two in after.items()]
    assert sorted(fault.reason[:32] for fault in circles(chain)) == [
        "superseded in a circle: 9998 → 9",
        "superseded in a circle: 9999 → 9",
    ]


def test_links_out_of_the_workspace_and_unreadable_names_are_told(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("x")
    put(workspace, "entries/a.md", entry("a"))
    (workspace.root / "entries/out.md").symlink_to(tmp_path / "secret.md")
    (workspace.root / "entries/dead.md").symlink_to("nowhere.md")
    with open(os.fsencode(workspace.root / "entries") + b"/\xff.md", "wb") as file:
        file.write(b"x")
    (workspace.root / "entries/u.md").write_bytes(b"\xff\n")
    assert said(workspace) == [
        "entries/dead.md:1: a symbolic link to nothing: mend or remove it",
        "entries/out.md:1: a symbolic link that leaves the workspace: not followed",
        "entries/u.md:1: not UTF-8 (byte 0xff): convert it, for example with iconv",
        "entries/�.md:1: its name is not UTF-8: rename it",
    ]


def test_a_reason_stays_on_its_line(workspace: Workspace) -> None:
    put(workspace, "entries/a.md", entry("a", 'superseded_by: "x\\ny\\e[31m"\n'))
    assert all(line.isprintable() for line in said(workspace))
    assert len(said(workspace)) == 1


def test_staged_versions_are_checked_against_what_is_there(workspace: Workspace) -> None:
    put(workspace, "entries/a.md", entry("mem_a"))
    put(workspace, "entries/b.md", "<<<<<<< on disk only\n")
    put(workspace, "HISTORY-2026-11.md", "## 2026-11-01T10:00:00Z <!-- hist_a -->\n\nx\n")
    head = "references: [mem_a, hist_a, hist_b]\n"
    found = check_some(
        workspace,
        [
            Staged("entries/b.md", entry("mem_b", head, "[[a]] [[c]]").encode(), False),
            Staged("entries/c.md", entry("mem_a").encode(), False),
            Staged("entries/l.md", b"../../out.md", True),
            Staged("entries/m.md", b"a.md", True),
            Staged("README.txt", b"\xff", False),
        ],
    ).faults
    assert [str(fault) for fault in found] == [
        "entries/b.md:4: references names hist_b, which is not there",
        "entries/c.md:2: has the id mem_a of entries/a.md: give one of them another",
        "entries/l.md:1: a symbolic link that leaves the workspace",
    ]


CLASH = "# Deploys\n\nShops\n=======\n\nThey run on {}.\n"
CODE = "\n```\n||||||| base\n=======\n```\n"


@cases("left", "line")
def test_a_marker_that_a_person_left_in_a_merge_is_named_and_a_heading_is_not(
    mem: Mem, world: Path, left: str, line: int
) -> None:
    repository = Repository(world / "repo")
    path = "entries/2026-11/a.md"
    head = "---\nid: mem_a\ntype: fact\n---\n"
    base, here, there = (head + CLASH.format(host) + CODE for host in ("a Pi", "Fly", "Hetzner"))
    repository.merged(path, base, here, there)
    text = (repository.root / path).read_text()
    begin, end = text.index("<<<<<<<"), text.index(">>>>>>> theirs\n") + len(">>>>>>> theirs\n")
    (repository.root / path).write_text(text[:begin] + left + text[end:])
    repository.git("commit", "-aqm", "settled")
    repository.commit({path: (repository.root / path).read_text() + "\nA heading of later\n=======\n"})
    ran = mem("check", "--workspace", str(repository.root))
    told = f"{path}:{line}: a git conflict marker that was left"
    assert (told in ran.out, ran.out.count("conflict marker")) == (bool(line), int(bool(line)))
