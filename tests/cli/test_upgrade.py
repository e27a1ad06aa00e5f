"""A workspace says its format; an older one is upgraded, a later one refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memcli.maintenance.upgrade import UNSTATED
from memcli.store.settings import FORMAT
from tests.cli.json_scenes import Answer, Ask
from tests.cli.test_undo import files
from tests.conftest import Mem

FIRST = """\
# This folder is a memory that `mem` keeps: plain markdown, yours to edit.
# Settings go here, one a line, such as `search.limit: 8`; `mem config list` shows them all.
"""
"""The marker as the first version wrote it."""


@pytest.fixture
def old(world: Path, mem: Mem) -> Path:
    """Give a workspace as the first version left it, with memories that it forgot, and one written by hand."""
    root = world / "memory"
    for name, text in {
        "mem.yaml": FIRST,
        "MEMORY.md": "# Memory\n\nWhat an agent should always know.\n",
        ".gitignore": "/.mem/\n/sessions/",
        "entries/2026-11/tabs-4kq7tz.md": "---\nid: mem_01kajd3v7m4kq7tz\ntype: fact\n---\n\nUser prefers tabs.\n",
        "entries/by-hand.md": "---\ntags: [zoo]\n---\n\nA quagga sleeps at noon.\n",
        "archive/entries/2026-11/vim-4kq7ty.md": "---\nid: mem_01kajd3v7m4kq7ty\n---\n\nUser uses vim.\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    assert mem("trust", str(root)).code == 0
    return root


def test_the_only_step_leads_to_the_format_of_this_mem() -> None:
    assert FORMAT == UNSTATED + 1


def test_a_dry_run_shows_every_change_and_makes_none(mem: Mem, old: Path) -> None:
    before = files(old)
    ran = mem("upgrade", "--dry-run")
    assert ran.code == 0
    for line in ("+format: 1", "+/archive/sessions/", "+*.md merge=mem", "+id: mem_", "+archived_as: "):
        assert line in ran.out
    assert files(old) == before


def test_an_old_workspace_is_as_a_new_one_afterwards_and_the_second_time_changes_nothing(mem: Mem, old: Path) -> None:
    before = files(old)
    told = mem("upgrade", "--json").json
    assert (told["from"], told["to"], told["applied"]) == (0, FORMAT, True)
    assert (old / "mem.yaml").read_text() == f"{FIRST}format: 1\n"
    assert (old / ".gitignore").read_text().startswith("/.mem/\n/sessions/\n.mem-tmp-*\n")
    after = files(old)
    for name, data in before.items():
        if name not in ("mem.yaml", ".gitignore", "entries/by-hand.md", "archive/entries/2026-11/vim-4kq7ty.md"):
            assert after[name] == data
    assert "A quagga sleeps at noon." in (old / "entries" / "by-hand.md").read_text()
    assert mem("check").code == 0
    ran = mem("upgrade")
    assert (ran.code, ran.out) == (0, "")
    assert mem("init", str(old)).out.startswith("already a workspace")
    assert files(old) == after


def test_odd_files_in_the_archive_stop_no_upgrade_and_are_not_doubled(mem: Mem, old: Path, world: Path) -> None:
    folder = old / "archive/entries/2026-11"
    (folder / "no-id.md").write_text("---\ntags: [x]\n---\n\nA dodo.\n")
    (folder / "bytes.md").write_bytes(b"\xff\xfe")
    (world / "outside.md").write_text("A secret.\n")
    (folder / "link.md").symlink_to(world / "outside.md")
    (folder / "dangling.md").symlink_to(world / "nothing.md")
    assert mem("upgrade").code == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        *("bytes.md", "dangling.md", "link.md", "no-id.md", "vim-4kq7ty.md"),
    ]
    text = (folder / "no-id.md").read_text()
    assert "\nid: mem_" in text
    assert "\narchived_as: " in text
    assert (world / "outside.md").read_text() == "A secret.\n"


def test_an_upgrade_is_undone(mem: Mem, old: Path) -> None:
    before = files(old)
    assert mem("upgrade").code == 0
    assert mem("undo").code == 0
    assert files(old) == before


@pytest.mark.parametrize(
    "marker",
    ["", "search:\n  limit: 8", "search.limit: 8\r\n# mine\r\n", "\ufeffsearch.limit: 8\n", "# only a remark"],
    ids=["empty", "no-newline", "windows", "bom", "remark"],
)
def test_what_a_person_wrote_into_the_settings_stays(mem: Mem, old: Path, marker: str) -> None:
    (old / "mem.yaml").write_bytes(marker.encode())
    limit = mem("config", "get", "search.limit").out
    assert mem("upgrade").code == 0
    assert (old / "mem.yaml").read_bytes().startswith(marker.encode())
    assert mem("config", "get", "search.limit").out == limit
    assert mem("upgrade", "--json").json["from"] == 1


def test_settings_that_have_no_end_to_write_to_are_refused_with_the_line_to_write(mem: Mem, old: Path) -> None:
    (old / "mem.yaml").write_text("{search.limit: 8}\n")
    before = files(old)
    ran = mem("upgrade")
    assert ran.code == 5
    assert "format: 1" in ran.err
    assert files(old) == before


def test_a_workspace_of_a_later_mem_is_refused(mem: Mem, old: Path) -> None:
    (old / "mem.yaml").write_text(f"format: {FORMAT + 1}\n")
    before = files(old)
    assert mem("upgrade").code == 5
    assert files(old) == before


def test_a_format_that_is_no_number_is_refused_whether_or_not_the_workspace_is_trusted(mem: Mem, old: Path) -> None:
    (old / "mem.yaml").write_text("format: one\n")
    before = files(old)
    for words in (("trust", "--remove"), ("trust",)):
        mem(*words)
        ran = mem("upgrade")
        assert ran.code == 2
        assert "format 'one' is no number" in ran.err
        assert files(old) == before


def json_scenes(ask: Ask) -> Iterator[Answer]:
    """Show the document of `mem upgrade`."""
    yield ask("upgrade")


COMMANDS = [
    ("ls",),
    ("search", "x"),
    ("grep", "x"),
    ("read", "MEMORY.md"),
    ("write", "One."),
    ("write", "One.", "--no-dedup"),
    ("note", "One."),
    ("check", "--fix"),
    ("index", "--rebuild"),
    ("config", "set", "search.limit", "3"),
    ("init",),
    ("recall", "x"),
    ("export",),
    ("consolidate",),
    ("tend",),
    ("stats",),
]


def test_a_new_workspace_says_its_format(mem: Mem, workspace: Path) -> None:
    assert f"\nformat: {FORMAT}\n" in (workspace / "mem.yaml").read_text()
    assert mem("check").code == 0
    assert mem("config", "set", "search.limit", "3").code == 0
    assert f"\nformat: {FORMAT}\n" in (workspace / "mem.yaml").read_text()


@pytest.mark.parametrize("said", ["", "format:\n", f"format: {FORMAT}\n", f"format: '{FORMAT}'\n", "format: 0\n"])
def test_the_format_of_this_mem_an_older_one_and_none_are_read(mem: Mem, workspace: Path, said: str) -> None:
    (workspace / "mem.yaml").write_text(said)
    for command in COMMANDS:
        ran = mem(*command)
        assert ran.code in (0, 1), (command, ran.err)
        assert "format" not in ran.err


@pytest.mark.parametrize("number", [FORMAT + 1, 99])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_later_format_is_refused_with_the_line_that_helps(
    mem: Mem, workspace: Path, command: tuple[str, ...], number: int
) -> None:
    (workspace / "mem.yaml").write_text(f"format: {number}\nlater.setting: x\n")
    before = {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()}
    ran = mem(*command)
    assert (ran.code, ran.out) == (5, "")
    assert f"the workspace has format {number}, and this mem knows {FORMAT}" in ran.err
    assert "install a newer one, as README says" in ran.err
    assert {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("value", ["one", "1.5", "true", "[1]"])
def test_a_format_that_is_no_number_is_named(mem: Mem, workspace: Path, value: str) -> None:
    (workspace / "mem.yaml").write_text(f"format: {value}\n")
    ran = mem("ls")
    assert ran.code == 2
    assert f"write format: {FORMAT}" in ran.err


def test_the_format_of_an_export_is_not_taken_for_a_setting(mem: Mem, workspace: Path) -> None:
    assert '"kind": "settings"' not in mem("export").out
    assert mem("config", "set", "search.limit", "3").code == 0
    lines = mem("export").out
    assert mem("init", "other").code == 0
    assert mem("--workspace", "other", "import", "-", stdin=lines).code == 0
    assert mem("--workspace", "other", "config", "get", "search.limit").out == "3\n"
