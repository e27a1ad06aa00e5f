"""`mem config`."""

from typing import Annotated, Any

import typer

from ..errors import NotFoundError, RefusedError, UsageError
from ..store import workspace as workspaces
from ..store.settings import BY_NAME, TABLE, Setting, Settings, load_settings, written
from ..store.settings_file import set_in_file
from ..store.workspace import MARKER, Surroundings, Workspace
from . import complete, output, world
from .app import STYLE
from .options import AsJson, InWorkspace

app = typer.Typer(help="Show and change settings.", no_args_is_help=True, **STYLE)


_Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of a setting.", autocompletion=complete.settings)]


@app.command("get")
def get(name: _Name, workspace: InWorkspace = "", as_json: AsJson = False) -> None:
    """Print the value of one setting."""
    setting = _known(name)
    settings = _in_force(workspace)
    if as_json:
        output.say_json({"name": setting.name, "value": settings[name], "from": settings.places[name]})
    else:
        output.say(written(settings[name]))


@app.command("set")
def set_(
    name: _Name,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="Its new value; commas separate those of a list.")],
    user: Annotated[bool, typer.Option("--user", help="Write it to your own settings, for all workspaces.")] = False,
    workspace: InWorkspace = "",
    as_json: AsJson = False,
) -> None:
    """Write one setting, keeping the comments of the file.

    It goes into the workspace's mem.yaml; what runs, connects or spends goes into your own settings. A secret is
    refused but for llm.api_key, which is not shown again.
    """
    setting = _known(name)
    if not setting.is_secret:
        _require_no_secret(name, value)
    around = world.surroundings()
    own = user or setting.user_only
    path = around.config_file if own else workspaces.find(around, workspace, even_off=True)[0].root / MARKER
    checked = setting.read(value, f"mem config set {name}")
    _require_workable(around, name, checked)
    set_in_file(path, name, checked)
    if name == "llm.command":
        _note_missing(checked)
    if as_json:
        output.say_json({"name": name, "value": _shown(setting, checked), "file": str(path)})
    else:
        output.say_row((f"{name} = {written(_shown(setting, checked))}", str(path)))


@app.command("list")
def list_(workspace: InWorkspace = "", as_json: AsJson = False) -> None:
    """Print every setting, its value and where that comes from."""
    settings = _in_force(workspace)
    if as_json:
        rows = [
            {
                "name": one.name,
                "value": _shown(one, settings[one.name]),
                "from": settings.places[one.name],
                "doc": one.doc,
            }
            for one in TABLE
        ]
        output.say_json({"settings": rows, "ignored": list(settings.ignored)})
        return
    for line in settings.ignored:
        output.note(line)
    cells = [(one.name, written(_shown(one, settings[one.name])), settings.places[one.name], one.doc) for one in TABLE]
    if output.is_watched():
        output.table(("setting", "value", "from", "what it does"), cells, flexible=3)
    else:
        for row in cells:
            output.say_row(row)


def _in_force(workspace: str) -> Any:
    around = world.surroundings()
    try:
        return workspaces.find(around, workspace, even_off=True)[0].settings
    except NotFoundError:
        if workspace:
            raise
        return load_settings(around.config_file, None, around.environ)


def _shown(setting: Setting, value: Any) -> Any:
    return "[not shown]" if setting.is_secret and value else value


def _require_no_secret(name: str, value: str) -> None:
    from ..text.secrets import scan

    found = scan(value)
    if found:
        raise RefusedError(
            f"the value of {name} looks like a secret ({found[0].rule})",
            "leave it out; a key belongs into llm.api_key, or into the environment",
        )


def _require_workable(around: Surroundings, name: str, value: Any) -> None:
    """Refuse a path or a time zone that every command would stumble over afterwards."""
    settings = Settings({one.name: one.default for one in TABLE} | {name: value}, {})
    tried = Workspace(around.folder, "", settings, around.now, around.cache_folder)
    _ = tried.layout, tried.zone


def _note_missing(command: str) -> None:
    """Say at once that a command cannot be run, and not at the next consolidation."""
    import shlex
    from contextlib import suppress
    from shutil import which

    with suppress(ValueError):  # quoted wrong, which is said when it is run
        program = (shlex.split(command) or [""])[0]
        if program and which(program) is None:
            output.note(f"{program!r} is not on the PATH: until it is, consolidation cannot ask it and exits with 7")


def _known(name: str) -> Setting:
    if name not in BY_NAME:
        from difflib import get_close_matches

        near = get_close_matches(name, BY_NAME, 1)
        raise UsageError(f"no setting {name!r}", f"did you mean {near[0]}?" if near else "see `mem config list`")
    return BY_NAME[name]
