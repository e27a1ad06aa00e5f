"""What hooks of the user's do to a commit of memory: nothing of theirs gets in, and their index stays as it was."""

from pathlib import Path

import pytest

from tests.conftest import Mem
from tests.machines import Machine, exchanged, first_machine, git, other_machine, program, refused

HOOKS = ".git/hooks"


@pytest.fixture
def project(mem: Mem, world: Path, hub: Path) -> Machine:
    """Give a memory in a project that has work under way: a file changed, one staged, one new."""
    machine = first_machine(mem, world / "project", hub, "memory")
    for name in ("app.py", "old.py"):
        (machine.top / name).write_text("one\n")
    machine.commit("Begin")
    machine.git("push", "-qu", "origin", "main")
    (machine.top / "app.py").write_text("two\n")
    (machine.top / "new.py").write_text("new\n")
    (machine.top / "staged.py").write_text("staged\n")
    machine.git("add", "staged.py")
    return machine


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("date >made.txt && git add made.txt", "made.txt"),  # a generator
        ("git add -A", "app.py"),
        ("git add -u", "app.py"),  # a formatter of what is tracked
        ("git rm -q --cached old.py", "old.py"),
        ("git update-index --chmod=+x old.py", "old.py"),
        ("cp memory/MEMORY.md memory/drawing.svg && git add memory/drawing.svg", "memory/drawing.svg"),
        ("git rm -q --cached memory/MEMORY.md", "memory/MEMORY.md"),
    ],
)
def test_files_that_a_hook_adds_are_not_committed_as_memory(line: str, file: str, project: Machine) -> None:
    project.write("Kai is in Lisbon.")
    hook = program(project.top / HOOKS, "pre-commit", line)
    before = project.git("ls-files", "--stage"), project.git("rev-parse", "HEAD")
    refused_by(project, file)
    assert before == (project.git("ls-files", "--stage"), project.git("rev-parse", "HEAD"))
    hook.unlink()
    project.sync()
    names = project.git("show", "--format=", "--name-only").split()
    assert names
    assert all(path.startswith("memory/") for path in names)
    assert "A  staged.py" in project.git("status", "--porcelain")


def refused_by(machine: Machine, file: str, hook: str = "pre-commit") -> None:
    """Sync in vain, where the one line names the hook and the file."""
    found = machine.sync(code=5)
    assert len(found.err.splitlines()) == 1
    for word in (f"{HOOKS}/{hook}", f"put {file}", "MEM_INSIDE_HOOK"):
        assert word in found.err


def test_a_hook_that_adds_to_the_first_commit_leaves_none(mem: Mem, world: Path, hub: Path) -> None:
    project = first_machine(mem, world / "project", hub)
    hook = program(project.top / HOOKS, "pre-commit", "date >made.txt; git add made.txt")
    refused_by(project, "made.txt")
    assert project.git("rev-list", "--all") == project.git("ls-files") == ""
    hook.unlink()
    assert project.synced()["sent"] == 1


def test_a_hook_of_a_folder_of_hooks_is_named(project: Machine, world: Path) -> None:
    hook = program(world / "shared hooks", "pre-commit", "date >made.txt; git add made.txt")
    project.git("config", "core.hooksPath", str(hook.parent))
    project.write("Kai is in Lisbon.")
    refused(project, 5, f"{hook} put made.txt")


@pytest.mark.parametrize("what", ["memory", "memory/entries", "$(git diff --cached --name-only)"])
def test_memory_that_a_hook_formats_is_committed_as_it_was_formatted(what: str, project: Machine) -> None:
    old = project.write("Deploys are on Mondays.")
    project.sync()
    new = project.write("Kai is in Lisbon.")
    staged = project.git("diff", "--cached")
    program(
        project.top / HOOKS, "pre-commit", f"for f in memory/{old} memory/{new}; do echo >>$f; done; git add {what}"
    )
    project.sync()
    for path in (old, new) if what.startswith("memory") else (new,):
        text = (project.root / path).read_bytes()
        assert text.endswith(b"\n\n")
        assert project.git("show", f"HEAD:memory/{path}").encode() == text
        assert project.git("show", f":memory/{path}").encode() == text
    assert project.git("diff", "--cached") == staged


def test_a_hook_gets_no_secret_into_git(project: Machine) -> None:
    project.write("Kai is in Lisbon.")
    (project.root / "entries/leak.md").write_text("The token is ghp_A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B\n")
    program(project.top / HOOKS, "pre-commit", "git add memory")
    refused_by(project, "memory/entries/leak.md")
    assert "ghp_" not in project.git("log", "-p", "--branches")


def test_a_hook_that_puts_away_a_memory_of_others_deletes_it_nowhere(laptop: Machine, desktop: Machine) -> None:
    path = laptop.write("The shop runs on Fly.")
    exchanged(laptop, desktop)
    program(laptop.top / HOOKS, "pre-commit", f"git rm -q --cached {path}")
    laptop.write("Kai is in Lisbon.")
    refused_by(laptop, path)
    desktop.sync()
    assert path in desktop.texts()


def test_what_a_hook_amends_afterwards_is_taken_back(project: Machine) -> None:
    lines = ('[ -n "$AGAIN" ] && exit 0', "date >made.txt; git add made.txt", "AGAIN=1 git commit -q --amend --no-edit")
    program(project.top / HOOKS, "post-commit", *lines)
    project.write("Kai is in Lisbon.")
    before = project.log
    refused_by(project, "made.txt", "post-commit")
    assert project.log == before


def test_a_commit_that_a_hook_makes_afterwards_stays_where_it_is(mem: Mem, world: Path, hub: Path) -> None:
    project = first_machine(mem, world / "project", hub, "memory")
    (project.top / "version").write_text("1\n")
    project.commit("Begin", "version")
    project.git("push", "-qu", "origin", "main")
    lines = ('[ -n "$BUMPED" ] && exit 0', "unset GIT_INDEX_FILE", "echo 2 >version")
    program(project.top / HOOKS, "post-commit", *lines, "BUMPED=1 git commit -qm Bump version")
    found = project.sync(code=3)
    assert "version" in found.err
    assert project.log[:2] == ["Bump", "memory: 1 on the page, 1 in settings, 2 in other files"]
    assert git(hub, "log", "--format=%s", "main") == "Begin\n"
    project.git("push", "-q")
    assert other_machine(mem, world / "other", hub, "memory").texts() == project.texts()


@pytest.mark.parametrize("text", ["", "rubbish\n"])
def test_a_branch_that_git_cannot_read_is_not_told_as_a_hook(text: str, laptop: Machine) -> None:
    laptop.write("Kai is in Lisbon.")
    ref = laptop.top / ".git/refs/heads/main"
    before = ref.read_text()
    ref.write_text(text)
    said = refused(laptop, 5, "git cannot commit", "refs/heads/main", "git fsck")
    assert "hook" not in said
    ref.write_text(before)
    laptop.sync()
    assert laptop.log[0] == "memory: 1 new"
