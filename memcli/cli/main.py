"""Run a command: find it, let typer parse its options, print its result or its error.

`mem help`, `mem --help` and `mem completion` are here too: they describe all commands.
"""

import inspect
import os
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import cache, partial
from importlib import import_module
from itertools import takewhile
from shlex import quote
from typing import Annotated, Any, get_type_hints

import typer
from typer import Argument

from ..context import CommonOptions, Context, build_process_context
from ..data import table
from ..errors import MemError, RejectedError, UsageError, check_choice
from .commands import COMMANDS, GROUPS, MODULES
from .terminal import (
    Result,
    build_progress,
    check_fields,
    check_utf8,
    print_message,
    print_result,
    suggest,
)

LIST_COMMANDS = "list the commands: mem --help"
RANGE = re.compile(r" +\[(?:[\d.]+<=)?x[<>]=[\d.]+\]")  # typer shows it for a number
VALUE_OPTIONS = ("--workspace", "--scope")
HELP = ("-h", "--help")
COMPLETION_FIELDS = ("script",)


def run_process(arguments: Sequence[str]) -> int:
    """Run a command of this process, and return its exit code."""
    open_closed_streams()
    context = build_process_context()
    try:
        code = run(context, arguments)
        # The buffer is written here, where a full disk or a closed pipe can still be reported.
        context.stdout.flush()
        context.stderr.flush()
        return code
    except BrokenPipeError:
        return 141  # like a program that SIGPIPE stopped
    except KeyboardInterrupt:
        # The cursor is behind a question, and the terminal has added ^C.
        context.stderr.write("\n" if context.is_terminal else "")
        print_message(context, "interrupted")
        context.stderr.flush()
        return 130
    except OSError as error:
        print_message(context, f"done, but cannot write the output: {error.strerror}")
        return 3


def run(context: Context, arguments: Sequence[str]) -> int:
    """Run a command, print its result, and return its exit code."""
    try:
        check_utf8("".join(arguments), "an argument")
        context, result = call_command(context, *split_command(arguments))
        print_result(context, result)
        return result.exit_code
    except MemError as error:
        print_message(context, error.message)
        if error.hint:
            print_message(context, error.hint, "hint: ")
        return error.exit_code
    except BrokenPipeError:
        raise
    except OSError as error:
        # Of a temporary file, only the folder means something to a person.
        name = str(error.filename or "").partition("/.mem-tmp-")[0]
        print_message(context, f"{error.strerror or error}{name and f': {name}'}")
        return RejectedError.exit_code


def call_command(context: Context, name: str, arguments: list[str]) -> tuple[Context, Result]:
    """Parse the options of a command and call it. Return the context with the common options."""
    function, known_fields = load_command(name)
    parser = build_parser(context, name, function)
    if any(word in HELP for word in takewhile(lambda word: word != "--", arguments)):
        # typer would print the help itself, to the process's stdout.
        with parser.make_context(f"mem {name}", [], resilient_parsing=True) as parsing:
            usage, _, details = parser.get_help(parsing).partition("\n")
            # typer puts braces around required arguments. Other programs print the name alone.
            usage = usage.replace("{", "").replace("}", "")
            details = RANGE.sub("", details)
            return context, Result(lines=[usage, *details.split("\n")])
    # The vendored parser's errors have no public base class.
    parser_error: Any = typer.BadParameter.__mro__[2]
    takes_words = any(parameter.param_type_name == "argument" for parameter in parser.params)
    words = complete_json_option(arguments, known_fields, takes_words=takes_words)
    try:
        parsed = parser.main(words, prog_name=f"mem {name}", standalone_mode=False)
    except parser_error as error:
        raise explain_parser_error(name, error) from None
    # Called outside of the parser, which hides Ctrl-C and closed pipes.
    fields = parsed.pop("json_fields")
    common = CommonOptions(
        workspace=parsed.pop("workspace"),
        scope=parsed.pop("scope"),
        as_json=fields is not None,
        fields=tuple(part for part in (fields or "").split(",") if part and part != "*"),
    )
    check_choice("scope", common.scope or "all", ("project", "user", "all"))
    check_fields(common.fields, known_fields)  # before the command does anything
    with ExitStack() as cleanups:
        context = context._replace(
            common=common,
            cleanups=cleanups,
            start_progress=partial(build_progress, context),
            # Once: a command can open a workspace several times.
            warn=cache(partial(print_message, context)),
        )
        try:
            return context, function(context, **parsed)
        except RejectedError:
            # The result of a command that can be undone has the field `undo`. A failed undo cannot.
            if name == "import" or ("undo" in known_fields and name != "undo"):
                note_failed_command(context, name)
            raise


