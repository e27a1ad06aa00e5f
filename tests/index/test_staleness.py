"""Searches between edits, renames, checkouts and worktree switches are never stale, and miss nothing.

Sixty changes in each run; MEM_LONG=1 makes a thousand.
"""

import json
import os
import random
import subprocess
from pathlib import Path

from tests.helpers import get_process_environment, run_mem

CHANGES = 1000 if os.environ.get("MEM_LONG") else 60


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=get_process_environment(folder.parent / "home"),
        capture_output=True,
        check=True,
    )


class Project:
    """A repository with a shared memory, two branches and a linked worktree."""

    def __init__(self, base: Path) -> None:
        self.noise = random.Random(7)
        self.main = base / "shop"
        self.other = base / "wt"
        self.home = str(base / "home")
        self.main.mkdir()
        git(self.main, "init", "-q", "-b", "main")
        self.run(self.main, "init", "--shared")
        for number in range(12):
            self.write(f"n{number}.md", self.make_word())
        self.commit()
        git(self.main, "branch", "feature")
        git(self.main, "worktree", "add", "-q", str(self.other), "-b", "wt")

    def run(self, folder: Path, *words: str) -> str:
        code, output, errors = run_mem(folder, *words, HOME=self.home)
        assert code in (0, 1), errors
        return output

    def make_word(self) -> str:
        return "q" + "".join(self.noise.choices("bcdfghjklmnp", k=9))

    @property
    def entries(self) -> Path:
        return self.main / "memory" / "entries"

    def write(self, name: str, word: str) -> None:
        (self.entries / name).write_text(f"The codeword of {name} is {word}.\n")

    def commit(self) -> None:
        git(self.main, "add", "-A")
        git(self.main, "commit", "-qm", "change", "--allow-empty")

    def change(self) -> None:
        """Change files the way an editor, a person or git does."""
        files = sorted(self.entries.glob("*.md"))
        kind = self.noise.choice(
            ["edit", "edit in place", "rename", "new", "delete", "commit", "switch"]
        )
        file = self.noise.choice(files) if files else None
        if kind == "new" or file is None:
            self.write(f"n{self.noise.randrange(1000)}.md", self.make_word())
        elif kind == "edit":
            self.write(file.name, self.make_word())
        elif kind == "edit in place":
            # The same size, and the old modification time.
            before = file.stat()
            old = file.read_text().rpartition(" ")[2].strip(".\n")
            text = file.read_text().replace(old, self.make_word())
            with file.open("r+") as stream:
                stream.write(text)
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        elif kind == "rename":
            file.rename(file.with_name(f"r{self.noise.randrange(1000)}.md"))
        elif kind == "delete":
            file.unlink()
        elif kind == "commit":
            self.commit()
        else:
            self.commit()
            current = (self.main / ".git/HEAD").read_text()
            git(self.main, "checkout", "-q", "main" if "feature" in current else "feature")

    def check(self) -> None:
        """Compare a search and a list with the files on disk."""
        wanted = {file.name: file.read_text().strip() for file in self.entries.glob("*.md")}
        folder = self.noise.choice([self.main, self.other])
        listed = json.loads(self.run(folder, "ls", "--json", "path,text"))["entries"]
        assert {item["path"].removeprefix("entries/"): item["text"] for item in listed} == wanted
        if wanted:
            name, text = self.noise.choice(sorted(wanted.items()))
            word = text.rpartition(" ")[2].strip(".")
            output = self.run(
                folder, "search", word, "--mode", "keyword", "-n", "1", "--json", "path,text"
            )
            (hit,) = json.loads(output)["hits"]
            assert hit["text"] == text
            assert wanted[hit["path"].removeprefix("entries/")] == text


def test_a_search_is_never_stale(tmp_path: Path) -> None:
    project = Project(tmp_path)
    for _ in range(CHANGES):
        project.change()
        project.check()
