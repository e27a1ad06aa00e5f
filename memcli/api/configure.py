"""Make workspaces, believe those of others, and show and change settings."""

from pathlib import Path
from typing import Any

from ..dataclass import dataclass
from ..errors import NotFoundError, RefusedError, UsageError
from ..store import init as making
from ..store import merge_driver
from ..store import trust as records
from ..store import workspace as workspaces
from ..store.layout_detection import IGNORE
from ..store.layouts import GOLEMCORE, LAYOUTS, MARKDOWN, MEM
from ..store.settings import Settings, load_settings, set_in_file
from ..store.settings_table import BY_NAME, TABLE, Setting, written
from .workspace import Surroundings, Workspace, recorded, surroundings

__all__ = [
    "IGNORE",
    "LAYOUTS",
    "InitReport",
    "SettingChange",
    "SettingValue",
    "SettingsReport",
    "TrustReport",
    "init",
    "set_setting",
    "setting",
    "settings",
    "trust",
]


@dataclass(frozen=True)
class InitReport:
    """A workspace that was made or completed."""

    made: making.Made

    @property
    def is_own_layout(self) -> bool:
        """Tell whether it is laid out as mem does, and not as another tool."""
        return self.made.layout == MEM.name

    @property
    def is_markdown(self) -> bool:
        """Tell whether every markdown file of the folder is a memory."""
        return self.made.layout == MARKDOWN.name

    @property
    def has_items(self) -> bool:
        """Tell whether the folder has records of golemcore's that an import makes entries of."""
        return self.made.layout == GOLEMCORE.name and (self.made.root / "memory" / "items").is_dir()

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem init`."""
        made = self.made
        return {
            "workspace": str(made.root),
            "made": list(made.files),
            "layout": made.layout,
            "why": made.why,
            "outside": made.outside,
            "repository": str(made.repository) if made.repository else None,
        }


def init(folder: str | Path = "", *, layout: str = "", around: Surroundings | None = None) -> InitReport:
    """Make a workspace, or complete one, by default in `./memory`; nothing that exists is changed.

    The folder of another tool is recognised and used in its own layout, or in the one given. `around` is where and when
    it is made, by default this process's folder and environment. Raise UsageError for a layout that does not fit,
    RefusedError if the folder is a file.
    """
    world = around or surroundings()
    return InitReport(
        making.init(world, (world.folder / Path(folder).expanduser()).resolve() if folder else None, layout)
    )


@dataclass(frozen=True)
class TrustReport:
    """Whether what a workspace says is believed."""

    root: Path
    trusted: bool

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem trust`."""
        return {"workspace": str(self.root), "trusted": self.trusted}


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
    return TrustReport(workspace.root, not remove)


@dataclass(frozen=True)
class SettingValue:
    """A setting with the value in force."""

    name: str
    value: Any
    place: str  # where the value comes from: default, a file or a variable
    doc: str
    is_secret: bool

    @property
    def shown(self) -> Any:
        """Return the value, a secret one hidden."""
        return _shown(BY_NAME[self.name], self.value)

    @property
    def text(self) -> str:
        """Write the value as a settings file does."""
        return written(self.value)

    @property
    def shown_text(self) -> str:
        """Write the value as a settings file does, a secret one hidden."""
        return written(self.shown)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem config get`."""
        return {"name": self.name, "value": self.value, "from": self.place}


@dataclass(frozen=True)
class SettingsReport:
    """All settings, and the lines of settings files that are ignored."""

    settings: tuple[SettingValue, ...]
    ignored: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem config list`; secrets are hidden."""
        rows = [{"name": one.name, "value": one.shown, "from": one.place, "doc": one.doc} for one in self.settings]
        return {"settings": rows, "ignored": list(self.ignored)}


def settings(path: str | Path = "", *, around: Surroundings | None = None) -> SettingsReport:
    """Return the settings in force in a workspace, or without one the user's own.

    Raise NotFoundError if `path` is given and no workspace.
    """
    found = in_force(around or surroundings(), str(path))
    return SettingsReport(tuple(_value(one, found) for one in TABLE), tuple(found.ignored))


def setting(name: str, path: str | Path = "", *, around: Surroundings | None = None) -> SettingValue:
    """Return one setting as it is in force; raise UsageError if there is none of that name."""
    known = _known(name)
    return _value(known, in_force(around or surroundings(), str(path)))


@dataclass(frozen=True)
class SettingChange:
    """A setting that was written."""

    name: str
    value: Any  # a secret one hidden
    file: Path
    notices: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Write the value as a settings file does."""
        return written(self.value)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem config set`."""
        return {"name": self.name, "value": self.value, "file": str(self.file)}


@recorded("config set")
def set_setting(
    name: str, value: str, path: str | Path = "", *, user: bool = False, around: Surroundings | None = None
) -> SettingChange:
    """Write one setting to the workspace's mem.yaml, or to the user's own file, keeping its comments.

    What runs, connects or spends always goes into the user's own file. Commas part the items of a list. Raise
    UsageError for a name or value that there is not, RefusedError for a secret but in `llm.api_key`.
    """
    known = _known(name)
    if not known.is_secret:
        _require_no_secret(name, value)
    world = around or surroundings()
    own = user or known.user_only
    root = Path() if own else workspaces.find(world, str(path), even_off=True)[0].root
    file = world.config_file if own else root / workspaces.MARKER
    checked = known.read(value, f"mem config set {name}")
    _require_workable(world, name, checked)
    set_in_file(file, name, checked)
    return SettingChange(name, _shown(known, checked), file, _missing(checked) if name == "llm.command" else ())


def in_force(world: Surroundings, path: str) -> Settings:
    try:
        return workspaces.find(world, path, even_off=True)[0].settings
    except NotFoundError:
        if path:
            raise
        return load_settings(world.config_file, None, world.environ)


def _value(one: Setting, found: Settings) -> SettingValue:
    return SettingValue(one.name, found[one.name], found.places[one.name], one.doc, one.is_secret)


def _shown(one: Setting, value: Any) -> Any:
    return "[not shown]" if one.is_secret and value else value


def _require_no_secret(name: str, value: str) -> None:
    from ..secrets.scanner import scan

    found = scan(value)
    if found:
        raise RefusedError(
            f"the value of {name} looks like a secret ({found[0].rule})",
            "leave it out; a key belongs into llm.api_key, or into the environment",
        )


def _require_workable(world: Surroundings, name: str, value: Any) -> None:
    """Refuse a path or a time zone that every command would stumble over afterwards."""
    values = Settings({one.name: one.default for one in TABLE} | {name: value}, {})
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
