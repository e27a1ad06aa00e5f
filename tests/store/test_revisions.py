"""Two moments of a workspace are what git means by the words for them, and their files are what a person would see."""

import subprocess
from pathlib import Path

import pytest

from memcli.errors import UsageError
from memcli.git.repository import FileVersions, changed_files, compared, since, texts_at
from memcli.store.workspace import Workspace
from tests.store.test_staged import ENVIRON, at


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, env=ENVIRON, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give a workspace in a folder of a repository, with a first commit and a branch `side` of two more."""
    made = tmp_path / "re po" / "docs" / "mem [1]"
    (made / "entries").mkdir(parents=True)
    git(tmp_path, "init", "-q", "-b", "main", str(tmp_path / "re po"))
    put(made, "entries/a.md", "a\n")
    commit(made, "first")
    git(made, "switch", "-qc", "side")
    put(made, "entries/b.md", "b\n")
    commit(made, "second")
    git(made, "switch", "-q", "main")
    put(made, "entries/c.md", "c\n")
    commit(made, "third")
    git(made, "switch", "-q", "side")
    return made


def put(root: Path, path: str, text: str) -> None:
    (root / path).write_bytes(text.encode())


def commit(root: Path, subject: str) -> None:
    git(root, "add", "-A", ".")
    git(root, "commit", "-qm", subject)


def changed(workspace: Workspace, words: str = "") -> dict[str, tuple[bytes | None, bytes | None]]:
    return {one.path: (one.before, one.after) for one in changed_files(workspace, *compared(workspace, words))}


@pytest.mark.parametrize(
    ("words", "paths"),
    [
        ("main..side", {"entries/b.md", "entries/c.md"}),
        ("main...side", {"entries/b.md"}),
        ("main..", {"entries/b.md", "entries/c.md"}),
        ("main...", {"entries/b.md"}),
        ("..main", {"entries/b.md", "entries/c.md"}),
        ("HEAD~1..HEAD", {"entries/b.md"}),
        ("HEAD", {"entries/new.md"}),
        ("", {"entries/new.md"}),
        ("HEAD..worktree", {"entries/new.md"}),
        ("main...worktree", {"entries/b.md", "entries/new.md"}),
        ("HEAD..HEAD", set()),
    ],
)
def test_the_words_of_git_diff_name_the_same_moments(root: Path, words: str, paths: set[str]) -> None:
    put(root, "entries/new.md", "not added yet\n")
    assert changed(at(root), words).keys() == paths


@pytest.mark.parametrize("words", ["main", "main..."])
def test_since_a_commit_is_up_to_the_files_on_disk(root: Path, words: str) -> None:
    put(root, "entries/new.md", "n\n")
    found = {one.path for one in changed_files(at(root), *since(at(root), words))}
    assert found == {"entries/b.md", "entries/new.md"} | ({"entries/c.md"} if words == "main" else set())


@pytest.mark.parametrize("words", ["main..side", "main...side", "..", "...", ""])
def test_since_takes_one_commit(root: Path, words: str) -> None:
    with pytest.raises(UsageError, match="since"):
        since(at(root), words)


@pytest.mark.parametrize("words", ["nope", "nope..main", "main..nope", "main...nope", "--output=x", "-p", "a\0b"])
def test_what_is_no_commit_is_told_and_never_an_option_of_git(root: Path, words: str) -> None:
    with pytest.raises(UsageError, match="no commit"):
        compared(at(root), words)
    assert not list(root.rglob("x"))


def test_before_the_first_commit_everything_is_new(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "entries").mkdir()
    put(tmp_path, "entries/a.md", "a\n")
    assert changed(at(tmp_path)) == {"entries/a.md": (None, b"a\n")}


def test_outside_of_a_repository_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is in no git repository"):
        changed(at(tmp_path))


def test_files_that_git_ignores_and_what_mem_derives_are_left_out(root: Path) -> None:
    put(root, ".gitignore", "*.tmp.md\n")
    commit(root, "ignore")
    (root / ".mem").mkdir()
    put(root, ".mem/access", "x\n")
    put(root, "entries/x.tmp.md", "x\n")
    assert changed(at(root)) == {}


def test_a_checkout_with_windows_line_ends_has_not_changed(root: Path) -> None:
    put(root, "entries/b.md", "b\r\n")
    assert changed(at(root)) == {}
    put(root, "entries/b.md", "c\r\n")
    assert changed(at(root)).keys() == {"entries/b.md"}


def test_no_filter_that_a_repository_names_is_run(root: Path) -> None:
    git(root, "config", "filter.evil.clean", "touch ran; cat")
    git(root, "config", "filter.evil.smudge", "touch ran; cat")
    git(root, "config", "core.fsmonitor", "touch ran")
    put(root, ".gitattributes", "*.md filter=evil\n")
    put(root, "entries/b.md", "other\n")
    assert changed(at(root))["entries/b.md"] == (b"b\n", b"other\n")
    assert not [*root.parent.parent.rglob("ran")]


def test_a_link_is_where_it_leads_and_nothing_is_read_through_one(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "b.md").write_text("secret\n")
    (root / "entries/l.md").symlink_to("../../../../secret/b.md")
    for name in ("a.md", "b.md"):
        (root / "entries" / name).rename(tmp_path / name)
    (root / "entries/l.md").rename(root / "l.md")
    (root / "entries").rmdir()
    (root / "entries").symlink_to(tmp_path / "secret")
    found = changed_files(at(root), *compared(at(root)))
    assert FileVersions("l.md", None, b"../../../../secret/b.md", True) in found
    assert not [one for one in found if one.after and b"secret\n" in one.after]


@pytest.mark.parametrize("name", ["日本語.md", "with space.md", "quote'\".md", "new\nline.md", "-dash.md"])
def test_any_name_is_compared(root: Path, name: str) -> None:
    put(root, f"entries/{name}", "x")
    assert changed(at(root)) == {f"entries/{name}": (None, b"x")}
    commit(root, "odd")
    assert changed(at(root), "HEAD~1..HEAD") == {f"entries/{name}": (None, b"x")}
    assert texts_at(at(root), compared(at(root), "HEAD")[0], "entry")[f"entries/{name}"] == b"x"
