"""Find the repository and the main worktree of a folder, and run git there.

Finding reads the three small files that link a worktree to its repository, because starting git
would take longer than most commands.
"""

import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from ..errors import BusyError, NotFoundError

REMOTE = re.compile(r'(?m)^\s*\[remote "[^[]*?^\s*url\s*=\s*(\S+)')


class Repository(NamedTuple):
    """The git repository around a folder."""

    top: Path  # the folder with .git: of a worktree, its own
    main: Path | None  # the main worktree; None if it has none (bare) or it was deleted
    git_folder: Path  # the common one of all worktrees
    is_linked: bool = False
    is_submodule: bool = False

    @property
    def project(self) -> str:
        """The name of the project: of its main worktree or bare repository."""
        if self.main is not None:
            return self.main.name
        # Some people clone a bare repository into shop/.bare and put its worktrees next to it.
        name = self.git_folder.name
        return (self.git_folder.parent.name if name in (".git", ".bare") else name).removesuffix(
            ".git"
        )


def find_repository(folder: Path) -> Repository | None:
    """Return the nearest repository around a folder."""
    for parent in (folder, *folder.parents):
        dot_git = parent / ".git"
        if dot_git.is_dir():
            return Repository(parent, parent, dot_git)
        if dot_git.is_file():
            return read_git_file(dot_git)
        # A bare repository has no .git inside it.
        if (parent / "HEAD").is_file() and (parent / "objects").is_dir():
            return Repository(parent, None, parent)  # a bare repository itself
    return None


def read_git_file(dot_git: Path) -> Repository:
    """Return the repository that a `.git` file points to."""
    top = dot_git.parent
    text = read_line(dot_git)
    target = Path(top, text.removeprefix("gitdir:").strip())
    common = read_line(target / "commondir")
    if not common:
        # A submodule or a separate git folder.
        is_submodule = "modules" in target.parts and (target / "HEAD").is_file()
        return Repository(top, top, target, is_submodule=is_submodule)
    git_folder = Path(target, common).resolve()
    # The repository must point back, from inside its own folder. Otherwise an unpacked archive
    # could claim its memory, with a git folder of the archive's own.
    points_back = Path(target, read_line(target / "gitdir")).resolve() == dot_git.resolve()
    if not points_back or target.resolve().parent != git_folder / "worktrees":
        return Repository(top, top, dot_git)
    return Repository(top, find_main_worktree(git_folder), git_folder, is_linked=True)


def find_main_worktree(git_folder: Path) -> Path | None:
    """Return the main worktree of a repository's common git folder, if it still exists."""
    configured = read_core_worktree(git_folder)
    if configured:
        main = Path(git_folder, configured).resolve()
        # The configuration may be a stranger's, so the folder must name this repository.
        target = read_line(main / ".git").removeprefix("gitdir:").strip()
        return main if target and Path(main, target).resolve() == git_folder else None
    if git_folder.name != ".git" or is_bare(git_folder) or not git_folder.is_dir():
        return None
    return git_folder.parent


def read_core_worktree(git_folder: Path) -> str:
    """Return `core.worktree`, which git sets for submodules."""
    for line in read_config_lines(git_folder):
        name, _, value = line.partition("=")
        if name.strip().lower() == "worktree":
            return value.strip()
    return ""


def find_remote(repository: Repository) -> str:
    """Return the address to which a repository can be pushed, or an empty string."""
    match = REMOTE.search("\n".join(read_config_lines(repository.git_folder)))
    return match[1] if match else ""


def is_bare(git_folder: Path) -> bool:
    lines = ["".join(line.split()).lower() for line in read_config_lines(git_folder)]
    return "bare=true" in lines


def read_config_lines(git_folder: Path) -> list[str]:
    try:
        return (git_folder / "config").read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


def read_line(path: Path) -> str:
    """Return the first line of a small file, or an empty string."""
    try:
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            # A clone may bring a file that has no end.
            return file.readline(4096).strip()
    except OSError:
        return ""


# A workspace may contain a bare repository whose configuration runs programs.
SAFE_OPTIONS = (
    "-c",
    "safe.bareRepository=explicit",
    "-c",
    "log.showSignature=false",
    "-c",
    "core.fsmonitor=false",
)
SECONDS = 60.0


def run_git(folder: Path, *arguments: str, data: bytes = b"") -> bytes:
    """Return the output of git. Raises NotFoundError or BusyError."""
    command = ["git", *SAFE_OPTIONS, "-C", str(folder), *arguments]
    code, output, messages = run_program(command, None, data, SECONDS)
    if code:
        reason = messages.decode("utf-8", "replace").strip().splitlines()
        raise NotFoundError(f"git: {reason[0] if reason else 'failed'}")
    return output


def parse_objects(names: Sequence[str], output: bytes) -> dict[str, bytes | None]:
    """Return the contents of files by name from `git cat-file --batch`, None if missing."""
    stream = BytesIO(output)
    contents: dict[str, bytes | None] = {}
    for name in names:
        # `ID blob SIZE`, or `NAME missing`. A name can have blanks.
        *_, kind, size = stream.readline().rsplit(maxsplit=2)
        content = stream.read(int(size) + 1)[:-1] if size.isdigit() else None
        contents[name] = content if kind == b"blob" else None
    return contents


def run_program(
    command: Sequence[str], environment: Mapping[str, str] | None, data: bytes, seconds: float
) -> tuple[int, bytes, bytes]:
    """Run git with a time limit, by default in the environment of mem.

    Returns its exit code, output and messages. Raises NotFoundError if git is not installed, and
    BusyError if it does not end in time.
    """
    import subprocess  # 3 ms, and hooks rarely need it
    from tempfile import TemporaryFile

    # Not a pipe: an ssh that stays in the background (ControlPersist) would hold it open.
    with TemporaryFile() as messages:
        try:
            done = subprocess.run(
                command,
                input=data,
                stdout=subprocess.PIPE,
                stderr=messages,
                env=environment,
                timeout=seconds,
                check=False,
                # ssh asks for a password on the terminal, and without a session there is none.
                start_new_session=True,
            )
        except OSError:
            raise NotFoundError("git is not installed", "install git") from None
        except subprocess.TimeoutExpired:
            raise BusyError(f"git did not answer within {seconds:g} seconds") from None
        messages.seek(0)
        return done.returncode, done.stdout, messages.read()
