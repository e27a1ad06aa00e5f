"""The command line: the table of commands, which are imported when called, and how errors end the process."""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from shlex import quote
from textwrap import fill, indent
from typing import Any, NamedTuple

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from ..errors import MemError, RefusedError, UsageError
from . import output


class Command(NamedTuple):
    """Where a command is: its module, its group in the help, and what it does."""

    module: str
    family: str
    help: str


FAMILIES = ("write", "find", "maintain", "conversations", "connect", "programs")
"""Groups of commands; those of the last are called by programs, and named in one line."""
FIRST = (
    "init",
    "write",
    "search",
    "grep",
    "read",
    "recall",
    "forget",
    "review",
    "consolidate",
    "decay",
    "export",
    "ui",
)
"""What a person needs to know of: the help of `mem` fits a screen."""


@cache
def table() -> tuple[dict[str, Command], dict[str, str]]:
    """Return from `commands.txt` the commands by name, and what each answers with under `--json`.

    A command has a row of its name, module, family and what it does; an answer is indented below it, and its name may
    have the options that change it.
    """
    rows = Path(__file__).with_name("commands.txt").read_text(encoding="utf-8").splitlines()
    named = (row.split(maxsplit=3) for row in rows if row[0] != " ")
    answers = (row.split("  ") for row in rows if row[0] == " ")
    return {name: Command(*columns) for name, *columns in named}, {name: result for _, name, result in answers}


def commands() -> dict[str, Command]:
    """Return the commands there are, by name."""
    return table()[0]


def examples(name: str) -> list[str]:
    """Return from `examples.txt` the lines that the help of a command ends with."""
    text = Path(__file__).with_name("examples.txt").read_text(encoding="utf-8")
    below = f"\n{text}".partition(f"\n{name}\n")[2]
    return [line.strip() for line in takewhile(lambda line: line[:1] == " ", below.splitlines())]


class _PipeClosed(Exception):
    """The reader of the output closed the pipe."""


class LazyCommands(TyperGroup):
    """Commands that are imported when they are called."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; raise _PipeClosed for a closed pipe, which the parser would report as an error."""
        try:
            result = super().invoke(ctx)
            output.flush()
        except BrokenPipeError:
            raise _PipeClosed from None
        return result

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return list(commands())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command's module and return the command; None if there is no such command."""
        return _command(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is named; raise UsageError with a guess if there is none."""
        name = args[0]
        if name not in commands() and not name.startswith("-"):
            from .completion import meant

            if name in _DROPPED:
                raise UsageError(f"`mem {name}` is no more", _DROPPED[name])
            raise UsageError(f"no command {name!r}", meant(name, commands()))
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Return the commands that begin so, without importing them."""
        from typer.core import CompletionItem

        return [
            CompletionItem(name, help=command.help)
            for name, command in commands().items()
            if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands that come first, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, commands()[name].help) for name in FIRST], col_max=12)
        shown = [name for name, command in commands().items() if command.family != FAMILIES[-1]]
        formatter.write(f"\nThe other {len(shown) - len(FIRST)}: mem help all\n")


def write_families(formatter: Any) -> None:
    """Write all commands by group, without importing them."""
    for family in FAMILIES:
        rows = [(name, command.help) for name, command in commands().items() if command.family == family]
        if family == FAMILIES[-1]:
            formatter.write(f"\nCalled by programs: {', '.join(name for name, _ in rows)}\n")
            continue
        with formatter.section(family.capitalize()):
            formatter.write_dl(rows, col_max=12)


@cache
def _command(cmd_name: str) -> Any:
    entry_of = commands().get(cmd_name)
    if entry_of is None:
        return None
    module = import_module(f".{entry_of.module}", __package__)
    name = cmd_name.replace("-", "_")
    group = getattr(module, f"{name}_app", None)
    if group is None:
        name = f"{name}_" if hasattr(module, f"{name}_") else name  # `help` is Python's own
        from .options import Commands

        group = Commands(**STYLE)
        group.command(cmd_name, help=_help_of(entry_of, module, name))(getattr(module, name))
    command = typer.main.get_command(group)
    command.name = cmd_name
    return command


