"""Where the words of people end up once hooks are installed: whose workspace keeps them, and what git would share."""

from pathlib import Path

from ..errors import GitError
from ..store import git, trust
from ..store.init import init
from ..store.workspace import MARKER, Surroundings, Workspace
from ..text.times import day_of

PLACES = ("project", "user")


def default_place(workspace: Workspace) -> str:
    """Return whose workspace should keep what hooks note: the user's where the project is shared with a remote."""
    if workspace.is_own:
        return "project"
    record = trust.record_of(workspace.state, workspace.root) if workspace.state else None
    if record and record.notes_to:
        return record.notes_to
    try:
        return "user" if git.text(workspace.root, "remote").strip() else "project"
    except GitError:
        return "project"


def record_place(around: Surroundings, workspace: Workspace, place: str) -> None:
    """Record whose workspace keeps what hooks note in a project; make the user's where there is none yet."""
    if place == "user" and not (around.user_root / MARKER).is_file():
        init(around, around.user_root, "mem")
    if workspace.state and not workspace.is_own:
        trust.record(workspace.state, workspace.root, notes_to=place)


def shared_files(workspace: Workspace) -> list[str]:
    """List what hooks write to in a workspace that git does not ignore; nothing outside of a repository."""
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
    """Tell whether a file lies in a git repository that does not ignore it."""
    folder = next((one for one in path.parents if one.is_dir()), path.parent)
    try:
        git.run(folder, "rev-parse", "--show-toplevel")
    except GitError:
        return False
    try:
        git.run(folder, "check-ignore", "--quiet", "--no-index", "--", str(path))
    except GitError:
        return True
    return False
