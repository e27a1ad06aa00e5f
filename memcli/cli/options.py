"""Options that several commands share."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from ..api.choice import KINDS, LAYERS, SOURCES, STATUSES, Choice
from ..errors import UsageError
from . import completion
from .workspaces import COMMON as COMMON
from .workspaces import Common as Common

MORE = "More options"
"""The panel of a command's help for what is seldom asked for."""

InWorkspace = Annotated[
    str, typer.Option("--workspace", metavar="DIR", help="Work in this workspace.", show_default=False)
]
InScope = Annotated[
    str,
    typer.Option(
        "--scope",
        metavar="SCOPE",
        autocompletion=completion.among(("project", "user", "all")),
        help="project, user, a name from the setting workspaces, or all.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Answer with one JSON document.")]
Judge = Annotated[
    bool,
    typer.Option("--judge", help="Let your LLM say what repeats or contradicts.", rich_help_panel=MORE),
]
Redact = Annotated[
    bool, typer.Option("--redact", help="Put [REDACTED:rule] in the place of secrets.", rich_help_panel=MORE)
]
AllowSecret = Annotated[
    bool, typer.Option("--allow-secret", help="Keep what looks like a secret all the same.", rich_help_panel=MORE)
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, as a diff.")]
Source = Annotated[
    str,
    typer.Option(
        "--source",
        autocompletion=completion.among(SOURCES),
        help=f"Whose word it is: {', '.join(SOURCES)}.",
        show_default="user at a terminal, else observed",
    ),
]
EntryName = Annotated[
    str,
    typer.Argument(
        metavar="[ID]",
        autocompletion=completion.ids,
        help="An id, a unique part of one, a path, or a hit's address such as MEMORY.md#people.",
        show_default=False,
    ),
]
EntryKey = Annotated[
    str,
    typer.Option(
        "--key",
        metavar="KEY",
        autocompletion=completion.keys,
        help="What fills this key, such as staging/port.",
        show_default=False,
    ),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing unless something is wrong.")]
_Many = list[str] | None


def in_format(formats: Sequence[str], help_: str) -> Any:
    """Return the option `--format`, which takes one of some formats."""

    def required(form: str) -> str:
        if form not in formats:
            raise UsageError(f"no --format {form!r}", f"use {', '.join(formats[:-1])} or {formats[-1]}")
        return form

    offered = completion.among(formats)
    return typer.Option("--format", metavar="FORMAT", autocompletion=offered, callback=required, help=help_)


class _ChoiceOptions:
    """The options of the fields of `Choice`."""

    kind: Annotated[
        _Many,
        typer.Option(
            "--kind",
            autocompletion=completion.among((*KINDS, "all")),
            help="Only this kind: entry, memory, history, note, session or all.",
        ),
    ]
    type: Annotated[
        _Many,
        typer.Option(
            "--type", "-t", autocompletion=completion.types, help="Only entries of this type, such as preference."
        ),
    ]
    tag: Annotated[
        _Many,
        typer.Option(
            "--tag",
            autocompletion=completion.tags,
            help="Only entries with this tag; repeated: with all of them.",
        ),
    ]
    layer: Annotated[
        _Many,
        typer.Option(
            "--layer",
            autocompletion=completion.among(LAYERS),
            help="Only this layer: semantic, procedural or episodic.",
        ),
    ]
    source: Annotated[
        _Many,
        typer.Option(
            "--source",
            autocompletion=completion.among(SOURCES),
            help="Only what came from: user, observed or inferred.",
        ),
    ]
    project: Annotated[_Many, typer.Option("--project", help="Only entries of this project.")]
    path: Annotated[
        _Many,
        typer.Option(
            "--path",
            help="Only files whose path, from here, in the workspace or in its entries, begins so or fits this glob.",
        ),
    ]
    key: Annotated[
        _Many,
        typer.Option(
            "--key",
            autocompletion=completion.keys,
            help="Only entries whose key is this or fits this glob: staging/*.",
        ),
    ]
    as_of: Annotated[
        str,
        typer.Option("--as-of", metavar="DATE", help="What was believed then: 2026-11-21, 30d.", show_default=False),
    ]
    since: Annotated[
        str,
        typer.Option("--since", help="Only from then on: 2026-11-21, 2026-11, yesterday, 7d.", show_default=False),
    ]
    until: Annotated[str, typer.Option("--until", help="Only up to then.", show_default=False)]
    archived: Annotated[bool, typer.Option("--archived", help="Look in the archive too.")]
    status: Annotated[
        _Many,
        typer.Option(
            "--status",
            autocompletion=completion.among(STATUSES),
            help="Only this status: active, superseded or archived.",
        ),
    ]


def choosing(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of `Choice` in the place of its parameter `choice`."""
    hints = get_type_hints(_ChoiceOptions, include_extras=True)
    return _spread(
        command, "choice", Choice, [(field.name, field.default, hints[field.name]) for field in fields(Choice)]
    )


def with_common(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of `Common` in the place of its parameter `common`, if it has one."""
    if "common" not in inspect.signature(command).parameters:
        return command
    kinds = (InWorkspace, InScope, AsJson)
    return _spread(command, "common", Common, zip(Common._fields, COMMON, kinds, strict=True))


def _spread(
    command: Callable[..., Any], name: str, make: Callable[..., Any], options: Iterable[tuple[str, Any, Any]]
) -> Callable[..., Any]:
    """Give a command options, each a name, a default and a type, in the place of a parameter that is made of them."""
    signature = inspect.signature(command, eval_str=True)
    taken = signature.parameters.keys()
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = {
        option: inspect.Parameter(option, keyword, default=default, annotation=kind)
        for option, default, kind in options
        if option not in taken
    }

    @wraps(command)
    def with_options(**given: Any) -> Any:
        chosen = {option: given.pop(option) for option in added if option in given}
        return command(**given, **{name: make(**chosen)})

    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        parameters += added.values() if parameter.name == name else [parameter.replace(kind=keyword)]
    with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return with_options


class Commands(typer.Typer):
    """Commands that may have a parameter `common`."""

    def command(self, *words: Any, **how: Any) -> Callable[[Any], Any]:
        """Return what takes a function in as a command."""
        register = super().command(*words, **how)
        return lambda command: register(with_common(command))
