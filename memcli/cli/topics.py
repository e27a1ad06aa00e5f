"""`mem help`: a command's help, or a page about something that is no command."""

import io
from contextlib import redirect_stdout
from importlib.resources import files
from typing import Annotated

import typer

from ..errors import UsageError
from ..store.settings import TABLE, Setting, written
from . import output
from .json_page import json_page, schema
from .options import AsJson

TOPICS = {
    "workspace": "what lies where, and the formats of the files",
    "settings": "every setting there is",
    "json": "the fields of every JSON document",
}


def help_(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TOPIC...]", help="A command such as hook install, or workspace, settings, json."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the help of a command or of a topic.

    Topics are workspace (what lies where, and the formats of the files), settings, and json (the fields of every
    document); with --json the last is a JSON Schema, and any other help is its text.
    """
    from .app import COMMANDS, run

    topic, *below = words or [""]
    if topic == "json" and as_json and not below:
        output.say_json(schema())
        return
    is_page = topic in TOPICS and not below
    if not (is_page or topic in COMMANDS or not topic):
        raise UsageError(f"no command or topic {topic!r}", f"commands: see `mem --help`; topics: {', '.join(TOPICS)}")
    text = io.StringIO()
    code = 0
    with redirect_stdout(text):
        if is_page:
            output.say(page(topic), end="")
        elif topic:
            code = run([topic, *below, "--help"])
        else:
            topics = [f"  mem help {one}: {TOPICS[one]}" for one in TOPICS]
            output.say("\n".join([ctx.find_root().get_help(), "", "Topics:", *topics]))
    if code:
        raise typer.Exit(code)
    if as_json:
        output.say_json({"topic": " ".join(words or ()), "text": text.getvalue()})
    else:
        output.say(text.getvalue(), end="")


def page(topic: str) -> str:
    """Give a topic as markdown."""
    if topic == "json":
        return json_page()
    if topic == "settings":
        return settings_page()
    return files(__package__).joinpath(f"{topic}.md").read_text(encoding="utf-8")


def settings_page() -> str:
    """Write the table of settings as markdown."""
    return "\n".join([_ABOUT_SETTINGS, *(_told(setting) for setting in TABLE)])


_ABOUT_SETTINGS = """\
# Settings

A setting has one dotted name. It is read from your own file, `$XDG_CONFIG_HOME/mem/config.yaml` (by default
`~/.config/mem/config.yaml`), then from the workspace's `mem.yaml`, then from the environment, where `search.limit` is
`MEM_SEARCH_LIMIT`. The last one that says something counts. `mem config list` shows what is in force and where it comes
from; `mem config set NAME VALUE` writes one and keeps the comments of the file.

A workspace may have come with a clone, so what runs, connects or spends is read only from your own file and the
environment. Those settings are marked *yours*.
"""


def _told(setting: Setting) -> str:
    default = written(setting.default)
    facts = [setting.doc, f"Default: `{default}`." if default else "Default: empty."]
    if setting.choices:
        facts.insert(1, f"One of: {', '.join(setting.choices)}.")
    if setting.user_only:
        facts.append("*yours*")
    return f"## {setting.name}\n\n{' '.join(facts)}\n"
