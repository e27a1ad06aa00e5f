"""Change the text of an entry or of another file: through a function, or in a copy that a person edits."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import MemError
from . import atomic_files, entries, entry_revision
from .atomic_files import remove
from .entries import EntryChange
from .secret_guard import SecretGuard
from .workspace import Workspace

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

    told = attributed if source and workspace.layout.kind_of(path) == "entry" else change
    return entries.edit(workspace, path, guard.change(path, told), expected, keeps=keeps, by=by)


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

    def take(self) -> EntryChange:
        """Put the edited text in the file's place and remove the copy; where it is refused the error names the copy."""
        data = self.file.read_bytes()
        try:
            done = edit_text(
                self.workspace,
                self.path,
                lambda old: entries.decoded(self.path, data),
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
        remove(self.file)


def copy_to_edit(workspace: Workspace, path: str, guard: SecretGuard, *, source: str, by: str) -> EditCopy:
    """Copy a file's text to a file of its own, to be taken back as `edit_text` would change it."""
    data = atomic_files.read(workspace.path(path))
    copy = workspace.derived / "edit" / f"{os.getpid()}-{Path(path).name}"
    atomic_files.create(copy, data)
    return EditCopy(workspace, path, copy, atomic_files.digest(data), guard, source, by)
