"""A folder of a person's notes, such as a vault of Obsidian, is found, read as it is meant, and left as it is."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from memcli import open_workspace
from memcli.api.read import read
from memcli.errors import RefusedError
from tests.conftest import Mem
from tests.tables import cases, table

NOTES = table(__file__, "NOTES")


@pytest.fixture
def vault(world: Path) -> Path:
    for name, text in NOTES.items():
        path = world / "vault" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return world / "vault"


@pytest.fixture
def kept(mem: Mem, vault: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the vault as a workspace, and stand in it."""
    monkeypatch.chdir(vault)
    assert mem("init", "--layout", "markdown").code == 0
    assert not (vault / "memory").exists()
    return vault


def found(mem: Mem, *query: str) -> list[str]:
    ran = mem("search", *query, "--mode", "keyword", "--limit", "50", "--json")
    return sorted({hit["path"] for hit in ran.json["hits"]})


def content(vault: Path) -> dict[str, bytes]:
    return {name: (vault / name).read_bytes() for name in NOTES}


@pytest.mark.parametrize("where", ["here", "there"])
def test_init_among_notes_says_that_they_are_outside_and_the_command_it_names_works(
    mem: Mem, vault: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(vault / ".obsidian")
    if where == "here":
        monkeypatch.chdir(vault)
    ran = mem("init", "." if where == "here" else "vault")
    assert ran.code == 0
    count = sum(name.endswith(".md") and not name.startswith(".") for name in NOTES)
    (line,) = [line for line in ran.err.splitlines() if "outside" in line]
    assert f"{count} markdown files here are outside the workspace: `mem init --layout markdown" in line
    (named,) = re.findall(r"`mem ([^`]*)`", line)
    assert mem(*shlex.split(named)).code == 0
    monkeypatch.chdir(vault)
    assert found(mem, "espresso") == ["People/Ana Sousa.md"]


@pytest.mark.parametrize("names", [(), ("README.md", "CHANGELOG.md")])
def test_init_in_an_empty_folder_or_a_project_says_nothing_of_it(mem: Mem, world: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (world / name).write_text("# Words\n")
    assert "outside" not in mem("init", ".").err


def test_notes_are_found_and_what_is_left_out_is_not(mem: Mem, kept: Path) -> None:
    assert found(mem, "descale") == ["Things/Coffee machine.md"]
    (kept / ".memignore").write_text("Things/\n")
    assert found(mem, "descale") == ["Private/Diary.md", "idea.draft.md"]
    (kept / ".memignore").unlink()
    assert found(mem, "descale") == ["Private/Diary.md", "Things/Coffee machine.md", "idea.draft.md"]


def test_folders_of_templates_are_those_obsidian_names(mem: Mem, kept: Path) -> None:
    (kept / ".obsidian/templates.json").write_text('{"folder": "Private"}')
    (kept / ".memignore").unlink()
    assert "Private/Diary.md" not in found(mem, "descale")


@cases("tag", "paths")
def test_tags_count_wherever_they_stand_and_with_what_they_are_nested_in(
    mem: Mem, kept: Path, tag: str, paths: list[str]
) -> None:
    assert sorted(row["path"] for row in mem("ls", "--tag", tag, "--json").json["entries"]) == paths


@cases("name", "words")
def test_a_note_is_read_by_its_name_its_alias_or_a_link(mem: Mem, kept: Path, name: str, words: str) -> None:
    ran = mem("read", name)
    assert ran.code == 0, ran.err
    assert words in ran.out


def test_links_by_title_and_alias_lead_somewhere(mem: Mem, kept: Path) -> None:
    (kept / "mem").mkdir(exist_ok=True)
    (kept / "mem/Home.md").write_text((kept / "Home.md").read_text())
    assert mem("check").out == ""
    (kept / "mem/Home.md").write_text("[[Nobody]]\n")
    assert "mem/Home.md:1: " in mem("check").out


def test_dates_come_from_the_names_of_files(mem: Mem, kept: Path) -> None:
    made = {row["path"]: row["created_at"] for row in mem("ls", "--limit", "100", "--json").json["entries"]}
    assert made["Meetings/2026-03-04 Budget with Ana.md"] == "2026-03-04T00:00:00Z"
    hits = mem("search", "beans", "--mode", "keyword", "--kind", "note", "--json").json["hits"]
    assert [(hit["path"], hit["timestamp"][:10]) for hit in hits] == [("2026-11-20.md", "2026-11-20")]


def test_the_days_notes_are_recalled_from_where_obsidian_keeps_them(mem: Mem, kept: Path) -> None:
    told = mem("recall").out
    assert "The grinder arrived." in told
    assert "roastery in Graça" in told


def test_nothing_of_a_persons_is_changed_by_anything_mem_does_by_itself(
    mem: Mem, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_DECAY_AUTO", "yes")
    before = content(kept)
    assert mem("write", "Ana repairs the espresso machine.").code == 0
    assert mem("write", "Ana no longer repairs the espresso machine.").code == 0
    assert mem("note", "Read the manual.").code == 0
    assert mem("tend").code == 0
    assert mem("decay").code == 0
    assert mem("search", "espresso").code == 0
    assert content(kept) == before
    ours = {path.relative_to(kept).as_posix() for path in kept.rglob("*.md")} - set(NOTES)
    assert ours
    assert all(path.startswith("mem/") for path in ours)


@pytest.mark.parametrize("place", ["", "mem/plans/kitchen.md"])
def test_what_mem_wrote_into_a_vault_can_be_forgotten_and_brought_back(mem: Mem, kept: Path, place: str) -> None:
    before = content(kept)
    where = ("--path", place) if place else ()
    _, identifier, path = mem("write", "The kitchen gets a zebrawood table.", "--no-dedup", *where).rows[0]
    text = Path(path).read_bytes()
    ran = mem("forget", identifier)
    assert (ran.code, ran.rows[0][0]) == (0, "archived")
    assert "/mem/archive/" in f"/{ran.rows[0][2]}"
    archived = Path(ran.rows[0][2]).read_bytes()
    assert re.sub(rb"(?m)^forgotten_(at|by): .*\n", b"", archived) == text
    assert found(mem, "zebrawood") == []
    assert mem("restore", identifier).code == 0
    assert Path(path).read_bytes() == text
    assert content(kept) == before


def test_what_the_user_asks_for_is_done(mem: Mem, kept: Path) -> None:
    assert mem("edit", "Home.md", "--replace", "# Home", "# Start").code == 0
    assert (kept / "Home.md").read_text().startswith("# Start\n")
    assert mem("write", "The filter is changed each March.", "--path", "Things/Filter.md").code == 0
    assert (kept / "Things/Filter.md").is_file()


@pytest.mark.parametrize("left_out", ["People/", "People", "Peop"])
def test_what_obsidian_leaves_out_of_its_search_is_no_memory(mem: Mem, kept: Path, left_out: str) -> None:
    assert found(mem, "espresso") == ["People/Ana Sousa.md"]
    (kept / ".obsidian/app.json").write_text(json.dumps({"userIgnoreFilters": [left_out, "/^.*Coffee/", 3]}))
    assert found(mem, "espresso descale") == ["Things/Coffee machine.md"]


@pytest.mark.parametrize(
    "settings", ["", "[]", '{"userIgnoreFilters": "People/"}', '{"userIgnoreFilters": ["", "\\n*"]}']
)
def test_settings_of_obsidian_that_say_nothing_leave_nothing_out(mem: Mem, kept: Path, settings: str) -> None:
    (kept / ".obsidian/app.json").write_text(settings)
    assert found(mem, "espresso") == ["People/Ana Sousa.md"]


@pytest.mark.parametrize("words", [("init",), ("init", ".")])
def test_a_vault_is_recognised_by_its_settings_and_told(
    mem: Mem, vault: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(vault)
    ran = mem(*words)
    assert ran.code == 0
    assert "markdown" in ran.out + ran.err
    assert ".obsidian" in ran.out + ran.err
    assert found(mem, "espresso") == ["People/Ana Sousa.md"]


def everything(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file() and ".mem" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@cases("name", "old", "new")
def test_what_an_edit_replaces_is_kept_in_mem_s_own_folder(mem: Mem, kept: Path, name: str, old: str, new: str) -> None:
    (kept / "MEMORY.md").write_text("# Memory\n\n- Beans\n- Cups\n")
    before = everything(kept)
    assert mem("edit", name, "--replace", old, new).code == 0
    after = everything(kept)
    changed = {path for path in after if after[path] != before.get(path)}
    assert all(path == name or path.startswith("mem/") for path in changed), changed
    assert any(old.encode() in after[path] for path in changed - {name})
    assert mem("check").out == ""
    assert name not in found(mem, old.strip("- "))


def test_the_text_of_before_an_edit_is_listed_and_comes_back(mem: Mem, kept: Path) -> None:
    assert mem("edit", "People/Rui.md", "--replace", "sourdough", "rye").code == 0
    rows = mem("read", "People/Rui.md", "--history").rows
    assert [row[1] for row in rows[:2]] == ["archived", "active"]
    assert found(mem, "sourdough") == []
    assert mem("restore", rows[0][2]).code == 0
    assert "Rui bakes sourdough." in (kept / "People/Rui.md").read_text()
    assert found(mem, "sourdough") == ["People/Rui.md"]
    assert not (kept / "archive").exists()


def test_a_folder_of_a_persons_that_is_called_archive_is_searched(mem: Mem, kept: Path) -> None:
    (kept / "archive").mkdir()
    (kept / "archive/Old kitchen.md").write_text("The old kitchen had a zebrawood table.\n")
    assert found(mem, "zebrawood") == ["archive/Old kitchen.md"]


@pytest.mark.parametrize(
    "name",
    [
        "Private/Diary.md",
        "./Private/Diary.md",
        "Private/Diary",
        "idea.draft.md",
        "idea.draft",
        "Templates/Meeting.md",
        "People/Rui.md",
        "Things/Coffee machine.md",
        "Things/Coffee machine.md#house",
        ".env",
        "keys.txt",
    ],
)
def test_what_no_search_shows_no_command_opens(mem: Mem, kept: Path, name: str) -> None:
    (kept / ".secretsignore").write_text("People/\nkeys.txt\n")
    (kept / "Things/.secretsignore").write_text("Coffee*\n")
    for file in (".env", "keys.txt"):
        (kept / file).write_text("TOKEN = descale\n")
    before = {path: path.read_bytes() for path in kept.rglob("*.md")}
    for command in (("read",), ("read", "--raw"), ("read", "--json"), ("edit", "--replace", "a", "b"), ("forget",)):
        ran = mem(*command[:1], name, *command[1:])
        assert (ran.code, ran.out) == (5, ""), command
        assert "is shut out of memory by " in ran.err
    with pytest.raises(RefusedError):
        read(open_workspace(kept), name)
    assert {path: path.read_bytes() for path in kept.rglob("*.md")} == before
    assert mem("read", "Home.md").code == 0


def test_a_secret_file_beside_memories_is_not_opened_and_what_mem_keeps_is(mem: Mem, workspace: Path) -> None:
    mem("write", "The gate is open.", "--path", "gate.md")
    (workspace / ".secretsignore").write_text("entries/\nprod.yaml\n")
    for file in (".env.local", "prod.yaml"):
        (workspace / file).write_text("TOKEN: gate\n")
        assert (mem("read", file).code, mem("grep", "TOKEN").code) == (5, 1)
    assert (mem("read", "gate.md").code, mem("grep", "gate").code) == (0, 0)


def test_a_secretsignore_shuts_notes_out_of_a_vault_also_those_that_were_searched_before(mem: Mem, kept: Path) -> None:
    assert found(mem, "espresso") == ["People/Ana Sousa.md"]
    for file, patterns in ((kept / ".secretsignore", "People/\n"), (kept / "People/.secretsignore", "/Ana*\n")):
        file.write_text(patterns)
        assert found(mem, "espresso") == []
        file.unlink()
        assert found(mem, "espresso") == ["People/Ana Sousa.md"]
