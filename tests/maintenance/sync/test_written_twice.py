"""One text that two machines wrote is one memory after a merge, the same on all of them, and nothing of it is lost."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from memcli.formats.frontmatter.document import parse
from memcli.formats.memory_page import page_line
from tests.conftest import Mem
from tests.machines import Machine, Merge, by_git, by_sync, other_machine

TEXT = "The bakery closes at 18:00."


@pytest.fixture(autouse=True)
def strangers(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give what each machine writes an id and a time of its own."""
    monkeypatch.delenv("MEM_SEED")
    monkeypatch.delenv("MEM_NOW")


WAYS = pytest.mark.parametrize("merge", [by_sync, by_git])


def active(machine: Machine) -> list[Any]:
    """Return the bakery's memories in use."""
    rows = machine.mem("ls", "--json").json["entries"]
    return [row for row in rows if "bakery" in row["summary"].lower() and row["status"] == "active"]


@pytest.mark.parametrize("again", [TEXT, "the bakery  closes at 18:00"])
@WAYS
def test_a_text_written_on_both_machines_is_one_memory(
    laptop: Machine, desktop: Machine, merge: Merge, again: str
) -> None:
    texts = {
        machine.mem("write", text, "--tag", tag, "--key", "bakery/closes", "--json").json["path"]: text
        for machine, text, tag in ((laptop, TEXT, "food"), (desktop, again, "shops"))
    }
    told = merge(laptop, desktop)
    [kept] = active(desktop)
    assert {*kept["tags"]} == {"food", "shops"}
    assert kept["strength"] == 2
    [other] = texts.keys() - {kept["path"]}
    assert f"{other}: written on another machine too: now one memory with {kept['path']}" in told
    gone = parse((desktop.root / other).read_text())
    assert gone.fields["status"] == "superseded"
    assert gone.fields["superseded_by"] == kept["id"]
    assert gone.body.strip() == texts[other]
    whole = parse((desktop.root / kept["path"]).read_text())
    assert "conflicts_with" not in whole.fields
    assert "wordings" not in whole.fields
    assert desktop.mem("check").out == ""
    desktop.git("add", "-A")
    desktop.git("commit", "-qm", "more", "--allow-empty")
    desktop.sync()
    laptop.sync()
    assert laptop.texts() == desktop.texts()


@pytest.mark.parametrize("promotes", [("laptop",), ("desktop",), ("laptop", "desktop")])
@WAYS
def test_its_promoted_line_stays_whichever_of_the_two_was_promoted(
    laptop: Machine, desktop: Machine, merge: Merge, promotes: tuple[str, ...]
) -> None:
    for name, machine in (("laptop", laptop), ("desktop", desktop)):
        written = machine.mem("write", TEXT, "--json").json["id"]
        if name in promotes:
            machine.mem("promote", written)
    merge(laptop, desktop)
    [kept] = active(desktop)
    page = (desktop.root / "MEMORY.md").read_text()
    assert [line for line in page.splitlines() if "bakery" in line] == [page_line(kept["id"], TEXT)]
    assert desktop.mem("check").out == ""
    desktop.sync()
    laptop.sync()
    assert laptop.texts() == desktop.texts()


def test_check_names_what_plain_git_brought_together(laptop: Machine, desktop: Machine) -> None:
    laptop.mem("write", TEXT)
    desktop.mem("write", TEXT)
    laptop.sync()
    desktop.commit("mine")
    desktop.git("pull", "-q", "--no-rebase", "--no-edit")
    assert "written on another machine: `mem check --fix`" in desktop.mem("check", code=1).out
    assert len(active(desktop)) == 2
    assert "now one memory with" in desktop.sync().err
    assert len(active(desktop)) == 1


def test_whichever_machine_merges_the_files_are_the_same(laptop: Machine, desktop: Machine, world: Path) -> None:
    laptop.mem("write", TEXT, "--tag", "food")
    desktop.mem("write", TEXT, "--tag", "shops")
    copies = [Machine(laptop.run, world / name, world / name) for name in ("laptop-2", "desktop-2")]
    for one, copy in zip((laptop, desktop), copies, strict=True):
        shutil.copytree(one.root, copy.root, symlinks=True)
        assert laptop.run("trust", str(copy.root)).code == 0
        copy.git("remote", "set-url", "origin", str(world / "hub-2.git"))
    shutil.copytree(world / "hub.git", world / "hub-2.git")
    for machine in (laptop, desktop, laptop, *reversed(copies), copies[1]):
        machine.sync()
    assert laptop.texts() == desktop.texts() == copies[0].texts() == copies[1].texts()
    assert len(active(laptop)) == 1


def test_two_machines_that_merge_at_once_count_no_confirmation_twice(laptop: Machine, desktop: Machine) -> None:
    """Each has pulled what the other wrote, and made one memory of it, before they meet again."""
    laptop.mem("write", TEXT)
    desktop.mem("write", TEXT)
    for machine in (laptop, desktop):
        machine.commit("mine")
    laptop.git("fetch", "-q", str(desktop.top), "main:theirs")
    desktop.git("fetch", "-q", str(laptop.top), "main:theirs")
    for machine in (laptop, desktop):
        machine.git("merge", "-q", "--no-edit", "theirs")
        machine.mem("check", "--fix")
    laptop.sync()
    desktop.sync()
    [kept] = active(desktop)
    assert kept["strength"] == 2


def test_a_third_machine_that_wrote_it_too_adds_to_the_one(
    laptop: Machine, desktop: Machine, mem: Mem, world: Path, hub: Path
) -> None:
    tower = other_machine(mem, world / "tower", hub)
    for machine, tag in ((laptop, "one"), (desktop, "two"), (tower, "three")):
        machine.mem("write", TEXT, "--tag", tag)
    for machine in (laptop, desktop, tower, laptop, desktop):
        machine.sync()
    assert laptop.texts() == desktop.texts() == tower.texts()
    [kept] = active(tower)
    assert {*kept["tags"]} == {"one", "two", "three"}
    assert kept["strength"] == 3


@WAYS
def test_what_one_machine_had_twice_stays_twice(laptop: Machine, desktop: Machine, merge: Merge) -> None:
    for _ in range(2):
        laptop.write(TEXT)
    laptop.sync()
    desktop.sync()
    desktop.write("Lena moved to Porto.")
    laptop.write("Kai moved to Faro.")
    merge(laptop, desktop)
    assert len(active(desktop)) == 2


@WAYS
def test_what_was_taken_apart_stays_apart(laptop: Machine, desktop: Machine, merge: Merge) -> None:
    laptop.mem("write", TEXT)
    desktop.mem("write", TEXT)
    merge(laptop, desktop)
    desktop.git("add", "-A")
    desktop.git("commit", "-qm", "one", "--allow-empty")
    [gone] = (path for path, data in desktop.texts().items() if b"status: superseded" in data)
    desktop.mem("restore", gone)
    desktop.mem("check", "--fix")
    assert len(active(desktop)) == 2
