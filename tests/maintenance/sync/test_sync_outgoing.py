"""What is not fit to be handed on stays here and is named: secrets, wherever they stand, and memory that git lacks."""

import json
import subprocess
from pathlib import Path
from shutil import rmtree

import pytest

from tests.conftest import Mem
from tests.machines import Machine, exchanged, first_machine, git, other_machine, refused

TOKEN = "ghp_A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B"
OTHER = "ghp_Zq8LmN3rT6yU1iO9pA4sD7fG2hJ5kXcVbW0e"


def by_hand(machine: Machine, path: str, text: str) -> Path:
    """Write a file as a person does."""
    file = machine.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def commit(machine: Machine, subject: str = "By hand") -> str:
    """Commit everything as a person does; give the commit."""
    machine.git("add", "-A")
    machine.git("commit", "-qm", subject)
    return machine.git("rev-parse", "HEAD").strip()


def obey(machine: Machine, said: str) -> None:
    """Run the first command of git that a message names."""
    machine.git(*said.partition("`git ")[2].partition("`")[0].split())


@pytest.mark.parametrize("way", ["a secret", "ignored", "a repository"])
@pytest.mark.parametrize("place", ["archive/entries/z/bees.md", "entries/elsewhere/bees.md", "entries/jena.md"])
def test_a_memory_without_an_id_that_moved_to_where_git_has_it_not_is_deleted_nowhere(
    laptop: Machine, desktop: Machine, way: str, place: str
) -> None:
    old = by_hand(laptop, "entries/z/bees.md", "The bees are in Jena.\n\nThere are three hives.\n")
    exchanged(laptop, desktop)
    if way == "a repository":
        place = f"{place.rpartition('/')[0]}/own/{place.rpartition('/')[2]}"
        git(laptop.root, "init", "-q", str(Path(place).parent))
    new = by_hand(laptop, place, "")
    old.rename(new)
    if way == "a secret":
        new.write_text(f"{new.read_text()}The token is {TOKEN}\n")
    elif way == "ignored":
        (laptop.root / ".git/info/exclude").write_text(f"{place}\n")
    found = laptop.synced(code=3)
    assert "entries/z/bees.md" in {one["path"] for one in found["problems"]}
    desktop.sync()
    assert "three hives" in (desktop.root / "entries/z/bees.md").read_text()


def test_a_memory_without_an_id_that_is_deleted_or_moved_in_git_goes(laptop: Machine, desktop: Machine) -> None:
    for name in ("bees", "hens"):
        by_hand(laptop, f"entries/z/{name}.md", f"The {name} are in Jena.\n")
    exchanged(laptop, desktop)
    by_hand(laptop, "entries/leak.md", f"The token is {TOKEN}\n")
    (laptop.root / "entries/z/bees.md").unlink()
    laptop.mem("forget", "entries/z/hens.md")
    assert [one["path"] for one in laptop.synced(code=3)["problems"]] == ["entries/leak.md"]
    desktop.sync()
    assert not [path for path in desktop.texts() if path.startswith("entries/z/") and path.endswith(".md")]
    assert "archive/entries/z/hens.md" in desktop.texts()


def test_a_second_secret_of_a_kind_is_left_out_and_the_first_may_move(laptop: Machine, desktop: Machine) -> None:
    path = "entries/keys.md"
    laptop.mem("config", "set", "secrets.allow", path)
    by_hand(laptop, path, f"The token is {TOKEN}\n\nUse it.\n")
    exchanged(laptop, desktop)
    laptop.mem("config", "set", "secrets.allow", "")
    by_hand(laptop, path, f"The token is {TOKEN}\n\nUse it well.\n")
    assert laptop.synced()["problems"] == []
    by_hand(laptop, path, f"The token is {OTHER}\n\nUse it well.\n")
    found = laptop.synced(code=3)
    assert [(one["path"], one["line"]) for one in found["problems"]] == [(path, 1)]
    assert OTHER not in json.dumps(found)
    by_hand(laptop, path, f"The token is {TOKEN}\n\nUse it well.\n")
    (laptop.root / path).rename(laptop.root / "entries/moved.md")
    assert laptop.synced()["problems"] == []
    exchanged(desktop, laptop)


