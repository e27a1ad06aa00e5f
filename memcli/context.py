"""Everything a command takes from its process: time, randomness, environment, streams."""

import io
import os
import random
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, NamedTuple


class CommonOptions(NamedTuple):
    """The options that every command has."""

    workspace: str = ""
    scope: str = ""
    as_json: bool = False
    fields: tuple[str, ...] = ()


class Context(NamedTuple):
    """The surroundings of one command.

    Tests and long-running processes make their own, so that commands run in process.
    """

    environment: Mapping[str, str]
    folder: Path
    stdin: IO[str]
    stdout: IO[str]
    stderr: IO[str]
    read_clock: Callable[[], datetime]
    noise: random.Random
    width: int = 80
    height: int = 0  # lines of the terminal; 0: never use a pager
    is_terminal: bool = False
    common: CommonOptions = CommonOptions()
    # Closes, when the command ends, what it opened.
    cleanups: ExitStack | None = None
    embedder: Any = None  # the model, if the process has it open already
    # Returns a function that shows how much of a long step is done, or None without a terminal.
    start_progress: Callable[[str], Callable[[int, int], None] | None] | None = None
    warn: Callable[[str], None] | None = None  # prints a problem that every command has, once

    @property
    def now(self) -> datetime:
        """The current time, in UTC."""
        return self.read_clock()

    def find_home_folder(self, variable: str, default: str, *names: str) -> Path | None:
        """Return a path in an XDG folder of the user, or None without a home."""
        chosen = self.environment.get(variable, "")
        if chosen.startswith("/"):
            return Path(chosen, *names)
        home = self.environment.get("HOME", "")
        return Path(home, default, *names) if home.startswith("/") else None

    @property
    def state_folder(self) -> Path | None:
        """Where mem stores what belongs to this machine: trust, keys, digests of purged texts."""
        return self.find_home_folder("XDG_STATE_HOME", ".local/state", "mem")

    @property
    def data_folder(self) -> Path | None:
        """The user's own workspace."""
        return self.find_home_folder("XDG_DATA_HOME", ".local/share", "mem")

    @property
    def config_file(self) -> Path | None:
        """The user's own settings."""
        return self.find_home_folder("XDG_CONFIG_HOME", ".config", "mem", "config.yaml")

    @property
    def cache_folder(self) -> Path | None:
        """Where mem stores prepared copies of the model."""
        return self.find_home_folder("XDG_CACHE_HOME", ".cache", "mem")


def build_process_context() -> Context:
    """Build the context of this process."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # LANG=C would otherwise turn every accent into an error.
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    size: tuple[int, int] | None = None
    if sys.stdout and sys.stdout.isatty():
        try:
            size = os.get_terminal_size()
        except OSError:
            size = (0, 0)
    streams = (sys.stdin or io.StringIO(), sys.stdout or io.StringIO(), sys.stderr or io.StringIO())
    return build_context(dict(os.environ), streams, size)


def build_context(
    environment: Mapping[str, str],
    streams: tuple[IO[str], IO[str], IO[str]],
    size: tuple[int, int] | None,
) -> Context:
    """Build a context in the working folder. MEM_NOW and MEM_SEED fix its time and randomness.

    `size` has the columns and lines of the terminal, or is None if stdout is none.
    """
    fixed = environment.get("MEM_NOW", "")
    moment = parse_fixed_time(fixed) if fixed else None
    if moment is not None and moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)

    def read_clock() -> datetime:
        return moment or datetime.now(UTC)

    # Ids must be unpredictable, or a clone could plant the id of a future memory.
    seed = environment.get("MEM_SEED")
    return Context(
        environment=environment,
        folder=get_working_folder(environment),
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        read_clock=read_clock,
        noise=random.Random(seed) if seed else random.SystemRandom(),
        width=get_width(environment, size[0] if size else 0),
        height=size[1] if size else 0,
        is_terminal=size is not None,
    )


def parse_fixed_time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None  # the real time is better than none


def get_working_folder(environment: Mapping[str, str]) -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        # The folder was deleted under the shell. PWD names a path that a command can report.
        return Path(environment.get("PWD", "/"))


def get_width(environment: Mapping[str, str], columns: int) -> int:
    chosen = environment.get("COLUMNS", "")
    if chosen.isdecimal() and int(chosen) > 0:
        return int(chosen)
    # A terminal without a size, as in some containers, reports 0.
    return columns or 80
