"""Find the files that must not enter memory: those that a `.secretsignore` beside them or above names.

The file is written as a `.gitignore` is, and counts for all that lies below its folder, up to the top of a repository.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..errors import RefusedError
from ..text.ignore import ignored

IGNORE = ".secretsignore"
_LARGEST = 1 << 20


def ignore_text(folder: Path, name: str = IGNORE) -> str:
    """Return the text of a folder's ignore file; empty where there is none or it cannot be read."""
    try:
        file = folder / name
        return file.read_text("utf-8", "replace") if file.is_file() and file.stat().st_size <= _LARGEST else ""
    except OSError:
        return ""


def shut_out(file: Path, names: tuple[str, ...] = (IGNORE,)) -> Path | None:
    """Return the ignore file that names a file, by its own path or by where a link leads; None where none does."""
    for path in dict.fromkeys((Path(os.path.abspath(file)), Path(os.path.realpath(file)))):
        for folder in _above(path):
            for name in names:
                patterns = ignore_text(folder, name)
                if patterns and ignored(patterns, path.relative_to(folder).as_posix()):
                    return folder / name
    return None


def require_open(file: Path, fix: str = "--allow-secret takes it all the same") -> None:
    """Raise RefusedError for a file that a `.secretsignore` names."""
    ignore = shut_out(file)
    if ignore is not None:
        raise RefusedError(f"{file} is named in {ignore}", fix)


def _above(path: Path) -> Iterator[Path]:
    """Yield the folders whose ignore files count for a file."""
    for folder in path.parents:
        yield folder
        if (folder / ".git").exists():
            return


def kept_out(root: Path, paths: Iterable[str]) -> set[str]:
    """Return those paths of a folder of documents that a `.secretsignore` names, or a `.gitignore` in the folder."""
    root = root.resolve()
    upper = [(folder, ignore_text(folder)) for folder in _above(root / "any")][1:]
    upper = [(folder, patterns) for folder, patterns in upper if patterns]
    own: dict[Path, str] = {}
    found = set()
    for path in paths:
        file = root / path
        inner = [folder for folder in file.parents if folder == root or root in folder.parents]
        for folder in inner:
            if folder not in own:
                own[folder] = "\n".join(filter(None, (ignore_text(folder, name) for name in (".gitignore", IGNORE))))
        for folder, patterns in (*upper, *((folder, own[folder]) for folder in inner)):
            if patterns and ignored(patterns, file.relative_to(folder).as_posix()):
                found.add(path)
                break
    return found
