"""Where a memory came from: the messages of a session, a commit, shown as they are read."""

import re
from collections.abc import Iterator, Sequence

from ..dataclass import dataclass
from ..errors import GitError, MemError
from ..formats.session_event import view
from ..store import git
from ..store.sessions.reading import parse_name, span_events
from ..store.sessions.sessions import Session, at, find
from ..store.workspace import Workspace

_COMMIT = re.compile(r"commit:([0-9a-fA-F]{4,64})")


@dataclass(frozen=True)
class Origin:
    """One source of a memory, and what stands there; or why it cannot be shown."""

    source: str
    text: str = ""
    problem: str = ""


def origins(workspace: Workspace, sources: Sequence[str]) -> Iterator[Origin]:
    """Yield each source with its text, in their order; one that is not here any more has a problem instead."""
    for source in sources:
        try:
            named, commit = parse_name(source), _COMMIT.fullmatch(source)
            if named is not None:
                session = find(workspace, named[0], strict=True)
                yield Origin(source, _written(workspace, session, named[1]))
            elif commit:
                yield _commit(workspace, source, commit[1])
            else:
                yield Origin(source, problem="is not in the workspace")
        except MemError as error:
            yield Origin(source, problem=str(error))


def said_at(workspace: Workspace, path: str, span: str) -> str:
    """Return what was said in a span of the session whose file this is, to be read."""
    return _written(workspace, at(workspace, path.rpartition("/")[0]), span)


def _written(workspace: Workspace, session: Session, span: str) -> str:
    events = span_events(workspace, session, span)
    return "".join(f"{view(event, position, workspace.zone)}\n" for position, event in events)


def _commit(workspace: Workspace, source: str, commit: str) -> Origin:
    try:
        shown = git.text(workspace.root, "show", "--stat", "--format=medium", commit, "--")
    except GitError as error:
        return Origin(source, problem=f"is not in this repository ({error})")
    return Origin(source, shown)
