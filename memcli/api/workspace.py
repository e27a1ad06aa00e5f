"""Open workspaces, find in them what a name means, and open the files whose text is to be kept."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any, BinaryIO, ParamSpec, TypeVar

from ..errors import UsageError
from ..formats.text_lines import FileProblem
from ..store import trust
from ..store import workspace as _workspaces
from ..store.addresses import Place, require_ours
from ..store.file_steps import Watcher, watcher
from ..store.workspace import Surroundings as Surroundings
from ..store.workspace import Workspace as Workspace

Workspaces = Workspace | Sequence[Workspace]
"""What a function takes that reads one workspace or several, the first of which has the say."""


def surroundings(
    folder: str | Path | None = None, environ: Mapping[str, str] | None = None, now: datetime | None = None
) -> Surroundings:
    """Return where and when workspaces are looked for: by default this process's folder and environment, and now.

    `MEM_NOW` in the environment is the moment where none is given. Raise UsageError if the current folder is gone.
    """
    try:
        base = Path(folder).absolute() if folder is not None else Path.cwd()
    except FileNotFoundError:
        raise UsageError("the current folder is gone", "change to one that exists") from None
    if now is not None and now.tzinfo is None:
        raise UsageError(f"{now.isoformat()} has no time zone", "give one, such as datetime.now(UTC)")
    world = os.environ if environ is None else environ
    return Surroundings(base, world, now or _workspaces.clock(world, datetime.now(UTC)))


def open_workspaces(
    path: str | Path = "",
    *,
    scope: str = "",
    folder: str | Path | None = None,
    environ: Mapping[str, str] | None = None,
    now: datetime | None = None,
    even_off: bool = False,
    make: bool = False,
) -> list[Workspace]:
    """Open the workspaces to read from, the project's first, then the user's.

    `path` is a workspace or the folder it is in, and then stands alone; without it the nearest one from `folder`
    upwards counts. `scope` is `project`, `user`, which `make` makes if need be, `all`, or empty for both. `now` must
    have a time zone. Raise NotFoundError if there is none, SwitchedOffError if memory is switched off in the first and
    not `even_off`, UsageError for a scope or setting that is wrong, RefusedError if derived data would be led astray by
    a link.
    """
    around = surroundings(folder, environ, now)
    if make and scope == "user" and not (around.user_root / _workspaces.MARKER).is_file():
        from ..store.init import init  # late: it is there but for the first time

        init(around, around.user_root, "mem")
    opened = _workspaces.find(around, str(path), scope, even_off=even_off)
    for workspace in opened:
        if workspace.state and not workspace.is_own and trust.record_of(workspace.state, workspace.root) is None:
            trust.record(workspace.state, workspace.root, trusted=False)
    return opened


def open_workspace(
    path: str | Path = "",
    *,
    scope: str = "",
    folder: str | Path | None = None,
    environ: Mapping[str, str] | None = None,
    now: datetime | None = None,
) -> Workspace:
    """Open the one workspace to work in, the user's made if need be; else as `open_workspaces`.

    The scope `all` names several and is a UsageError here.
    """
    if scope == "all":
        raise UsageError("a memory is written to one workspace", "use the scope project or user")
    return open_workspaces(path, scope=scope, folder=folder, environ=environ, now=now, make=True)[0]


def every(workspaces: Workspaces) -> Sequence[Workspace]:
    """Return one workspace or several as a sequence; raise UsageError for none."""
    several = [workspaces] if isinstance(workspaces, Workspace) else workspaces
    if not several:
        raise UsageError("no workspace is named", "open one with open_workspace()")
    return several


def locate(workspaces: Workspaces, name: str, *, strict: bool = False, hides: bool = False) -> tuple[Workspace, Place]:
    """Return the workspace and the place in it that a name means: an id, a part of one, a path, a hit's address.

    Relative paths are also taken from the folder the workspace was opened from. `strict` is for what changes files: it
    finishes what a killed command left, notices two files of one id, takes no id of under four characters and refuses
    what is another tool's, unless it `hides` it. Raise NotFoundError, AmbiguousError with the candidates, UsageError or
    RefusedError.
    """
    from ..search.resolve import locate as resolved

    opened = every(workspaces)
    if strict:
        from ..store.journal import finish_first

        for workspace in opened:
            finish_first(workspace, "mem")  # a move that was cut off has left a file under two names
    where, address = resolved(opened, name, opened[0].folder, strict=strict)
    if strict and not (hides and address.anchor):
        require_ours(where.layout, address.path)
    return where, address


def open_named(
    file: str | Path, *, allow_secret: bool = False, folder: Path = Path(), gitignored: bool = True
) -> BinaryIO:
    """Open a file outside the workspace whose content is to be kept, as it is named from a folder.

    Raise RefusedError if a `.secretsignore` or `.env*` names it, or unless `gitignored` a `.gitignore`, and not
    `allow_secret`; UsageError if it cannot be read.
    """
    from ..store import privacy

    kinds = privacy.OUTSIDE_GIT if gitignored else privacy.EVERY
    return privacy.open_named(file, allow_secret=allow_secret, folder=folder, kinds=kinds)


def unsaid(text: str, words: Sequence[str] = ()) -> str:
    """Return a message with its secrets blanked out, those it quotes in part from `words` included."""
    from ..secrets.scanner import unsaid as blanked

    return blanked(text, words)


def audience(workspace: Workspace) -> str:
    """Return the scope of a workspace, and who sees what is written there: whom git shares it with, or nobody."""
    from ..store.conversation_keeper import audience as whose

    return whose(workspace)


class _Unchanged:
    """Watches a command until it changes something; then `store/undo_log.py` notes what."""

    def __init__(self, command: str, workspaces: Sequence[Workspace]) -> None:
        self._command, self._workspaces = command, list(workspaces)
        self._notes: Watcher | None = None

    def entered(self, workspace: Workspace) -> None:
        (self._notes.entered if self._notes else self._workspaces.append)(workspace)

    def __getattr__(self, name: str) -> Any:
        if self._notes is None:
            from ..store.undo_log import Recording

            self._notes = Recording(self._command, self._workspaces)
        return getattr(self._notes, name)

    def number(self, workspace: Workspace) -> int:
        return self._notes.number(workspace) if self._notes else 0

    def end(self) -> None:
        if self._notes:
            self._notes.close()


@contextmanager
def recording(command: str, workspaces: Sequence[Workspace] = ()) -> Iterator[Watcher]:
    """Note what is changed meanwhile as one command; within another one, as a part of that.

    Workspaces that are opened meanwhile are noted in too. What is given tells the number of the command, also later.
    """
    outer = watcher.get()
    if outer:
        for workspace in workspaces:
            outer.entered(workspace)
        yield outer
        return
    own = _Unchanged(command, workspaces)
    token = watcher.set(own)
    try:
        yield own
    finally:
        watcher.reset(token)
        own.end()


_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def recorded(command: str) -> Callable[[Callable[_Given, _Result]], Callable[_Given, _Result]]:
    """Return a decorator that notes what a function changes in its workspaces as one command of this name.

    The first argument of the function is a workspace, several of them, or what has one as `workspace`. Where the
    command line, or another function, has begun to note a command, it is part of that.
    """

    def decorated(function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
        @wraps(function)
        def run(*given: _Given.args, **named: _Given.kwargs) -> _Result:
            first: Any = given[0] if given else named.get(function.__code__.co_varnames[0])
            workspaces = first if isinstance(first, list | tuple) else [getattr(first, "workspace", first)]
            with recording(command, [workspace for workspace in workspaces if isinstance(workspace, Workspace)]):
                return function(*given, **named)

        return run

    return decorated
