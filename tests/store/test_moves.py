"""Moving never overwrites, and never leaves a file without a name."""

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memcli.errors import NotFoundError, RefusedError
from memcli.store import atomic_files
from tests.crash import FailingOS, RefusingOS, wire
from tests.store.scenes import SCENES, found, prepare

TEXT = b"text\n"


@pytest.fixture(autouse=True)
def _real_disk_afterwards() -> Iterator[None]:
    yield
    wire(os)


@pytest.fixture
def page(bare: Path) -> Path:
    path = bare / "page.md"
    path.write_bytes(TEXT)
    path.chmod(0o640)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return path


class TwoDisks:
    """The os module of a machine where every folder named archive is another disk."""

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def link(self, src: str | Path, dst: Path) -> None:
        if ("archive" in Path(src).parts) != ("archive" in dst.parts):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        os.link(src, dst)

    def lstat(self, path: Path) -> Any:
        seen = os.lstat(path)
        fields = {name: getattr(seen, name) for name in dir(seen) if name.startswith("st_")}
        return SimpleNamespace(**fields | {"st_dev": int("archive" in path.parts)})


class NoLinks(RefusingOS):
    """The os module of a file system without hard links."""

    def __init__(self, base: Any = os) -> None:
        super().__init__({"link": errno.EPERM}, base)


@pytest.mark.parametrize("system", [os, TwoDisks(), NoLinks()], ids=["one disk", "two disks", "no links"])
def test_a_moved_file_is_the_same_under_its_new_name(system: Any, page: Path) -> None:
    before = page.stat()
    wire(system)
    atomic_files.move(page, page.parent / "archive" / "2026" / "moved.md")
    assert found(page.parent) == {"archive/2026/moved.md": TEXT}
    after = (page.parent / "archive/2026/moved.md").stat()
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)


@pytest.mark.parametrize("system", [os, TwoDisks(), NoLinks()], ids=["one disk", "two disks", "no links"])
@pytest.mark.parametrize("there", [b"other\n", b""])
def test_moving_never_overwrites(there: bytes, system: Any, page: Path) -> None:
    atomic_files.create(page.parent / "archive" / "page.md", there)
    wire(system)
    with pytest.raises(FileExistsError):
        atomic_files.move(page, page.parent / "archive" / "page.md")
    assert found(page.parent) == {"page.md": TEXT, "archive/page.md": there}


def test_moving_what_is_not_there_says_so(bare: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no file"):
        atomic_files.move(bare / "none.md", bare / "archive" / "none.md")
    assert os.listdir(bare) == []


def test_a_file_with_the_same_text_is_not_taken_for_ours(page: Path) -> None:
    atomic_files.create(page.parent / "archive" / "page.md", TEXT)
    with pytest.raises(FileExistsError):
        atomic_files.move(page, page.parent / "archive" / "page.md")


def test_moving_a_file_onto_itself_by_any_spelling_does_not_remove_it(page: Path) -> None:
    (page.parent / "door").symlink_to(".")
    os.link(page, page.parent / "hard.md")
    for name in ("page.md", "door/page.md"):
        with pytest.raises(FileExistsError):
            atomic_files.move(page, page.parent / name)
    assert page.read_bytes() == TEXT


def test_a_name_the_file_system_takes_for_the_same_does_not_remove_the_file(page: Path) -> None:
    class Normalising(RefusingOS):
        """One that finds a composed and a decomposed é under one name."""

        def lstat(self, path: Path) -> os.stat_result:
            return os.lstat(page)

    wire(Normalising({"link": errno.EEXIST}))
    with pytest.raises(FileExistsError):
        atomic_files.move(page, page.parent / "pagé.md")
    assert page.read_bytes() == TEXT


def test_a_move_that_was_cut_off_between_its_two_names_is_finished(page: Path) -> None:
    os.link(page, page.parent / "moved.md")
    atomic_files.move(page, page.parent / "moved.md")
    assert found(page.parent) == {"moved.md": TEXT}


def test_a_link_is_not_moved(page: Path) -> None:
    (page.parent / "link.md").symlink_to("page.md")
    with pytest.raises(RefusedError, match="is a symbolic link"):
        atomic_files.move(page.parent / "link.md", page.parent / "moved.md")


@pytest.mark.parametrize("system", [os, TwoDisks()], ids=["one disk", "two disks"])
def test_an_edit_made_while_moving_is_kept(system: Any, page: Path) -> None:
    class Editor(RefusingOS):
        def fsync(self, fd: int) -> None:
            page.write_bytes(b"from the editor\n")

    (page.parent / "archive").mkdir()
    wire(Editor({}, system))
    with pytest.raises(RefusedError, match="changed underneath"):
        atomic_files.move(page, page.parent / "archive" / "page.md")
    assert found(page.parent) == {"page.md": b"from the editor\n"}


def test_a_copy_found_on_the_other_disk_outlives_an_edit_made_while_moving(page: Path) -> None:
    class Editor(RefusingOS):
        def fsync(self, fd: int) -> None:
            page.write_bytes(b"from the editor\n")

    atomic_files.create(page.parent / "archive" / "page.md", TEXT)
    wire(Editor({"link": errno.EEXIST}, TwoDisks()))
    with pytest.raises(RefusedError, match="changed underneath"):
        atomic_files.move(page, page.parent / "archive" / "page.md")
    assert found(page.parent) == {"page.md": b"from the editor\n", "archive/page.md": TEXT}


def test_a_file_that_somebody_else_moved_meanwhile_stays_under_our_name(page: Path) -> None:
    class Rival(RefusingOS):
        def fsync(self, fd: int) -> None:
            page.unlink(missing_ok=True)

    wire(Rival({}))
    atomic_files.move(page, page.parent / "moved.md")
    assert found(page.parent) == {"moved.md": TEXT}


@pytest.mark.parametrize("lasting", [False, True])
def test_a_disk_full_at_any_step_between_two_disks_leaves_a_whole_file(lasting: bool, bare: Path) -> None:
    scene, at, done = SCENES["move"], 0, False
    while not done:
        at += 1
        folder = bare / str(at)
        prepare(scene, folder)
        disk = FailingOS(at, lasting=lasting, base=TwoDisks())
        wire(disk)
        with suppress(RefusedError):
            scene.change(folder)
        done = len(disk.steps) < at
        assert found(folder) in (scene.before, scene.after, *scene.between), disk.steps
        wire(TwoDisks())
        scene.change(folder)
        assert found(folder) == scene.after, disk.steps
    assert at > 6


def test_a_folder_is_moved_whole(page: Path) -> None:
    atomic_files.create(page.parent / "sessions" / "one" / "session.jsonl", TEXT)
    atomic_files.move(page.parent / "sessions" / "one", page.parent / "archive" / "sessions" / "one")
    assert found(page.parent) == {"page.md": TEXT, "archive/sessions/one/session.jsonl": TEXT}


def test_a_folder_is_never_moved_over_something(page: Path) -> None:
    atomic_files.create(page.parent / "one" / "session.jsonl", TEXT)
    atomic_files.create(page.parent / "two" / "session.jsonl", b"other\n")
    before = found(page.parent)
    with pytest.raises(RefusedError, match="something above it is a file"):
        atomic_files.move(page.parent / "one", page / "one")
    for name in ("two", "page.md"):
        with pytest.raises(FileExistsError):
            atomic_files.move(page.parent / "one", page.parent / name)
    assert found(page.parent) == before
