"""Cite lines of the project in a memory that is written."""

import os
from collections.abc import Sequence
from pathlib import Path

from ..errors import UsageError
from ..store.project import Project, root_of
from ..store.secret_paths import require_open, shut_out
from ..store.workspace import Workspace
from ..text.citation import read_citation


def cite(
    workspace: Workspace, named: Sequence[str], folder: Path, *, allow_secret: bool = False
) -> tuple[list[str], list[str]]:
    """Return the citations of those names that give lines, and why others of these are not watched.

    A path is taken from the folder, then from the top of the project. Raises UsageError for lines that are not there,
    RefusedError for a file that a `.secretsignore` names.
    """
    project = Project(root_of(workspace))
    found: list[str] = []
    unwatched: list[str] = []
    for name in named:
        citation = None if "[REDACTED:" in name else read_citation(name)
        if citation is None or _exists(project.root, folder, name):
            continue
        path = _within(project.root, folder, citation.path)
        if not allow_secret:
            require_open(project.root / path)
        ignore = shut_out(project.root / path, (".gitignore",))
        state = project.state(citation._replace(path=path, blob="", digest=""))
        if ignore is not None:
            unwatched.append(f"{name}: {ignore} names it, so that no clone has it")
        elif state.now is not None:
            found.append(str(state.now))
        elif state.kind == "gone" and not (project.root / path).exists() and _is_inside(path):
            raise UsageError(f"{name}: there is no {path} in {project.root}", "name a file that is there")
        elif isinstance(project.data(path), bytes):
            raise UsageError(f"{name}: {path} {state.why}", "name lines that are there")
        else:
            unwatched.append(f"{name}: it {state.why}")
    return found, unwatched


def _exists(root: Path, folder: Path, name: str) -> bool:
    return any(os.path.exists(place / name) for place in (folder, root) if "\0" not in name)


def _within(root: Path, folder: Path, name: str) -> str:
    """Return a path as it is named from the top of the project; it may lead out of it."""
    place = folder / Path(name).expanduser()
    if not place.exists() and (root / name).exists():
        place = root / name
    plain = os.path.normpath(place)
    real = os.path.join(os.path.realpath(os.path.dirname(plain)), os.path.basename(plain))
    return os.path.relpath(real, os.path.realpath(root)).replace(os.sep, "/")


def _is_inside(path: str) -> bool:
    return not path.startswith("../")
