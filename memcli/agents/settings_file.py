"""Read and write settings files that belong to the user, and hide those of a project from git."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import MemError, RejectedError
from ..store.commit import write_atomically
from ..store.git import run_git
from ..store.init import add_lines
from ..store.worktrees import find_repository
from .settings_text import SettingsError


@contextmanager
def report_line(path: Path, text: str) -> Iterator[None]:
    """Turn an error in settings into one that names the line."""
    try:
        yield
    except SettingsError as error:
        line = text.count("\n", 0, error.position) + 1
        raise RejectedError(
            f"{path}:{line}: {error.reason}", "fix this line and try again; nothing was changed"
        ) from None


def read_settings(path: Path) -> str:
    """Return the text of a settings file or page; empty if there is none."""
    if not path.exists():
        return ""
    if not path.is_file():
        raise RejectedError(f"{path} is not a file")
    data = path.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        hint = "convert it, for example with iconv; nothing was changed"
        raise RejectedError(f"{path}:{line}: not UTF-8", hint) from None


def check_inside(path: Path, base: Path) -> None:
    """Refuse a link in a cloned project that leads to a file outside of `base`."""
    target = path.resolve()
    if not target.is_relative_to(base.resolve()):
        raise RejectedError(f"{path} is a link to {target}", "change that file yourself")


def save_text(path: Path, text: str | None, base: Path, top: Path | None = None) -> list[str]:
    """Write a settings file, or delete it if there is no text. Return the changed paths.

    A link must lead into `base`. Empty folders below `top`, by default `base`, are removed.

    Users keep settings in a repository of dotfiles and link to them, so a link stays a link.
    """
    check_inside(path, base)
    target = path.resolve()
    try:
        if text is not None:
            write_atomically(target, text.encode())
        else:
            target.unlink()
            remove_empty_folders(target.parent, (top or base).resolve())
    except OSError as error:
        raise RejectedError(f"cannot write {path}: {error.strerror}") from None
    return [str(path)]


def remove_empty_folders(folder: Path, top: Path) -> None:
    """Remove the empty folders below `top`, which mem may have created."""
    with suppress(OSError):
        while folder != top and folder.is_relative_to(top):
            folder.rmdir()
            folder = folder.parent


def hide_from_git(project: Path, path: Path) -> None:
    """Make git ignore the settings of a project. Raises RejectedError if git tracks them."""
    inner = path.relative_to(project).as_posix()
    repository = find_repository(project)
    if repository is None or is_git_success(project, "check-ignore", "-q", "--", inner):
        return
    if is_tracked(project, inner):
        hint = "leave out --project: then mem writes to your own settings"
        raise RejectedError(f"git tracks {inner}, so the path of your mem would be committed", hint)
    add_lines(repository.git_folder / "info" / "exclude", [f"/{inner}"])


def show_to_git(project: Path, path: Path) -> None:
    repository = find_repository(project)
    exclude = repository.git_folder / "info" / "exclude" if repository else None
    if exclude and exclude.is_file() and not path.exists():
        line = f"/{path.relative_to(project).as_posix()}\n"
        text = exclude.read_text("utf-8", "surrogateescape")
        if line in text:
            write_atomically(exclude, text.replace(line, "").encode("utf-8", "surrogateescape"))


def is_tracked(project: Path, inner: str) -> bool:
    return is_git_success(project, "ls-files", "--error-unmatch", "--", inner)


def is_git_success(project: Path, *arguments: str) -> bool:
    try:
        run_git(project, *arguments)
    except MemError:
        return False
    return True
