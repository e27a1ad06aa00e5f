"""The workspace: where it is and how it is found."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field, fields, replace
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import Any

from ..dataclass import dataclass
from ..errors import MemError, NotFoundError, RefusedError, SwitchedOffError, UsageError
from ..formats.ids import blake2b, parse_time, parse_when, stamp
from . import file_steps, trust
from .layouts import DERIVED, DOCUMENTS, LAYOUTS, Layout, adjusted
from .privacy import contained
from .settings import Settings, load_settings, zone_of

MARKER = "mem.yaml"
SCOPES = ("project", "user", "all")
_NAME = re.compile(r"[a-z][a-z0-9-]*")


@dataclass(frozen=True)
class Workspace:
    """A folder of memories with the settings in force there. It can be a key of a dict, and be pickled."""

    root: Path
    scope: str  # project, user, or the name of a shared workspace
    settings: Settings
    now: datetime
    cache: Path  # for derived data where the workspace is read-only
    state: Path | None = None  # where it is recorded whether it is trusted; None: whoever opened it does
    is_own: bool = False  # the user's own workspace, whoever came upon it
    beside: Path | None = None  # where derived data of a folder of documents lies; None: in the workspace itself
    folder: Path = Path()  # where it was opened from: relative names of files are taken from there too
    environ: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def stamp(self) -> str:
        """Return the time commands work at as files state it: RFC 3339, UTC."""
        return stamp(self.now)

    def __hash__(self) -> int:
        return hash(self.root)

    def __getstate__(self) -> dict[str, Any]:
        return {attribute.name: getattr(self, attribute.name) for attribute in fields(self)} | {
            "environ": dict(self.environ)
        }

    @property
    def derived(self) -> Path:
        """Return the folder of derived data."""
        return self.beside or self.root / DERIVED

    @cached_property
    def is_trusted(self) -> bool:
        """Return whether the user believes what lies here: it was made here, or `mem trust` was said."""
        if self.state is None or self.is_own or self.beside is not None:
            return True
        return trust.is_trusted(self.state, self.root)

    @cached_property
    def layout(self) -> Layout:
        """Return where things live."""
        if self.beside is not None:
            return DOCUMENTS
        paths = {name: self.settings[f"paths.{name}"] for name in ("memory", "history", "notes", "entries")}
        layout = adjusted(LAYOUTS[self.settings["layout"]], paths)
        if not layout.is_vault:
            return layout
        from .layouts import as_kept

        return as_kept(layout, self.root)

    @cached_property
    def zone(self) -> tzinfo:
        """Return the time zone of the user's days."""
        name = self.settings["timezone"]
        if not name:
            return self.now.astimezone().tzinfo or UTC
        return zone_of(name)

    def moment(self, name: str, text: str, *, end: bool = False) -> str:
        """Return the instant that an option's date means, RFC 3339; empty for none. `end`: the end of a day or month.

        Raise UsageError with the name if the text is no date.
        """
        if not text:
            return ""
        moment = parse_when(text, self.now, self.zone, end=end)
        if moment is None:
            raise UsageError(f"{name} {text!r} is no date", "write 2026-11-21, 2026-11, yesterday or 7d")
        return stamp(moment)

    def noise(self, text: str) -> bytes:
        """Return eight random bytes for the ids of what a text makes; with MEM_SEED a function of both."""
        seed = self.environ.get("MEM_SEED")
        return os.urandom(8) if seed is None else blake2b(f"{seed}\x000\0{text}".encode(), digest_size=8).digest()

    def author(self, source: str = "", by: str = "observed") -> str:
        """Return whose word something is: the source told, or the one the settings say, or that of who gives it."""
        return source or str(self.settings["write.source"]) or by

    def path(self, relative: str) -> Path:
        """Return the file of a relative path, refusing one that leads out of the workspace."""
        return contained(self.root, self.root / relative)

    @property
    def has_archive(self) -> bool:
        """Return whether there is an archive that counts: that of a workspace which is trusted."""
        return self.is_trusted and (self.root / self.layout.archive).is_dir()

    @property
    def inbox(self) -> list[str]:
        """Return the paths of what waits for a yes; a folder that is not trusted has nothing to ask."""
        folder = self.root / self.layout.inbox
        names = sorted(path.name for path in folder.glob("*.md")) if self.is_trusted and folder.is_dir() else []
        return [self.layout.inbox + name for name in names]

    def free_name(self, path: str) -> str:
        """Return the path, with a number before its ending if the name is taken."""
        ending = PurePosixPath(path).suffix
        numbered = (f"{path.removesuffix(ending)}-{number}{ending}" for number in count(2))
        return next(free for free in chain((path,), numbered) if not (self.root / free).exists())

    def relative(self, path: Path) -> str:
        """Return the path of a file within the workspace."""
        return path.relative_to(self.root).as_posix()


