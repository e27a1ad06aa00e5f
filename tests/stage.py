"""A home and a folder to stand in that are furnished once for all tests of a module, and put back for each."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


class Stage:
    """The folders, at the same path for each test: trust belongs to a path."""

    def __init__(self, place: Path) -> None:
        """Take a folder for them, and for what they are put back from."""
        self.root, self._place = place / "stage", place
        self._values: dict[str, Any] = {}

    def enter(self, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Stand in it, with nothing there; return the folder."""
        for name in ("home", "work"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        empty(self.root)
        monkeypatch.setenv("HOME", str(self.root / "home"))
        monkeypatch.chdir(self.root / "work")
        return self.root / "work"

    def furnished(self, furnish: Callable[[], Any], name: str = "all") -> Any:
        """Make everything as `furnish` leaves it, which is called once for a name; return what it returned."""
        if name in self._values:
            put_back(self._place / name, self.root)
        else:
            self._values[name] = furnish()
            shutil.copytree(self.root, self._place / name, symlinks=True)
        return self._values[name]


def empty(folder: Path) -> None:
    """Delete what is in the folders of a folder, not these: one may stand in them."""
    for path in (path for inner in folder.iterdir() for path in inner.iterdir()):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def put_back(stood: Path, folder: Path) -> None:
    """Make a folder and what it holds as they were; the folders one may stand in stay the same ones."""
    empty(folder)
    shutil.copytree(stood, folder, symlinks=True, dirs_exist_ok=True)
