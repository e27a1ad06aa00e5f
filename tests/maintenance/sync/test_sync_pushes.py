"""Only memory is pushed, and never what somebody took from the remote; a person gets the command for the rest."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree

import pytest

from tests.conftest import Mem
from tests.machines import Machine, exchanged, first_machine, git, other_machine, refused


def commands(said: str) -> list[list[str]]:
    """Give the commands of git that a message names."""
    return [shlex.split(command) for command in re.findall(r"`git ([^`]+)`", said)]


def obey(machine: Machine, said: str) -> None:
    """Do what a message tells, word for word."""
    found = commands(said)
    assert found
    for command in found:
        machine.git(*command)


def edit_readme(machine: Machine) -> None:
    (machine.root / "README.md").write_text("# Ours\n")


def add_code(machine: Machine) -> None:
    (machine.root / "src").mkdir()
    (machine.root / "src/app.py").write_text("not ready\n")


def add_settings_of_an_editor(machine: Machine) -> None:
    (machine.root / ".obsidian").mkdir()
    (machine.root / ".obsidian/app.json").write_text("{}\n")


def add_picture(machine: Machine) -> None:
    (machine.root / "entries").mkdir(exist_ok=True)
    (machine.root / "entries/drawing.svg").write_text("<svg/>\n")


WORK = (edit_readme, add_code, add_settings_of_an_editor, add_picture)


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.__name__)
@pytest.mark.parametrize("below", ["", "memory"])
def test_what_a_person_committed_beside_memory_is_theirs_to_push(
    work: Callable[[Machine], None], below: str, mem: Mem, world: Path, hub: Path
) -> None:
    machine = first_machine(mem, world / "first", hub, below)
    machine.sync()
    work(machine)
    machine.commit("Not ready")
    machine.write("Kai is in Lisbon.")
    for _ in range(2):
        said = machine.sync(code=3).err
        assert len(said.splitlines()) == 1
        assert "yours to push" in said
    assert machine.log[:2] == ["memory: 1 new", "Not ready"]
    assert "Not ready" not in git(hub, "log", "--format=%s", "main")
    obey(machine, said)
    assert "Not ready" in git(hub, "log", "--format=%s", "main")
    assert machine.sync().err == "mem: nothing to exchange with origin/main\n"


def test_what_a_person_committed_is_exchanged_by_the_commands_that_are_named(laptop: Machine, desktop: Machine) -> None:
    desktop.write("Backups run at three.")
    desktop.sync()
    edit_readme(laptop)
    laptop.commit("Not ready", "README.md")
    laptop.write("Kai is in Lisbon.")
    said = laptop.sync(code=3).err
    assert "README.md" in said
    obey(laptop, said)
    exchanged(desktop, laptop)
    assert (desktop.root / "README.md").read_text() == "# Ours\n"


def test_a_repository_that_a_person_began_is_theirs_to_push_first(mem: Mem, world: Path, hub: Path) -> None:
    (world / "first").mkdir()
    git(world / "first", "init", "-q", "-b", "main")
    (world / "first/LICENSE").write_text("MIT\n")
    git(world / "first", "add", ".")
    git(world / "first", "commit", "-qm", "Begin")
    assert mem("init", str(world / "first")).code == 0
    git(world / "first", "remote", "add", "origin", str(hub))
    machine = Machine(mem, world / "first", world / "first")
    said = machine.sync(code=3).err
    assert "LICENSE" in said
    obey(machine, said)
    exchanged(machine, other_machine(mem, world / "other", hub))


def test_a_file_that_became_a_memory_is_not_deleted_for_others_unasked(mem: Mem, world: Path, hub: Path) -> None:
    project = first_machine(mem, world / "project", hub, "memory")
    text = "".join(f"Line {number} of what is to be known.\n" for number in range(9))
    (project.top / "KNOWN.md").write_text(text)
    project.commit("Begin")
    project.git("push", "-qu", "origin", "main")
    (project.root / "entries").mkdir(exist_ok=True)
    project.git("mv", "KNOWN.md", "memory/entries/known.md")
    project.git("commit", "-qm", "Not ready")
    assert "KNOWN.md" in project.sync(code=3).err


def test_a_submodule_that_git_is_told_to_overlook_is_not_pushed(mem: Mem, world: Path, hub: Path) -> None:
    project = first_machine(mem, world / "project", hub, "memory")
    git(project.top, "init", "-q", "library")
    git(project.top / "library", "commit", "-q", "--allow-empty", "-m", "One")
    (project.top / ".gitmodules").write_text('[submodule "l"]\n\tpath = library\n\turl = ./l\n\tignore = all\n')
    project.git("config", "diff.ignoreSubmodules", "all")
    project.git("add", ".gitmodules", "library", "memory")
    project.git("commit", "-qm", "Begin")
    project.git("push", "-qu", "origin", "main")
    git(project.top / "library", "commit", "-q", "--allow-empty", "-m", "Two")
    project.git("add", "--force", "library")
    project.git("commit", "-qm", "Not ready", "--allow-empty")
    assert project.git("ls-tree", "HEAD", "library") != project.git("ls-tree", "HEAD~", "library")
    assert "library" in project.sync(code=3).err


def test_memory_that_a_person_committed_goes_along(laptop: Machine, desktop: Machine) -> None:
    laptop.write("Kai is in Lisbon.")
    laptop.mem("note", "Fed the cat.")
    laptop.commit("By hand")
    assert laptop.synced()["sent"] == 1
    exchanged(laptop, desktop)


def test_what_others_keep_beside_memory_comes_in_and_does_not_hold_what_is_here(
    laptop: Machine, desktop: Machine
) -> None:
    for work in WORK:
        work(desktop)
    desktop.commit("Ready")
    desktop.git("push", "-q")
    laptop.write("Kai is in Lisbon.")
    assert laptop.synced()["is_merge"]
    exchanged(laptop, desktop)


def test_a_changed_file_beside_memory_is_named_where_others_changed_it_too(laptop: Machine, desktop: Machine) -> None:
    for machine, text in ((laptop, "One.\n"), (desktop, "Two.\n")):
        (machine.root / "README.md").write_text(text)
    desktop.commit("Ready", "README.md")
    desktop.git("push", "-q")
    refused(laptop, 5, "README.md", "git stash")


def test_a_memory_that_is_left_out_is_named_where_others_changed_it_too(laptop: Machine, desktop: Machine) -> None:
    path = laptop.write("The shop runs on Fly.")
    exchanged(laptop, desktop)
    desktop.mem("edit", path, "--replace", "Fly", "Hetzner")
    desktop.sync()
    with (laptop.root / path).open("a") as file:
        file.write("\nThe token is ghp_A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B\n")
    refused(laptop, 5, path)


def taken_back(laptop: Machine, desktop: Machine, count: int = 2) -> str:
    """Take commits from the remote by force after both machines have them; give the first that is left there."""
    exchanged(laptop, desktop)
    for number in range(count):
        laptop.write(f"Secret number {number} of the shop.")
        laptop.sync()
    exchanged(laptop, desktop)
    left = laptop.git("rev-parse", f"HEAD~{count}").strip()
    laptop.git("reset", "-q", "--hard", left)
    laptop.git("push", "-q", "--force")
    return left


@pytest.mark.parametrize("has_more", [False, True])
def test_commits_that_somebody_took_from_the_remote_are_not_put_back(
    has_more: bool, laptop: Machine, desktop: Machine, hub: Path
) -> None:
    left = taken_back(laptop, desktop)
    if has_more:
        desktop.write("Kai is in Lisbon.")
    for _ in range(2):
        said = refused(desktop, 5, "origin/main was put back by 2 commits", left[:12], "git push origin main")
    assert git(hub, "rev-parse", "main").strip() == left
    desktop.git(*commands(said)[0])
    exchanged(desktop, laptop)
    assert b"Secret" not in b"".join(desktop.texts().values())


@pytest.mark.parametrize("way", ["a new clone", "a plain pull", "no .mem", "another remote"])
@pytest.mark.parametrize("is_rewritten", [False, True])
def test_commits_taken_from_the_remote_are_known_by_what_git_remembers_of_it(
    way: str, is_rewritten: bool, mem: Mem, world: Path, laptop: Machine, desktop: Machine, hub: Path
) -> None:
    exchanged(laptop, desktop)
    laptop.write("Secret number 0 of the shop.")
    laptop.sync()
    if way == "a new clone":
        desktop = other_machine(mem, world / "new", hub)
    elif way == "a plain pull":
        desktop.git("pull", "-q")
    else:
        desktop.sync()
    if way == "no .mem":
        rmtree(desktop.root / ".mem")
    elif way == "another remote":
        git(world, "clone", "-q", "--bare", str(hub), "second.git")
        desktop.git("remote", "add", "second", str(world / "second.git"))
        desktop.sync("--remote", "second")
        rmtree(desktop.top / ".git/logs")
    laptop.git("reset", "-q", "--hard", "HEAD~")
    if is_rewritten:
        laptop.write("The bees are in Jena.")
        laptop.commit("By hand")
    laptop.git("push", "-q", "--force")
    desktop.write("Kai is in Lisbon.")
    for _ in range(2):
        said = refused(desktop, 5, "rewritten" if is_rewritten else "put back by 1 commit", "git reset --hard")
    assert "Secret" not in git(hub, "log", "-p", "main")
    desktop.git(*commands(said)[1 if is_rewritten else 0])
    exchanged(desktop, laptop)
    assert b"Secret" not in b"".join(desktop.texts().values())


def test_commits_that_were_taken_from_the_remote_can_be_put_back(laptop: Machine, desktop: Machine) -> None:
    taken_back(laptop, desktop, 1)
    said = refused(desktop, 5, "put back by 1 commit since")
    desktop.git(*commands(said)[1])
    exchanged(desktop, laptop)
    assert b"Secret" in b"".join(laptop.texts().values())


def test_what_was_taken_from_the_remote_is_told_before_a_push_that_would_put_it_back_is_named(
    laptop: Machine, desktop: Machine
) -> None:
    taken_back(laptop, desktop)
    edit_readme(desktop)
    desktop.commit("Not ready", "README.md")
    refused(desktop, 5, "was put back")


def test_a_merge_that_a_person_made_of_a_rewritten_history_is_pushed_again_and_again(
    laptop: Machine, desktop: Machine, hub: Path
) -> None:
    exchanged(laptop, desktop)
    laptop.git("commit", "-q", "--amend", "-m", "another history")
    laptop.git("push", "-q", "--force")
    desktop.git("fetch", "-q")
    desktop.git("merge", "-q", "--no-edit", "--allow-unrelated-histories", "origin/main")
    hook = hub / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    for _ in range(2):
        refused(desktop, 5, "refuses the push")
    hook.unlink()
    exchanged(desktop, laptop)


def test_a_branch_that_is_gone_from_the_remote_is_not_made_again_unasked(
    laptop: Machine, desktop: Machine, hub: Path
) -> None:
    exchanged(laptop, desktop)
    git(hub, "update-ref", "-d", "refs/heads/main")
    for _ in range(2):
        said = refused(laptop, 5, "origin/main is no longer there", "git push origin main")
    assert git(hub, "for-each-ref") == ""
    obey(laptop, said)
    exchanged(laptop, desktop)


def test_the_branch_that_memory_went_to_is_named(laptop: Machine, hub: Path) -> None:
    laptop.git("switch", "-q", "-c", "work", "--track", "origin/main")
    laptop.write("Kai is in Lisbon.")
    assert laptop.sync("--dry-run").out.splitlines()[-1] == "send\t1 commit to origin/main"
    assert laptop.sync().out.splitlines()[-1] == "sent\t1 commit to origin/main"
    assert laptop.sync().err == "mem: nothing to exchange with origin/main\n"
    assert laptop.synced()["branch"] == "main"
    (laptop.root / "README.md").write_text("# Ours\n")
    laptop.commit("Not ready", "README.md")
    obey(laptop, laptop.sync(code=3).err)
    assert git(hub, "for-each-ref", "--format=%(refname:short)") == "main\n"
