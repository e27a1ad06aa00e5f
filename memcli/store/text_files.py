"""Change the files of a workspace as texts: through a function, in a copy that a person edits, or as another program.

Such a program knows nothing of entries: it makes, changes, archives and renames files. What is private or belongs to
this machine (sessions, the archive, names that begin with a dot) is not among those it sees.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path

from ..dataclass import dataclass
from ..errors import MemError, RefusedError, UsageError
from ..formats.text_lines import require_no_conflict
from . import atomic_files, entries, entry_revision
from .addresses import require_ours
from .archive import KEEP, is_hollow
from .entries import EntryChange
from .layouts import SESSION_FOLDER as SESSIONS
from .privacy import IGNORE, require_open
from .redaction import SecretGuard, keepable, require_no_secret
from .workspace import MARKER, Workspace

Edit = Callable[[str], str]


def edit_text(
    workspace: Workspace,
    path: str,
    change: Edit,
    guard: SecretGuard,
    *,
    source: str = "",
    by: str,
    expected: str | None = None,
    keeps: bool = True,
) -> EntryChange:
    """Change a file's text, as `entries.edit`, without a new secret; `source` is the entry's source from then on."""

    def attributed(text: str) -> str:
        new = change(text)
        return new if new == text else entry_revision.changed(path, new, {"source": source}, None)

    attributed_change = attributed if source and workspace.layout.kind_of(path) == "entry" else change
    return entries.edit(workspace, path, guard.change(path, attributed_change), expected, keeps=keeps, by=by)


@dataclass(frozen=True)
class EditCopy:
    """A copy of a file's text that somebody edits."""

    workspace: Workspace
    path: str
    """Of the file, within the workspace."""
    file: Path
    """The copy."""
    digest: str
    """Of the text it was made of."""
    guard: SecretGuard
    source: str
    by: str

    def take(self, guarded: Callable[[Edit], Edit]) -> EntryChange:
        """Put the edited text in the file's place and remove the copy; where it is refused the error names the copy.

        `guarded` makes of the change one that may be refused.
        """
        data = atomic_files.read(self.file)
        try:
            done = edit_text(
                self.workspace,
                self.path,
                guarded(lambda old: entries.decoded(self.path, data)),
                self.guard,
                source=self.source,
                by=self.by,
                expected=self.digest,
                keeps=self.by != "user",
            )
        except MemError as error:
            raise type(error)(f"{error.message}; your text is kept in {self.file}", error.fix) from None
        self.discard()
        return done

    def discard(self) -> None:
        """Remove the copy."""
        atomic_files.remove(self.file)


def copy_to_edit(workspace: Workspace, path: str, guard: SecretGuard, *, source: str, by: str) -> EditCopy:
    """Copy a file's text to a file of its own, to be taken back as `edit_text` would change it."""
    data = atomic_files.read(workspace.path(path))
    copy = workspace.derived / "edit" / f"{os.getpid()}-{Path(path).name}"
    atomic_files.create(copy, data)
    return EditCopy(workspace, path, copy, atomic_files.digest(data), guard, source, by)


def is_private(workspace: Workspace, path: str) -> bool:
    """Return whether a path within the workspace is none that a program should see."""
    parts = path.split("/")
    is_reserved = parts[0].casefold() in (SESSIONS, MARKER) or workspace.layout.is_archived(f"{path}/".casefold())
    return is_reserved or any(part.startswith(".") for part in parts)


def exists(workspace: Workspace, path: str) -> bool:
    """Return whether a file is there, or a folder that holds more than what keeps it in git."""
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
    require_ours(workspace.layout, path)
    file = workspace.path(path)
    require_open(file, "choose another path", kinds=(IGNORE,))
    kept_text = entry_revision.attributed(workspace, path, "", keepable(workspace, name, text), by)
    atomic_files.create(file, kept_text.encode("utf-8"))


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


def rename_file(workspace: Workspace, path: str, to: str) -> None:
    """Give a file or folder another path; raise FileExistsError if something but an empty folder is there."""
    require_all_ours(workspace, path)
    require_ours(workspace.layout, to)
    target = workspace.path(to)
    if target.exists() and is_hollow(target):
        for name in sorted(target.rglob(KEEP)):
            atomic_files.remove(name)
        atomic_files.remove_folder(target)
    atomic_files.move(workspace.path(path), target)


def require_all_ours(workspace: Workspace, path: str) -> None:
    """Refuse to move a file of another tool's, and a folder that holds one."""
    file = workspace.path(path)
    for inner in (file, *file.rglob("*.jsonl")):
        require_ours(workspace.layout, workspace.relative(inner))


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


def replaced(text: str, old: str, new: str) -> str:
    """Replace the one place where `old` stands; raise RefusedError if it stands nowhere or more than once."""
    if "\r\n" in text and "\r\n" not in old:
        old, new = (re.sub(r"\r?\n", "\r\n", part) for part in (old, new))
    count = text.count(old) if old else 0
    if count == 1:
        return text.replace(old, new)
    if not old:
        raise UsageError("the text to replace is empty", "say which words to replace")
    if count == 0:
        raise RefusedError(f"{old!r} does not stand in the text", "copy the words exactly, as `mem read` shows them")
    lines = [str(text.count("\n", 0, match.start()) + 1) for match in re.finditer(re.escape(old), text)]
    raise RefusedError(f"{old!r} stands {count} times, in lines {', '.join(lines)}", "give more of the words around it")
