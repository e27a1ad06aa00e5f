"""Keep every path inside the workspace, whatever links, `..` and strange names it is made of."""

import os
from pathlib import Path

from ..errors import RefusedError

_PRIVATE = (".git", ".mem")


def contained(root: Path, path: Path) -> Path:
    """Give the real path, links followed, refusing one outside the root or inside `.git` or `.mem`."""
    name = os.fspath(path)
    _require_possible(name)
    base, real = os.path.realpath(root), _real(os.path.join(root, name))
    if real != base and not real.startswith(base.rstrip("/") + "/"):
        raise RefusedError(f"{name} leads outside the workspace {root}", "name a file inside it")
    for part in real[len(base) :].split("/"):
        if part.casefold() in _PRIVATE:
            raise RefusedError(f"{name} lies in {part}, which is not for memories", "choose another folder")
    return Path(real)


def _require_possible(name: str) -> None:
    """Refuse a name that no file system can hold."""
    try:
        possible = b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise RefusedError(f"{name!r} cannot be the name of a file", "choose another name")


def _real(path: str) -> str:
    """Follow every link of a path that may not exist yet."""
    try:
        return os.path.realpath(path, strict=True)
    except OSError:
        # Behind a link that leads to itself realpath resolves nothing: `loop/../out` may still be a link.
        loose = os.path.realpath(path)
        if os.path.realpath(loose) != loose:
            raise RefusedError(f"{path} goes through a link to itself", "remove that link") from None
        return loose
