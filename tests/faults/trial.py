"""Try a command with a fault at one of its calls, go on as a user would, and say which promise was broken."""

import json
import os
import random
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.faults.commands import COMMANDS, Command
from tests.faults.disk import KILL, Fault
from tests.faults.power_cut import Noted, Tree, left_by, noted, put, tree_of
from tests.faults.warm import Ended, warm
from tests.faults.world import LATER, NEXT, Promised, World, named, opened, prepare, shape

LEFT_OVER = re.compile("left by a write that was killed|cut off in the middle|not JSON")


class Logged(NamedTuple):
    """The calls of a command, and the folder they were made in."""

    calls: Sequence[Noted]
    tree: Tree
    inodes: Mapping[int, str]


@dataclass(frozen=True)
class Trial:
    """A command that is ready to be tried."""

    world: World
    command: Command
    words: tuple[str, ...]
    template: Path
    promised: Promised

    def run(self, fault: Fault, log: Path | None = None) -> Ended:
        """Run the command with a fault, in a workspace made anew."""
        self.world.put(self.template)
        return self.world.mem(*self.words, stdin=self.command.stdin, fault=fault, log=log)

    def calls(self, fault: Fault) -> int:
        """Count the calls that the fault can hit."""
        return self.run(fault.hitting(0)).seen.calls

    def broken(self, fault: Fault, at: int) -> list[str]:
        """Let the fault hit a call, go on, and name the promises that were broken."""
        ran = self.run(fault.hitting(at))
        if not ran.seen.hit:
            return []
        return [f"{self.command.name}, {fault.name} at {ran.seen.hit} {at}: {one}" for one in self._wrong(fault, ran)]

    @cached_property
    def logged(self) -> Logged:
        """Run the command with every call noted, for cutting the power after any of them."""
        self.world.put(self.template)
        tree, inodes = tree_of(self.world.root)
        log = self.template.with_suffix(".log")
        self.world.mem(*self.words, stdin=self.command.stdin, fault=KILL, log=log)
        return Logged(tuple(noted(log)), tree, inodes)

    def broken_by_cut(self, upto: int, luck: random.Random | None) -> list[str]:
        """Cut the power after so many calls, go on, and name the promises that were broken."""
        told = self.logged
        left = left_by(told.calls[:upto], told.tree, told.inodes, luck)
        self.world.put(self.template)
        put(self.world.root, left)
        found = list(self.afterwards(self.command.repeats))
        if upto == len(told.calls) and not luck and self.command.tells and self.command.lasts:
            put(self.world.root, left)
            if shape(self.world.files()) != shape(self.promised.after):
                found.append("said to be done, and is not on the disk")
        what = "luck" if luck else "nothing unsynced left"
        return [f"{self.command.name}, power cut after {upto} of {len(told.calls)}, {what}: {one}" for one in found]

    def _wrong(self, fault: Fault, ran: Ended) -> Iterator[str]:
        if ran.is_broken:
            yield f"a traceback: {ran.err[-700:]}"
        # What cannot be read is passed over, and named by whoever is asked for it: `mem search`, `mem check`.
        has_read = ran.code != 0 or {"read", "open"}.isdisjoint(fault.calls)
        is_told = bool(fault.error) and os.strerror(fault.error).lower() in ran.err
        is_said = ran.code == 0 and self.command.tells and not is_told and has_read
        if is_said and shape(self.world.files()) != shape(self.promised.after):
            yield f"said to be done, and is not: {ran.err}"
        yield from self.afterwards(self.command.repeats, has_read)

    def afterwards(self, repeats: bool, has_read: bool = True) -> Iterator[str]:
        """Go on in the workspace as it stands now, also by the same command, and yield what is wrong with it."""
        is_shared = self.command.words[0] == "sync"
        lost = self.promised.lost(self.world.files()) - (self.world.committed() if is_shared else set())
        if lost:
            yield f"lost {lost}"
        following = self.world.mem(*NEXT, now=LATER)
        if following.code or following.is_broken:
            yield f"the next command failed: {following}"
        files = self.world.files()
        if lost := self.promised.lost(files):
            yield f"lost {sorted(lost)}, which the next command did not bring back"
        if is_shared:  # what git was killed in is finished by the next one
            self.again()
            files = self.world.files()
        for what in ("lost", "doubled", "torn") if has_read else ("lost",):
            found = getattr(self.promised, what)(files)
            if found:
                yield f"{what} {sorted(found)} after the next command"
        yield from self._unclean()
        if repeats and has_read:
            yield from self._repeated()

    def _unclean(self) -> Iterator[str]:
        problems = problems_of(self.world)
        left_over = {one for one in problems if LEFT_OVER.search(one)}
        if problems - left_over - self.promised.problems:
            yield f"not clean: {sorted(problems - left_over - self.promised.problems)}"
        if left_over:
            self.world.mem("check", "--fix", now=LATER)
            if problems_of(self.world) - self.promised.problems:
                yield f"not clean after check --fix: {sorted(problems_of(self.world))}"

    def again(self) -> Ended:
        """Run the command again; where it names a lock of git's, delete that."""
        again = self.world.mem(*self.words, stdin=self.command.stdin, now=LATER)
        named = re.search(r"(/\S+\.lock) is there", again.err)
        if again.code != 75 or named is None:
            return again
        Path(named[1]).unlink()
        return self.again()

    def _repeated(self) -> Iterator[str]:
        again = self.again()
        if again.is_broken or again.code not in (*self.command.ends, 1, 4, 5):
            yield f"made again, it fails: {again}"
        now, wanted = shape(self.world.files()), shape(self.promised.after)
        if now != wanted:
            yield f"made again, it ends otherwise: more {dict(now - wanted)}, less {dict(wanted - now)}"