def test_a_secret_that_is_the_name_of_a_file_is_left_out_and_not_shown(laptop: Machine, desktop: Machine) -> None:
    old = by_hand(laptop, "entries/z/bees.md", "The bees are in Jena.\n")
    exchanged(laptop, desktop)
    old.rename(laptop.root / f"entries/z/{TOKEN}.md")
    found = laptop.sync(code=3)
    assert "entries/z/[REDACTED:github-token]:1: its name looks like a secret" in found.err
    assert "rename it" in found.err
    assert TOKEN not in laptop.git("log", "--all", "--name-only") + found.err + found.out
    desktop.sync()
    assert "entries/z/bees.md" in desktop.texts()
    (laptop.root / f"entries/z/{TOKEN}.md").rename(laptop.root / "entries/z/hives.md")
    exchanged(laptop, desktop)


def test_a_name_is_looked_at_where_it_is_staged(laptop: Machine) -> None:
    by_hand(laptop, f"entries/{TOKEN}.md", "The bees are in Jena.\n")
    laptop.git("add", "-A")
    assert "its name looks like a secret" in laptop.run("check", "--staged", "--workspace", str(laptop.root)).out


def test_a_repository_within_memory_is_named_until_it_is_gone_or_ignored(laptop: Machine, desktop: Machine) -> None:
    git(laptop.root, "init", "-q", "entries/sub")
    by_hand(laptop, "entries/sub/bees.md", "The bees are in Jena.\n")
    git(laptop.root, "init", "-q", "drawings")
    laptop.write("Kai is in Lisbon.")
    for committed in ("1 new", ""):
        found = laptop.synced(code=3)
        assert [one["path"] for one in found["problems"]] == ["entries/sub"]
        assert "a git repository of its own" in found["problems"][0]["reason"]
        assert found["committed"] == committed
    with (laptop.root / ".gitignore").open("a") as file:
        file.write("entries/sub/\n")
    assert laptop.synced()["problems"] == []
    (laptop.root / "entries/sub/.git").rename(laptop.root.parent / "sub.git")
    rmtree(laptop.root / "drawings")
    (laptop.root / ".gitignore").write_text((laptop.root / ".gitignore").read_text().replace("entries/sub/\n", ""))
    exchanged(laptop, desktop)
    assert "entries/sub/bees.md" in desktop.texts()


@pytest.mark.parametrize("is_taken_out", [True, False])
def test_a_secret_that_a_person_committed_is_not_sent_with_its_history(
    is_taken_out: bool, laptop: Machine, desktop: Machine, hub: Path
) -> None:
    kept = laptop.write("Kai is in Lisbon.")
    commit(laptop, "Fine")
    leak = by_hand(laptop, "entries/leak.md", f"The shop.\n\nThe token is {TOKEN}\n")
    made = commit(laptop, "Leak")
    if is_taken_out:
        leak.write_text("The shop.\n")
        commit(laptop, "Take it out")
    laptop.write("Deploys are on Mondays.")
    for _ in range(2):
        said = refused(laptop, 5, f"entries/leak.md:3 looks like a secret (github-token) in commit {made[:12]}")
        assert TOKEN not in said
        assert "secrets.allow" in said
    assert TOKEN not in git(hub, "log", "-p", "--all")
    before = laptop.texts()
    obey(laptop, said)
    assert laptop.texts() == before
    if not is_taken_out:
        assert [one["path"] for one in laptop.synced(code=3)["problems"]] == ["entries/leak.md"]
        leak.write_text("The shop.\n")
    exchanged(laptop, desktop)
    assert kept in desktop.texts()
    assert TOKEN not in git(hub, "log", "-p", "--all")


@pytest.mark.parametrize("below", ["", "memory"])
def test_a_secret_in_the_first_commit_of_all_is_not_sent(mem: Mem, world: Path, hub: Path, below: str) -> None:
    machine = first_machine(mem, world / "first", hub, below)
    leak = by_hand(machine, f"entries/{TOKEN}.md", f"The token is {TOKEN}\n")
    commit(machine)
    said = refused(machine, 5, "entries/[REDACTED:github-token]:1", "in commit", "git update-ref -d HEAD")
    assert "more file" not in said
    leak.unlink()
    obey(machine, said)
    machine.sync()
    assert TOKEN not in git(hub, "log", "-p", "--all", "--name-only")


def test_a_secret_in_a_merge_that_a_person_made_is_not_sent(laptop: Machine, desktop: Machine) -> None:
    desktop.write("Backups run at three.")
    desktop.sync()
    path = laptop.write("Kai is in Lisbon.")
    commit(laptop)
    laptop.git("fetch", "-q")
    laptop.git("merge", "-q", "--no-commit", "--no-ff", "origin/main")
    by_hand(laptop, path, f"{(laptop.root / path).read_text()}\nThe token is {TOKEN}\n")
    made = commit(laptop, "Merge")
    said = refused(laptop, 5, path, f"in commit {made[:12]}")
    obey(laptop, said)
    assert [one["path"] for one in laptop.synced(code=3)["problems"]] == [path]


