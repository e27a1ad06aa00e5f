"""Options that several commands share, said once."""

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ..errors import UsageError
from ..formats.entry import LAYERS, SOURCES, STATUSES, TYPES
from ..formats.times import parse_when, stamp
from ..store.addresses import prefixes
from ..store.layouts import KINDS
from ..store.workspace import Workspace
from . import value_completion

if TYPE_CHECKING:
    from ..index.filters import Filter

InWorkspace = Annotated[
    str, typer.Option("--workspace", metavar="DIR", help="Work in this workspace.", show_default=False)
]
InScope = Annotated[
    str,
    typer.Option(
        "--scope",
        metavar="SCOPE",
        autocompletion=value_completion.among(("project", "user", "all")),
        help="project, user or all.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Answer with one JSON document.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, as a diff.")]
Source = Annotated[
    str,
    typer.Option(
        "--source",
        autocompletion=value_completion.among(SOURCES),
        help=f"Whose word it is: {', '.join(SOURCES)}.",
        show_default="user at a terminal, else observed",
    ),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing unless something is wrong.")]
_Many = list[str] | None


@dataclass(frozen=True)
class Choice:
    """The memories a person narrowed a command to, as typed."""

    kind: Annotated[
        _Many,
        typer.Option(
            "--kind",
            autocompletion=value_completion.among((*KINDS, "all")),
            help="Only this kind: entry, memory, history, note, session or all.",
        ),
    ] = None
    type: Annotated[
        _Many,
        typer.Option(
            "--type", "-t", autocompletion=value_completion.types, help="Only entries of this type, such as preference."
        ),
    ] = None
    tag: Annotated[
        _Many,
        typer.Option(
            "--tag",
            autocompletion=value_completion.tags,
            help="Only entries with this tag; repeated: with all of them.",
        ),
    ] = None
    layer: Annotated[
        _Many,
        typer.Option(
            "--layer",
            autocompletion=value_completion.among(LAYERS),
            help="Only this layer: semantic, procedural or episodic.",
        ),
    ] = None
    source: Annotated[
        _Many,
        typer.Option(
            "--source",
            autocompletion=value_completion.among(SOURCES),
            help="Only what came from: user, observed or inferred.",
        ),
    ] = None
    project: Annotated[_Many, typer.Option("--project", help="Only entries of this project.")] = None
    path: Annotated[
        _Many,
        typer.Option(
            "--path",
            help="Only files whose path, from here, in the workspace or in its entries, begins so or fits this glob.",
        ),
    ] = None
    key: Annotated[
        _Many,
        typer.Option(
            "--key",
            autocompletion=value_completion.keys,
            help="Only entries whose key is this or fits this glob: staging/*.",
        ),
    ] = None
    as_of: Annotated[
        str,
        typer.Option("--as-of", metavar="DATE", help="What was believed then: 2026-11-21, 30d.", show_default=False),
    ] = ""
    since: Annotated[
        str,
        typer.Option("--since", help="Only from then on: 2026-11-21, 2026-11, yesterday, 7d.", show_default=False),
    ] = ""
    until: Annotated[str, typer.Option("--until", help="Only up to then.", show_default=False)] = ""
    archived: Annotated[bool, typer.Option("--archived", help="Look in the archive too.")] = False
    status: Annotated[
        _Many,
        typer.Option(
            "--status",
            autocompletion=value_completion.among(STATUSES),
            help="Only this status: active, superseded or archived.",
        ),
    ] = None

    @property
    def is_open(self) -> bool:
        """Tell whether what is no entry may pass: nothing asks for a kind, a status, a past or a field of entries."""
        asked = (self.kind, self.type, self.tag, self.layer, self.source, self.project, self.key, self.status)
        return not any(asked) and not self.as_of

    def filter(self, workspace: Workspace, kinds: tuple[str, ...] = (), also: tuple[str, ...] = ()) -> "Filter":
        """Make a filter; `kinds` stand where none were asked for, `also` are kinds beside those of memories."""
        from ..index.filters import Filter

        _known("kind", self.kind, (*KINDS, *also, "all"))
        _known("layer", self.layer, LAYERS)
        _known("source", self.source, SOURCES)
        _known("status", self.status, STATUSES)
        asked = tuple(self.kind or ())
        statuses = tuple(self.status or ()) or (("active", "archived") if self.archived else ("active",))
        return Filter(
            kinds=(*KINDS, *also) if "all" in asked else asked or kinds,
            statuses=statuses,
            types=tuple(self.type or ()),
            layers=tuple(self.layer or ()),
            sources=tuple(self.source or ()),
            tags=tuple(self.tag or ()),
            projects=tuple(self.project or ()),
            paths=self.paths(workspace),
            since=moment_of("since", self.since, workspace, end=False),
            until=moment_of("until", self.until, workspace, end=True),
            keys=tuple(self.key or ()),
            as_of=moment_of("as-of", self.as_of, workspace, end=True),
        )

    def paths(self, workspace: Workspace) -> tuple[str, ...]:
        """Give what the paths asked for begin with in a workspace."""
        return tuple(one for name in self.path or () for one in prefixes(workspace, name, Path.cwd()))


def require_source(source: str) -> None:
    """Refuse a source that there is not."""
    if source not in ("", *SOURCES):
        raise UsageError(f"no source {source!r}", f"use one of {', '.join(SOURCES)}")


def require_types(values: Collection[str], workspaces: Sequence[Workspace]) -> None:
    """Refuse a type that is neither one of mem's nor that of an entry here: another tool has types of its own."""
    unknown = {value for value in values if value not in TYPES}
    if not unknown:
        return
    from ..index.index import ask
    from ..index.lookups import types

    for workspace in workspaces:
        unknown -= {workspace.settings["write.type"], *ask(workspace, types)}
    for value in sorted(unknown):
        from difflib import get_close_matches

        near = get_close_matches(value.lower(), TYPES, 1, 0.75)
        raise UsageError(f"no type {value!r}", f"did you mean {near[0]}?" if near else f"use one of {', '.join(TYPES)}")


def choosing(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of `Choice` in the place of its parameter `choice`."""
    hints = get_type_hints(Choice, include_extras=True)
    options = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name])
        for one in fields(Choice)
    ]
    signature = inspect.signature(command, eval_str=True)
    taken = signature.parameters.keys()

    @wraps(command)
    def with_choice(**given: Any) -> Any:
        chosen = {one.name: given.pop(one.name) for one in options if one.name in given and one.name not in taken}
        return command(**given, choice=Choice(**chosen))

    parameters: list[inspect.Parameter] = []
    for one in signature.parameters.values():
        if one.name == "choice":
            parameters += [option for option in options if option.name not in taken]
        else:
            parameters.append(one.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    with_choice.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return with_choice


def _known(name: str, values: list[str] | None, known: tuple[str, ...]) -> None:
    for value in values or ():
        if value not in known:
            raise UsageError(f"no {name} {value!r}", f"use one of {', '.join(known)}")


def moment_of(name: str, text: str, workspace: Workspace, *, end: bool = False) -> str:
    """Return the moment a person gave an option, RFC 3339; empty for none. `end` means the end of a day or month."""
    if not text:
        return ""
    moment: datetime | None = parse_when(text, workspace.now, workspace.zone, end=end)
    if moment is None:
        raise UsageError(f"--{name} {text!r} is no date", "write 2026-11-21, 2026-11, yesterday or 7d")
    return stamp(moment)
