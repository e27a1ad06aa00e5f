"""The changes a file can go through, each to be cut off at every step."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

from memcli.store import atomic_files
from memcli.store.file_steps import is_temporary
from tests.crash import cut_off

OLD = b"old text\n" * 40
NEW = b"new text\n" * 61  # of odd length, so that half of it is torn within a line
Files = dict[str, bytes]


@dataclass(frozen=True)
class Scene:
    """A folder before and after a change, and the change, which can be made again after it was cut off."""

    before: Files
    after: Files
    change: Callable[[Path], None]
    between: tuple[Files, ...] = ()  # other whole states that a cut may leave


def prepare(scene: Scene, folder: Path) -> None:
    """Write the files the scene begins with."""
    folder.mkdir()
    for name, data in scene.before.items():
        (folder / name).write_bytes(data)


def found(folder: Path) -> Files:
    """Give the files of a folder that are not temporary."""
    paths = (path for path in folder.rglob("*") if path.is_file() and not is_temporary(path.name))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _create(folder: Path) -> None:
    if not (folder / "a/b/new.md").exists():
        atomic_files.create(folder / "a/b/new.md", NEW)


def _replace(folder: Path) -> None:
    now = atomic_files.read(folder / "page.md")
    if now != NEW:
        atomic_files.replace(folder / "page.md", NEW, atomic_files.digest(now))


def _append(folder: Path) -> None:
    if not (folder / "log.md").exists() or not atomic_files.read(folder / "log.md").endswith(NEW):
        atomic_files.append(folder / "log.md", NEW)


def _move(folder: Path) -> None:
    if (folder / "a.md").exists():
        atomic_files.move(folder / "a.md", folder / "archive/a.md")


SCENES = {
    "create": Scene({}, {"a/b/new.md": NEW}, _create),
    "replace": Scene({"page.md": OLD}, {"page.md": NEW}, _replace),
    "append": Scene({"log.md": OLD}, {"log.md": OLD + NEW}, _append),
    "first append": Scene({}, {"log.md": NEW}, _append),
    "move": Scene({"a.md": OLD}, {"archive/a.md": OLD}, _move, ({"a.md": OLD, "archive/a.md": OLD},)),
}


def cut_everywhere(name: str, folder: Path) -> int:
    """Make the change in folder/1, folder/2, …, with the power cut at that step, and count the cuts."""
    scene = SCENES[name]
    for at in count(1):
        here = folder / str(at)
        prepare(scene, here)
        if not cut_off(at, partial(scene.change, here)):
            assert found(here) == scene.after
            return at - 1
    raise AssertionError("the count has no end")