# Typer has no public name for the base of its parser's errors.
_PARSER_ERROR: type[Exception] = typer.BadParameter.__mro__[2]
_SERVING = (["mcp"], ["ui"], ["memory-tool"], ["hook"], ["merge-driver"], ["review"], ["dedup"])
_GROUPS = (["session"], ["history"], ["config"])
_DROPPED = {
    "handoff": "it is `mem session handoff`",
    "rollup": "it is `mem session rollup`",
    "blame": "`mem read ID --history` shows who said an entry, and what became of it",
    "replay": "`mem recall PROMPT --as-of DATE` gives what was believed then",
    "upgrade": "files have one format; `mem init` puts back what git is told",
    "model": "`mem config set --user embedding.model FOLDER` names a model, `mem index` embeds every text with it",
}
"""What took the place of commands that earlier versions had."""
FIELDS = "Fields of the entry (mem help workspace)"
"""The panel for what is mostly left to mem: its options are named there, and nothing is said of them."""
STYLE: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
app = typer.Typer(cls=LazyCommands, **STYLE)


def _usage_pieces(argument: TyperArgument, ctx: Any) -> list[str]:
    name = argument.make_metavar(ctx)
    return [name if argument.required or name.startswith("[") else f"[{name}]"]


def _parsing(parse: Callable[..., Any]) -> Callable[..., Any]:
    """Return a parser that refuses `-key` where `--key` is an option, which would be `-k` and more."""

    def parsed(self: Any, ctx: Any, args: list[str]) -> Any:
        taking = {
            option: 1 + (0 if getattr(parameter, "is_flag", True) else parameter.nargs)
            for parameter in self.get_params(ctx)
            for option in parameter.opts
        }
        position = 0
        while position < len(args) and args[position] != "--" and not ctx.resilient_parsing:
            name = args[position].partition("=")[0]
            if name[:1] != "-" and not ctx.allow_interspersed_args:
                break
            if name[2:] and f"-{name}" in taking:
                raise UsageError(f"{ctx.command_path} has no option {name}", f"did you mean -{name}?")
            position += taking.get(args[position], 1)
        return parse(self, ctx, args)

    return parsed


TyperCommand.parse_args = _parsing(TyperCommand.parse_args)  # type: ignore[method-assign]
TyperGroup.parse_args = _parsing(TyperGroup.parse_args)  # type: ignore[method-assign]
TyperArgument.get_usage_pieces = _usage_pieces  # type: ignore[assignment, method-assign]
"""Replaces the braces that Typer puts around required arguments: a shell would expand them."""


