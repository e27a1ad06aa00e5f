"""The promises of 1.0: the names, defaults and formats on which other programs rely.

Each function describes one subject, a promise on each line.
"""

import dataclasses
import inspect
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import memcli
from man.generate import EXIT_CODES, get_parser, is_argument
from memcli import api, errors
from memcli.agents.events import AGENTS as HOOKED
from memcli.agents.events import build_answer, parse_event
from memcli.agents.hooks import respond
from memcli.agents.install import build_values
from memcli.agents.mcp import answer_message
from memcli.agents.quick import answer_quickly, build_places
from memcli.agents.table import AGENTS, EVENTS
from memcli.cli.commands import COMMANDS
from memcli.cli.main import load_command
from memcli.context import CommonOptions
from memcli.formats.entry import FIELDS, STATUSES, TRUST, TYPES, Entry, format_entry
from memcli.index import Filter
from memcli.reconcile.changes import Draft
from memcli.store.settings import SETTINGS
from tests.helpers import make_context, make_workspace

from .scenario import FOLDER, mask, play_scenario

PROJECT = FOLDER.parents[1]
RULE = "Start the proxy with bin/proxy before make release, or it hangs."
CALL = {"tool_name": "Bash", "tool_input": {"command": "make release"}}
MOMENTS: dict[str, dict[str, Any]] = {
    "start": {"source": "startup"},
    "prompt": {"prompt": "remember that the proxy has a log. Where is bin/proxy started?"},
    "action": CALL,
    "failure": {**CALL, "error": "make release: bin/proxy hangs"},
    "compaction": {"trigger": "auto"},
    "turn end": {"last_assistant_message": "Done."},
    "session end": {"reason": "other"},
}
# Objects whose keys are counted things, signals of the ranking, or the user's.
OPEN_OBJECT = re.compile(
    r"\b(metadata|parts|exported|imported|files|statuses|types|sources|ages|growth)$"
)


def name_command(line: str) -> str:
    """Return the command of a line, with its action if it has several."""
    name, *words = line.split()
    return f"{name} {words[0]}" if name in ("config", "hook", "session") else name


def describe_commands(_: Path) -> Iterator[str]:
    for name in COMMANDS:
        parser, _ = get_parser(name)
        function, _ = load_command(name)
        defaults = {
            key: item.default for key, item in inspect.signature(function).parameters.items()
        }
        yield f"mem {name}"
        for item in parser.params:
            label = item.metavar if is_argument(item) else ", ".join(item.opts)
            default = defaults.get(item.name, item.default)
            text = "required" if default is inspect.Parameter.empty else f"default {default!r}"
            many = ", repeatable" if item.multiple or item.nargs == -1 else ""
            yield f"mem {name} {label}  {item.type.name}, {text}{many}"


def describe_exit_codes(folder: Path) -> Iterator[str]:
    yield from (f"{code}: {meaning}" for code, meaning in EXIT_CODES.items())
    for name, value in vars(errors).items():
        if inspect.isclass(value) and issubclass(value, errors.MemError):
            yield f"{value.exit_code} for {name}({value.__mro__[1].__name__})"
    yield from (f"{code} after: mem {line}" for line, code, _ in play_scenario(folder))


def describe_json(folder: Path) -> Iterator[str]:
    types: dict[str, set[str]] = {}
    for line, _, output in play_scenario(folder, "--json"):
        for path, kind in find_types(json.loads(output)) if output else ():
            types.setdefault(f"mem {name_command(line)} --json  {path}", set()).add(kind)
    yield from (f"{path}: {' or '.join(sorted(kinds))}" for path, kinds in sorted(types.items()))
    for name, command in COMMANDS.items():
        fields = load_command(name)[1] if command.group else ()
        yield from (f"mem {name} --json {field}" for field in sorted(fields))


