"""Hooks are one's own by default, and what people say stays out of what others get with the repository."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Mem, Ran
from tests.scenes import git


@pytest.fixture
def project(world: Path, mem: Mem) -> Path:
    """Give a repository with a workspace and no remote."""
    git(world, "init", "-q", ".")
    mem("init")
    return world


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return tmp_path / "home/.local/share/mem"


def converse(mem: Mem, folder: Path) -> None:
    for name, told in (
        ("UserPromptSubmit", {"prompt": "Which colour is the bikeshed of Inês?"}),
        ("Stop", {"last_assistant_message": "Done: the bikeshed is painted green now."}),
        ("PreCompact", {}),
    ):
        event = {"hook_event_name": name, "session_id": "s", "cwd": str(folder), **told}
        assert mem("hook", "run", "claude-code", stdin=json.dumps(event)).code == 0


def holds(root: Path, word: str) -> list[str]:
    return sorted(
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_file() and ".mem/" not in path.as_posix() and word in path.read_text(errors="replace")
    )


def hooks_in(path: Path) -> bool:
    return path.exists() and "mem hook run" in path.read_text()


def test_hooks_go_into_the_settings_that_are_not_committed(mem: Mem, project: Path) -> None:
    local, shared = project / ".claude/settings.local.json", project / ".claude/settings.json"
    mem("hook", "install", "claude-code")
    assert (hooks_in(local), hooks_in(shared)) == (True, False)
    mem("hook", "install", "claude-code", "--shared")
    assert (hooks_in(local), hooks_in(shared)) == (False, True)
    mem("hook", "install", "claude-code")
    assert (hooks_in(local), hooks_in(shared)) == (True, False)
    mem("hook", "uninstall", "claude-code")
    assert (hooks_in(local), hooks_in(shared)) == (False, False)


def test_where_the_repository_has_a_remote_words_go_to_the_users_workspace(mem: Mem, project: Path, own: Path) -> None:
    git(project, "remote", "add", "origin", "https://example.org/x.git")
    told = mem("hook", "install", "claude-code", "--json").json
    assert (told["notes"], told["kept_in"], told["shared"]) == ("user", str(own), [])
    converse(mem, project)
    assert holds(project / "memory", "bikeshed") == []
    assert any(path.startswith("notes/") for path in holds(own, "bikeshed"))
    assert any(path.startswith("HISTORY") for path in holds(own, "bikeshed"))


def test_without_a_remote_they_stay_in_the_project_and_install_names_what_git_would_share(
    mem: Mem, project: Path, own: Path
) -> None:
    ran = mem("hook", "install", "claude-code")
    assert "which git would share: `--notes user` keeps them yours" in ran.err
    assert "git would share .claude/settings.local.json and CLAUDE.md: .git/info/exclude" in ran.err
    converse(mem, project)
    assert any(path.startswith("notes/") for path in holds(project / "memory", "bikeshed"))
    assert not own.exists()


def test_what_was_chosen_is_kept_when_hooks_are_installed_again(mem: Mem, project: Path) -> None:
    mem("hook", "install", "claude-code", "--notes", "user")
    assert mem("hook", "install", "claude-code", "--json").json["notes"] == "user"
    assert mem("hook", "install", "codex", "--notes", "project", "--json").json["notes"] == "project"
    git(project, "remote", "add", "origin", "https://example.org/x.git")
    assert mem("hook", "install", "codex", "--json").json["notes"] == "project"


def test_what_is_asked_to_be_remembered_goes_to_the_project(mem: Mem, project: Path, own: Path) -> None:
    mem("hook", "install", "claude-code", "--notes", "user")
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Remember this: the port is 8080."}
    mem("hook", "run", "claude-code", stdin=json.dumps({**event, "cwd": str(project)}))
    assert holds(project / "memory/entries", "8080")
    assert holds(own / "entries", "8080") == []


def test_nothing_said_is_kept_in_a_clone(mem: Mem, world: Path, own: Path) -> None:
    (world / "memory").mkdir()
    (world / "memory/mem.yaml").write_text("")
    converse(mem, world)
    assert holds(world / "memory", "bikeshed") == []
    mem("init", str(own))
    converse(mem, world)
    assert holds(world / "memory", "bikeshed") == []
    assert holds(own, "bikeshed")


def test_a_dry_run_settles_nothing(mem: Mem, project: Path, own: Path) -> None:
    mem("hook", "install", "claude-code", "--notes", "user", "--dry-run")
    assert not own.exists()
    assert mem("hook", "install", "claude-code", "--json").json["notes"] == "project"


@pytest.mark.parametrize("words", [("--notes", "nobody"), ("--shared", "--user")])
def test_what_makes_no_sense_is_refused(mem: Mem, project: Path, words: tuple[str, ...]) -> None:
    assert mem("hook", "install", "claude-code", *words).code == 2


def test_the_installed_git_hook_remembers_commits_the_first_one_too(
    mem: Mem, project: Path, spawn: Callable[..., Ran]
) -> None:
    from memcli.integrations.install.git_hooks import bodies

    assert "mem consolidate --since-git 'HEAD^!'" in bodies("mem")["post-commit"]
    for subject in ("Begin with nothing", "Serve the shop on port 4000"):
        git(project, "commit", "-q", "--allow-empty", "-m", subject)
        assert mem("consolidate", "--since-git", "HEAD^!").code == 0
        assert subject in "".join(path.read_text() for path in (project / "memory/sessions").rglob("session.jsonl"))
