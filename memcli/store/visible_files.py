"""The files of a workspace as a program sees them that knows nothing of entries: made, changed, archived and renamed.

What is private or belongs to this machine (sessions, the archive, names that begin with a dot) is not among them.
"""

from collections.abc import Callable

from ..errors import RefusedError, UsageError
from ..formats.text_lines import require_no_conflict
from . import atomic_files, entries
from .archive import explain_folder, is_hollow, keep_folders
from .atomic_files import remove_folder
from .entry_revision import attributed
from .privacy import require_open
from .redaction import require_no_secret
from .secret_guard import keepable
from .sessions.sessions import FOLDER as SESSIONS
from .workspace import MARKER, Workspace

_MOST_COPIES = 1000  # folders of one name in the archive


def is_private(workspace: Workspace, path: str) -> bool:
    """Tell whether a path within the workspace is none that a program should see."""
    parts = path.split("/")
    is_reserved = parts[0].casefold() in (SESSIONS, MARKER) or workspace.layout.is_archived(f"{path}/".casefold())
    return is_reserved or any(part.startswith(".") for part in parts)


def exists(workspace: Workspace, path: str) -> bool:
    """Tell whether a file is there, or a folder that holds more than what keeps it in git."""
    file = workspace.path(path)
    return file.exists() and not is_hollow(file)


def read_file(workspace: Workspace, path: str) -> str:
    """Read a file with LF line ends; bytes that are not UTF-8 are replaced."""
    return atomic_files.read(workspace.path(path)).decode("utf-8", "replace").replace("\r\n", "\n")


def create_file(workspace: Workspace, path: str, text: str, *, name: str, by: str) -> None:
    """Make a file of a text; `name` is what messages call it, `by` the source an entry gets at most.

    Raise FileExistsError if it is there, UsageError or RefusedError if the text or the path may not be kept.
    """
    _require_sound(name, text)
    require_nameable(workspace, path)
    file = workspace.path(path)
    require_open(file, "choose another path")
    kept = attributed(workspace, path, "", keepable(workspace, name, text), by)
    atomic_files.create(file, kept.encode("utf-8"))


def change_file(workspace: Workspace, path: str, change: Callable[[str], str], *, name: str, by: str) -> str:
    """Change a file's text, given to `change` with LF line ends, under the lock; return the text as it is then.

    A file keeps its line ends. Raise as `create_file`, and whatever `change` raises.
    """

    def changed(text: str) -> str:
        is_windows = 0 < text.count("\n") == text.count("\r\n")  # where both stand, each line keeps its own
        new = change(text.replace("\r\n", "\n") if is_windows else text)
        _require_sound(name, new)
        new = keepable(workspace, name, new, text)
        return new.replace("\n", "\r\n") if is_windows else new

    return entries.edit(workspace, path, changed, by=by).text.replace("\r\n", "\n")


def archive_file(workspace: Workspace, path: str, *, name: str, command: str) -> None:
    """Move a file or a folder to the archive; raise RefusedError if it cannot be there."""
    file = workspace.path(path)
    if file.is_file():
        entries.put_away(workspace, path, command)
        return
    for number in range(1, _MOST_COPIES):
        to = f"{workspace.layout.archive}{path}" + (f"-{number}" if number > 1 else "")
        if workspace.path(to).exists():
            continue
        explain_folder(workspace, path, to)
        try:
            atomic_files.move(file, workspace.path(to))
        except FileExistsError:
            continue
        keep_folders(workspace, [f"{path}/any.md"])
        return
    raise RefusedError(f"no free name in the archive for {name}", "tidy the archive")


def rename_file(workspace: Workspace, path: str, to: str) -> None:
    """Give a file or folder another path; raise FileExistsError if something but an empty folder is there."""
    target = workspace.path(to)
    if target.exists() and is_hollow(target):
        remove_folder(target)
    atomic_files.move(workspace.path(path), target)


def require_nameable(workspace: Workspace, path: str) -> None:
    """Raise RefusedError for a path that holds a secret."""
    require_no_secret(workspace, path, "the path")


def _require_sound(name: str, text: str) -> None:
    """Refuse what cannot be kept as text, and what git would take for an unresolved merge."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(f"{name}: the text is not UTF-8") from None
    require_no_conflict(name, text)
