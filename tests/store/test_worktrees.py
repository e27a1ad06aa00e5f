"""Linked worktrees share the memory of their main worktree, and nothing else can claim it."""

import subprocess
from pathlib import Path

import pytest

from memcli.cli.main import run
from memcli.context import CommonOptions
from tests.helpers import get_process_environment, make_context, run_mem


def git(folder: Path, *arguments: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=get_process_environment(folder.parent),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def make_repository(folder: Path, *options: str) -> Path:
    git(folder, "init", "-q", "-b", "main", *options)
    git(folder, "commit", "-q", "--allow-empty", "-m", "one")
    return folder


def run_in(folder: Path, home: Path, *words: str) -> tuple[int, str, str]:
    return run_mem(folder, *words, HOME=str(home), XDG_STATE_HOME=str(home / "state"))


def find_root(folder: Path, home: Path) -> str:
    """Return the workspace that `mem status` uses first in a folder."""
    code, output, errors = run_in(folder, home, "status", "--json")
    assert code == 0, errors
    return output.partition('"path": "')[2].partition('"')[0]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def test_a_linked_worktree_uses_the_memory_of_the_main_one(tmp_path: Path, home: Path) -> None:
    main = make_repository(tmp_path / "shop")
    run_in(main, home, "init", "--shared")
    git(main, "add", "-A")
    git(main, "commit", "-qm", "memory")
    git(main, "worktree", "add", "-q", str(tmp_path / "wt"), "-b", "feature")
    folder = tmp_path / "wt" / "src"
    folder.mkdir()
    assert find_root(folder, home) == str(main / "memory")
    words = ("write", "Learned in the worktree.", "--source", "user")
    message = f"mem: saved in {main}/memory (the memory of all worktrees)\n"
    assert run_in(folder, home, *words)[2] == message
    assert run_in(main, home, *words)[2] == ""
    git(main, "worktree", "remove", "--force", str(tmp_path / "wt"))
    assert "Learned in the worktree." in run_in(main, home, "ls")[1]


def test_a_linked_worktree_of_a_memory_in_a_subfolder(tmp_path: Path, home: Path) -> None:
    main = make_repository(tmp_path / "shop")
    (main / "backend").mkdir()
    run_in(main / "backend", home, "init", "memory")
    git(main, "worktree", "add", "-q", str(tmp_path / "wt"), "-b", "feature")
    folder = tmp_path / "wt" / "backend" / "api"
    folder.mkdir(parents=True)
    assert find_root(folder, home) == str(main / "backend" / "memory")


def test_a_worktree_of_a_bare_repository_uses_the_own_memory_with_the_project(
    tmp_path: Path, home: Path
) -> None:
    source = make_repository(tmp_path / "source")
    git(tmp_path, "clone", "-q", "--bare", str(source), "shop.git")
    git(tmp_path / "shop.git", "worktree", "add", "-q", str(tmp_path / "wt"), "-b", "feature")
    code, output, _ = run_in(tmp_path / "wt", home, "write", "Bare.", "--source", "user")
    assert code == 0
    assert find_root(tmp_path / "wt", home) == str(home / ".local/share/mem")
    assert '"project": "shop"' in run_in(tmp_path / "wt", home, "status", "--json")[1]


def test_a_submodule_uses_its_superproject(tmp_path: Path, home: Path) -> None:
    library = make_repository(tmp_path / "library")
    main = make_repository(tmp_path / "shop")
    run_in(main, home, "init")
    allow = ["-c", "protocol.file.allow=always"]
    git(main, *allow, "submodule", "add", "-q", str(library), "library")
    assert find_root(main / "library", home) == str(main / "memory")
    run_in(main / "library", home, "init", "--private")
    assert find_root(main / "library", home) == str(main / "library" / "memory")


def test_a_repository_with_a_separate_git_folder(tmp_path: Path, home: Path) -> None:
    main = tmp_path / "shop"
    (tmp_path / "git").mkdir()
    make_repository(main, f"--separate-git-dir={tmp_path / 'git' / 'shop.git'}")
    run_in(main, home, "init")
    assert find_root(main, home) == str(main / "memory")
    assert git(main, "status", "--short") == ""


def test_the_worktree_of_a_deleted_main_worktree_keeps_working(tmp_path: Path, home: Path) -> None:
    main = make_repository(tmp_path / "shop")
    run_in(main, home, "init")
    git(main, "worktree", "add", "-q", str(tmp_path / "wt"), "-b", "feature")
    main.rename(tmp_path / "moved")
    code, _, errors = run_in(tmp_path / "wt", home, "write", "Still here.", "--source", "user")
    assert code == 0, errors
    assert find_root(tmp_path / "wt", home) == str(home / ".local/share/mem")


def test_an_unpacked_archive_cannot_claim_somebodys_memory(tmp_path: Path, home: Path) -> None:
    main = make_repository(tmp_path / "shop")
    run_in(main, home, "init")
    git(main, "worktree", "add", "-q", str(tmp_path / "wt"), "-b", "feature")
    run_in(main, home, "write", "The vault code is in the blue folder.", "--source", "user")
    # The archive names a worktree that exists, but that worktree points elsewhere.
    archive = tmp_path / "archive"
    archive.mkdir()
    (archive / ".git").write_text(f"gitdir: {main}/.git/worktrees/wt\n")
    code, output, _ = run_in(archive, home, "search", "vault code")
    assert code == 4
    assert "blue folder" not in output
    # Its own forged git folder cannot point back to the victim either.
    forged = tmp_path / "forged"
    (forged / "fake").mkdir(parents=True)
    (forged / ".git").write_text("gitdir: fake\n")
    (forged / "fake" / "commondir").write_text(f"{main}/.git\n")
    (forged / "fake" / "gitdir").write_text(f"{forged}/.git\n")
    code, output, _ = run_in(forged, home, "search", "vault code")
    assert "blue folder" not in output


def test_a_private_memory_is_invisible_to_git(tmp_path: Path, home: Path) -> None:
    main = make_repository(tmp_path / "shop")
    run_in(main, home, "init")
    run_in(main, home, "write", "Secret plans.", "--source", "user")
    assert git(main, "status", "--short", "--untracked-files=all") == ""


def test_a_shared_memory_commits_files_but_no_index(tmp_path: Path, home: Path) -> None:
    main = make_repository(tmp_path / "shop")
    run_in(main, home, "init", "--shared")
    run_in(main, home, "write", "The team deploys on Monday.", "--source", "user")
    names = git(main, "status", "--short", "--untracked-files=all").split()
    assert all(".mem" not in name for name in names)
    assert any(name.startswith("memory/entries/") for name in names)


def test_projects_whose_folders_have_the_same_name_do_not_share_rules(
    tmp_path: Path, home: Path
) -> None:
    first = make_repository(tmp_path / "customer" / "shop")
    second = make_repository(tmp_path / "rival" / "shop")
    clone = tmp_path / "elsewhere" / "shop"
    git(first, "remote", "add", "origin", str(first))
    git(tmp_path, "clone", "-q", str(first), str(clone))
    rule = "Always deploy to the cluster in Oslo."
    run_in(first, home, "init", "--shared")
    run_in(second, home, "init", "--private")
    run_in(first, home, "session", "append", "talk", rule)
    # Not `mem undo`, which is about the memory in the repository.
    assert "(mem undo --scope user)" in run_in(first, home, "consolidate", "--all")[2]
    assert rule in run_in(first, home, "context")[1]
    assert rule not in run_in(second, home, "context")[1]
    assert rule in run_in(clone, home, "context")[1]
    # A person sees whose they are.
    for words in (["ls"], ["search", "deploy cluster"], ["history"]):
        context = make_context(second, HOME=str(home), XDG_STATE_HOME=str(home / "state"))
        context = context._replace(is_terminal=True, common=CommonOptions())
        run(context, words)
        assert "from shop" in context.stdout.getvalue(), words  # type: ignore[attr-defined]
    # The setting wins.
    run_in(clone, home, "init", "--private")
    run_in(clone, home, "config", "set", "project", "loja")
    assert rule not in run_in(clone, home, "context")[1]
