"""A user without root's power over permissions, so that what may not be read or written is refused in tests too."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


@contextmanager
def as_nobody(*roots: Path) -> Iterator[None]:
    """Give up root's power; everything below the roots then belongs to the weaker user."""
    if os.geteuid() != 0:
        yield
        return
    for root in roots:
        for place in (root, *root.rglob("*")):
            os.chown(place, NOBODY, NOBODY, follow_symlinks=False)
    os.setresuid(NOBODY, NOBODY, 0)  # the real one too, which os.access asks for
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def close(root: Path) -> None:
    """Take the right to write from everything below a folder."""
    for place in sorted(root.rglob("*"), reverse=True):
        place.chmod(0o555 if place.is_dir() else 0o444)
    root.chmod(0o555)


def reopen(root: Path) -> None:
    """Give it back."""
    root.chmod(0o755)
    for place in root.iterdir():
        if place.is_dir() and not place.is_symlink():
            reopen(place)