def _write_options(self: TyperCommand, ctx: Any, formatter: Any) -> None:
    """Write arguments and options by their panels, the first without one."""
    panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for parameter in self.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            panel = getattr(parameter, "rich_help_panel", None) or f"{parameter.param_type_name.capitalize()}s"
            panels.setdefault(panel, []).append(record)
    for panel, records in panels.items():
        if records:
            with formatter.section(panel):
                if panel == FIELDS:
                    names = ", ".join(name.replace(" ", "\xa0") for name, _ in records)
                    formatter.write(indent(f"{fill(names, formatter.width - 2)}\n", "  ").replace("\xa0", " "))
                else:
                    formatter.write_dl(records, col_max=min(30, formatter.width // 3))


def _write_commands(self: Any, ctx: Any, formatter: Any) -> None:
    with formatter.section("Commands"):
        rows = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        formatter.write_dl([(name, command.get_short_help_str(1000)) for name, command in rows if not command.hidden])


def _write_examples(self: Any, ctx: Any, formatter: Any) -> None:
    lines = examples(ctx.command_path.partition(" ")[2])
    if lines:
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line}\n" for line in lines))


TyperCommand.format_options = _write_options  # type: ignore[method-assign]
TyperGroup.format_commands = _write_commands  # type: ignore[method-assign]
TyperCommand.format_epilog = TyperGroup.format_epilog = _write_examples  # type: ignore[method-assign]
"""Give every command, those of groups too, panels without colours, whole lines, and examples at the end of its help."""


def _version(asked: bool) -> None:
    if asked:
        from .. import __version__

        output.say(f"mem {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def mem(
    ctx: typer.Context,
    workspace: str = typer.Option("", "--workspace", metavar="DIR", help="Work in this workspace.", show_default=False),
    version: bool = typer.Option(False, "--version", "-V", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Long-term memory for agents and people, kept as plain markdown."""
    if workspace:
        os.environ["MEM_WORKSPACE"] = workspace
    if ctx.invoked_subcommand is None:
        output.say(ctx.get_help())


_INTERRUPTED = 130
"""Exit code after Ctrl-C: Typer returns it where it saw the interrupt first."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; only bugs raise."""
    as_json = "--json" in arguments
    if "_MEM_COMPLETE" in os.environ:
        from typer.completion import completion_init

        completion_init()
    try:
        for stream in (sys.stderr, sys.stdout):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(encoding="utf-8", errors="replace")
        code = _invoked(arguments)
        output.flush()
        return code
    except MemError as error:
        output.failure(error, arguments, as_json=as_json)
        return error.exit_code
    except (_PipeClosed, BrokenPipeError):
        # The reader has closed the pipe. Python would report it again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if not output.cannot_print(error):
            raise
        full = RefusedError(f"cannot write the output: {(error.strerror or str(error)).lower()}", "send it elsewhere")
        output.failure(full, arguments, as_json=as_json)
        return full.exit_code
    except KeyboardInterrupt:
        output.note("interrupted")
        return _INTERRUPTED


def _invoked(arguments: Sequence[str]) -> int:
    name = _noted_as(arguments)
    try:
        with _recording(name) if name else nullcontext():
            code = _whole().main(
                list(arguments), prog_name="mem", standalone_mode=False, terminal_width=min(output.columns(), 80) - 2
            )
    except typer.Abort:
        code = _INTERRUPTED
    except _PARSER_ERROR as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # `mem config` alone, which is no mistake
            output.say(error.format_message())  # type: ignore[attr-defined]
            return 0
        raise UsageError(*_told(error, arguments)) from None
    if code == _INTERRUPTED:
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


@cache
def _whole() -> Any:
    return typer.main.get_command(app)


def _recording(name: str) -> AbstractContextManager[object]:
    from ..api.workspace import recording  # late: help needs no workspace

    return recording(name)


def _noted_as(arguments: Sequence[str]) -> str:
    """Return what a command is called where it is noted; empty where what it serves is noted one by one."""
    words = [word for word in arguments if not word.startswith("-")]
    position = next((number for number, word in enumerate(words) if word in commands()), len(words))
    name = " ".join(words[position : position + 1 + (words[position : position + 1] in _GROUPS)])
    return "" if words[position : position + 1] in _SERVING else name


def _told(error: Any, arguments: Sequence[str]) -> tuple[str, str]:
    """Return the message of a usage error in our style, and where to read on."""
    from .completion import said

    message = error.format_message().strip().rstrip(".")
    named = next((word for word in arguments if word in commands()), "")
    command = error.ctx.command_path if getattr(error, "ctx", None) else f"mem {named}".rstrip()
    better = said(message, command, arguments)
    if better:
        return better
    if message.startswith("Got unexpected extra argument"):
        extra = message.partition(" (")[2].removesuffix(")")
        fix = f"quote words that belong together; see `{command} --help`"
        taken = {option for parameter in error.ctx.command.params for option in parameter.opts}
        if "--output" in taken:
            fix = f"did you mean `{command} --output {quote(extra)}`?"
        return f"too many words: {extra}", fix
    return message[:1].lower() + message[1:], f"see `{command} --help`"


def _help_of(command: Command, module: Any, name: str) -> str:
    """Return the help of a command: its line of the table, then the rest of its docstring."""
    paragraphs = (getattr(module, name).__doc__ or "").partition("\n")[2]
    return f"{command.help}\n{paragraphs}"
