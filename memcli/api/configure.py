"""Make workspaces, believe those of others, and show and change settings."""

from pathlib import Path
from typing import Annotated, Any

from ..dataclass import dataclass
from ..errors import NotFoundError, RefusedError, UsageError
from ..git import merge_driver
from ..results import Result
from ..store import init as making
from ..store import trust as records
from ..store import workspace as workspaces
from ..store.init import Made as Made
from ..store.layouts import IGNORE, LAYOUTS
from ..store.settings import BY_NAME, TABLE, Setting, Settings, load_settings, set_in_file, written
from .workspace import Surroundings, Workspace, recorded, surroundings


def init(folder: str | Path = "", *, layout: str = "", around: Surroundings | None = None) -> Made:
    """Make a workspace, or complete one, by default in `./memory`; nothing that exists is changed.

    The folder of another tool is recognised and used in its own layout, or in the one given. `around` is where and when
    it is made, by default this process's folder and environment. Raise UsageError for a layout that does not fit,
    RefusedError if the folder is a file.
    """
    world = around or surroundings()
    return making.init(world, (world.folder / Path(folder).expanduser()).resolve() if folder else None, layout)


@dataclass(frozen=True)
class TrustReport(Result):
    """Whether what a workspace says is believed."""

    workspace: Annotated[str, "the folder of the workspace"]
    trusted: Annotated[bool, "whether what it says is believed now"]


def trust(workspace: Workspace, *, remove: bool = False) -> TrustReport:
    """Believe what a workspace says that came from others; with `remove` believe it no longer.

    The git repository around a trusted one is told how to merge memories. Raise RefusedError for the user's own
    workspace, and if the answer cannot be recorded.
    """
    if workspace.is_own:
        raise RefusedError(f"{workspace.root} is your own workspace", "it is always trusted")
    if workspace.state is None or not records.record(workspace.state, workspace.root, trusted=not remove):
        raise RefusedError(f"cannot write to {workspace.state}", "make the folder writable, or set XDG_STATE_HOME")
    if not remove:
        merge_driver.install(workspace.root)
    return TrustReport(str(workspace.root), not remove)


@dataclass(frozen=True)
class SettingValue(Result):
    """A setting with the value in force."""

    name: Annotated[str, "its name"]
    value: Annotated[Any, "the value in force"]
    from_: Annotated[str, "where it came from"]  # default, a file or a variable

    @property
    def text(self) -> str:
        """Write the value as a settings file does."""
        return written(self.value)


@dataclass(frozen=True)
class ListedSetting(SettingValue):
    """A setting as a list shows it, a secret hidden."""

    doc: Annotated[str, "what the setting does"]


@dataclass(frozen=True)
class SettingsReport(Result):
    """All settings, and the lines of settings files that are ignored."""

    settings: Annotated[tuple[ListedSetting, ...], "every setting"]
    ignored: Annotated[tuple[str, ...], "settings that were not heeded, a line each"]


def settings(path: str | Path = "", *, around: Surroundings | None = None) -> SettingsReport:
    """Return the settings in force in a workspace, or without one the user's own.

    Raise NotFoundError if `path` is given and no workspace.
    """
    values = in_force(around or surroundings(), str(path))
    rows = (
        ListedSetting(setting.name, _shown(setting, values[setting.name]), values.places[setting.name], setting.doc)
        for setting in TABLE
    )
    return SettingsReport(tuple(rows), tuple(values.ignored))


def setting(name: str, path: str | Path = "", *, around: Surroundings | None = None) -> SettingValue:
    """Return one setting as it is in force; raise UsageError if there is none of that name."""
    _known(name)
    values = in_force(around or surroundings(), str(path))
    return SettingValue(name, values[name], values.places[name])


@dataclass(frozen=True)
class SettingChange(Result):
    """A setting that was written."""

    name: Annotated[str, "its name"]
    value: Annotated[Any, "the value in force"]  # a secret one hidden
    file: Annotated[str, "the file that was written"]
    notices: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Write the value as a settings file does."""
        return written(self.value)


@recorded("config set")
def set_setting(
    name: str, value: str, path: str | Path = "", *, user: bool = False, around: Surroundings | None = None
) -> SettingChange:
    """Write one setting to the workspace's mem.yaml, or to the user's own file, keeping its comments.

    What runs, connects or spends always goes into the user's own file. Commas part the items of a list. Raise
    UsageError for a name or value that there is not, RefusedError for a secret but in `llm.api_key`.
    """
    setting = _known(name)
    if not setting.is_secret:
        _require_no_secret(name, value)
    world = around or surroundings()
    own = user or setting.user_only
    root = Path() if own else workspaces.find(world, str(path), even_off=True)[0].root
    file = world.config_file if own else root / workspaces.MARKER
    checked = setting.read(value)
    _require_workable(world, name, checked)
    set_in_file(file, name, checked)
    return SettingChange(name, _shown(setting, checked), str(file), _missing(checked) if name == "llm.command" else ())


def in_force(world: Surroundings, path: str) -> Settings:
    try:
        return workspaces.find(world, path, even_off=True)[0].settings
    except NotFoundError:
        if path:
            raise
        return load_settings(world.config_file, None, world.environ)


def _shown(setting: Setting, value: Any) -> Any:
    return "[not shown]" if setting.is_secret and value else value


def _require_no_secret(name: str, value: str) -> None:
    from ..secrets.scanner import scan

    secrets = scan(value)
    if secrets:
        raise RefusedError(
            f"the value of {name} looks like a secret ({secrets[0].rule})",
            "leave it out; a key belongs into llm.api_key, or into the environment",
        )


def _require_workable(world: Surroundings, name: str, value: Any) -> None:
    """Refuse a path, a time zone or a shared folder that every command would stumble over afterwards."""
    for row in value if name == "workspaces" else ():
        if not workspaces.shared_folder(row):
            raise UsageError(f"{row!r} names no folder", workspaces.SHARED_FIX)
    values = Settings({setting.name: setting.default for setting in TABLE} | {name: value}, {})
    tried = Workspace(world.folder, "", values, world.now, world.cache_folder)
    _ = tried.layout, tried.zone


def _missing(command: str) -> tuple[str, ...]:
    """Say at once that a command cannot be run, and not at the next consolidation."""
    import shlex
    from contextlib import suppress
    from shutil import which

    with suppress(ValueError):  # quoted wrong, which is said when it is run
        program = (shlex.split(command) or [""])[0]
        if program and which(program) is None:
            return (f"{program!r} is not on the PATH: until it is, consolidation cannot ask it and exits with 7",)
    return ()


def _known(name: str) -> Setting:
    if name not in BY_NAME:
        from difflib import get_close_matches

        near = get_close_matches(name, BY_NAME, 1)
        raise UsageError(f"no setting {name!r}", f"did you mean {near[0]}?" if near else "see `mem config list`")
    return BY_NAME[name]