@dataclass(frozen=True)
class Surroundings:
    """What a command knows of the world: folder, environment and clock."""

    folder: Path
    environ: Mapping[str, str]
    now: datetime

    @property
    def config_file(self) -> Path:
        """Return the user's own settings file."""
        return _base(self.environ, "XDG_CONFIG_HOME", ".config") / "mem" / "config.yaml"

    @property
    def cache_folder(self) -> Path:
        """Return the folder for derived data of workspaces that are read-only."""
        return _base(self.environ, "XDG_CACHE_HOME", ".cache") / "mem"

    @property
    def state_folder(self) -> Path:
        """Return the folder for what the user's mem records of this machine."""
        return _base(self.environ, "XDG_STATE_HOME", ".local/state") / "mem"

    @property
    def user_root(self) -> Path:
        """Return the folder of the user's own workspace."""
        return _base(self.environ, "XDG_DATA_HOME", ".local/share") / "mem"

    @cached_property
    def _shared_rows(self) -> tuple[str, ...]:
        """Return the setting `workspaces`; none where the settings are broken, which opening a workspace tells."""
        if not (self.config_file.exists() or self.environ.get("MEM_WORKSPACES")):
            return ()
        with suppress(MemError):
            return tuple(load_settings(self.config_file, None, self.environ)["workspaces"])
        return ()

    @cached_property
    def shared_folders(self) -> dict[str, Path]:
        """Return the folders that the user's settings name as `workspaces`, by name, without rows that name none."""
        return {row.partition("=")[0]: folder for row in self._shared_rows if (folder := shared_folder(row))}

    @property
    def absent_folders(self) -> list[str]:
        """Return a line about each row of `workspaces` that names no folder, or one that is no workspace."""
        rows = self._shared_rows
        wrong = [f"workspaces: {row!r} names no folder: {SHARED_FIX}" for row in rows if not shared_folder(row)]
        folders = self.shared_folders.items()
        return wrong + [f"{name}: {folder} is not a workspace" for name, folder in folders if not _marked(folder)]


SHARED_FIX = "write NAME=FOLDER, the name in lower case, the folder from ~ or /, such as team=~/team"


def shared_folder(row: str) -> Path | None:
    """Return the folder that a row of the setting `workspaces` names; None where it names none."""
    name, _, text = row.partition("=")
    try:
        folder = Path(text).expanduser()
        folder.exists()
    except (OSError, RuntimeError, ValueError):  # no such user, a name too long
        return None
    is_name = _NAME.fullmatch(name) and name not in (*SCOPES, "documents")
    return folder if is_name and folder.is_absolute() else None


def clock(environ: Mapping[str, str], now: datetime) -> datetime:
    """Return the moment commands work at: `MEM_NOW` where it is set."""
    text = environ.get("MEM_NOW")
    if not text:
        return now
    moment = parse_time(text)
    if moment is None:
        raise UsageError(f"MEM_NOW is {text!r}", "write an instant such as 2026-11-21T20:15:03Z")
    return moment


def find(around: Surroundings, explicit: str = "", scope: str = "", *, even_off: bool = False) -> list[Workspace]:
    """Find the workspaces of a command, the project's first.

    Without a scope these are the nearest project workspace, the user's, and those that the user's settings name; a
    workspace named outright stands alone. Raises NotFoundError where there is none, and SwitchedOffError where memory
    is switched off in the first of them; others that are switched off are left out. `even_off` is for commands that
    look after the folder alone.
    """
    (first, *others), wrong = roots(around, explicit, scope), []
    workspaces = [_workspace_at(around, *first)]
    for root, name in others:
        try:
            workspaces.append(_workspace_at(around, root, name))
        except MemError as error:
            if name in SCOPES:
                raise
            wrong.append(f"{name}: {error.message}")  # what others push must not end the commands of everybody
    watch = file_steps.watcher.get()
    if watch:
        for workspace in workspaces:
            watch.entered(workspace)
    if not (explicit or scope or around.environ.get("MEM_WORKSPACE")):
        wrong += around.absent_folders
    if wrong:
        settings = workspaces[0].settings
        workspaces[0] = replace(workspaces[0], settings=replace(settings, ignored=(*settings.ignored, *wrong)))
    if even_off:
        return workspaces
    if not workspaces[0].settings["memory.enabled"]:
        switch = workspaces[0].settings.places["memory.enabled"]
        raise SwitchedOffError(
            f"memory is switched off (memory.enabled in {switch})", "run `mem config set memory.enabled true`"
        )
    return [workspace for workspace in workspaces if workspace.settings["memory.enabled"]]


