"""The folders of other tools: looked at without a trace, and changed in place where somebody asks for it."""

import shutil
from pathlib import Path

import pytest

from memcli.store.layouts import LAYOUTS
from tests.conftest import Mem
from tests.tables import cases, table

FIXTURES = Path(__file__).parents[2] / "fixtures" / "layouts"
NAMES = ("openclaw", "claude", "neovate", "golemcore", "jarvis")
NEW = {"mem.yaml", ".gitignore", ".gitattributes"}

# A word that stands in one memory, and that memory's address; both kinds that are not entries too.
FINDS = table(__file__, "FINDS")


def state(root: Path) -> dict[str, tuple[bytes, int, int]]:
    """Everything of a folder but what is mem's own: bytes, time and mode."""
    return {
        path.relative_to(root).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_mode)
        for path in root.rglob("*")
        if path.is_file() and ".mem" not in path.parts and path.name not in {*NEW, ".gitkeep"}
    }


@pytest.fixture(params=NAMES)
def folder(request: pytest.FixtureRequest, mem: Mem, world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a copy of a tool's folder that was taken as a workspace."""
    root = world / str(request.param)
    shutil.copytree(FIXTURES / root.name, root)
    monkeypatch.chdir(root)
    assert mem("init").code == 0
    return root


def test_nothing_is_changed_by_looking(mem: Mem, folder: Path) -> None:
    original = state(FIXTURES / folder.name)
    before = state(folder)
    assert {name: one[0] for name, one in before.items()} == {name: one[0] for name, one in original.items()}
    assert mem("index").code in (0, 3)
    assert mem("index", "--status").code in (0, 3)
    found = mem("search", "the port of the pump", "--mode", "keyword", "-n", "50", "--kind", "all").rows
    for row in mem("ls", "--archived").rows:
        assert mem("read", row[0], "--json").json["path"] == row[3]
    for row in found:
        assert mem("read", row[1]).code == 0
    assert mem("grep", ".").code == 0
    assert mem("init").code == 0
    assert state(folder) == before
    assert {path.name for path in folder.iterdir()} - {path.name for path in (FIXTURES / folder.name).iterdir()} == {
        ".mem",
        *NEW,
    }


def test_each_memory_is_found_by_a_word_of_it(mem: Mem, folder: Path) -> None:
    for word, address in FINDS[folder.name].items():
        ran = mem("search", word, "--mode", "keyword", "--json")
        hits = ran.json["hits"]
        if address:
            assert hits, word
            assert hits[0]["id"].startswith(address), (word, hits[0]["id"])
        else:
            assert (ran.code, hits) == (1, []), word


def test_files_of_no_layout_are_never_looked_at(mem: Mem, folder: Path) -> None:
    for name in ("README.md", "AGENTS.md", "docs/plan.md", "skills/x/SKILL.md"):
        if LAYOUTS[folder.name].kind_of(name):
            continue
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("A zymurgist walks in.\n")
    for name in ("members.txt", "memory/notes.json", "memory/.hidden.md", "memory/.dreams/deep.md", "image.md.png"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("A zymurgist walks in.\n")
    assert mem("search", "zymurgist", "--mode", "keyword").code == 1
    assert mem("grep", "zymurgist", "--kind", "all").code == 1


def test_an_entry_is_written_changed_forgotten_and_restored_in_place(mem: Mem, folder: Path) -> None:
    before = state(folder)
    ran = mem("write", "Tax papers lie in the blue folder.", "--type", "correction", "--tag", "paper", "--json")
    assert ran.code == 0, ran.err
    identifier, path = ran.json["id"], ran.json["path"]
    assert LAYOUTS[folder.name].kind_of(path) == "entry"
    assert mem("search", "tax papers", "--mode", "keyword").rows[0][1] == identifier
    assert mem("read", identifier).out == "Tax papers lie in the blue folder.\n"
    assert mem("write", "Tax papers lie in the green folder.", "--id", identifier).code == 0
    (row,) = (row for row in mem("ls").rows if row[0] == identifier)
    assert row[4].endswith("Tax papers lie in the green folder.")
    assert mem("write", "--id", identifier, "--tag", "tax").code == 0
    assert mem("read", identifier, "--json").json["fields"]["tags"] == ["tax"]
    assert mem("forget", identifier).rows == [["archived", identifier, f"archive/{path}"]]
    assert mem("search", "tax papers", "--mode", "keyword").code == 1
    found = mem("search", "tax papers", "--mode", "keyword", "--archived").rows
    assert identifier in [row[1] for row in found]
    assert mem("restore", identifier).code == 0
    assert mem("read", path).out == "Tax papers lie in the green folder.\n"
    others = {name: one for name, one in state(folder).items() if name != path and not name.startswith("archive/")}
    assert others == before, "but for the wording that was replaced, which is kept in the archive"


@cases("name", "path", "old", "new")
def test_an_edit_changes_its_words_and_no_other_byte(
    mem: Mem, world: Path, name: str, path: str, old: str, new: str
) -> None:
    shutil.copytree(FIXTURES / name, world / name)
    assert mem("init", name).code == 0
    before = (world / name / path).read_bytes()
    assert mem("--workspace", name, "edit", path, "--replace", old, new).code == 0
    assert (world / name / path).read_bytes() == before.replace(old.encode(), new.encode())


def test_what_the_tool_made_is_forgotten_and_restored_byte_for_byte(mem: Mem, folder: Path) -> None:
    before = state(folder)
    for _, path in [(row[0], row[3]) for row in mem("ls").rows]:
        assert mem("forget", path).code == 0
        assert not (folder / path).exists()
        assert mem("restore", f"archive/{path}").code == 0
    assert state(folder) == before


def test_a_new_entry_is_in_the_manner_of_claude(mem: Mem, world: Path) -> None:
    shutil.copytree(FIXTURES / "claude", world / "memory")
    assert mem("init").code == 0
    ran = mem("write", "Never push on Fridays.", "--type", "correction", "--metadata", "asked=twice", "--json")
    identifier, path = ran.json["id"], ran.json["path"]
    assert path == f"never-push-on-fridays-{identifier[-6:]}.md"
    assert (world / "memory" / path).read_text() == (
        "---\nname: never-push-on-fridays\ndescription: Never push on Fridays.\n"
        "metadata: {node_type: memory, type: feedback, asked: twice}\n"
        f"id: {identifier}\ntype: correction\ntags: []\ncreated_at: 2026-11-21T20:15:03Z\n"
        "updated_at: 2026-11-21T20:15:03Z\nsource: user\n---\n\nNever push on Fridays.\n"
    )
    assert mem("ls", "--type", "correction").rows[0][4] == "never-push-on-fridays: Never push on Fridays."


def test_a_new_entry_is_in_the_manner_of_jarvis(mem: Mem, world: Path) -> None:
    shutil.copytree(FIXTURES / "jarvis", world / "house")
    assert mem("init", "house").code == 0
    ran = mem("--workspace", "house", "write", "Bins go out on Monday.", "--json")
    identifier = ran.json["id"]
    assert ran.json["path"] == f"memory/{identifier}.md"
    text = (world / "house" / "memory" / f"{identifier}.md").read_text()
    assert "createdAt: 2026-11-21T20:15:03Z\nupdatedAt: 2026-11-21T20:15:03Z\n" in text
    assert "created_at" not in text
    assert mem("--workspace", "house", "read", identifier).out == "Bins go out on Monday.\n"


def test_a_claude_memory_is_as_old_as_its_stamp(mem: Mem, world: Path) -> None:
    shutil.copytree(FIXTURES / "claude", world / "memory")
    assert mem("init").code == 0
    dates = {row[3].removeprefix("memory/"): row[2] for row in mem("ls").rows}
    assert dates["feedback_testing.md"] == "2026-08-03"
    assert dates["project_release-train.md"] == "2026-07-27"


def test_a_record_that_stands_in_two_files_is_one_hit(mem: Mem, world: Path) -> None:
    shutil.copytree(FIXTURES / "neovate", world / "memory")
    assert mem("init").code == 0
    assert len(mem("search", "compost days", "--mode", "keyword", "--kind", "history").rows) == 1


def test_a_folder_that_cannot_hold_an_index_is_searched_all_the_same(mem: Mem, folder: Path) -> None:
    shutil.rmtree(folder / ".mem", ignore_errors=True)
    (folder / ".mem").write_text("not a folder")
    before = state(folder)
    word, address = next((word, one) for word, one in FINDS[folder.name].items() if one)
    assert mem("search", word, "--mode", "keyword").rows[0][1].startswith(address)
    assert state(folder) == before
    assert (folder / ".mem").read_text() == "not a folder"
