"""What is deleted for good is in no file of mem's afterwards, and what still says the same is named."""

import subprocess
from pathlib import Path

import pytest

from tests.conftest import Mem
from tests.faults.scene import events

MARKED = ("zebra", "walrus", "otter")


def written(mem: Mem, *words: str) -> str:
    return str(mem("write", *words, "--no-dedup", "--json").json["id"])


def saying(folder: Path, *words: str) -> list[str]:
    """Return the files below a folder that have one of some words, in their text or in their name."""
    found = []
    for path in sorted(folder.rglob("*")):
        data = path.read_bytes().lower() if path.is_file() else b""
        if any(word.encode() in data or word in path.name for word in words):
            found.append(path.relative_to(folder).as_posix())
    return found


def lived(mem: Mem) -> str:
    """Write a memory that was said twice, changed twice and promoted."""
    written(mem, "The vault of Ines opens with zebra")
    written(mem, "the vault of Ines opens with zebra.")
    one = str(mem("dedup", "--apply", "--json").json["groups"][0]["kept"])
    mem("edit", one, "--replace", "zebra", "walrus")
    mem("edit", one, "--replace", "walrus", "otter")
    assert mem("promote", one).code == 0
    assert mem("search", "vault").out
    return one


@pytest.mark.parametrize("before", [(), ("forget",), ("supersede",)])
def test_of_what_is_purged_no_earlier_text_duplicate_line_name_or_record_stays(
    mem: Mem, workspace: Path, before: tuple[str, ...]
) -> None:
    away = written(mem, "The bakery opens at seven")
    mem("forget", away)
    one = lived(mem)
    if before:
        later = (written(mem, "The vault was sold"),) if before == ("supersede",) else ()
        assert mem(*before, one, *later).code == 0
    assert len(saying(workspace, *MARKED)) > 6
    ran = mem("forget", "--purge", one)
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.rows) == 4  # itself, two earlier texts and the duplicate
    assert saying(workspace, *MARKED) == []
    assert mem("restore", away).code == 0
    assert [one["reason"] for one in mem("check", "--json").json["problems"] if "archive" in one["path"]] == []


def test_what_still_says_it_is_named_and_stays(mem: Mem, workspace: Path) -> None:
    one = written(mem, 'The vault of Ines says "zebra" twice')
    mem("note", 'She told me: The vault of Ines says "zebra" twice')
    mem("session", "append", "-", "--session", "talk", stdin=events('The vault of Ines says "zebra" twice'))
    other = written(mem, 'The vault of Ines says "zebra" twice')
    ran = mem("forget", "--purge", one, "--json")
    places = saying(workspace, "zebra")
    told = ran.json["standing"]
    assert ran.code == 0
    assert [path for path in places if not path.startswith(".mem/")] == told
    assert [path.split("/")[0] for path in told] == ["entries", "notes", "sessions"]
    assert f"still said in memory/{told[1]}, memory/{told[2]}: edit or delete" in mem("forget", "--purge", other).err


def test_another_memory_that_it_replaced_stays_and_is_named(mem: Mem, workspace: Path) -> None:
    old = written(mem, "The vault of Ines opens with zebra")
    new = written(mem, "The vault of Ines opens with walrus")
    mem("supersede", old, new)
    ran = mem("forget", "--purge", new)
    assert f"put away too: `mem restore {old}` brings it back, `mem forget --purge {old}` deletes it too" in ran.err
    assert saying(workspace, "walrus") == []
    assert mem("restore", old).code == 0


