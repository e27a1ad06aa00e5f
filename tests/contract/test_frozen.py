"""What scripts rely on is kept as it was: fields of JSON, commands, options and exit codes.

`fields.txt`, `options.txt` and `exit_codes.txt` are what they are now; `pytest --snapshot-update` writes them anew.
`frozen.txt` is what they were when the contract was frozen: of that, whatever is there no more stands in `dropped.txt`
with the version it went with and what took its place.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from memcli.cli.app import app
from memcli.cli.help import json_page

HERE = Path(__file__).parent
DOCS = HERE.parent.parent / "docs" / "reference.md"
_CODE = r"(0|1|2|3|4|5|6|7|75|130)"
_EXITS = re.compile(
    rf"(?:[Ee]xit codes? (?:is )?|[Ee]xits with |\b(?:it is|with|else|and|;|,) ){_CODE}\b"
    r"(?=[,;:.]| (?:when|where|while|and|if|is))"
)


def fields() -> list[str]:
    """Return a line for each field of each JSON document: the command, the field with its path, its kind."""
    lines, command = [], ""
    for line in json_page().splitlines():
        if line.startswith("## "):
            command = line[3:]
        elif field := re.match(r"- `([^`]+)` ([^:]+): ", line):
            lines.append(f"{command} · {field[1]} · {' or '.join(sorted(field[2].split(' or ')))}")
    return sorted(lines)


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command that the help shows, those of groups too, by its words."""
    waiting: list[tuple[str, Any]] = [("", typer.main.get_command(app))]
    while waiting:
        words, command = waiting.pop()
        if not hasattr(command, "list_commands"):
            yield words, command
            continue
        context = typer.Context(command)
        inner = [(name, command.get_command(context, name)) for name in command.list_commands(context)]
        waiting += [(f"{words} {name}".strip(), one) for name, one in inner if not one.hidden]


def options() -> list[str]:
    """Return a line for each argument and option as the help of its command shows it: names, metavar and default."""
    lines = []
    for words, command in commands():
        lines.append(words)
        context = typer.Context(command, info_name=words)
        for parameter in command.params:
            shown = None if getattr(parameter, "hidden", False) else parameter.get_help_record(context)
            if shown:
                default = re.search(
                    r"\[(?:default: .*|required|x[<>]=.*|.*; required)\]\s*$", " ".join(shown[1].split())
                )
                lines.append(f"{words} · {shown[0]}" + (f" · {default[0]}" if default else ""))
    return sorted(lines)


def exit_codes() -> list[str]:
    """Return a line for each exit code that docs/reference.md explains, and for each that a command's help names."""
    lines = [" ".join(row) for row in re.findall(r"(?m)^\| (\d+) \| (.+) \|$", DOCS.read_text(encoding="utf-8"))]
    for words, command in commands():
        for paragraph in (command.help or "").split("\n\n"):
            if "xit" in paragraph:
                lines += [f"{words} · {code}" for code in set(_EXITS.findall(" ".join(paragraph.split())))]
    return sorted(lines)


def things(lines: dict[str, list[str]]) -> set[str]:
    """Return what the contract holds: words about it, metavars and defaults may change."""
    names = set(lines["fields"])
    for line in lines["options"]:
        words, *shown = line.split(" · ")
        names |= {f"{words} {name}" for name in re.findall(r"(?:^|(?<=[, ]))--?[\w-]+", shown[0])} if shown else {words}
    return names | {line if " · " in line else f"exit code {line.split()[0]}" for line in lines["exit_codes"]}


NOW = {"fields": fields, "options": options, "exit_codes": exit_codes}


def rows(name: str) -> list[str]:
    return (HERE / name).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("kind", NOW)
def test_the_contract_is_as_it_was_last_seen(kind: str, request: pytest.FixtureRequest) -> None:
    lines = NOW[kind]()
    if request.config.getoption("--snapshot-update"):
        (HERE / f"{kind}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert lines == rows(f"{kind}.txt"), "meant? `pytest tests/contract --snapshot-update` takes it"


def test_what_is_there_no_more_is_named_with_what_took_its_place() -> None:
    named = [line for line in rows("dropped.txt") if line and not line.startswith("#")]
    dropped = {}
    for line in named:
        thing, since, instead = (part.strip() for part in line.split("|"))
        assert all((since, instead)), f"dropped.txt: {thing}: say since when, and what took its place"
        dropped[thing] = instead
    assert len(dropped) == len(named)
    now = things({kind: look() for kind, look in NOW.items()})
    for command in [thing for thing in dropped if thing.endswith(" …")]:
        instead = dropped.pop(command)
        dropped |= {thing: instead for thing in rows("frozen.txt") if f"{thing} ".startswith(command[:-1])}
    gone = {thing for thing in rows("frozen.txt") if not {thing, thing.replace("? ·", " ·")} & now}
    assert sorted(gone - dropped.keys()) == [], "name it in tests/contract/dropped.txt"
    assert sorted(dropped.keys() - set(rows("frozen.txt"))) == [], "was never there, or is spelled otherwise"
    assert sorted(dropped.keys() & now) == [], "is there again: take it out of tests/contract/dropped.txt"


def test_a_change_of_the_contract_is_seen() -> None:
    lines = {kind: look() for kind, look in NOW.items()}
    assert {"write --key", "write -t", "write", "exit code 7", "check · problems[].line · integer"} <= things(lines)
    assert {"tend · 75", "consolidate · 7", "sync · 5"} <= things(lines)
