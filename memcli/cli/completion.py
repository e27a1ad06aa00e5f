"""What to say of a command or an option that there is not: which one does what was meant."""

import re
from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches
from typing import Annotated

import typer
from typer.completion import get_completion_script

from ..errors import MemError, UsageError
from . import output

ELSEWHERE = {
    name: ours
    for ours, names in {
        'write "…"': "add new remember save store",
        'search "…"': "ask find query",
        "read ID": "cat get open show view",
        "ls": "list",
        "edit ID": "change update",
        "forget ID": "archive delete remove rm",
        "history show": "log",
        "stats": "status",
        "check": "doctor",
    }.items()
    for name in names.split()
}
"""Names other programs have for what a command of ours does."""
_UNDO = "revert", "unforget", "undelete"
_COMMAND = re.compile(r"No such command '(?P<name>[^']*)'\.?(?: Did you mean (?P<near>.+)\?)?")
_OPTION = re.compile(
    r"No such option: (?P<name>\S+)(?: \(Possible options?: (?P<near>.+)\)| Did you mean (?P<one>.+)\?)?"
)
_AN_OPTION = re.compile(r"--?[A-Za-z][\w-]*")

_NUMBERS = {" is not a valid int": "no whole number", " is not a valid integer": "no whole number"}
_NUMBERS |= {" is not a valid float": "no number", " is not a valid int range": "no whole number"}


def meant(name: str, commands: Collection[str]) -> str:
    """Return the fix for a command that there is not."""
    if name.lower() in _UNDO:
        return (
            "`mem undo` takes back the last command, `mem restore ID` brings back what was forgotten or superseded;"
            " `mem ls --status archived` lists the first"
        )
    if name.lower() == "version":
        return "that is `mem --version`"
    if name.lower() in ELSEWHERE:
        return f"that is `mem {ELSEWHERE[name.lower()]}`"
    near = get_close_matches(name, commands, 1)
    return f"did you mean `mem {near[0]}`?" if near else "see `mem help all`"


_RENAMED = {"--files": "--about", "--sources": "--origin"}
"""Options that were too like others."""


def said(message: str, command: str, arguments: Sequence[str] = ()) -> tuple[str, str] | None:
    """Put the parser's words about an unknown name into ours, with a fix; None for another message."""
    match = _COMMAND.match(message)
    if match:
        near = [f"`{command} {word}`" for word in re.findall(r"'([^']+)'", match["near"] or "")]
        fix = f"did you mean {' or '.join(near)}?" if near else f"see `{command} --help`"
        return f"no command {command.removeprefix('mem ')} {match['name']}".replace("  ", " "), fix
    match = _OPTION.match(message)
    if match:
        near = re.findall(r"--?[\w-]+", match["near"] or match["one"] or "")
        near = [_RENAMED[match["name"]]] if match["name"] in _RENAMED else near
        near = get_close_matches(match["name"], near, 2, 0) if near[2:] else near
        fix = f"did you mean {' or '.join(near)}? " if near else ""
        if not _AN_OPTION.fullmatch(match["name"]) or any(_is_text(word, match["name"]) for word in arguments):
            fix = "put `--` before a text that begins with a dash; "
        if command == "mem":
            fix = "options stand after the name of the command: mem COMMAND --json; "
        return f"{command} has no option {match['name']}", f"{fix}see `{command} --help`"
    for theirs, ours in _NUMBERS.items():
        if message.endswith(theirs):
            return f"{_lowered(message.removesuffix(theirs))} is {ours}", f"see `{command} --help`"
    return None


def _is_text(word: str, name: str) -> bool:
    """Return a text of several words from an option, of which the parser named the beginning."""
    return word.startswith(name) and len(word.split()) > 1 and "=" not in word.split()[0]


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


Answers = list[tuple[str, str]]


def _from_workspaces(what: str) -> Callable[[str], Answers]:
    """Offer names of one kind from every workspace in reach; none where the world is not as it should be."""

    def offered(incomplete: str) -> Answers:
        from ..api import reference
        from ..api.workspace import surroundings

        try:
            answers: Answers = getattr(reference, what)(surroundings(), incomplete)
        except MemError:
            return []
        return answers

    return offered


ids, tags, keys, sessions = map(_from_workspaces, ("ids", "tags", "keys", "sessions"))


def settings(incomplete: str) -> Answers:
    """Offer the names of settings."""
    from ..api import reference

    return reference.settings(incomplete)


def types(incomplete: str) -> Answers:
    """Offer the types of entries."""
    from ..api import reference

    return reference.types(incomplete)


def among(values: Sequence[str]) -> Callable[[str], Answers]:
    """Offer what an option takes."""

    def offered(incomplete: str) -> Answers:
        return [(value, "") for value in values if value.startswith(incomplete)]

    return offered


SHELLS = ("bash", "zsh", "fish")


def completion(
    shell: Annotated[
        str, typer.Argument(metavar="SHELL", help=f"One of {', '.join(SHELLS)}.", autocompletion=lambda: list(SHELLS))
    ],
) -> None:
    """Print the completion script for your shell.

    bash: eval "$(mem completion bash)" in ~/.bashrc; zsh: the same with zsh in ~/.zshrc, after compinit;
    fish: mem completion fish > ~/.config/fish/completions/mem.fish
    """
    if shell not in SHELLS:
        raise UsageError(f"no completion for {shell!r}", f"use one of {', '.join(SHELLS)}")
    output.say(get_completion_script(prog_name="mem", complete_var="_MEM_COMPLETE", shell=shell), raw=True)
