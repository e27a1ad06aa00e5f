"""Making workspaces, in mem's own layout and over folders that another tool made."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from memcli.store import file_steps
from tests.conftest import Mem

FIXTURES = Path(__file__).parents[2] / "fixtures" / "layouts"
NAMES = ("openclaw", "claude", "neovate", "golemcore", "jarvis")


def test_a_new_workspace_is_mems_own(mem: Mem, world: Path) -> None:
    ran = mem("init")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "made memory/ (mem.yaml, MEMORY.md, .gitignore, .gitattributes)\n"
    assert mem("config", "get", "layout").out == "mem\n"
    assert mem("init").out == "already a workspace: memory/\n"


@pytest.mark.parametrize("name", NAMES)
def test_a_known_folder_is_taken_as_it_is_and_said_so(mem: Mem, world: Path, name: str) -> None:
    shutil.copytree(FIXTURES / name, world / "tool")
    ran = mem("init", "tool")
    assert (ran.code, ran.out) == (0, "made tool/ (mem.yaml, .gitignore, .gitattributes)\n")
    assert ran.err.startswith(f"mem: the layout is {name} (")
    assert ran.err.count("\n") == (2 if name == "golemcore" else 1)
    assert ("mem session import" in ran.err) == (name == "golemcore")
    assert mem("config", "get", "layout", "--workspace", "tool").out == f"{name}\n"
    files = {path: path.read_bytes() for path in (world / "tool").rglob("*") if path.is_file()}
    again = mem("init", "tool", "--json")
    assert (again.json["made"], again.json["layout"]) == ([], name)
    assert {path: path.read_bytes() for path in (world / "tool").rglob("*") if path.is_file()} == files


@pytest.mark.parametrize("name", NAMES)
def test_without_a_name_the_folder_one_stands_in_is_taken_where_it_is_a_tools(
    mem: Mem, world: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(FIXTURES / name, world / "tool")
    monkeypatch.chdir(world / "tool")
    assert mem("init", "--json").json["workspace"] == f"{world}/tool"
    assert mem("init", "--json").json["made"] == []
    assert mem("init", "--layout", name).code == 0


def test_a_workspace_one_stands_in_is_completed(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)
    assert mem("init", "--json").json["workspace"] == str(workspace)


def test_the_layout_may_be_named(mem: Mem, world: Path) -> None:
    shutil.copytree(FIXTURES / "openclaw", world / "tool")
    assert mem("init", "--layout", "mem", "tool", "--json").json["layout"] == "mem"
    assert mem("init", "--layout", "jarvis", "house", "--json").json == {
        "workspace": f"{world}/house",
        "made": ["mem.yaml", ".gitignore", ".gitattributes"],
        "layout": "jarvis",
        "why": "",
        "repository": None,
        "outside": 0,
    }
    assert mem("init", "--layout", "neovate", "--json").json["workspace"] == f"{world}/memory"


def test_a_layout_above_memory_is_made_where_one_stands(mem: Mem, world: Path) -> None:
    assert mem("init", "--layout", "golemcore", "--json").json["workspace"] == str(world)


def test_a_wrong_layout_name_is_told(mem: Mem, world: Path) -> None:
    ran = mem("init", "--layout", "openclay")
    assert ran.code == 2
    assert "openclaw" in ran.err
    assert list(world.iterdir()) == []


def test_another_layout_than_the_workspace_has_is_refused(mem: Mem, workspace: Path) -> None:
    before = (workspace / "mem.yaml").read_bytes()
    ran = mem("init", "--layout", "claude")
    assert ran.code == 2
    assert "mem config set layout claude" in ran.err
    assert (workspace / "mem.yaml").read_bytes() == before
    assert mem("init", "--layout", "mem").code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["memory"], "mem init --layout mem"),
        (["--layout", "openclaw", "memory"], "--layout openclaw"),
    ],
)
def test_the_memory_folder_of_a_tool_points_to_the_folder_above(
    mem: Mem, world: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    shutil.copytree(FIXTURES / "openclaw", world / "tool")
    monkeypatch.chdir(world / "tool")
    ran = mem("init", *arguments)
    assert ran.code == 2
    assert words in ran.err
    assert not (world / "tool" / "memory" / "mem.yaml").exists()


def test_no_workspace_is_made_among_the_memories_of_another(mem: Mem, world: Path) -> None:
    shutil.copytree(FIXTURES / "claude", world / "tool")
    assert mem("init", "tool").code == 0
    ran = mem("init", "tool/team")
    assert ran.code == 2
    assert f"belongs to the workspace {world}/tool" in ran.err


def test_a_folder_of_sessions_that_was_there_is_not_hidden_from_git(mem: Mem, world: Path) -> None:
    for name in ("jarvis", "claude"):
        shutil.copytree(FIXTURES / name, world / name)
        assert mem("init", name).code == 0
    assert (world / "jarvis" / ".gitignore").read_text() == "/.mem/\n.mem-tmp-*\n/archive/sessions/\n"
    assert (world / "claude" / ".gitignore").read_text() == "/.mem/\n.mem-tmp-*\n/sessions/\n/archive/sessions/\n"


def test_a_gitignore_that_is_there_gets_what_it_lacks_and_keeps_its_lines(mem: Mem, world: Path) -> None:
    shutil.copytree(FIXTURES / "openclaw", world / "tool")
    (world / "tool" / ".gitignore").write_bytes(b"*.log\r\n/.mem/\r\nnode_modules")
    assert mem("init", "tool").code == 0
    assert (world / "tool" / ".gitignore").read_bytes() == (
        b"*.log\r\n/.mem/\r\nnode_modules\n.mem-tmp-*\n/sessions/\n/archive/sessions/\n"
    )


def test_a_git_repository_that_is_a_tools_is_named(mem: Mem, world: Path) -> None:
    shutil.copytree(FIXTURES / "openclaw", world / "tool")
    (world / "tool" / ".git").mkdir()
    ran = mem("init", "tool")
    assert "tool/ is a git repository: mem.yaml, .gitignore, .gitattributes will show in its status" in ran.err
    assert mem("init", "tool").err.count("\n") == 1


def test_an_old_page_in_lower_case_stays_the_page(mem: Mem, world: Path) -> None:
    shutil.copytree(FIXTURES / "openclaw", world / "tool")
    (world / "tool" / "MEMORY.md").rename(world / "tool" / "memory.md")
    assert mem("init", "tool").code == 0
    assert (world / "tool" / "mem.yaml").read_text().endswith("layout: openclaw\npaths.memory: memory.md\n")
    assert mem("search", "kettle", "--mode", "keyword", "--workspace", "tool").rows[0][1] == "memory.md#the-shop"


def test_a_folder_that_cannot_be_written_is_left_alone(mem: Mem, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(FIXTURES / "claude", world / "tool")
    before = sorted((world / "tool").rglob("*"))

    def refuse(*_: object, **__: object) -> str:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(file_steps, "write_temporary", refuse)
    ran = mem("init", "tool")
    assert ran.code == 5
    assert "mem.yaml: read-only file system" in ran.err
    assert sorted((world / "tool").rglob("*")) == before


def test_a_file_is_no_place_for_a_workspace(mem: Mem, world: Path) -> None:
    (world / "file").write_text("x")
    assert mem("init", "file").code == 5


def test_paths_may_be_set_one_by_one(mem: Mem, workspace: Path) -> None:
    assert mem("config", "set", "paths.entries", "docs/memories").code == 0
    path = mem("write", "Kept elsewhere.").rows[0][2]
    assert path.startswith("memory/docs/memories/2026-11/")
    assert mem("ls").rows[0][3] == path
    (workspace / "mem.yaml").write_text("paths:\n  entries: ../outside\n")
    ran = mem("ls")
    assert ran.code == 2
    assert "out of the workspace" in ran.err


def test_a_command_that_is_named_quotes_the_path_in_it(mem: Mem, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = world / "my notes"
    assert mem("init", str(home)).code == 0
    (inside := home / "entries" / "deep").mkdir(parents=True)
    monkeypatch.chdir(inside)
    assert f"run `mem init '{home}'`" in mem("init", ".").err
    monkeypatch.chdir(home)
    (home / "entries" / "two words.md").write_text("<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")
    assert "`mem edit 'entries/two words.md'`" in mem("forget", "entries/two words.md").err
    assert "`mem read 'entries/two words.md'` shows" in mem("read", "entries/two words.md#L99").err
    assert "--workspace '" in mem("import", str(home)).err
