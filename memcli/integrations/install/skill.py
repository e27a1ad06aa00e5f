"""The skill and the block of AGENTS.md that teach an agent to use mem, put in place and taken away again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from ...api.installation import FileChange, diff, make, propose, read_bytes, read_text
from ...dataclass import dataclass
from ...errors import RefusedError
from ...results import OPTIONAL, Applied, Diff, Result

BACKUP = ".before-mem"
"""Ending of the copy of a file as it was before mem first changed it."""

FOLDERS = ("mem-memory", "skills", ".agents", ".claude", ".codex")
"""Folders of agents that go with the last file in them."""


@dataclass(frozen=True)
class InstallReport(Result):
    """The files that an installation changed, or is to change."""

    files: Annotated[Sequence[FileChange], "the files"]
    applied: Applied

    @property
    def diff(self) -> Diff:
        """Return the changes as a unified diff."""
        return diff_of(self.files)


@dataclass(frozen=True)
class UninstallReport(InstallReport):
    """The files that taking hooks out changed, or is to change."""

    commands: Annotated[list[str] | None, "what starts the timer of systemd, or stops and removes it", OPTIONAL] = None


@dataclass(frozen=True)
class HookInstallReport(UninstallReport):
    """The files that installing hooks changed, or is to change, and whose workspace keeps what is said."""

    notes: Annotated[
        str | None, "whether notes and history of hooks go to the project or to the user's workspace", OPTIONAL
    ] = None
    kept_in: Annotated[str | None, "the workspace they go to", OPTIONAL] = None
    shared: Annotated[list[str] | None, "files git shares that will hold people's words", OPTIONAL] = None


def make_changes(plan: Sequence[FileChange]) -> None:
    """Make the changes of an installation; raise RefusedError if a file is not as it was when they were proposed."""
    make(plan, FOLDERS)


def diff_of(plan: Sequence[FileChange]) -> str:
    """Write the changes of an installation as a unified diff, without the copies of files as they were."""
    return diff([change for change in plan if BACKUP not in change.path.name])


BEGIN, END = "<!-- mem:agents -->", "<!-- /mem:agents -->"
NAME = "mem-memory"
"""The skill's name, and its folder's."""
_HERE = Path(__file__).parent


def skill_plan(paths: list[Path]) -> list[FileChange]:
    """Propose SKILL.md at each path; one that says something else is kept beside it, however many there were."""
    text = (_HERE / "skill.md").read_bytes()
    changes = []
    for path in paths:
        old = read_bytes(path)
        if old is not None and old != text:
            changes.append(propose(_free_copy(path, old), old))
        changes.append(propose(path, text))
    return [change for change in changes if change.before != change.after]


def _free_copy(path: Path, data: bytes) -> Path:
    """Name the copy to be made of a file: one that holds these bytes already, or the first free name."""
    names = (f"{path.name}{BACKUP}{number}" for number in ("", *(f"-{count}" for count in range(2, 1000))))
    copies = (path.with_name(name) for name in names)
    return next(copy for copy in copies if read_bytes(copy) in (None, data))


def no_skill_plan(paths: list[Path]) -> list[FileChange]:
    """Propose to take SKILL.md away where it is as mem wrote it, and to bring back what stood there before."""
    text = (_HERE / "skill.md").read_bytes()
    changes = []
    for path in paths:
        if read_bytes(path) == text:
            copy = path.with_name(path.name + BACKUP)
            old = read_bytes(copy)
            changes += [propose(path, old)] + ([propose(copy, None)] if old is not None else [])
    return changes


def block_plan(path: Path) -> FileChange:
    """Propose our block at the end of AGENTS.md, or in the place of an older one."""
    text = read_text(path)
    is_new = text is None
    text = text or ""
    newline = "\r\n" if "\r\n" in text else "\n"
    guide = (_HERE / "agents.md").read_text(encoding="utf-8").strip()
    block = f"{BEGIN}\n{guide}\n{END}\n".replace("\n", newline)
    span = _span(path, text)
    before, after = (text[: span[0]], text[span[1] :]) if span else ("" if is_new else text + newline, "")
    new = before + block + after
    return propose(path, new.encode())


def no_block_plan(path: Path) -> FileChange:
    """Propose AGENTS.md without our block: the bytes of before, and no file where there was none."""
    text = read_text(path) or ""
    span = _span(path, text)
    if not span:
        same = read_bytes(path)
        return FileChange(path, same, same)
    before, after = text[: span[0]], text[span[1] :]
    if not before and not after:
        return propose(path, None)
    for end in ("\r\n", "\n"):
        if before.endswith(end):
            before = before.removesuffix(end)
            break
    return propose(path, (before + after).encode())


def _span(path: Path, text: str) -> tuple[int, int] | None:
    begin, end = text.find(BEGIN), text.find(END)
    if begin < 0 and end < 0:
        return None
    if begin < 0 or end < begin or text.count(BEGIN) > 1 or text.count(END) > 1:
        raise RefusedError(f"{path} has one mark of mem without the other", f"mend or remove {BEGIN} and {END}")
    stop = end + len(END)
    stop += len("\r\n") if text.startswith("\r\n", stop) else len("\n") if text.startswith("\n", stop) else 0
    return begin, stop
