"""The door: which commands there are, loaded when called, and how every error leaves."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperArgument, TyperGroup

from ..errors import MemError, UsageError
from . import output


class Command(NamedTuple):
    """A command's place: its module, its family in the help, and what it does."""

    module: str
    family: str
    help: str


FAMILIES = ("keep", "find", "tend", "talk", "join")
COMMANDS = {
    "init": Command("init", "keep", "Make a workspace, by default in ./memory."),
    "write": Command("write", "keep", "Remember something, or change an entry with --id."),
    "edit": Command("edit", "keep", "Change the text of an entry or of another file, in place or in your editor."),
    "forget": Command("forget", "keep", "Move entries to the archive."),
    "restore": Command("forget", "keep", "Bring entries back from the archive, and superseded ones back into use."),
    "note": Command("history", "keep", "Add a line to the notes of today."),
    "history": Command("history", "keep", "Add to history, and show it."),
    "search": Command("find", "find", "Find memories by meaning and by words."),
    "grep": Command("grep", "find", "Find lines by their exact text, in every file."),
    "read": Command("read", "find", "Show what an id, a path or a hit's address names."),
    "ls": Command("find", "find", "List entries."),
    "supersede": Command("edit", "tend", "Let one entry take the place of another."),
    "review": Command("review", "tend", "Settle what needs a person's yes or no."),
    "dedup": Command("tidy", "tend", "Merge entries that say the same."),
    "consolidate": Command("consolidate", "tend", "Turn conversations into history and memories."),
    "rollup": Command("tidy", "tend", "Sum up the episodes of a project in one page."),
    "decay": Command("decay", "tend", "Show how far entries have faded, and archive what has."),
    "recall": Command("recall", "find", "Give the memories that a prompt should have, as text to put before it."),
    "replay": Command("proof", "find", "Say what a prompt of a session was given then, what it gets now, and why."),
    "promote": Command("tidy", "tend", "Make confirmed memories lines of MEMORY.md, or take lines off again."),
    "check": Command("check", "tend", "Find what is wrong with the files, and mend what has one right answer."),
    "stats": Command("stats", "tend", "Show what is in memory, how it grows, what is used and what fades."),
    "tend": Command("tend", "tend", "Do what is due: for cron."),
    "index": Command("index", "tend", "Bring the index up to date, embedding every text."),
    "session": Command("session", "talk", "Keep conversations, look at them, put them away."),
    "export": Command("transfer", "join", "Write memories as lines of JSON, or as one document."),
    "import": Command("transfer", "join", "Bring memories in from an export, or from another tool."),
    "hook": Command("hook", "join", "Let agents, git and cron run mem."),
    "mcp": Command("mcp", "join", "Serve the memory to agents over the Model Context Protocol."),
    "memory-tool": Command("mcp", "join", "Answer one command of Anthropic's memory tool."),
    "completion": Command("value_completion", "join", "Print the completion script for bash, zsh or fish."),
    "help": Command("help", "join", "Show the help of a command or of a topic."),
    "trust": Command("init", "join", "Believe what a workspace says that came with a repository."),
    "config": Command("init", "join", "Show and change settings."),
}


class _PipeClosed(Exception):
    """Whoever read our output has seen enough."""


class Door(TyperGroup):
    """Load a command when it is called; turn its errors into one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a closed pipe gets past the parser, which would make an error of it."""
        try:
            result = super().invoke(ctx)
            output.flush()
        except BrokenPipeError:
            raise _PipeClosed from None
        return result

    def list_commands(self, ctx: Any) -> list[str]:
        """Name all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import one command's module and build the command."""
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module = import_module(f".{place.module}", __package__)
        name = cmd_name.replace("-", "_")
        app = getattr(module, f"{name}_app", None)
        if app is None:
            name = f"{name}_" if hasattr(module, f"{name}_") else name  # `help` is Python's own
            app = typer.Typer(**STYLE)
            app.command(cmd_name, help=_help_of(place, module, name))(getattr(module, name))
        command = typer.main.get_command(app)
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command meant; a wrong name gets a guess at the right one."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from .suggestions import meant

            raise UsageError(f"no command {name!r}", meant(name, COMMANDS))
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Offer the commands without importing them."""
        from typer.core import CompletionItem  # type: ignore[attr-defined]

        return [CompletionItem(name, help=one.help) for name, one in COMMANDS.items() if name.startswith(incomplete)]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands by family without importing them."""
        for family in FAMILIES:
            with formatter.section(family.capitalize()):
                rows = [(name, one.help) for name, one in COMMANDS.items() if one.family == family]
                formatter.write_dl(rows, col_max=12)


# Typer has no public name for the base of its parser's errors.
_PARSER_ERROR: type[Exception] = typer.BadParameter.__mro__[2]
STYLE: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
door = typer.Typer(cls=Door, **STYLE)


def _usage_pieces(argument: TyperArgument, ctx: Any) -> list[str]:
    name = argument.make_metavar(ctx)
    return [name if argument.required or name.startswith("[") else f"[{name}]"]


TyperArgument.get_usage_pieces = _usage_pieces  # type: ignore[assignment, method-assign]
"""Without the braces Typer puts around what must be given, which a shell would take for its own."""


def _version(asked: bool) -> None:
    if asked:
        from .. import __version__

        output.say(f"mem {__version__}")
        raise typer.Exit


@door.callback(invoke_without_command=True)
def mem(
    ctx: typer.Context,
    workspace: str = typer.Option("", "--workspace", metavar="DIR", help="Work in this workspace.", show_default=False),
    version: bool = typer.Option(False, "--version", "-V", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Long-term memory for agents and people, kept as plain markdown.

    Search first, then read what you need: mem search "…", mem read ID.
    """
    if workspace:
        os.environ["MEM_WORKSPACE"] = workspace
    if ctx.invoked_subcommand is None:
        output.say(ctx.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run one command line and give its exit code; only bugs get through as exceptions."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    as_json = "--json" in arguments
    if "_MEM_COMPLETE" in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
    try:
        code = _invoked(arguments)
        output.flush()
        return code
    except MemError as error:
        output.failure(error, arguments, as_json=as_json)
        return error.exit_code
    except (_PipeClosed, BrokenPipeError):
        # Whoever reads has seen enough. Python would complain again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        output.note("interrupted")
        return 130


def _invoked(arguments: Sequence[str]) -> int:
    command = typer.main.get_command(door)
    try:
        code = command.main(list(arguments), prog_name="mem", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except _PARSER_ERROR as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # `mem config` alone, which is no mistake
            output.say(error.format_message())  # type: ignore[attr-defined]
            return 0
        raise UsageError(*_told(error, arguments)) from None
    return code if isinstance(code, int) else 0


def _told(error: Any, arguments: Sequence[str]) -> tuple[str, str]:
    """Give a usage error's message in our manner, and where to read on."""
    from .suggestions import said

    message = error.format_message().strip().rstrip(".")
    named = next((word for word in arguments if word in COMMANDS), "")
    command = error.ctx.command_path if getattr(error, "ctx", None) else f"mem {named}".rstrip()
    better = said(message, command, arguments)
    if better:
        return better
    if message.startswith("Got unexpected extra argument"):
        extra = message.partition(" (")[2].removesuffix(")")
        return f"too many words: {extra}", f"quote words that belong together; see `{command} --help`"
    return message[:1].lower() + message[1:], f"see `{command} --help`"


def _help_of(place: Command, module: Any, name: str) -> str:
    """Put the line of the table before the rest of the function's docstring."""
    rest = (getattr(module, name).__doc__ or "").partition("\n")[2]
    return f"{place.help}\n{rest}"
