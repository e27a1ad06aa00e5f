"""`mem init`."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import NotFoundError, RefusedError, UsageError
from ..store import trust as records
from ..store import workspace as workspaces
from ..store.init import Made
from ..store.init import init as make
from ..store.layout_detection import IGNORE
from ..store.layouts import GOLEMCORE, LAYOUTS, MARKDOWN, MEM
from ..store.settings import Settings, load_settings, set_in_file
from ..store.settings_table import BY_NAME, TABLE, Setting, written
from ..store.workspace import MARKER, Surroundings, Workspace
from . import context, output, value_completion
from .app import STYLE
from .context import shown, surroundings
from .options import AsJson, InWorkspace


def init(
    folder: Annotated[str, typer.Argument(metavar="[DIR]", help="Where to make it.", show_default="./memory")] = "",
    layout: Annotated[
        str,
        typer.Option(
            "--layout",
            metavar="NAME",
            help=f"How the folder is laid out: {', '.join(LAYOUTS)}.",
            show_default="as it looks",
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Make a workspace, by default in ./memory.

    A folder that exists keeps everything in it as it is; that of another tool is recognised and used in its own
    layout. Run again, it completes what is missing.
    """
    around = surroundings()
    made = make(around, (around.folder / Path(folder).expanduser()).resolve() if folder else None, layout)
    if as_json:
        output.say_json(
            {
                "workspace": str(made.root),
                "made": list(made.files),
                "layout": made.layout,
                "why": made.why,
                "outside": made.outside,
                "repository": str(made.repository) if made.repository else None,
            }
        )
        return
    names = f" ({', '.join(made.files)})" if made.files else ""
    output.say(f"{'made' if made.files else 'already a workspace:'} {shown(made.root)}{names}")
    for line in _remarks(made):
        output.note(line)
    if output.is_watched() and made.files:
        output.note('try `mem write "User prefers dark mode"`, then `mem search "which theme"`')


def _remarks(made: Made) -> list[str]:
    """Say whose layout was taken and why, and that the new files will show in somebody's git."""
    remarks = []
    if made.outside:
        what = "1 markdown file here is" if made.outside == 1 else f"{made.outside:,} markdown files here are"
        folder = "" if made.root == Path.cwd() else f" {shlex.quote(str(shown(made.root)))}"
        remarks.append(f"{what} outside the workspace: `mem init --layout markdown{folder}`")
    if made.layout == MARKDOWN.name:
        remarks.append(f"what mem writes goes to mem/; {IGNORE} leaves files out, as .gitignore does")
    if made.layout != MEM.name:
        why = f" ({made.why})" if made.why else ""
        remarks.append(f"the layout is {made.layout}{why}: the files there are used as they are")
        if made.layout == GOLEMCORE.name and (made.root / "memory" / "items").is_dir():
            remarks.append("memory/items/ is searched as it is; `mem import` makes entries of a .jsonl file there")
        if made.repository and made.files:
            files = ", ".join(made.files)
            remarks.append(f"{shown(made.repository)} is a git repository: {files} will show in its status")
    return remarks


def trust(
    folder: Annotated[
        str, typer.Argument(metavar="[DIR]", help="The workspace, or the folder above it.", show_default="the nearest")
    ] = "",
    remove: Annotated[bool, typer.Option("--remove", help="Trust it no longer.")] = False,
    as_json: AsJson = False,
) -> None:
    """Believe what a workspace says that came from others, such as one in a cloned repository.

    A workspace made here by `mem init` is trusted from the start. In any other, memories count as said by `repository`
    (trust 0.5), whatever their files say: none is the user's word, pinned or confirmed. A setting that is wrong there
    is passed over, and `mem check` names it. Look through them first: `mem ls`, `mem read MEMORY.md`. The answer is
    kept on this machine ($XDG_STATE_HOME/mem), not in the folder; another folder in the same place is asked about
    again.
    """
    where = context.reading(folder, "" if folder else "project")[0]
    if where.is_own:
        raise RefusedError(f"{where.root} is your own workspace", "it is always trusted")
    if where.state is None or not records.record(where.state, where.root, trusted=not remove):
        raise RefusedError(f"cannot write to {where.state}", "make the folder writable, or set XDG_STATE_HOME")
    if as_json:
        output.say_json({"workspace": str(where.root), "trusted": not remove})
    else:
        output.say_row(("not trusted" if remove else "trusted", str(where.root)))


config_app = typer.Typer(help="Show and change settings.", no_args_is_help=True, **STYLE)


_Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of a setting.", autocompletion=value_completion.settings)
]


@config_app.command("get")
def get(name: _Name, workspace: InWorkspace = "", as_json: AsJson = False) -> None:
    """Print the value of one setting."""
    setting = _known(name)
    settings = _in_force(workspace)
    if as_json:
        output.say_json({"name": setting.name, "value": settings[name], "from": settings.places[name]})
    else:
        output.say(written(settings[name]))


@config_app.command("set")
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
    around = context.surroundings()
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


@config_app.command("list")
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
    around = context.surroundings()
    try:
        return workspaces.find(around, workspace, even_off=True)[0].settings
    except NotFoundError:
        if workspace:
            raise
        return load_settings(around.config_file, None, around.environ)


def _shown(setting: Setting, value: Any) -> Any:
    return "[not shown]" if setting.is_secret and value else value


def _require_no_secret(name: str, value: str) -> None:
    from ..secrets.scanner import scan

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