def problems_of(world: World) -> set[str]:
    """Return what `mem check` finds."""
    ran = world.mem("check", "--json", now=LATER)
    assert ran.code in (0, 1, 3), ran
    return {f"{one['path']}: {one['reason']}" for one in json.loads(ran.out)["problems"]}


Without = tuple[dict[str, bytes], set[str]]


class Trials:
    """The trials of one worker: the workspace of all commands is made once, that of a command when it is tried."""

    def __init__(self, world: World, base: Path) -> None:
        self.world, self.base = world, base
        prepare(world, base)
        shutil.copytree(world.root, base, symlinks=True)
        self._ready: dict[str, Trial] = {}
        self._without: Without | None = None

    def of(self, command: Command) -> Trial:
        """Return the trial of a command."""
        if command.name not in self._ready:
            self._ready[command.name] = self._prepared(command)
        return self._ready[command.name]

    def _prepared(self, command: Command) -> Trial:
        world = self.world
        prepare(world, self.base, command)
        words = named(world, command)
        template = self.base.parent / command.name.replace("/", "-")
        shutil.copytree(world.root, template, symlinks=True)
        before = world.files()
        ran = world.mem(*words, stdin=command.stdin)
        assert ran.code in command.ends, (command.name, ran)
        after = world.files()
        world.mem(*NEXT, now=LATER)
        both, problems = world.files(), problems_of(world)
        if command.before or command.files:
            without, more = self._next_alone(template)
        else:  # the workspace of all commands
            self._without = without, more = self._without or self._next_alone(template)
        world.put(template)
        promised = Promised(before, after, without, both, frozenset(problems | more), command.deletes)
        return Trial(world, command, words, template, promised)

    def _next_alone(self, template: Path) -> "Without":
        """Return what the next command makes of a workspace, and what is wrong with it then."""
        self.world.put(template)
        self.world.mem(*NEXT, now=LATER)
        return self.world.files(), problems_of(self.world)


@contextmanager
def trials(folder: Path | None = None) -> Iterator[Trials]:
    """Open a place for trials, gone with the block."""
    with TemporaryDirectory(prefix="mem-faults-", dir=folder) as place, warm() as runs:
        yield Trials(opened(runs, Path(place) / "world"), Path(place) / "base")


def tries(trial: Trial, fault: Fault, luck: random.Random, most: int) -> Iterator[list[str]]:
    """Let a fault hit some of the calls, at most so many, chosen by chance; yield what each broke."""
    if fault.alone and trial.command.words[0] != "sync":
        return
    calls = trial.calls(fault)
    for at in sorted(luck.sample(range(1, calls + 1), min(calls, most))):
        yield trial.broken(fault, at)


def cuts(trial: Trial, luck: random.Random, most: int) -> Iterator[list[str]]:
    """Cut the power at some moments, at most so many, the last one among them; yield what each broke.

    Not where git writes: how much of its objects it syncs together, the calls do not tell.
    """
    if trial.command.words[0] == "sync":
        return
    calls = len(trial.logged.calls)
    yield trial.broken_by_cut(calls, None)
    moments = [(at, lucky) for at in range(calls + 1) for lucky in (False, True)]
    for at, lucky in sorted(luck.sample(moments, min(len(moments), most - 1))):
        yield trial.broken_by_cut(at, random.Random(luck.random()) if lucky else None)


def command_named(name: str) -> Command:
    """Return a command of the table."""
    return next(one for one in COMMANDS if one.name == name)
