"""Folders of documents that recall reads and never writes: which they are, what is found there, how it is named.

Each is searched as a workspace whose derived data lies in ours. A folder named by the workspace's own settings, which
may have come with a clone, must lie in the same repository; one named by the user may lie anywhere.
"""

import os
from dataclasses import replace
from pathlib import Path

from ..errors import MemError
from ..formats.ids import blake2b
from ..store.addresses import Place, by_path
from ..store.workspace import MARKER, Workspace

FOLDER = "include"


def folders(workspace: Workspace) -> tuple[dict[str, Workspace], tuple[str, ...]]:
    """Return the folders by the names that index.include has for them, and a line for each that is not read."""
    included: dict[str, Workspace] = {}
    notices = []
    own = workspace.settings.places.get("index.include") == str(workspace.root / MARKER)
    parents = (workspace.root, *workspace.root.parents)
    bound = next((folder for folder in parents if (folder / ".git").exists()), workspace.root)  # of the repository
    for name in workspace.settings["index.include"]:
        try:
            root = (workspace.root / name if own else workspace.root / Path(name).expanduser()).resolve()
        except (OSError, RuntimeError, ValueError):
            notices.append(f"index.include: {name!r} is no folder")
            continue
        if own and not root.is_relative_to(bound):
            notices.append(f"index.include: {name} is outside {bound}: only your own settings can name it")
        elif not root.is_dir():
            notices.append(f"index.include: there is no folder {root}")
        else:
            key = blake2b(str(root).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
            base = workspace.cache if workspace.derived.is_symlink() else workspace.derived
            included[name.rstrip("/")] = replace(workspace, root=root, scope="documents", beside=base / FOLDER / key)
    return included, tuple(notices)


def by_name(workspace: Workspace, name: str, current: Path) -> tuple[Workspace, Place] | None:
    """Return a document by the name recall gives it, such as `../docs/setup.md#install`, or by its path in a folder.

    Return None for other names.
    """
    if not workspace.settings["index.include"]:
        return None
    for prefix, folder in folders(workspace)[0].items():
        inside = os.path.relpath(current / name, folder.root)
        for path in (name.removeprefix(f"{prefix}/") if name.startswith(f"{prefix}/") else "", inside):
            try:
                address = by_path(folder, path, folder.root) if path and not path.startswith("..") else None
            except MemError:
                continue
            if address is not None and folder.layout.kind_of(address.path):
                return folder, address
    return None
