"""The small steps do what they can on file systems that cannot do everything."""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memcli.errors import RefusedError
from memcli.store import atomic_files, file_steps
from tests.crash import RefusingOS, wire


@pytest.fixture(autouse=True)
def _real_disk_afterwards() -> Iterator[None]:
    yield
    wire(os)


def foreign(mode: int) -> Any:
    """Give what stat would say of a file of another owner and group."""
    return SimpleNamespace(st_uid=os.getuid() + 1, st_gid=os.getgid() + 1, st_mode=stat.S_IFREG | mode)


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS])
def test_where_there_are_no_hard_links_creating_is_still_exclusive(number: int, bare: Path) -> None:
    wire(RefusingOS({"link": number}))
    atomic_files.create(bare / "new.md", b"new")
    with pytest.raises(FileExistsError):
        atomic_files.create(bare / "new.md", b"other")
    assert (bare / "new.md").read_bytes() == b"new"
    assert os.listdir(bare) == ["new.md"]


def test_what_is_synced_together_is_safe_when_that_ends_and_a_disk_that_fails_is_told(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    real = os.fsync

    def fsync(fd: int) -> None:
        synced.append(os.fstat(fd).st_ino)
        real(fd)

    monkeypatch.setattr(file_steps.os, "fsync", fsync)
    with file_steps.synced_together():
        for number in range(150):
            atomic_files.create(bare / f"{number}", b"x")
        early = len(synced)
    names = {path.stat().st_ino for path in bare.iterdir()}
    assert early < len(names)
    assert names | {bare.stat().st_ino} <= set(synced)
    atomic_files.create(bare / "after", b"x")
    assert (bare / "after").stat().st_ino in synced

    def fail(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(file_steps.os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output"), file_steps.synced_together():
        atomic_files.create(bare / "lost", b"x")


def test_a_reserved_name_is_given_up_when_the_file_cannot_follow(bare: Path) -> None:
    wire(RefusingOS({"link": errno.EPERM, "rename": errno.EIO}))
    with pytest.raises(RefusedError, match="cannot write"):
        atomic_files.create(bare / "new.md", b"new")
    assert os.listdir(bare) == []


@pytest.mark.parametrize(("mode", "kept"), [(0o640, 0o600), (0o664, 0o644), (0o666, 0o666), (0o755, 0o755)])
def test_a_group_that_cannot_be_kept_gives_ours_no_more_than_all_others(mode: int, kept: int, bare: Path) -> None:
    wire(RefusingOS({"fchown": errno.EPERM}))
    path = Path(file_steps.write_temporary(bare, b"text", like=foreign(mode)))
    assert stat.S_IMODE(path.stat().st_mode) == kept


def test_replacing_a_file_of_another_owner_keeps_its_owner_and_mode(bare: Path) -> None:
    owners = []

    class Root(RefusingOS):
        def lstat(self, path: Path) -> Any:
            return foreign(0o2640)

        def fchown(self, fd: int, uid: int, gid: int) -> None:
            owners.append((uid, gid))

    (bare / "page.md").write_bytes(b"old")
    wire(Root({}))
    atomic_files.replace(bare / "page.md", b"new", atomic_files.digest(b"old"))
    assert owners == [(os.getuid() + 1, os.getgid() + 1)]
    assert stat.S_IMODE((bare / "page.md").stat().st_mode) == 0o2640


def test_a_read_only_file_system_is_named_before_anything_is_written(bare: Path) -> None:
    class ReadOnly(RefusingOS):
        def open(self, path: Path, flags: int, mode: int = 0) -> int:
            if flags & os.O_ACCMODE != os.O_RDONLY:
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))
            return os.open(path, flags, mode)

    (bare / "page.md").write_bytes(b"old")
    wire(ReadOnly({}))
    for change in (
        lambda: atomic_files.create(bare / "new.md", b"new"),
        lambda: atomic_files.replace(bare / "page.md", b"new", atomic_files.digest(b"old")),
        lambda: atomic_files.append(bare / "page.md", b"new"),
    ):
        with pytest.raises(RefusedError, match="read-only file system: make the file system writable"):
            change()


def test_a_group_is_kept_where_only_the_owner_cannot_be(bare: Path) -> None:
    asked = []

    class NotOwner(RefusingOS):
        def fchown(self, fd: int, uid: int, gid: int) -> None:
            asked.append((uid, gid))
            if uid != -1:
                raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    wire(NotOwner({}))
    like = foreign(0o640)
    path = Path(file_steps.write_temporary(bare, b"text", like=like))
    assert asked == [(like.st_uid, like.st_gid), (-1, like.st_gid)]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_short_write_is_gone_on_with(bare: Path) -> None:
    class Slow(RefusingOS):
        def write(self, fd: int, data: memoryview) -> int:
            return os.write(fd, data[:3])

    wire(Slow({}))
    atomic_files.create(bare / "new.md", b"0123456789")
    assert (bare / "new.md").read_bytes() == b"0123456789"


def test_a_folder_that_cannot_be_synced_is_let_be_and_a_broken_disk_is_not(bare: Path) -> None:
    wire(RefusingOS({"fsync": errno.EINVAL}))
    file_steps.sync_folder(bare)
    wire(RefusingOS({"open": errno.EACCES}))
    file_steps.sync_folder(bare)
    wire(RefusingOS({"fsync": errno.EIO}))
    with pytest.raises(OSError, match="Input/output error"):
        file_steps.sync_folder(bare)


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, "cannot write /x: no space left on device: free some space and run it again"),
        (errno.EROFS, "cannot write /x: read-only file system: make the file system writable"),
        (errno.EACCES, "cannot write /x: permission denied: change its permissions"),
        (errno.EIO, "cannot write /x: input/output error"),
    ],
)
def test_a_refusal_names_the_file_the_reason_and_what_to_do(number: int, sentence: str) -> None:
    with pytest.raises(RefusedError) as refused, file_steps.naming("write", Path("/x")):
        raise OSError(number, os.strerror(number))
    assert str(refused.value).startswith(sentence)