def find_types(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and the type of everything in a JSON value."""
    kinds = {bool: "boolean", int: "number", float: "number", str: "text", dict: "object"}
    kinds |= {list: "list", type(None): "null"}
    if path:
        yield path, kinds[type(value)]
    if isinstance(value, dict) and not OPEN_OBJECT.search(path):
        for key, item in value.items():
            yield from find_types(item, f"{path}.{key}".strip("."))
    for item in value if isinstance(value, list) else ():
        yield from find_types(item, f"{path}[]")


def describe_columns(folder: Path) -> Iterator[str]:
    """Yield the first row of each command. Numbers, paths and sentences are masked."""
    for line, _, output in play_scenario(folder):
        if "\t" not in output.partition("\n")[0]:
            continue
        cells = mask(output.partition("\n")[0]).split("\t")
        yield f"mem {line}  " + " | ".join(mask_cell(cell) for cell in cells)


def mask_cell(cell: str) -> str:
    if " " in cell and not cell.startswith("would "):
        return "TEXT"
    cell = re.sub(r"^(\S+/\S+|\S+\.md)$", "PATH", cell)
    return re.sub(r"^-?[\d.]+$", "NUMBER", re.sub(r"^[0-9a-f]{6}$", "QUESTION", cell))


def describe_tools(_: Path) -> Iterator[str]:
    for method in ("initialize", "tools/list", "resources/list"):
        message = {"jsonrpc": "2.0", "id": 1, "method": method}
        answer = answer_message(message, lambda name, values: ("", False), str)
        assert answer is not None
        for path, value in find_values(answer["result"]):
            if not re.search(r"instructions|description$|serverInfo.version", path):
                yield f"{method}  {path}: {value}"


def find_values(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path of each value in JSON. The name of an item stands for its number."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from find_values(item, f"{path}.{key}".strip("."))
    elif isinstance(value, list) and all(isinstance(item, dict) for item in value) and value:
        for item in value:
            yield from find_values(item, f"{path}[{item.get('name', '')}]")
    else:
        yield path, json.dumps(value)


def describe_settings(_: Path) -> Iterator[str]:
    for name, setting in SETTINGS.items():
        variable = f"MEM_{name.upper().replace('.', '_')}"
        parts = [f"{name} ({variable}): {type(setting.default).__name__}"]
        parts += [f"default {setting.default!r}"]
        parts += [f"one of {', '.join(setting.choices)}"] if setting.choices else []
        parts += ["{} to {}".format(*setting.limits)] if setting.limits else []
        parts += ["only the user's own"] if setting.is_user_only else []
        yield ", ".join(parts)


def describe_frontmatter(_: Path) -> Iterator[str]:
    for key, field in FIELDS.items():
        kind = field.read.__name__.removeprefix("read_")
        also = f", also {', '.join(field.spellings)}" if field.spellings else ""
        yield f"{key}: {kind}, default {field.default!r}{also}"
    yield from (f"type: {name}" for name in TYPES)
    yield from (f"status: {name}" for name in STATUSES)
    yield from (f"source: {name}, trust {trust}" for name, trust in TRUST.items())


def describe_files(folder: Path) -> Iterator[str]:
    """Yield what the commands of the scenario leave in the workspace, line by line."""
    for _ in play_scenario(folder):
        pass
    root = folder / "work/memory"
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        name = path.relative_to(root)
        if ".mem" not in name.parts:
            for line in path.read_text("utf-8").splitlines():
                yield mask(f"{name}:  {line}").rstrip()
    values = dict.fromkeys(("tags", "aliases", "conflicts_with", "sources", "files"), ("a",))
    others: Any = {key: "b" for key in FIELDS if key not in (*values, "id", "pinned", "metadata")}
    entry = Entry(id="mem_1", body="Text.", pinned=True, metadata={"c": 1}, **values, **others)
    yield from (f"an entry with every key:  {line}" for line in format_entry(entry).splitlines())


def describe_entry_points(_: Path) -> Iterator[str]:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    yield from (f"program {name}: {target}" for name, target in project["scripts"].items())
    yield from (f"extra {name}" for name in project["optional-dependencies"] if name != "dev")
    sources = [path.read_text("utf-8") for path in (PROJECT / "memcli").rglob("*.py")]
    groups = re.findall(r'entry_points\(group="([\w.]+)"\)', "".join(sources))
    yield from (f"group {name}" for name in sorted(set(groups)))


def describe_python(folder: Path) -> Iterator[str]:
    for name in memcli.__all__:
        # The module in which a class lives is no promise.
        function = getattr(api, name, None) or getattr(memcli, name)
        signature = re.sub(r"(?:\w+\.)+(\w)", r"\1", str(inspect.signature(function)))
        yield f"{name}{signature}"
    # The others are for callers inside mem.
    names = [name for name in Draft.__dataclass_fields__ if not re.match("is_|body|inbox", name)]
    yield from (f"write(…, {name}=)" for name in names)
    yield from (f"search(…, {name}=)" for name in Filter._fields)
    workspace = make_workspace(folder)
    results = [memcli.write(workspace, RULE), *memcli.search(workspace, "proxy")]
    for result in results:
        yield from (f"{type(result).__name__}.{item.name}" for item in dataclasses.fields(result))


def answer_event(folder: Path, agent: str, name: str) -> str:
    """Return the answer to an event that starts a session. Its texts are masked."""
    values = {"hook_event_name": name, "session_id": f"{agent} {name}", "cwd": str(folder)}
    event = parse_event(json.dumps({**values, **MOMENTS[EVENTS[name][0]]}).encode())
    assert event is not None
    context = make_context(folder)._replace(common=CommonOptions())
    if event.tool:
        places = build_places(api.open_all(context))
        text = answer_quickly(event, str(context.state_folder), lambda: places)
        answer = build_answer(event, agent, text)
    else:
        answer = respond(event, agent, context)
    return re.sub(r'("(?:additionalContext|systemMessage)": )"(?:[^"\\]|\\.)*"', r"\1TEXT", answer)


def describe_hooks(folder: Path) -> Iterator[str]:
    """Yield the answers to each agent, and the settings that connect it."""
    workspace = make_workspace(folder)
    memcli.write(workspace, RULE, source="user", type="lesson")
    memcli.search(workspace, "proxy")  # which indexes it: a hook reads the index as it is
    for agent in HOOKED:
        for name in AGENTS[agent].events:
            yield f"{agent} {name}: {answer_event(folder, agent, name) or 'no output'}"
    for agent in AGENTS:
        for path, value in find_values(build_values(agent, ["mem"])):
            yield f"{agent}, {AGENTS[agent].settings_file}:  {path}: {value}"


SUBJECTS: dict[str, Callable[[Path], Iterable[str]]] = {
    "commands": describe_commands,
    "exit-codes": describe_exit_codes,
    "json": describe_json,
    "columns": describe_columns,
    "mcp": describe_tools,
    "settings": describe_settings,
    "frontmatter": describe_frontmatter,
    "files": describe_files,
    "entry-points": describe_entry_points,
    "python": describe_python,
    "hooks": describe_hooks,
}
