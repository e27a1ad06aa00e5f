"""The files in a .zip, or what a .gz holds, as streams: nothing is unpacked onto the disk, and no more is read than a
bound allows.
"""

import gzip
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, tzinfo
from typing import BinaryIO, cast

from ..dataclass import dataclass
from ..errors import RefusedError

MOST_BYTES = 8 << 30
"""Bytes that an archive may unpack to."""
MOST_FILES = 100_000
_MOST_RATIO, _SMALL = 250, 64 << 20
"""Times its packed size that a file of more than so many bytes may be: text in JSON is 4 to 30 times."""


@dataclass(frozen=True)
class Archive:
    """An open archive, and what is to be read of it in the order of names."""

    file: zipfile.ZipFile
    names: tuple[str, ...]
    outside: tuple[str, ...]  # names that lead out of it, which nobody wants to read
    passed_over: int  # files that are not wanted

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a file in it; raise RefusedError where it is damaged."""
        try:
            with self.file.open(name) as stream:
                yield cast("BinaryIO", stream)
        except _DAMAGED as error:
            raise _damaged(name, error) from None

    def modified(self, name: str, zone: tzinfo) -> datetime | None:
        """Return when a file in it was changed, by a clock in a zone; None for no such day."""
        try:
            return datetime(*self.file.getinfo(name).date_time, tzinfo=zone)
        except ValueError:
            return None


@contextmanager
def opened_archive(stream: BinaryIO, name: str, wanted: Callable[[str], object]) -> Iterator[Archive]:
    """Open an archive to read the files whose names are wanted.

    Raise RefusedError where it is cut off or damaged, or these have a password or are too large when unpacked.
    """
    try:
        with zipfile.ZipFile(stream) as file:
            yield _checked(file, name, wanted)
    except _DAMAGED as error:
        raise _damaged(name, error) from None


_LZMA = getattr(getattr(zipfile, "lzma", None), "LZMAError", EOFError)  # some builds of Python have no lzma
_DAMAGED = (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, OSError, _LZMA, UnicodeDecodeError)


def _damaged(name: str, error: Exception) -> RefusedError:
    reason = str(error) if isinstance(error, NotImplementedError) else "it is cut off or damaged"
    return RefusedError(f"{name} cannot be unpacked: {reason}", "download it again")


def _too_large(name: str, size: str) -> RefusedError:
    return RefusedError(f"{name} would unpack to {size}: that is no export", "unpack what you trust of it yourself")


def _checked(file: zipfile.ZipFile, name: str, wanted: Callable[[str], object]) -> Archive:
    every = [member for member in file.infolist() if not member.is_dir()]
    members = [member for member in every if wanted(member.filename)]
    if any(member.flag_bits & 1 for member in members):
        raise RefusedError(f"{name} needs a password", "unpack it, and name the folder")
    total = sum(member.file_size for member in members)
    bomb = next(
        (member for member in members if member.file_size > max(_SMALL, _MOST_RATIO * member.compress_size)),
        None,
    )
    if total > MOST_BYTES or len(members) > MOST_FILES or bomb is not None:
        raise _too_large(name, f"{total / (1 << 30):.1f} GiB in {len(members):,} files")
    outside = tuple(member.filename for member in members if _leads_out(member.filename))
    return Archive(
        file, tuple(sorted({member.filename for member in members} - set(outside))), outside, len(every) - len(members)
    )


def opened_gzip(stream: BinaryIO, name: str) -> BinaryIO:
    """Return what a .gz holds; its stream raises RefusedError where it is damaged or too large when unpacked."""
    return io.BufferedReader(_Unpacked(gzip.GzipFile(fileobj=stream), name))


class _Unpacked(io.RawIOBase):
    def __init__(self, stream: gzip.GzipFile, name: str) -> None:
        self._stream, self._name, self._left = stream, name, MOST_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        try:
            piece = self._stream.read(len(buffer))
        except _DAMAGED as error:
            raise _damaged(self._name, error) from None
        self._left -= len(piece)
        if self._left < 0:
            raise _too_large(self._name, f"more than {MOST_BYTES >> 30} GiB")
        buffer[: len(piece)] = piece
        return len(piece)


def _leads_out(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return ".." in parts or not parts[0] or parts[0].endswith(":")
