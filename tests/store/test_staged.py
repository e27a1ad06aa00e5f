"""What git is about to commit of a workspace is read from git's index, wherever the workspace and the command are."""

import os
import subprocess
from pathlib import Path

import pytest

from memcli.errors import UsageError
from memcli.formats.ids import parse_time
from memcli.git.run import Staged, staged
from memcli.store.workspace import Surroundings, Workspace, opened

ENVIRON = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, env=ENVIRON, check=True, capture_output=True)


def at(root: Path) -> Workspace:
    now = parse_time("2026-11-21T20:15:03Z")
    assert now is not None
    return opened(Surroundings(root, ENVIRON, now), root)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Give a repository without a commit."""
    made = tmp_path / "re po"
    (made / "docs/mem [1]/entries").mkdir(parents=True)
    git(tmp_path, "init", "-q", str(made))
    return made


@pytest.fixture
def root(top: Path) -> Path:
    return top / "docs/mem [1]"


def test_before_the_first_commit_the_staged_version_counts_and_not_the_one_on_disk(top: Path, root: Path) -> None:
    (root / "entries/a.md").write_text("staged")
    (top / "other.md").write_text("not of the workspace")
    git(top, "add", "-A")
    (root / "entries/a.md").write_text("on disk")
    (root / "entries/b.md").write_text("not staged")
    assert staged(at(root), ENVIRON, Path("/")) == [Staged("entries/a.md", b"staged", False)]


def test_a_workspace_that_is_the_repository_is_found_too(top: Path) -> None:
    (top / "a.md").write_text("a")
    git(top, "add", "-A")
    assert [one.path for one in staged(at(top), ENVIRON, top)] == ["a.md"]


def test_only_what_changes_is_listed_and_what_is_deleted_is_not(top: Path, root: Path) -> None:
    for name in ("same", "changed", "gone", "moved"):
        (root / f"entries/{name}.md").write_text(f"{name}\n" * 20)
    git(top, "add", "-A")
    git(top, "commit", "-qm", "x")
    (root / "entries/changed.md").write_text("new")
    (root / "entries/gone.md").unlink()
    (root / "entries/moved.md").rename(root / "entries/there.md")
    git(top, "add", "-A")
    assert [one.path for one in staged(at(root), ENVIRON, top)] == ["entries/changed.md", "entries/there.md"]


@pytest.mark.parametrize("name", ["日本語.md", "with space.md", "quote'\".md", "new\nline.md", "-dash.md"])
def test_any_name_is_read(top: Path, root: Path, name: str) -> None:
    (root / "entries" / name).write_bytes(b"\x00\xff\n")
    git(top, "add", "-A")
    assert staged(at(root), ENVIRON, top) == [Staged(f"entries/{name}", b"\x00\xff\n", False)]


def test_links_are_told_from_files_and_modules_are_passed_over(top: Path, root: Path) -> None:
    (root / "entries/l.md").symlink_to("../../../out.md")
    git(top, "init", "-q", str(root / "entries/inner"))
    git(root / "entries/inner", "commit", "-q", "--allow-empty", "-m", "x")
    git(top, "add", "-A")
    assert staged(at(root), ENVIRON, top) == [Staged("entries/l.md", b"../../../out.md", True)]


def test_without_git_it_says_so(top: Path, root: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no git"):
        staged(at(root), {"PATH": str(tmp_path)}, top)
