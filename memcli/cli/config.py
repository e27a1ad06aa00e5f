"""mem config: read and change settings."""

import shlex
from pathlib import Path
from typing import Annotated

from typer import Argument

from ..api import Context, NotFoundError, UsageError, open_existing
from ..store import (
    HISTORY_PATHS,
    MARK,
    SETTINGS,
    Append,
    Replace,
    Workspace,
    commit_one,
    edit_settings_text,
    format_setting,
    hide_password,
    is_ignored,
    open_folder,
    parse_setting,
    read_file,
    read_text,
    write_atomically,
)
from .terminal import Result, check_word, run_editor, suggest

CONFIG_FIELDS = ("name", "value", "source", "help", "path")
ACTIONS = ("get", "set", "unset", "list", "edit", "path")


def run_config(
    context: Context,
    action: Annotated[str, Argument(help=f"One of: {', '.join(ACTIONS)}. Default: list.")] = "list",
    name: Annotated[str, Argument(help="The setting.")] = "",
    value: Annotated[str, Argument(help="Its new value. A list has commas: Private,Archive.")] = "",
    user: Annotated[bool, "Change your own settings, for every workspace."] = False,
) -> Result:
    """Read and change settings.

    mem uses the first value that it finds: in a MEM_* variable, in your own settings, in mem.yaml
    of the workspace, or the default.

    \b
    list    list all settings with their values, and where each value comes from
    get     print the value of a setting
    set     give a setting a value
    unset   return a setting to its default
    edit    open the file of settings in your editor
    path    print the path of that file

    \b
    Examples:
      mem config list
      mem config set timezone Europe/Lisbon
      mem config unset timezone
    """
    # Your own settings need no workspace.
    workspace = open_folder(context, context.folder, "", None) if user else open_existing(context)
    # Before a file is chosen, because listing needs no HOME.
    if action == "list":
        return list_settings(workspace)
    path = context.config_file if user else workspace.root / MARK
    if path is None:
        raise NotFoundError("no HOME, so there is no place for your own settings", "set HOME")
    if action == "edit":
        # Before the first setting of the user, ~/.config/mem does not exist.
        path.parent.mkdir(parents=True, exist_ok=True)
        run_editor(context, workspace, path, "mem config set NAME VALUE")
    if action in ("edit", "path"):
        return Result({"path": str(path)}, [str(path)])
    check_word("action", action, ACTIONS)
    if name not in SETTINGS:
        problem = f"unknown setting {name!r}" if name else "name a setting"
        raise UsageError(problem, suggest(name, SETTINGS, "list the settings: mem config list"))
    if action == "get":
        shown = hide_password(workspace.settings[name])
        return Result({"name": name, "value": shown}, [format_setting(shown)])
    # A workspace may come from a stranger, and this setting runs a command.
    if SETTINGS[name].is_user_only and not user:
        words = ["mem", "config", action, "--user", name, str(hide_password(value))]
        hint = shlex.join(word for word in words if word)
        raise UsageError(f"{name} can only be set in your own settings", hint)
    if action == "set" and not value:
        raise UsageError(f"no value for {name}", f"mem config set {name} VALUE")
    # mem.yaml may be committed, and a shell writes its commands to a file.
    if hide_password(value) != value:
        raise UsageError(
            "nothing was saved: the value contains a password, and your shell has recorded it",
            "put it into ~/.pgpass, and use service=NAME or postgresql://USER@HOST/DATABASE",
        )
    parsed = parse_setting(name, value) if action == "set" else None
    save_setting(workspace, path, name, parsed, user=user)
    line = f"{name}: {format_setting(parsed)}" if action == "set" else f"{name} is unset"
    messages = []
    # A pattern with a typo would leave private notes in the index without a word.
    if name == "index.exclude" and parsed and not user:
        files = [file.relative_to(workspace.root).as_posix() for file in workspace.root.rglob("*")]
        for pattern in parsed:
            if not any(is_ignored([pattern.removeprefix("!")], file) for file in files):
                messages.append(f"no file matches {pattern!r}")
    return Result({"name": name, "value": parsed, "path": str(path)}, [line], messages=messages)


def save_setting(workspace: Workspace, path: Path, name: str, value: object, *, user: bool) -> None:
    if user:
        # The user's own settings are in no workspace, so `mem undo` cannot revert them.
        write_atomically(path, edit_settings_text(read_text(path) or "", name, value).encode())
        return
    text = read_file(workspace, MARK)
    changes: list[Replace | Append] = [
        Replace(MARK, text, edit_settings_text(text or "", name, value))
    ]
    ignored = f"{workspace.prefix}.gitignore"
    text = read_file(workspace, ignored)
    if name == "share.history" and text is not None:
        # git carries the history of a shared workspace only if the team wants that.
        lines = [line for line in text.splitlines() if line != HISTORY_PATHS]
        lines += [] if value else [HISTORY_PATHS]
        changes.append(Replace(ignored, text, "".join(f"{line}\n" for line in lines)))
    commit_one(workspace, "config", changes, summary=name)


def list_settings(workspace: Workspace) -> Result:
    lines, rows, items = [], [], []
    for name, setting in SETTINGS.items():
        value = hide_password(workspace.settings[name])
        shown = format_setting(value)
        source = workspace.settings.sources.get(name, "default")
        origin = "" if source == "default" else f"  ({source})"
        lines += [f"{name} = {shown}{origin}", f"  {setting.help}"]
        rows.append([name, shown, source, setting.help])
        items.append({"name": name, "value": value, "source": source, "help": setting.help})
    return Result({"settings": items}, lines, rows)
