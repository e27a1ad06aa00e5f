"""The memories that a job is narrowed to, and the words that its fields take."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ..dataclass import dataclass
from ..errors import UsageError
from ..formats.entry_fields import LAYERS, SOURCES, STATUSES, TYPES
from ..store.addresses import prefixes
from ..store.layouts import KINDS
from ..store.workspace import Workspace

if TYPE_CHECKING:
    from ..index.filters import Filter


@dataclass(frozen=True)
class Choice:
    """Which memories a job looks at; what is empty leaves nothing out. All fields must hold.

    `kind` (entry, memory, history, note, session, all), `type`, `layer`, `source`, `project`, `path` (the beginning of
    a path, or a glob), `key` (a key or a glob) and `status` are met by any of their values, `tag` by all. `since`,
    `until` and `as_of` (what was believed then) are dates as a person writes them: `2026-11-21`, `2026-11`, `7d`.
    """

    kind: Sequence[str] | None = None
    type: Sequence[str] | None = None
    tag: Sequence[str] | None = None
    layer: Sequence[str] | None = None
    source: Sequence[str] | None = None
    project: Sequence[str] | None = None
    path: Sequence[str] | None = None
    key: Sequence[str] | None = None
    as_of: str = ""
    since: str = ""
    until: str = ""
    archived: bool = False
    status: Sequence[str] | None = None

    @property
    def is_open(self) -> bool:
        """Tell whether what is no entry may pass: nothing asks for a kind, a status, a past or a field of entries."""
        asked = (self.kind, self.type, self.tag, self.layer, self.source, self.project, self.key, self.status)
        return not any(asked) and not self.as_of

    def filter(self, workspace: Workspace, kinds: tuple[str, ...] = (), also: tuple[str, ...] = ()) -> "Filter":
        """Return the filter of a workspace's index; `kinds` stand where none were asked for, `also` are further kinds.

        Raise UsageError for a kind, layer or source that there is not, for what is no date, and for a status at a date.
        """
        from ..index.filters import Filter

        _known("kind", self.kind, (*KINDS, *also, "all"))
        _known("layer", self.layer, LAYERS)
        _known("source", self.source, SOURCES)
        if self.as_of and (self.status or self.archived):
            raise UsageError("what was believed then has no status", "leave out --as-of, or --status and --archived")
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
            since=workspace.moment("since", self.since),
            until=workspace.moment("until", self.until, end=True),
            keys=tuple(self.key or ()),
            items=True,
            as_of=workspace.moment("as of", self.as_of, end=True),
        )

    def paths(self, workspace: Workspace) -> tuple[str, ...]:
        """Return what the paths asked for begin with in a workspace."""
        return tuple(prefix for name in self.path or () for prefix in prefixes(workspace, name, workspace.folder))


def require_source(*sources: str) -> None:
    """Raise UsageError for a source that there is not; empty is none given."""
    for source in sources:
        if source not in ("", *SOURCES):
            raise UsageError(f"no source {source!r}", f"use one of {', '.join(SOURCES)}")


def listed(names: str | Sequence[str]) -> Sequence[str]:
    """Return names as a sequence: one name by itself is one, not its letters."""
    return [names] if isinstance(names, str) else names


def require_stored(choice: Choice, workspaces: Sequence[Workspace]) -> None:
    """Raise UsageError for a type or a status that is neither one of mem's nor that of an entry in a workspace."""
    require_types(choice.type or (), workspaces)
    unknown = {value for value in choice.status or () if value not in STATUSES}
    if not unknown:
        return
    from ..index.index import ask
    from ..index.lookups import entry_statuses

    for workspace in workspaces:
        unknown -= {*ask(workspace, entry_statuses)}
    _known("status", sorted(unknown), STATUSES)


def require_types(values: Collection[str], workspaces: Sequence[Workspace]) -> None:
    """Raise UsageError for a type that is neither one of mem's nor that of an entry in one of the workspaces."""
    from ..index.lookups import entry_types

    unknown = {value for value in values if value not in TYPES}
    if not unknown:
        return
    from ..index.index import ask

    for workspace in workspaces:
        unknown -= {workspace.settings["write.type"], *ask(workspace, entry_types)}
    for value in sorted(unknown):
        from difflib import get_close_matches

        near = get_close_matches(value.lower(), TYPES, 1, 0.75)
        raise UsageError(f"no type {value!r}", f"did you mean {near[0]}?" if near else f"use one of {', '.join(TYPES)}")


def _known(name: str, values: Sequence[str] | None, allowed: tuple[str, ...]) -> None:
    for value in values or ():
        if value not in allowed:
            raise UsageError(f"no {name} {value!r}", f"use one of {', '.join(allowed)}")