def test_what_stays_names_no_memory_that_is_gone(mem: Mem, workspace: Path) -> None:
    old = written(mem, "The vault of Ines opens with zebra")
    beside = written(mem, "The vault of Ines opens with walrus")
    new = written(mem, "The vault was sold")
    mem("supersede", old, new)
    for identifier, key, other in ((new, "references", beside), (beside, "distinct", new)):
        file = workspace / mem("read", identifier, "--json").json["path"]
        text = file.read_text().replace(f"references: [{old}]\n", "")
        file.write_text(text.replace("source:", f"{key}: [{old}, '[[{old}]]', {other}]\nsource:"))
    mem("edit", beside, "--set", f"conflicts_with={old}")
    link = written(mem, f"See [[{old}]] of the vault")
    before = mem("read", link).out
    assert mem("forget", "--purge", old).code == 0
    assert mem("read", new, "--json").json["fields"]["references"] == [beside]
    fields = mem("read", beside, "--json").json["fields"]
    assert fields["distinct"] == [new]
    assert "conflicts_with" not in fields
    (problem,) = mem("check", "--json").json["problems"]
    assert problem["reason"] == f"links to {old}, which is not there"
    assert mem("read", link).out == before


def test_an_earlier_text_can_be_named_beside_its_entry(mem: Mem, workspace: Path) -> None:
    one = lived(mem)
    versions = [row["id"] for row in mem("read", one, "--history", "--json").json["chain"] if row["id"] != one]
    assert mem("forget", "--purge", versions[0]).code == 0
    assert mem("forget", "--purge", one, *versions[1:]).code == 0
    assert saying(workspace, *MARKED) == []


def test_git_that_has_it_is_named_with_the_way_out(mem: Mem, workspace: Path) -> None:
    one = written(mem, "The vault of Ines opens with zebra", "--path", "the vault.md")
    two = written(mem, "The cellar smells of walrus")
    for words in (("init", "-q"), ("add", "memory/entries/the vault.md"), ("commit", "-qm", "x")):
        subprocess.run(["git", "-c", "user.name=T", "-c", "user.email=t@e", *words], cwd=workspace.parent, check=True)
    mem("forget", one)
    ran = mem("forget", "--purge", one, two, "--json")
    assert ran.json["committed"] == ["memory/entries/the vault.md"]
    assert "git filter-repo --invert-paths --path 'memory/entries/the vault.md'`" in ran.err


@pytest.mark.parametrize("words", [("forget",), ("forget", "--purge")])
def test_a_memory_of_which_git_shows_two_sides_is_neither_put_away_nor_deleted(
    mem: Mem, workspace: Path, words: tuple[str, ...]
) -> None:
    one = written(mem, "The vault of Ines opens with zebra", "--path", "vault.md")
    mem("edit", one, "--replace", "zebra", "walrus")
    file = workspace / "entries" / "vault.md"
    file.write_text(file.read_text() + "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> theirs\n")
    before = {path: path.read_bytes() for path in workspace.rglob("*.md")}
    ran = mem(*words, "entries/vault.md")
    assert ran.code == 5
    assert "conflict marker" in ran.err
    assert "`mem check --fix`" in ran.err
    assert {path: path.read_bytes() for path in workspace.rglob("*.md")} == before


def test_what_is_purged_comes_back_neither_by_an_export_nor_by_an_import(
    mem: Mem, workspace: Path, world: Path
) -> None:
    said = "The vault of Ines\nopens with zebra"
    purged, stays = written(mem, said), written(mem, "The bakery opens at seven")
    for text in ("They say: the vault of Ines opens with ZEBRA. It is", "The zebra is striped."):
        assert mem("history", "add", text).code == 0
        assert mem("note", text).code == 0
    old = mem("export").out
    assert mem("forget", "--purge", purged).code == 0
    new = mem("export").out
    assert "zebra is striped" in new
    assert "opens with" not in new.lower()
    assert stays in new
    (month,) = workspace.glob("HISTORY-*.md")
    assert "opens with ZEBRA" in month.read_text(), "mem leaves it to a person to edit what was said"
    month.unlink()
    assert mem("import", "-", stdin=old).code in (0, 3)
    assert "opens with" not in month.read_text().lower()
    assert "zebra is striped" in month.read_text()
    assert "opens with" not in mem("export", "--kind", "note").out.lower()
    assert mem("write", said, "--source", "user").code == 0  # said again, it is kept
    assert "opens with" in mem("export", "--kind", "note").out.lower()
