"""A workspace with everything in it, made anew for each fault, and what is promised of it afterwards."""

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from memcli.store.file_steps import is_temporary
from tests.faults.commands import Command
from tests.faults.disk import Fault
from tests.faults.scene import MARK, WORLD, WORLD_FILES
from tests.faults.warm import Ended, Warm

NOW = "2026-11-21T20:15:03Z"
LATER = "2026-11-21T21:30:00Z"
NEXT = ("history", "add", "and then the world went on")
"""The command after a fault: it takes the lock, so it finishes what was begun."""
NEVER = frozenset((".mem", ".git"))

Shape = Counter[tuple[str, str]]
"""How often each mark stands in each place."""


@dataclass(frozen=True)
class World:
    """The folder in which all happens, at the same path each time: seals and trust belong to a path."""

    warm: Warm
    root: Path
    environ: Mapping[str, str]

    @property
    def memory(self) -> Path:
        """Return the workspace."""
        return self.root / "work" / "memory"

    def mem(
        self,
        *words: str,
        stdin: str = "",
        fault: Fault | None = None,
        below: Path | None = None,
        log: Path | None = None,
        now: str = NOW,
    ) -> Ended:
        """Run `mem` in it; a fault counts the calls in all of it, or `below` a folder or a file."""
        folder, environ = self.root / "work", {**self.environ, "MEM_NOW": now, "MEM_SEED": " ".join(words)}
        return self.warm.run(
            *words, folder=folder, environ=environ, stdin=stdin, fault=fault, below=below or self.root, log=log
        )

    def put(self, template: Path) -> None:
        """Let the folder be as the template is, times included."""
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(template, self.root, symlinks=True)

    def files(self) -> dict[str, bytes]:
        """Read every file that is the user's."""
        found = {}
        for path in sorted((self.root / "work").rglob("*")):
            name = path.relative_to(self.root / "work")
            if NEVER.isdisjoint(name.parts) and path.is_file() and not is_temporary(path.name):
                found[name.as_posix()] = path.read_bytes()
        return found

    def committed(self) -> set[str]:
        """Return the marks that stand in the last commit: what git was about to write is there."""
        told = subprocess.run(["git", "-C", self.root / "work", "archive", "HEAD"], capture_output=True, check=False)
        return {mark.lower() for mark in MARK.findall(told.stdout.decode("utf-8", "replace"))}


def opened(warm: Warm, root: Path) -> World:
    """Make the folder for one worker."""
    environ = {
        **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
        "HOME": str(root / "home"),
        "MEM_TIMEZONE": "UTC",
        "MEM_EMBEDDING_MODEL": "/nowhere",
        "MEM_WRITE_SOURCE": "user",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "T",
        "GIT_AUTHOR_EMAIL": "t@example.org",
        "GIT_COMMITTER_NAME": "T",
        "GIT_COMMITTER_EMAIL": "t@example.org",
    }
    return World(warm, root, environ)


def prepare(world: World, base: Path, command: Command | None = None) -> None:
    """Make the workspace of all commands in `base`, or from it that of one command; `world` is then as it is."""
    if command is None:
        shutil.rmtree(world.root, ignore_errors=True)
        for name in ("home", "work"):
            (world.root / name).mkdir(parents=True)
        subprocess.run(["git", "init", "-q", world.root / "work"], check=True, env=dict(world.environ))
        (world.memory / "entries").mkdir(parents=True)
        for path, text in WORLD_FILES:
            (world.memory / path).write_text(text)
        for words, stdin in WORLD:
            ran = world.mem(*words, stdin=stdin)
            assert ran.code in (0, 6), (words, ran)
        page = world.memory / "MEMORY.md"
        page.write_text(page.read_text() + "\n## By hand\n\n- Ships leave at the mallow\n")
    else:
        world.put(base)
        for path, text in command.files:
            (world.memory / path).write_text(text)
        for words in command.before:
            if words[0] == "git":
                folder = world.root / "work"
                subprocess.run(words, check=True, cwd=folder, env=dict(world.environ), capture_output=True)
            else:
                ran = world.mem(*words)
                assert ran.code == 0, (words, ran)


def named(world: World, command: Command) -> tuple[str, ...]:
    """Return the words of a command with the names that only the workspace knows."""

    def name(word: str) -> str:
        if word == "{question}":
            return str(json.loads(world.mem("review", "--json").out)["questions"][0]["id"])
        if word == "{last undo}":
            return str(json.loads(world.mem("undo", "--list", "--json").out)["commands"][0]["id"])
        if word.startswith("{id of "):
            text = (world.memory / "entries" / word[7:-1]).read_text()
            return re.findall(r"(?m)^id: (\S+)", text)[0]
        return word

    return tuple(map(name, command.words))


def shape(files: Mapping[str, bytes]) -> Shape:
    """Count each mark in each place: entries, archive, history, notes, sessions, the page.

    A message that was cut off in the middle is none: it is closed off, and passed over by all who read.
    """
    found: Shape = Counter()
    for name, data in files.items():
        place = next((part for part in name.split("/") if part in PLACES), name.rpartition("/")[2][:7])
        text = data.decode("utf-8", "replace")
        if name.endswith(".jsonl"):
            text = "\n".join(line for line in text.splitlines() if line.endswith("}"))
        for mark in MARK.findall(text):
            found[place, mark.lower()] += 1
    return found


PLACES = ("archive", "entries", "notes", "sessions")


@dataclass(frozen=True)
class Promised:
    """What a command makes of a workspace when nothing fails, and the next command with it or without it."""

    before: dict[str, bytes]
    after: dict[str, bytes]
    without: dict[str, bytes]  # the next command alone
    both: dict[str, bytes]
    problems: frozenset[str]  # that `mem check` finds before or after
    deletes: tuple[str, ...] = ()

    @cached_property
    def standing(self) -> set[str]:
        """Return the marks that may never be in no file."""
        return {mark for _, mark in shape(self.before)} - set(self.deletes)

    @cached_property
    def most(self) -> Shape:
        """Return how often each mark stands at most in each place: more is double."""
        return shape(self.before) | shape(self.after)

    def lost(self, files: Mapping[str, bytes]) -> set[str]:
        """Return the marks that are in no file any more."""
        return self.standing - {mark for _, mark in shape(files)}

    def doubled(self, files: Mapping[str, bytes]) -> set[tuple[str, str]]:
        """Return what stands more often than before and after."""
        return set(shape(files) - self.most)

    def torn(self, files: Mapping[str, bytes]) -> list[str]:
        """Name the files with a line that is neither in the old text nor in the new, but for a note cut off."""
        ends = (self.before, self.after, self.without, self.both)
        found = []
        for name, data in files.items():
            texts = [end[name] for end in ends if name in end]
            if name.endswith((".jsonl", ".json")):  # ids are drawn by the clock; `mem check` reads each line
                continue
            if not texts or data in texts:
                continue
            lines = {line for text in texts for line in text.splitlines()}
            odd = [line for line in data.splitlines() if line not in lines]
            is_note = name.split("/")[-2:-1] == ["notes"]  # one line is all there is of it: half of it may stay
            if any(not (is_note and any(line.startswith(one) for line in lines)) for one in odd):
                found.append(name)
        return found