def run_help(
    context: Context,
    command: Annotated[str, Argument(help="The command.")] = "",
) -> Result:
    """Show the help of a command, or the list of commands.

    \b
    Examples:
      mem help search
    """
    if command:
        return call_command(context, command, ["--help"])[1]
    lines = [
        "Usage: mem COMMAND [OPTIONS]",
        "",
        "Long-term memory for agents and people, stored as Markdown files.",
    ]
    for group, summaries in GROUPS.items():
        lines += ["", f"{group}:", *(f"  {name:11} {text}" for name, text in summaries.items())]
    return Result(lines=[*lines, "", "Help of a command: mem COMMAND --help"])


def run_completion(
    context: Context,
    shell: Annotated[str, Argument(help="bash, zsh or fish.")],
) -> Result:
    """Print a script that completes commands in your shell.

    \b
    Examples:
      eval "$(mem completion bash)"
    """
    scripts = table("shell.toml")["completion"]
    check_choice("shell", shell, scripts)
    # A quote inside single quotes ends them in every shell, so it is written outside.
    summaries = {name: command.summary.replace("'", "'\\''") for name, command in COMMANDS.items()}
    described = " ".join(f"'{name}:{summary}'" for name, summary in summaries.items())
    fish = "\n".join(
        f"complete -c mem -n __fish_use_subcommand -f -a {name} -d '{summary}'"
        for name, summary in summaries.items()
    )
    script = (
        scripts[shell]
        .replace("@words", " ".join(COMMANDS))
        .replace("@described", described)
        .replace("@lines", fish)
    )
    return Result({"script": script}, script.splitlines())


def split_command(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """Return the command and its arguments. Common options may come before the command."""
    common: list[str] = []
    remaining = list(arguments)
    # `mem --workspace DIR search …` is what users of git type.
    while remaining and remaining[0].startswith("-"):
        option = remaining.pop(0)
        if option in HELP:
            return "help", []
        common.append(option)
        if option in VALUE_OPTIONS and remaining:
            common.append(remaining.pop(0))
    if common and not remaining:
        raise UsageError(f"no command after {common[-1]}", LIST_COMMANDS)
    name, *arguments = remaining or ["help"]
    return name, [*common, *arguments]


def load_command(name: str) -> tuple[Callable[..., Result], Sequence[str]]:
    """Return the function of a command, and the fields of its JSON. Raises UsageError."""
    if name not in COMMANDS:
        hint = suggest(name, (*COMMANDS, "--version"), LIST_COMMANDS, before="mem ")
        raise UsageError(f"unknown command {name!r}", hint)
    module = import_module(f".{MODULES.get(name, name)}", __package__)
    prefix = name.replace("-", "_")
    return getattr(module, f"run_{prefix}"), getattr(module, f"{prefix.upper()}_FIELDS", ())


def build_parser(context: Context, name: str, function: Callable[..., Result]) -> Any:
    """Return the command-line parser of a function: its own options and the common ones.

    The parser returns the values of the options.
    """

    def invoke(**values: Any) -> dict[str, Any]:
        return values

    # typer reads the signature. The first parameter, the context, is ours.
    hints = get_type_hints(function, include_extras=True)
    parameters = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        hint = hints[parameter.name]
        kind, option = hint.__origin__, hint.__metadata__[0]
        # Most options have only a help text.
        if isinstance(option, str):
            option = typer.Option(help=option)
        # typer would print `<list[str]>` and `[default: -1.0]`.
        option.show_default = False
        # Without this, typer adds --no-NAME to a flag, and keeps the _ of `type_`.
        if isinstance(option, typer.models.OptionInfo) and option.default is ...:
            option.param_decls = (f"--{parameter.name.strip('_').replace('_', '-')}",)
        is_number = kind in (int, float, int | None, float | None)
        default_name = "n" if is_number else "text"
        if isinstance(option, typer.models.ArgumentInfo):
            default_name = parameter.name.strip("_").upper()
            if parameter.default is not inspect.Parameter.empty:
                default_name = f"[{default_name}]"
        option.metavar = option.metavar or default_name
        hint = Annotated[kind, option]
        parameters.append(parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))
    parameters += inspect.signature(take_common_options).parameters.values()
    invoke.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    invoke.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    app = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": list(HELP), "max_content_width": context.width},
    )
    app.command(name, help=inspect.getdoc(function))(invoke)
    return typer.main.get_command(app)