def roots(around: Surroundings, explicit: str = "", scope: str = "") -> list[tuple[Path, str]]:
    """Find the folders of a command's workspaces, each with its scope, without opening them."""
    shared = around.shared_folders
    if scope and scope not in (*SCOPES, *shared):
        raise UsageError(f"no scope {scope!r}", f"use one of {', '.join((*SCOPES, *shared))}")
    named = explicit or around.environ.get("MEM_WORKSPACE", "")
    pairs: list[tuple[Path, str]] = []
    if scope in ("", "project", "all"):
        project = _named(around.folder, named) if named else nearest(around.folder)
        if project:
            pairs.append((project, "project"))
    if scope in ("user", "all") or not (scope or named):
        user = around.user_root
        if (user / MARKER).is_file() and user.resolve() not in [root for root, _ in pairs]:
            pairs.append((user.resolve(), "user"))
    if scope in shared:
        pairs.append((_named(around.folder, str(shared[scope])), scope))
    elif scope == "all" or (pairs and not (scope or named)):  # nothing is shared for want of another place
        for name, folder in shared.items():
            if (root := _marked(folder)) and root not in [known for known, _ in pairs]:
                pairs.append((root, name))
    if scope == "user" and not pairs:
        raise NotFoundError(f"you have no workspace of your own yet ({around.user_root})", "a first write makes it")
    if not pairs:
        raise NotFoundError(f"no workspace in {around.folder} or above", "run `mem init` to make one here")
    return pairs


def _workspace_at(around: Surroundings, root: Path, scope: str) -> Workspace:
    """Open a workspace that nobody named to us as theirs: whether it is trusted is a matter of record."""
    is_own = root == around.user_root.resolve()
    is_believed = is_own or trust.is_trusted(around.state_folder, root)
    return replace(opened(around, root, scope, is_believed=is_believed), state=around.state_folder, is_own=is_own)


def opened(around: Surroundings, root: Path, scope: str = "project", *, is_believed: bool = True) -> Workspace:
    """Open a folder as a workspace with its settings; raise RefusedError if a clone may lead its derived data astray.

    A setting that is wrong is an error where the workspace is believed, and else passed over.
    """
    if (root / DERIVED).is_symlink():
        raise RefusedError(f"{root / DERIVED} is a link", "remove it: mem makes a folder of its own there")
    settings = load_settings(around.config_file, root / MARKER, around.environ, is_believed=is_believed)
    return _of(around, root, scope, settings)


def unopened(around: Surroundings) -> Workspace | None:
    """Return the first workspace without its settings, which could not be read, for the log; None where none is."""
    try:
        root, name = roots(around)[0]
    except MemError:
        return None
    return _of(around, root, name, Settings({}, {}))


def _of(around: Surroundings, root: Path, scope: str, settings: Settings) -> Workspace:
    given = (around.now, around.cache_folder)
    return Workspace(root, scope, settings, *given, folder=around.folder, environ=around.environ)


def nearest(folder: Path) -> Path | None:
    """Find the workspace a folder is in or has below it as `memory/`."""
    for parent in (folder, *folder.parents):
        for root in (parent, parent / "memory"):
            if (root / MARKER).is_file():
                return root.resolve()
    return None


def _named(folder: Path, name: str) -> Path:
    root = (folder / Path(name).expanduser()).resolve()
    if workspace := _marked(root):
        return workspace
    import shlex

    raise NotFoundError(f"{root} is not a workspace", f"run `mem init {shlex.quote(name)}`")


def _marked(folder: Path) -> Path | None:
    """Return the workspace that a folder is, or has below it as `memory/`; None where it is neither."""
    try:
        root = folder.resolve()
    except (OSError, RuntimeError):
        return None
    return next((candidate for candidate in (root, root / "memory") if (candidate / MARKER).is_file()), None)


def _base(environ: Mapping[str, str], variable: str, fallback: str) -> Path:
    given = environ.get(variable, "")
    if given.startswith("/"):  # the XDG rules: a relative value is ignored
        return Path(given)
    home = environ.get("HOME", "")
    if not home:
        try:
            home = str(Path.home())
        except RuntimeError:
            home = "/nonexistent"
    return Path(home) / fallback
