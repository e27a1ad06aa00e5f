"""Bring a workspace's index up to date: take in what changed, and embed every text."""

from collections.abc import Callable

from ..dataclass import dataclass
from ..formats.text_lines import FileProblem
from ..index import schema
from ..index.index import Index, ask
from ..store.workspace import Workspace

BUSY = "another process writes the index; run `mem index` again"
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Indexed:
    """What is in a workspace's index, and what was new."""

    workspace: Workspace
    files: int
    added: int  # files, as the next two
    changed: int
    removed: int
    entries: int
    chunks: int
    not_embedded: int  # chunks without a vector
    vectors: int
    embedded: int  # texts embedded since the index was made
    model: str | None  # the embedding model; None where none was used yet
    elsewhere: str  # where the index is kept if not in the workspace; else empty
    unfinished: str  # why chunks were left without a vector that should have got one; else empty
    problems: tuple[FileProblem, ...]

    @property
    def is_busy(self) -> bool:
        """Return whether another process kept this one from embedding."""
        return self.unfinished == BUSY


def index(
    workspace: Workspace, *, embed: bool, rebuild: bool, reading: Progress | None, embedding: Progress | None
) -> Indexed:
    """Take in what changed and, with `embed`, embed every text; with `rebuild` throw the old index away first."""
    if rebuild:
        schema.discard(schema.folder_of(workspace.derived, workspace.cache) or workspace.derived)
    return ask(workspace, lambda found: _indexed(found, embed=embed, reading=reading, embedding=embedding))


def _indexed(found: Index, *, embed: bool, reading: Progress | None, embedding: Progress | None) -> Indexed:
    where = found.workspace
    seen = found.refresh(reading, talk=True)
    if embed:
        from ..index.reembedding import embed_all

        embed_all(found, embedding)
    state = found.health()
    return Indexed(
        where,
        seen.files,
        seen.added,
        seen.changed,
        seen.removed,
        state.entries,
        state.chunks,
        state.not_embedded,
        state.vectors,
        state.embedded,
        found.meta("model"),
        str(found.folder) if found.folder not in (None, where.derived) else "",
        _obstacle(found) if embed and state.not_embedded else "",
        tuple(found.problems()),
    )


def _obstacle(found: Index) -> str:
    """Return why what should have been embedded was not; empty if it only came in meanwhile."""
    if found.folder is not None:
        return ""
    return BUSY if found.is_overtaken else "; ".join(schema.NO_PLACE)
