"""A disk that fails on purpose: stand-ins for the `os` module of the code that changes the user's files."""

import errno
import os
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from memcli.store import atomic_files, file_steps

STEPS = ("write", "fsync", "link", "rename", "unlink", "ftruncate")
POWER_CUT = 77  # exit status of a process whose power was cut


def full_disk(step: str) -> NoReturn:
    """Fail as a disk without free space does."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), step)


def power_cut(step: str) -> NoReturn:
    """End the process at once: nothing is cleaned up."""
    os._exit(POWER_CUT)


class FailingOS:
    """The os module, whose n-th step fails, a write after half of its bytes; if `lasting`, so do the rest."""

    def __init__(
        self, at: int, fail: Callable[[str], NoReturn] = full_disk, lasting: bool = False, base: Any = os
    ) -> None:
        """Count from 1; 0 fails never."""
        self.at, self.fail, self.lasting, self.base = at, fail, lasting, base
        self.steps: list[str] = []

    def __getattr__(self, name: str) -> Any:
        real = getattr(self.base, name)
        if name not in STEPS:
            return real

        def step(*args: Any, **options: Any) -> Any:
            self.steps.append(name)
            count = len(self.steps)
            if self.at and (count == self.at or (self.lasting and count > self.at)):
                if name == "write" and count == self.at:
                    fd, data = args
                    real(fd, data[: len(data) // 2])
                self.fail(name)
            return real(*args, **options)

        return step


class RefusingOS:
    """The os module of a system that refuses some calls, each with an error number of its own."""

    def __init__(self, refusals: Mapping[str, int], base: Any = os) -> None:
        self.refusals, self.base = refusals, base

    def __getattr__(self, name: str) -> Any:
        if name not in self.refusals:
            return getattr(self.base, name)

        def refuse(*args: Any, **options: Any) -> NoReturn:
            raise OSError(self.refusals[name], os.strerror(self.refusals[name]), *args[:1])

        return refuse


def wire(stand_in: Any) -> None:
    """Let the code that changes files work on a stand-in; `wire(os)` undoes it."""
    for module in (file_steps, atomic_files):
        module.os = stand_in


def cut_off(at: int, work: Callable[[], object]) -> bool:
    """Do some work in a child of this process whose power is cut at a step; return whether it came so far."""
    child = os.fork()
    if child == 0:
        wire(FailingOS(at, power_cut))
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == POWER_CUT