def take_common_options(
    *,
    json_fields: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="FIELDS",
            help="Print JSON: all fields, or only the fields that you name.",
        ),
    ] = None,
    workspace: Annotated[
        str, typer.Option("--workspace", metavar="DIR", help="Work in this workspace.")
    ] = "",
    scope: Annotated[
        str,
        typer.Option("--scope", metavar="SCOPE", help="project, user (your own memory) or all."),
    ] = "",
) -> None:
    """Declare the options that every command has, in its signature."""


def open_closed_streams() -> None:
    """Open standard streams that are closed.

    A file that is opened later would get their number and receive the output.
    """
    # A shell can close them: `mem ls >&-`. The lowest free number is the first closed stream.
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= 2:
        descriptor = os.dup(descriptor)
    os.close(descriptor)


def note_failed_command(context: Context, name: str) -> None:
    """Let `mem undo` know that the last command changed nothing."""
    from ..store import get_workspaces, note_failure

    # A failed command must report its own error, not this one.
    with suppress(MemError, OSError):
        note_failure(get_workspaces(context)[0], name)


def complete_json_option(
    arguments: Sequence[str], fields: Sequence[str], *, takes_words: bool
) -> list[str]:
    """Give `--json` a value: the next word if it names fields, otherwise all fields."""
    completed: list[str] = []
    remaining = list(arguments)
    while remaining:
        word = remaining.pop(0)
        if word == "--":
            return [*completed, word, *remaining]
        if word == "--json":
            # An option with an optional value is ambiguous: `--json port` may be a query.
            # `text,score` has an unknown field, which is an error; `score` alone is a query.
            has_fields = bool(remaining) and any(part in fields for part in remaining[0].split(","))
            # After a text, and in a command without arguments, `txt` is a mistyped field.
            if remaining and remaining[0][:1] != "-":
                follows_text = takes_words and bool(completed) and completed[0][:1] != "-"
                is_close = follows_text and suggest(remaining[0], fields, "")
                has_fields = has_fields or bool(is_close) or not takes_words
            word = f"--json={remaining.pop(0) if has_fields else '*'}"
        completed.append(word)
    return completed


def explain_parser_error(name: str, error: Any) -> UsageError:
    """Return an error of typer in our words, with a hint."""
    # typer writes "No such option: --x."; our messages are one line in lower case.
    message = error.format_message().rstrip(".")
    message = message[:1].lower() + message[1:]
    for original, plain in table("shell.toml")["parser_words"].items():
        message = message.replace(original, plain)
    hint = f"see: mem {name} --help"
    if type(error).__name__ == "NoSuchOption":
        if COMMANDS[name].takes_text:
            hint = f'a text that starts with a dash needs `--` before it: mem {name} -- "TEXT"'
        hint = suggest(error.option_name, error.possibilities or (), hint, cutoff=0.8)
    elif COMMANDS[name].takes_text and message.startswith("unexpected argument"):
        first = error.ctx.params.get("text") or error.ctx.params["pattern"]
        text = f"{first} {message.partition('(')[2].removesuffix(')')}"
        hint = f"put the text in quotes: mem {name} {quote(text)}"
    elif name == "config" and message.startswith("unexpected argument"):
        hint = "put commas between the values of a list: mem config set NAME VALUE,VALUE"
    return UsageError(message, hint)
