"""Changes to files outside of any workspace: proposed as values, shown as a diff, made whole or not at all."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import NotFoundError, RefusedError
from ..store import files
from ..store.removal import remove

BACKUP = ".before-mem"
"""Ending of the copy of a file as it was before mem first changed it."""

_FOLDERS = ("mem-memory", "skills", ".agents", ".claude", ".codex")


@dataclass(frozen=True)
class FileChange:
    """A file's bytes before and after; None where there is no file."""

    path: Path
    before: bytes | None
    after: bytes | None
    mode: int = 0o666

    @property
    def action(self) -> str:
        """Name what the change does."""
        if self.before == self.after:
            return "unchanged"
        return "made" if self.before is None else "removed" if self.after is None else "changed"


def contents(path: Path) -> bytes | None:
    """Read a file, a link followed; None where there is none."""
    try:
        return files.read(path)
    except NotFoundError:
        return None


def change(path: Path, after: bytes | None, mode: int = 0o666) -> FileChange:
    """Propose other bytes for a file, a link followed: people keep their settings in a folder of dotfiles."""
    real = path.resolve() if path.exists() else path
    if real.is_symlink():
        raise RefusedError(f"{path} is a link to {path.readlink()}, which is not there", "mend or remove the link")
    return FileChange(real, contents(real), after, mode)


def make(changes: Sequence[FileChange]) -> None:
    """Make the changes; RefusedError where a file is not as it was when they were proposed."""
    for one in changes:
        if one.before == one.after:
            continue
        if one.before is None:
            try:
                files.create(one.path, one.after or b"", one.mode)
            except FileExistsError:
                raise RefusedError(f"{one.path} appeared meanwhile", "run it again") from None
        elif one.after is None:
            if contents(one.path) != one.before:
                raise RefusedError(f"{one.path} changed underneath", "run it again")
            remove(one.path)
            _tidy(one.path.parent)
        else:
            files.replace(one.path, one.after, files.digest(one.before))


def _tidy(folder: Path) -> None:
    """Take away the folders of agents that are empty now."""
    while folder.name in _FOLDERS:
        try:
            folder.rmdir()
        except OSError:  # it holds something of somebody's
            return
        folder = folder.parent


def shown(changes: Sequence[FileChange]) -> str:
    """Write the changes as a unified diff."""
    from difflib import unified_diff

    lines: list[str] = []
    for one in changes:
        if BACKUP in one.path.name:
            continue
        old, new = (
            (data or b"").decode("utf-8", "replace").splitlines(keepends=True) for data in (one.before, one.after)
        )
        was, is_now = ("/dev/null" if data is None else str(one.path) for data in (one.before, one.after))
        lines += [
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in unified_diff(old, new, was, is_now)
        ]
    return "".join(lines)
