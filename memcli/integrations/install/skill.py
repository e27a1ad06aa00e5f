"""The skill, and the protocol on the page of an agent, put in place and taken away again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from ...api.installation import FileChange, diff, make, propose, read_bytes, read_text
from ...dataclass import dataclass
from ...errors import RefusedError
from ...results import OPTIONAL, Applied, Diff, Result

BACKUP = ".before-mem"
"""Ending of the copy of a file as it was before mem first changed it."""

FOLDERS = ("mem-memory", "skills", ".agents", ".claude", ".codex", ".gemini", "hooks", ".github", ".copilot")
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


def protocol() -> str:
    """Return the text that tells an agent what to search for, what to save, and how."""
    return (_HERE / "protocol.md").read_text(encoding="utf-8")


def protocol_plan(path: Path) -> list[FileChange]:
    """Propose the protocol at the end of a page of an agent, or in the place of an older one."""
    text = read_text(path)
    newline = "\r\n" if text and "\r\n" in text else "\n"
    block = f"{BEGIN}\n{protocol()}{END}\n".replace("\n", newline)
    before, after = _around(path, text) or ("" if text is None else text + newline, "")
    change = propose(path, (before + block + after).encode())
    return [change] if change.before != change.after else []


def no_protocol_plan(path: Path) -> list[FileChange]:
    """Propose a page without the protocol: the bytes of before, and no file where there was none."""
    around = _around(path, read_text(path))
    if around is None:
        return []
    before, after = around
    if not before and not after:
        return [propose(path, None)]
    newline = "\r\n" if before.endswith("\r\n") else "\n"
    return [propose(path, (before.removesuffix(newline) + after).encode())]


def _around(path: Path, text: str | None) -> tuple[str, str] | None:
    """Return what stands before our marks and after them; None where there are none."""
    text = text or ""
    begin, end = text.find(BEGIN), text.find(END)
    if begin < 0 and end < 0:
        return None
    if begin < 0 or end < begin or text.count(BEGIN) > 1 or text.count(END) > 1:
        raise RefusedError(f"{path} has one mark of mem without the other", f"mend or remove {BEGIN} and {END}")
    after = text[end + len(END) :]
    return text[:begin], after.removeprefix("\r\n" if after.startswith("\r\n") else "\n")
