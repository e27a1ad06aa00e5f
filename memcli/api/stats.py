"""Count what is in memory, and bring the index up to date."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from ..dataclass import dataclass
from ..errors import BusyError, MemError, UnavailableError, UsageError
from ..index.database import Health
from ..maintenance.stats import TOP, Indexed, Stats
from .workspace import FileProblem, Workspace, Workspaces, every

__all__ = ["TOP", "Health", "IndexReport", "Indexed", "Stats", "StatsReport", "index", "stats"]


@dataclass(frozen=True)
class StatsReport:
    """What is in a workspace, in numbers."""

    workspace: Workspace
    stats: Stats  # of the entries
    index: Health
    size: int  # bytes of MEMORY.md
    budget: int  # bytes that it may have
    problems: tuple[FileProblem, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem stats`."""

        def named(row: Mapping[str, Any], **more: object) -> dict[str, Any]:
            return {"id": row["id"], "path": row["path"], "summary": row["summary"], **more}

        found, state = self.stats, self.index
        return {
            "workspace": str(self.workspace.root),
            "entries": sum(found.statuses.values()),
            "statuses": found.statuses,
            "types": found.types,
            "layers": found.layers,
            "sources": found.sources,
            "ages": found.ages,
            "tags": found.tags,
            "projects": found.projects,
            "growth": found.growth,
            "most_used": [named(one.row, accesses=one.fading.accesses) for one in found.used],
            "stalest": [
                named(one.row, score=round(one.score, 6), age_days=round(one.fading.age, 3)) for one in found.stale
            ],
            "conflicts": [named(row, conflicts_with=row["conflicts_with"]) for row in found.conflicts],
            "faded": found.faded,
            "pinned": found.pinned,
            "memory": {"path": self.workspace.layout.memory, "bytes": self.size, "budget": self.budget},
            "files": state.kinds,
            "index": {
                "chunks": state.chunks,
                "not_embedded": state.not_embedded,
                "vectors": state.vectors,
                "bytes": state.size,
            },
            "problems": [asdict(one) for one in self.problems],
        }


def stats(workspace: Workspace) -> StatsReport:
    """Count what is in a workspace, how it grows, what is used and what fades; the index is brought up to date."""
    from ..maintenance.stats import survey

    found, problems, state = survey(workspace)
    page = workspace.path(workspace.layout.memory)
    size = page.stat().st_size if page.is_file() else 0
    return StatsReport(workspace, found, state, size, workspace.settings["memory.budget"], tuple(problems))


@dataclass(frozen=True)
class IndexReport:
    """What is in the index of each workspace, and what was new."""

    workspaces: tuple[Indexed, ...]

    @property
    def problems(self) -> tuple[FileProblem, ...]:
        """Return what is wrong with files of any workspace."""
        return tuple(problem for one in self.workspaces for problem in one.problems)

    @property
    def error(self) -> MemError | None:
        """Return why texts are left without a vector: BusyError or UnavailableError; None where nothing is left."""
        left = [one for one in self.workspaces if one.unfinished]
        if not left:
            return None
        return (BusyError if any(one.is_busy for one in left) else UnavailableError)(left[0].unfinished)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem index`."""
        names = ("files", "added", "changed", "removed", "entries", "chunks", "not_embedded", "vectors", "embedded")
        rows = [
            {"workspace": str(one.workspace.root)}
            | {name: getattr(one, name) for name in (*names, "model", "elsewhere", "unfinished")}
            for one in self.workspaces
        ]
        return {**rows[0], "workspaces": rows, "problems": [asdict(problem) for problem in self.problems]}


def index(
    workspaces: Workspaces,
    *,
    rebuild: bool = False,
    status: bool = False,
    reading: Callable[[int, int], None] | None = None,
    embedding: Callable[[int, int], None] | None = None,
) -> IndexReport:
    """Bring the index of each workspace up to date and embed every text; with `status` embed nothing.

    `rebuild` throws the index away first. `reading` and `embedding` are told how many of how many files are read and
    texts embedded. What could not be embedded is in the report. Raise UsageError for `rebuild` with `status`,
    BusyError if another process writes the index.
    """
    from ..maintenance import stats as maintenance

    if rebuild and status:
        raise UsageError("an index is rebuilt, or only looked at", "give --rebuild or --status")
    found = [
        maintenance.index(one, embed=not status, rebuild=rebuild, reading=reading, embedding=embedding)
        for one in every(workspaces)
    ]
    return IndexReport(tuple(found))
