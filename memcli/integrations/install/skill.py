"""The skill and the block of AGENTS.md that teach an agent to use mem, put in place and taken away again."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import NotFoundError, RefusedError
from ...store import atomic_files
from ...store.entries import decoded
from ...store.file_moves import remove

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
        return atomic_files.read(path)
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
                atomic_files.create(one.path, one.after or b"", one.mode)
            except FileExistsError:
                raise RefusedError(f"{one.path} appeared meanwhile", "run it again") from None
        elif one.after is None:
            if contents(one.path) != one.before:
                raise RefusedError(f"{one.path} changed underneath", "run it again")
            remove(one.path)
            _tidy(one.path.parent)
        else:
            atomic_files.replace(one.path, one.after, atomic_files.digest(one.before))


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


BEGIN, END = "<!-- mem:agents -->", "<!-- /mem:agents -->"
NAME = "mem-memory"
"""The skill's name, and its folder's."""
_HERE = Path(__file__).parent


def skill_plan(paths: list[Path]) -> list[FileChange]:
    """Propose SKILL.md at each path; one that says something else is kept beside it, however many there were."""
    text = (_HERE / "skill.md").read_bytes()
    changes = []
    for path in paths:
        old = contents(path)
        if old is not None and old != text:
            changes.append(change(_free_copy(path, old), old))
        changes.append(change(path, text))
    return [one for one in changes if one.before != one.after]


def _free_copy(path: Path, data: bytes) -> Path:
    """Name the copy to be made of a file: one that holds these bytes already, or the first free name."""
    names = (f"{path.name}{BACKUP}{number}" for number in ("", *(f"-{count}" for count in range(2, 1000))))
    copies = (path.with_name(name) for name in names)
    return next(copy for copy in copies if contents(copy) in (None, data))


def no_skill_plan(paths: list[Path]) -> list[FileChange]:
    """Propose to take SKILL.md away where it is as mem wrote it, and to bring back what stood there before."""
    text = (_HERE / "skill.md").read_bytes()
    changes = []
    for path in paths:
        if contents(path) == text:
            copy = path.with_name(path.name + BACKUP)
            old = contents(copy)
            changes += [change(path, old)] + ([change(copy, None)] if old is not None else [])
    return changes


def block_plan(path: Path) -> FileChange:
    """Propose our block at the end of AGENTS.md, or in the place of an older one."""
    data = contents(path)
    text = decoded(str(path), data or b"")
    newline = "\r\n" if "\r\n" in text else "\n"
    told = (_HERE / "agents.md").read_text(encoding="utf-8").strip()
    block = f"{BEGIN}\n{told}\n{END}\n".replace("\n", newline)
    span = _span(path, text)
    before, after = (text[: span[0]], text[span[1] :]) if span else ("" if data is None else text + newline, "")
    new = before + block + after
    return change(path, new.encode())


def no_block_plan(path: Path) -> FileChange:
    """Propose AGENTS.md without our block: the bytes of before, and no file where there was none."""
    data = contents(path)
    text = decoded(str(path), data or b"")
    span = _span(path, text)
    if not span:
        return FileChange(path, data, data)
    before, after = text[: span[0]], text[span[1] :]
    if not before and not after:
        return change(path, None)
    for end in ("\r\n", "\n"):
        if before.endswith(end):
            before = before.removesuffix(end)
            break
    return change(path, (before + after).encode())


def _span(path: Path, text: str) -> tuple[int, int] | None:
    begin, end = text.find(BEGIN), text.find(END)
    if begin < 0 and end < 0:
        return None
    if begin < 0 or end < begin or text.count(BEGIN) > 1 or text.count(END) > 1:
        raise RefusedError(f"{path} has one mark of mem without the other", f"mend or remove {BEGIN} and {END}")
    stop = end + len(END)
    stop += len("\r\n") if text.startswith("\r\n", stop) else len("\n") if text.startswith("\n", stop) else 0
    return begin, stop