def test_a_secret_beside_work_that_is_not_memory_is_told_before_a_push_is_named(
    mem: Mem, world: Path, hub: Path
) -> None:
    project = first_machine(mem, world / "project", hub, "memory")
    by_hand(project, "entries/leak.md", f"The token is {TOKEN}\n")
    (project.top / "app.py").write_text("one\n")
    commit(project)
    assert "git push" not in refused(project, 5, "entries/leak.md:1")


def test_what_the_remote_has_already_is_no_reason(mem: Mem, world: Path, hub: Path, laptop: Machine) -> None:
    leak = by_hand(laptop, "entries/leak.md", f"The token is {TOKEN}\n")
    by_hand(laptop, f"entries/{TOKEN}.md", "The bees are in Jena.\n")
    commit(laptop)
    laptop.git("push", "-q")
    leak.write_text(f"This is the token: {TOKEN}\n")
    commit(laptop)
    leak.rename(laptop.root / "entries/moved.md")
    by_hand(laptop, f"entries/{TOKEN}.md", "The bees are in Kassel.\n")
    commit(laptop)
    assert laptop.synced()["sent"] == 2
    desktop = other_machine(mem, world / "desktop", hub)
    by_hand(laptop, "entries/moved.md", f"The token is {OTHER}\n")
    commit(laptop)
    refused(laptop, 5, "entries/moved.md:1")
    laptop.mem("config", "set", "secrets.allow", "entries/moved.md")
    exchanged(laptop, desktop)


def test_of_a_vaults_notes_those_that_are_marked_travel_and_the_others_stay(mem: Mem, world: Path, hub: Path) -> None:
    folder = world / "vault"
    (folder / ".obsidian").mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", str(hub))
    assert mem("init", str(folder)).code == 0
    vault = Machine(mem, folder, folder)
    marked = by_hand(vault, "People/Ana.md", "---\nid: mem_01kh5zpjgkbz6vpb\n---\n\nAna keeps bees.\n")
    by_hand(vault, "People/Rui.md", "Rui keeps hens.\n")
    vault.sync()
    there = other_machine(mem, world / "there", hub)
    assert (there.root / "People/Ana.md").read_bytes() == marked.read_bytes()
    assert not (there.root / "People/Rui.md").exists()
    by_hand(there, "People/Ana.md", marked.read_text().replace("bees", "goats"))
    there.sync()
    vault.sync()
    assert "goats" in marked.read_text()
    marked.unlink()
    assert vault.synced()["state"] == "synced"
    there.sync()
    assert not (there.root / "People/Ana.md").exists()
    assert vault.git("status", "--short", "People") == "?? People/\n"


@pytest.mark.parametrize("below", ["", "memory"])
def test_what_another_machine_wrote_where_entries_were_before_is_named_on_both(
    below: str, mem: Mem, world: Path, hub: Path
) -> None:
    laptop = first_machine(mem, world / "laptop", hub, below)
    laptop.write("The shop runs on Fly.")
    laptop.sync()
    desktop = other_machine(mem, world / "desktop", hub, below)
    for path in [path for path in laptop.texts() if path.startswith("entries/")]:
        by_hand(laptop, path.replace("entries", "docs/memories"), (laptop.root / path).read_text())
    laptop.git("rm", "-rq", str(laptop.root / "entries"))
    laptop.mem("config", "set", "paths.entries", "docs/memories")
    commit(laptop, "Move")
    laptop.git("push", "-qu", "origin", "main")
    found = desktop.write("Kai is in Lisbon.")
    by_hand(desktop, "entries/by hand.md", "The bees are in Jena.\n")
    (desktop.root / "README.md").write_text("# Ours\n")
    for machine in (desktop, laptop):
        (notice,) = machine.synced()["notices"]
        assert notice.startswith(f"{found} is hidden, where paths.entries was before: `mkdir -p ")
        assert notice.endswith("`mem check` names 1 more")
        told = machine.run("check", "--workspace", str(machine.root)).out
        assert told.count("is hidden, where paths.entries was before") == 2
        assert "README" not in told
    for line in told.splitlines():
        subprocess.run(line.split("`")[1], shell=True, check=True, cwd=world)
    assert laptop.mem("check").out == ""
    (desktop.root / "README.md").unlink()
    laptop.git("commit", "-qm", "Move the rest")
    laptop.sync(code=3)
    laptop.git("push", "-q")
    exchanged(desktop, laptop)
    for machine in (desktop, laptop):
        assert len(machine.mem("ls").rows) == 3
