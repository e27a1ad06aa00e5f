"""Changes of files that other programs own: proposed as bytes before and after, shown as a diff, made or refused."""

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from ..dataclass import dataclass
from ..errors import NotFoundError, RefusedError
from ..results import Action, FilePath
from . import atomic_files, file_steps
from .atomic_files import remove
from .entries import decoded
from .file_steps import temporary_name


@dataclass(frozen=True)
class FileChange:
    """A file's bytes before and after; None where there is no file."""

    path: Path
    before: bytes | None
    after: bytes | None
    mode: int = 0o666

    @property
    def path_(self) -> FilePath:
        """Return the path."""
        return str(self.path)

    @property
    def action(self) -> Action:
        """Return what the change does: unchanged, made, removed or changed."""
        if self.before == self.after:
            return "unchanged"
        return "made" if self.before is None else "removed" if self.after is None else "changed"


def read_bytes(path: Path) -> bytes | None:
    """Read a file, a link followed; None if there is none."""
    try:
        return atomic_files.read(path)
    except NotFoundError:
        return None


def read_text(path: Path) -> str | None:
    """Read a file as UTF-8, a link followed; None if there is none. Raise RefusedError naming the line that is not."""
    data = read_bytes(path)
    return None if data is None else decoded(str(path), data)


def propose(path: Path, after: bytes | None, mode: int = 0o666) -> FileChange:
    """Propose other bytes for a file, a link followed: people keep their settings in a folder of dotfiles."""
    real = path.resolve() if path.exists() else path
    if real.is_symlink():
        raise RefusedError(f"{path} is a link to {path.readlink()}, which is not there", "mend or remove the link")
    return FileChange(real, read_bytes(real), after, mode)


def make(changes: Sequence[FileChange], folders: Collection[str] = ()) -> None:
    """Make the changes; raise RefusedError if a file is not as it was when they were proposed.

    Folders of these names go with the last file in them.
    """
    for change in changes:
        if change.before == change.after:
            continue
        if change.before is None:
            try:
                atomic_files.create(change.path, change.after or b"", change.mode)
            except FileExistsError:
                raise RefusedError(f"{change.path} appeared meanwhile", "run it again") from None
        elif change.after is None:
            if read_bytes(change.path) != change.before:
                raise RefusedError(f"{change.path} changed underneath", "run it again")
            remove(change.path)
            _remove_empty(change.path.parent, folders)
        else:
            atomic_files.replace(change.path, change.after, atomic_files.digest(change.before))


def _remove_empty(folder: Path, names: Collection[str]) -> None:
    while folder.name in names:
        try:
            folder.rmdir()
        except OSError:  # it holds something of somebody's
            return
        folder = folder.parent


def write_out(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file outside of any workspace piece by piece; it gets its name when it is whole."""
    with file_steps.naming("write", path):
        if path.exists() and not path.is_file():
            with path.open("wb") as device:
                device.writelines(pieces)
            return
        target = Path(os.path.realpath(path))
        temporary = target.with_name(temporary_name())
        try:
            with temporary.open("xb") as file:
                file.writelines(pieces)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        except BaseException:
            file_steps.discard(temporary)
            raise
        file_steps.sync_folder(target.parent)


def diff(changes: Sequence[FileChange]) -> str:
    """Write the changes as a unified diff."""
    from difflib import unified_diff

    lines: list[str] = []
    for change in changes:
        old, new = (
            (data or b"").decode("utf-8", "replace").splitlines(keepends=True) for data in (change.before, change.after)
        )
        was, is_now = ("/dev/null" if data is None else str(change.path) for data in (change.before, change.after))
        lines += [
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in unified_diff(old, new, was, is_now)
        ]
    return "".join(lines)
