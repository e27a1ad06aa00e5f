"""What was said, noted and derived is for its owner alone, unless the folder is shared on purpose."""

import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Mem

PRIVATE = ("sessions", "notes", ".mem")


def modes(workspace: Path) -> dict[str, str]:
    """Give the modes of everything in a workspace."""
    return {
        path.relative_to(workspace).as_posix(): oct(stat.S_IMODE(path.stat().st_mode))[2:]
        for path in workspace.rglob("*")
    }


def use(mem: Mem) -> None:
    """Do what makes files of every kind."""
    mem("write", "Deploys run on Fly", "--no-dedup")
    mem("note", "hello")
    mem("session", "append", "--session", "s", "--role", "user", "--text", "hello")
    mem("session", "delete", "s")
    mem("session", "append", "--session", "t", "--role", "user", "--text", "hello")
    mem("search", "fly", "--mode", "keyword")


def test_others_cannot_look_into_conversations_notes_and_the_index(mem: Mem, workspace: Path) -> None:
    use(mem)
    found = modes(workspace)
    for folder in ("sessions", "sessions/t", "notes", "archive/sessions", "archive/sessions/s", ".mem"):
        assert found[folder] == "700"
    files = (
        "sessions/t/session.jsonl",
        "sessions/t/metadata.json",
        "archive/sessions/s/session.jsonl",
        ".mem/index.db",
    )
    for file in (*files, *(path for path in found if path.startswith("notes/"))):
        assert found[file] == "600", file
    assert found["MEMORY.md"] == "644"


def test_others_cannot_look_into_what_is_derived_from_a_workspace_just_made(mem: Mem, tmp_path: Path) -> None:
    assert mem("init", str(tmp_path / "fresh")).code == 0
    at = ("--workspace", str(tmp_path / "fresh"))
    mem("write", "Deploys run on Fly", "--no-dedup", *at)
    mem("session", "append", "--session", "t", "--role", "user", "--text", "hello", *at)
    mem("session", "ls", *at)
    mem("recall", "fly", "--session", "t", *at)
    assert mem("index", *at).code == 0
    found = {path: mode for path, mode in modes(tmp_path / "fresh").items() if path.startswith(".mem")}
    kept = {path for path, mode in found.items() if not (tmp_path / "fresh" / path).is_dir()}
    assert any(path.startswith(".mem/vectors") for path in kept)
    assert any(path.startswith(".mem/sessions/") for path in kept)
    assert {path: found[path] for path in found.keys() - kept if found[path] != "700"} == {}
    open_to_all = {path for path in kept if found[path] != "600"}
    assert {Path(path).name for path in open_to_all} <= {".gitignore"}


@pytest.mark.parametrize("folder", ["sessions", "notes"])
def test_a_folder_somebody_opened_stays_open_with_what_comes_into_it(mem: Mem, workspace: Path, folder: str) -> None:
    (workspace / folder).mkdir()
    (workspace / folder).chmod(0o750)
    use(mem)
    found = modes(workspace)
    assert found[folder] == "750"
    assert {found[path] for path in found if path.startswith(f"{folder}/") and path.endswith((".md", ".jsonl"))} == {
        "640"
    }


def test_a_workspace_shared_by_setgid_is_shared_whole(mem: Mem, world: Path) -> None:
    workspace = world / "memory"
    workspace.mkdir()
    workspace.chmod(0o2775)
    assert mem("init").code == 0
    use(mem)
    found = modes(workspace)
    assert int(found["sessions"], 8) & 0o055 == 0o055
    assert int(found["sessions/t/session.jsonl"], 8) & 0o044 == 0o044
    assert int(found[".mem/index.db"], 8) & 0o044 == 0o044


@pytest.mark.parametrize("words", [("note", "hello"), ("session", "append", "--text", "hello"), ("search", "hello")])
def test_what_is_derived_stays_out_of_git_by_itself(mem: Mem, workspace: Path, words: tuple[str, ...]) -> None:
    shutil.rmtree(workspace / ".mem")
    mem(*words)
    (workspace / ".gitignore").unlink()
    subprocess.run(["git", "init", "-q", "."], cwd=workspace, check=True)
    subprocess.run(["git", "add", "-A"], cwd=workspace, check=True)
    listed = subprocess.run(["git", "ls-files"], cwd=workspace, capture_output=True, text=True, check=True).stdout
    assert ".mem" not in listed


def test_conversations_stay_out_of_git_when_the_workspace_loses_its_own_list(mem: Mem, workspace: Path) -> None:
    use(mem)
    (workspace / ".gitignore").unlink()
    subprocess.run(["git", "init", "-q", "."], cwd=workspace, check=True)
    subprocess.run(["git", "add", "-A"], cwd=workspace, check=True)
    listed = subprocess.run(["git", "ls-files"], cwd=workspace, capture_output=True, text=True, check=True).stdout
    assert "MEMORY.md" in listed
    assert "session" not in listed
    assert ".mem" not in listed
