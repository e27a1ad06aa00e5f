"""Every JSON document has the fields its schema says, and every command that shows something has a schema."""

from pathlib import Path
from typing import Any

import typer

from memcli.cli.app import app, commands
from memcli.cli.help import schema
from tests.cli.json_scenes import answers
from tests.conftest import Mem

KINDS: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
PROTOCOLS = {"mcp", "serve", "ui", "completion", "hook run", "hook close", "merge-driver"}
"""Commands that speak to a program in its own words."""


def faults(value: Any, known: dict[str, Any], place: str) -> list[str]:
    """Say where a value is not as its schema has it; a field that the schema does not name is a fault too."""
    kinds = known.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(
        isinstance(value, KINDS[kind]) and (type(value) is not bool or kind == "boolean") for kind in kinds
    ):
        return [f"{place} is {type(value).__name__}, not {kinds}"]
    if isinstance(value, list):
        return [fault for one in value for fault in faults(one, known.get("items", {}), f"{place}[]")]
    if not isinstance(value, dict):
        return []
    named, others = known.get("properties", {}), known.get("additionalProperties", False)
    found = [f"{place}.{name} is not there" for name in known.get("required", ()) if name not in value]
    for name, one in value.items():
        if name in named:
            found += faults(one, named[name], f"{place}.{name}")
        elif not others:
            found.append(f"{place}.{name} is in no schema: declare it on the result")
        elif others is not True:
            found += faults(one, others, f"{place}.{name}")
    return found


def test_every_answer_has_the_fields_of_its_schema(mem: Mem, world: Path) -> None:
    known = schema()
    seen: dict[str, set[str]] = {}
    for name, document in answers(mem, world):
        assert name in known["documents"], f"name the result of {name} in memcli/api/reference.py"
        assert faults(document, known["documents"][name], name) == []
        seen.setdefault(name, set()).update(document)
    assert seen.keys() == known["documents"].keys()
    for name, fields in seen.items():
        assert fields == known["documents"][name]["properties"].keys(), name


def test_ids_that_conflict_are_a_list_in_every_document(mem: Mem, world: Path) -> None:
    assert mem("init").code == 0
    one = mem("write", "User uses vim.", "--no-dedup", "--json").json["id"]
    (world / "memory" / "entries" / "hand.md").write_text(f"---\nid: mem_hand\nconflicts_with: {one}\n---\n\nEmacs.\n")
    (world / "memory" / "entries" / "two.md").write_text(
        f"---\nid: mem_two\nconflictsWith: [{one}, mem_hand]\n---\n\nEd.\n"
    )

    def shapes(value: Any) -> list[Any]:
        if isinstance(value, dict):
            own = [inner for name, inner in value.items() if name in ("conflicts_with", "conflictsWith")]
            return own + [shape for inner in value.values() for shape in shapes(inner)]
        return [shape for inner in value for shape in shapes(inner)] if isinstance(value, list) else []

    for command, expected in (
        (("ls",), [[], [one, "mem_hand"], [one]]),
        (("ls", "--conflicts"), [[one, "mem_hand"], [one]]),
        (("read", "mem_hand"), [[one]]),
        (("read", "mem_two"), [[one, "mem_hand"]]),
        (("stats",), [[one], [one, "mem_hand"]]),
    ):
        found = shapes(mem(*command, "--json").json)
        assert sorted(found) == sorted(expected), command


def test_every_command_that_shows_something_has_json_and_a_schema() -> None:
    group: Any = typer.main.get_command(app)
    found = {name: group.get_command(None, name) for name in commands()}
    whole = {
        f"{name} {key}" if getattr(one, "commands", None) else name: inner
        for name, one in found.items()
        for key, inner in (getattr(one, "commands", None) or {"": one}).items()
    }
    described = {name.partition(" --")[0] for name in schema()["documents"]}
    for name, command in whole.items():
        if name in PROTOCOLS or command.hidden:
            continue
        assert "--json" in [word for one in command.params for word in one.opts], name
        assert name in described | {"help"}, f"name the result of {name} in memcli/api/reference.py"


def test_every_field_says_what_it_is() -> None:
    def told(one: dict[str, Any], place: str) -> list[str]:
        lacking = [f"{place}.{name}" for name, inner in one.get("properties", {}).items() if not inner["description"]]
        below = [(inner, f"{place}.{name}") for name, inner in one.get("properties", {}).items()]
        return lacking + [
            hole for inner, path in [*below, (one.get("items", {}), place)] if inner for hole in told(inner, path)
        ]

    known = schema()
    assert [hole for name, one in known["documents"].items() for hole in told(one, name)] == []


def test_the_schema_is_given_as_a_page_and_as_json(mem: Mem) -> None:
    assert mem("help", "json", "--json").json == schema()
    page = mem("help", "json").out
    assert f"version {schema()['version']}" in page
    assert "- `hits[].relevance` number: " in page
    assert mem("help", "search", "--json").json["text"].startswith("Usage: mem search")
