"""`mem help`: a command's help, or a page about something that is no command."""

import io
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from importlib import import_module
from importlib.resources import files
from textwrap import fill
from typing import Annotated, Any

import typer

from ..api.reference import TABLE, Setting, entry_fields, schema_of, written
from ..errors import UsageError
from . import output
from .app import commands, run, table, write_families
from .options import AsJson

_ABOUT = """\
# JSON

Every command that shows something answers with one JSON document under `--json`. This is version {version} of the
schema. Fields may be added to it; none is renamed or removed and none changes its type without another version.
`mem help json --json` gives it as JSON Schema. An error is one document on stderr, and the exit code says which kind.

Paths are those of the files in the workspace, times are RFC 3339 in UTC. A field is always there unless it is marked
with a question mark. Below, `hits[].id` is the field `id` of each of the `hits`.
"""


VERSION = 1
"""Of the schema: a higher one where a field is renamed, removed or changes its type."""


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the answers: `documents` by command, and the version."""
    answers = {**table()[1], "error": "errors.ErrorDocument"}
    documents = {}
    for name in sorted(answers):
        module, _, cls = answers[name].rpartition(".")
        documents[name] = schema_of(getattr(import_module(f"memcli.{module}"), cls))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "version": VERSION, "documents": documents}


def json_page() -> str:
    """Write the schema as markdown: a heading a document, an item a field."""
    parts = [_ABOUT.format(version=VERSION)]
    for name, document in schema()["documents"].items():
        lines = [f"- `{field}` {kind}: {says}" for field, kind, says in _fields(document, "")]
        parts.append(f"## {name}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _fields(document: Mapping[str, Any], before: str) -> Iterator[tuple[str, str, str]]:
    """Yield every field below a schema with its type and what it says."""
    for name, inner in document.get("properties", {}).items():
        mark = "" if name in document.get("required", ()) else "?"
        path = f"{before}{name}"
        yield f"{path}{mark}", _kind(inner), inner["description"]
        yield from _fields(inner, f"{path}.")
        yield from _fields(inner.get("items", {}), f"{path}[].")


def _kind(schema: Mapping[str, Any]) -> str:
    kinds = schema.get("type", "anything")
    text = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
    inner = schema.get("items", {}).get("type", "object") if text == "array" else ""
    return f"array of {inner}s" if isinstance(inner, str) and inner else text


TOPICS = {
    "all": "every command there is, by what it is for",
    "workspace": "what lies where, and the formats of the files",
    "settings": "every setting there is",
    "json": "the fields of every JSON document",
    "protocol": "what an agent is told to search for, to save and never to save",
}


def help_(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TOPIC...]", help="A command such as hook install, or all, workspace, settings, json, protocol."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the help of a command or of a topic.

    Topics are all (every command by its group), workspace (what lies where, and the formats of the files), settings,
    json (the fields of every document), and protocol (what agents are told); with --json the page json is a JSON
    Schema, any other its text.
    """
    topic, *below = words or [""]
    if topic == "json" and as_json and not below:
        output.say_json(schema())
        return
    is_page = topic in TOPICS and not below
    if not (is_page or topic in commands() or not topic):
        raise UsageError(f"no command or topic {topic!r}", f"commands: see `mem help all`; topics: {', '.join(TOPICS)}")
    text = io.StringIO()
    code = 0
    with redirect_stdout(text):
        if topic == "all" and is_page:
            formatter = ctx.make_formatter()
            write_families(formatter)
            with formatter.section("Topics"):
                formatter.write_dl([(f"mem help {topic}", about) for topic, about in TOPICS.items()])
            output.say(f"# Commands\n{formatter.getvalue()}", end="")
        elif is_page:
            output.say(page(topic), end="")
        else:
            code = run([*words, "--help"] if words else ["--help"])
    if code:
        raise typer.Exit(code)
    if as_json:
        output.say_json({"topic": " ".join(words or ()), "text": text.getvalue()})
    else:
        output.say(text.getvalue(), end="")


def page(topic: str) -> str:
    """Return a topic as markdown."""
    if topic == "json":
        return json_page()
    if topic == "settings":
        return settings_page()
    if topic == "protocol":
        from ..integrations.install.skill import protocol

        return protocol()
    text = files(__package__).joinpath(f"{topic}.md").read_text(encoding="utf-8")
    return text.replace("{fields of an entry}", _fields_of_an_entry())


def _fields_of_an_entry() -> str:
    """Write the keys of an entry's frontmatter as a markdown list; keys of which the same is said share an item."""
    names: dict[str, list[str]] = {}
    for name, says in entry_fields().items():
        names.setdefault(says, []).append(f"`{name}`")
    items = (f"- {', '.join(alike)}: {says[:1].lower()}{says[1:]}" for says, alike in names.items())
    return "\n".join(fill(item, 120, subsequent_indent="  ", break_on_hyphens=False) for item in items)


def settings_page() -> str:
    """Write the table of settings as markdown."""
    return "\n".join([_ABOUT_SETTINGS, *(_told(setting) for setting in TABLE)])


_ABOUT_SETTINGS = """\
# Settings

A setting has one dotted name. It is read from your own file, `$XDG_CONFIG_HOME/mem/config.yaml` (by default
`~/.config/mem/config.yaml`), then from the workspace's `mem.yaml`, then from the environment, where `search.limit` is
`MEM_SEARCH_LIMIT`. The last one that says something counts; an empty variable means none where the default is empty, so
`MEM_LLM_COMMAND= mem consolidate` asks nobody. `mem config list` shows what is in force and where it comes from;
`mem config set NAME VALUE` writes one and keeps the comments of the file.

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
