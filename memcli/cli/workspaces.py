"""What every command shares: its workspaces, what a person named, paths as they are shown, and standard input."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ..api import workspace as api
from ..api.workspace import FileProblem, Workspace
from ..errors import UsageError
from . import output


class Common(NamedTuple):
    """What nearly every command is told: which workspaces it works in, and whether it answers in JSON."""

    workspace: str = ""
    scope: str = ""
    as_json: bool = False


COMMON = Common()


def reading(common: Common, *, even_off: bool = False, make: bool = False) -> list[Workspace]:
    """Open the workspaces to read from, the project's first, and say which of their settings are ignored."""
    opened = api.open_workspaces(common.workspace, scope=common.scope, even_off=even_off, make=make)
    output.problems(list(dict.fromkeys(line for workspace in opened for line in workspace.settings.ignored)))
    return opened


def writable(
    common: Common, done: str = "written to", *, even_off: bool = False, make: bool = False
) -> list[Workspace]:
    """Open the workspaces that names are looked for in, first the one to write to, or to do something else with."""
    if common.scope == "all":
        raise UsageError(f"a memory is {done} one workspace", "use --scope project or --scope user")
    opened = reading(common, even_off=even_off, make=make)
    if output.is_watched() and not opened[0].is_trusted:
        output.note(f"{opened[0].root} came with a repository and is not trusted: see `mem trust --help`")
    return opened


def writing(common: Common, done: str = "written to", *, even_off: bool = False, make: bool = False) -> Workspace:
    """Open the one workspace to write to, or to do something else with; `make` makes the user's if need be."""
    return writable(common, done, even_off=even_off, make=make)[0]


def here(workspace: Workspace, path: str) -> str:
    """Return a path of a workspace relative to the current folder; in full if the workspace is somewhere else."""
    folder = os.getcwd()
    whole = os.path.normpath(os.path.join(workspace.root, path))
    if not _is_near(workspace.root, folder):
        return whole
    return whole[len(folder) + 1 :] if whole.startswith(f"{folder}/") else os.path.relpath(whole, folder)


@lru_cache(maxsize=8)
def _is_near(root: Path, folder: str) -> bool:
    return root.is_relative_to(folder) or Path(folder).is_relative_to(root.parent)


def tell_problems(found_in: Sequence[Workspace], problems: Iterable[FileProblem]) -> None:
    """Report in one line which files an answer leaves out; what was found all the same is left to `mem check`."""
    by_scope = {workspace.scope: workspace for workspace in found_in}
    left_out = [problem for problem in problems if problem.left_out]
    output.problems(
        [replace(problem, path=here(by_scope.get(problem.scope, found_in[0]), problem.path)) for problem in left_out]
    )


def shown(path: Path) -> str:
    """Return the path of a file, or of a folder with a closing slash, relative to the current folder if it is below."""
    here = Path.cwd()
    closing = "/" if path.is_dir() else ""
    return f"{path.relative_to(here)}{closing}" if path.is_relative_to(here) and path != here else str(path)


def at_terminal() -> bool:
    """Return whether standard input is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def is_typed() -> bool:
    """Return whether a person types the command and reads its answer: no agent, script or pipe."""
    return at_terminal() and output.is_watched()


def speaker() -> str:
    """Return whose word it is that comes without a source: the user's where a person types."""
    return "user" if is_typed() else "observed"


def standard_input(what: str) -> str:
    """Read all of standard input as UTF-8."""
    return text_of("-", what)


@contextmanager
def opened(file: str, what: str, *, allow_secret: bool = False, gitignored: bool = True) -> Iterator[BinaryIO]:
    """Open a file a person named, or standard input for `-`; a person at a terminal is told what to type.

    Raise RefusedError if the file is shut out of memory, unless `gitignored` by a `.gitignore` too.
    """
    if file == "-":
        yield _standard_bytes(what)
        return
    with api.open_named(file, allow_secret=allow_secret, gitignored=gitignored) as stream:
        yield stream


def text_of(file: str, what: str, *, allow_secret: bool = False, gitignored: bool = True) -> str:
    """Read a file a person named as `opened` does, or standard input for `-`, as UTF-8."""
    with opened(file, what, allow_secret=allow_secret, gitignored=gitignored) as stream:
        return _utf8(stream.read(), "standard input" if file == "-" else file)


def _standard_bytes(what: str) -> BinaryIO:
    if sys.stdin is None:
        raise UsageError("there is no standard input", "name a file, or give the text as an argument")
    if at_terminal():
        output.note(f"reading {what} from the terminal; end with Ctrl-D")
    return sys.stdin.buffer


def _utf8(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not UTF-8 (byte {error.start:,})", "convert it, for example with iconv") from None
