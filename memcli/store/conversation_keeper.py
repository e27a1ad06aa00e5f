"""Which workspace keeps the conversations of a project, their notes and history: the project's own or the user's."""

from collections.abc import Sequence
from pathlib import Path

from ..errors import GitError
from ..formats.ids import day_of
from . import trust
from .workspace import MARKER, Surroundings, Workspace

KEEPERS = ("project", "user")


def keeper(workspaces: Sequence[Workspace]) -> Workspace | None:
    """Return the workspace that keeps what is said in the project of the first one; None if that one is not there.

    `record_keeper` records whose it is. Without a record it is the project's, unless that came from others.
    """
    first = workspaces[0]
    record = trust.record_of(first.state, first.root) if first.state else None
    to_user = record.notes_to == "user" if record and record.notes_to else not first.is_trusted
    return next((workspace for workspace in workspaces if workspace.is_own), None) if to_user else first


def default_keeper(workspace: Workspace) -> str:
    """Return one of `KEEPERS`: what is recorded, else the user where the project is shared with a remote."""
    from ..git import run

    if workspace.is_own:
        return "project"
    record = trust.record_of(workspace.state, workspace.root) if workspace.state else None
    if record and record.notes_to:
        return record.notes_to
    try:
        return "user" if run.text(workspace.root, "remote").strip() else "project"
    except GitError:
        return "project"


def record_keeper(around: Surroundings, workspace: Workspace, name: str) -> None:
    """Record which of `KEEPERS` keeps a project's conversations; make the user's workspace if there is none yet."""
    from .init import init

    if name == "user" and not (around.user_root / MARKER).is_file():
        init(around, around.user_root, "mem")
    if workspace.state and not workspace.is_own:
        trust.record(workspace.state, workspace.root, notes_to=name)


def shared_files(workspace: Workspace) -> list[str]:
    """List the files of conversations in a workspace that git does not ignore; nothing outside of a repository."""
    layout = workspace.layout
    today = day_of(workspace.now, workspace.zone).isoformat()
    names = {
        layout.notes.format(date=today): layout.notes,
        layout.history.format(month=today[:7]): layout.history,
        layout.memory: layout.memory,
        f"{layout.entries}/any.md".lstrip("/"): f"{layout.entries}/",
        "sessions/any/session.jsonl": "sessions/",
    }
    return [shown for name, shown in names.items() if is_shared(workspace.root / name)]


def is_shared(path: Path) -> bool:
    """Return whether a file lies in a git repository that does not ignore it."""
    from ..git import run

    folder = next((parent for parent in path.parents if parent.is_dir()), path.parent)
    try:
        run.run(folder, "rev-parse", "--show-toplevel")
    except GitError:
        return False
    try:
        run.run(folder, "check-ignore", "--quiet", "--no-index", "--", str(path))
    except GitError:
        return True
    return False


def audience(workspace: Workspace) -> str:
    """Return the scope of a workspace, and who sees what is written there: whom git shares it with, or nobody."""
    return f"{workspace.scope}, {'shared by git' if is_shared(workspace.root / MARKER) else 'on this machine'}"
