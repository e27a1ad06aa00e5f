"""Clones of one memory on machines of their own, which meet at a bare repository."""

import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import Mem, Ran

CONFIG = """\
[user]
	name = Rita
	email = rita@example.org
[init]
	defaultBranch = main
[advice]
	detachedHead = false
"""


def write_config(home: Path, text: str = CONFIG) -> None:
    """Give a user the settings of git that one has."""
    (home / ".gitconfig").write_text(text)


def git(folder: Path, *words: str, code: int = 0, environ: dict[str, str] | None = None) -> str:
    """Run git as a person does; give what it prints."""
    ran = subprocess.run(
        ["git", *words],
        cwd=folder,
        env={**os.environ, "LC_ALL": "C", **(environ or {})},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert ran.returncode == code, (words, ran.stdout, ran.stderr)
    return ran.stdout


@dataclass(frozen=True)
class Machine:
    """A workspace in a clone, and the commands run there."""

    run: Mem
    root: Path  # of the workspace
    top: Path  # of the repository
    options: tuple[str, ...] = field(default=())

    def mem(self, *words: str, code: int = 0) -> Ran:
        """Run a command in the workspace."""
        ran = self.run(*words, "--workspace", str(self.root))
        assert ran.code == code, (words, ran)
        return ran

    def git(self, *words: str, code: int = 0) -> str:
        """Run git in the repository."""
        return git(self.top, *words, code=code)

    def commit(self, subject: str, path: str = ".") -> None:
        """Commit what stands below a path of the repository."""
        self.git("add", path)
        self.git("commit", "-qm", subject)

    def sync(self, *words: str, code: int = 0) -> Ran:
        """Exchange with the others."""
        return self.mem("sync", *words, code=code)

    def synced(self, *words: str, code: int = 0) -> Any:
        """Exchange with the others; give the document that says what was done."""
        return self.sync("--json", *words, code=code).json

    def write(self, text: str, *words: str) -> str:
        """Keep a memory; give its path."""
        return str(self.mem("write", text, "--no-dedup", "--json", *words).json["path"])

    def texts(self) -> dict[str, bytes]:
        """Give all files of the workspace but those of this machine."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and not {".git", ".mem"} & set(path.relative_to(self.root).parts)
        }

    @property
    def log(self) -> list[str]:
        """Give the subjects of the commits, the newest first."""
        return self.git("log", "--format=%s").splitlines()


def new_hub(folder: Path) -> Path:
    """Make the repository where machines meet."""
    git(folder, "init", "-q", "--bare", "hub.git")
    return folder / "hub.git"


def first_machine(run: Mem, folder: Path, hub: Path, below: str = "") -> Machine:
    """Make a memory that is shared by the hub; `below` is its folder in the repository."""
    folder.mkdir()
    root = folder / below
    git(folder, "init", "-q")
    assert run("init", str(root)).code == 0
    git(folder, "remote", "add", "origin", str(hub))
    return Machine(run, root, folder)


def other_machine(run: Mem, folder: Path, hub: Path | str, below: str = "", *options: str) -> Machine:
    """Clone it to another machine, and trust it there."""
    git(folder.parent, "clone", "-q", *options, str(hub), str(folder))
    assert run("trust", str(folder / below)).code == 0
    return Machine(run, folder / below, folder)


def program(folder: Path, name: str, *lines: str) -> Path:
    """Make a shell script."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
    path.chmod(0o755)
    return path


def refused(machine: Machine, code: int, *words: str) -> str:
    """Sync in vain: one line that has all these words, and a state as it was."""
    before = machine.texts()
    found = machine.sync(code=code)
    assert machine.texts() == before
    assert not (machine.top / ".git").is_dir() or not (machine.top / ".git/MERGE_HEAD").exists()
    assert not list((machine.root / ".mem").glob("merge-*"))
    assert len(found.err.splitlines()) == 1, found.err
    assert found.err.startswith("mem: ")
    for word in words:
        assert word in found.err, found.err
    return found.err


def exchanged(one: Machine, other: Machine) -> None:
    """Both have everything after the obstacle is gone."""
    for machine in (one, other, one):
        machine.sync()
    assert one.texts() == other.texts()
    assert one.git("status", "--porcelain") == other.git("status", "--porcelain") == ""


Merge = Callable[[Machine, Machine], str]
"""Brings what the first machine has committed to the second one; returns what that one was told."""


def by_sync(first: Machine, second: Machine) -> str:
    first.sync()
    ran = second.sync()
    return ran.err + ran.out


def by_git(first: Machine, second: Machine) -> str:
    """Merge as a person does who knows git alone, and was told of `mem check --fix`."""
    first.sync()
    second.mem("decay", "--apply")  # brings what was said again into the files
    second.git("add", "-A")
    second.git("commit", "-qm", "mine")
    with suppress(AssertionError):  # a conflict
        second.git("pull", "-q", "--no-rebase", "--no-edit")
    ran = second.run("check", "--fix", "--workspace", str(second.root))
    assert not second.git("ls-files", "--unmerged")
    return ran.err + ran.out
