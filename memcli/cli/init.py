"""`mem init`, `mem trust` and `mem config`."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ..api import configure
from ..results import number_of
from . import completion, output, workspaces
from .app import STYLE
from .options import AsJson, Commands, Common, InWorkspace
from .workspaces import shown


def init(
    folder: Annotated[str, typer.Argument(metavar="[DIR]", help="Where to make it.", show_default="./memory")] = "",
    layout: Annotated[
        str,
        typer.Option(
            "--layout",
            metavar="NAME",
            help=f"How the folder is laid out: {', '.join(configure.LAYOUTS)}.",
            show_default="as it looks",
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Create a workspace, by default in ./memory.

    A folder that exists keeps everything in it as it is; that of another tool is recognised and used in its own
    layout. Run again, it completes what is missing.
    """
    report = configure.init(folder, layout=layout)
    if as_json:
        output.say_json(report.as_dict())
        return
    names = f" ({', '.join(report.made)})" if report.made else ""
    output.say_wrapped(f"{'made' if report.made else 'already a workspace:'} {shown(report.root)}{names}")
    for line in _remarks(report):
        output.note(line)
    if output.is_watched() and report.made:
        output.note('try `mem write "User prefers dark mode"`, then `mem search "which theme"`')


def _remarks(report: configure.Made) -> list[str]:
    """Say whose layout was taken and why, and that the new files will show in somebody's git."""
    remarks = []
    if report.outside:
        what = number_of(report.outside, "markdown file", "here is", "here are")
        folder = "" if report.root == Path.cwd() else f" {shlex.quote(str(shown(report.root)))}"
        remarks.append(f"{what} outside the workspace: `mem init --layout markdown{folder}`")
    if report.is_markdown:
        remarks.append(f"what mem writes goes to mem/; {configure.IGNORE} leaves files out, as .gitignore does")
    if not report.is_own_layout:
        why = f" ({report.why})" if report.why else ""
        remarks.append(f"the layout is {report.layout}{why}: the files there are used as they are")
        if report.has_items:
            remarks.append("memory/items/ is searched as it is; `mem session import sessions` takes conversations")
        if report.top and report.made:
            files = ", ".join(report.made)
            remarks.append(f"{shown(report.top)} is a git repository: {files} will show in its status")
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
    where = workspaces.reading(Common(folder, "" if folder else "project"))[0]
    done = configure.trust(where, remove=remove)
    if as_json:
        output.say_json(done.as_dict())
    else:
        output.say_row(("trusted" if done.trusted else "not trusted", done.workspace))


config_app = Commands(help="Show and change settings.", no_args_is_help=True, **STYLE)


_Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of a setting.", autocompletion=completion.settings)
]


@config_app.command("get")
def get(name: _Name, workspace: InWorkspace = "", as_json: AsJson = False) -> None:
    """Print the value of one setting."""
    value = configure.setting(name, workspace)
    if as_json:
        output.say_json(value.as_dict())
    else:
        output.say(value.text)


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
    done = configure.set_setting(name, value, workspace, user=user)
    output.notes(done.notices)
    if as_json:
        output.say_json(done.as_dict())
    else:
        output.say_row((f"{name} = {done.text}", done.file))


@config_app.command("list")
def list_(workspace: InWorkspace = "", as_json: AsJson = False) -> None:
    """Print every setting, its value and where that comes from."""
    report = configure.settings(workspace)
    if as_json:
        output.say_json(report.as_dict())
        return
    for line in report.ignored:
        output.note(line)
    cells = [(row.name, row.text, row.from_, row.doc) for row in report.settings]
    if output.is_watched():
        shown = [(name, output.cut(value, 30), whence, doc) for name, value, whence, doc in cells]
        output.table(("setting", "value", "from", "what it does"), shown, flexible=3)
    else:
        for row in cells:
            output.say_row(row)
