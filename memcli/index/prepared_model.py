"""Copies of models in the user's cache, prepared by the library that runs them so that they open in moments.

Opens no model: whoever does gives the function that writes a copy.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

WEIGHTS = "weights.bin"
_FILE = "model.onnx"
_OLD_SECONDS = 86400  # copies this much older than the newest belong to a model or a library no longer in use


def prepared_file(cache: Path, digest: str, version: str) -> Path | None:
    """Return the copy made of a model for a version of the library, if there is one."""
    file = _folder(cache, digest, version) / _FILE
    return file if file.is_file() else None


def prepare(cache: Path, digest: str, version: str, write: Callable[[Path], object]) -> Path | None:
    """Have the copy written and put in its place; None where that fails, and nothing is left behind.

    `write` is given the file to make, and may put `WEIGHTS` beside it.
    """
    folder = _folder(cache, digest, version)
    try:
        put_in_place(folder, lambda making: write(making / _FILE))
    except Exception:  # the library's own errors on a full disk have no class of their own
        return prepared_file(cache, digest, version)
    _sweep(folder)
    return folder / _FILE


def put_in_place(folder: Path, write: Callable[[Path], object]) -> None:
    """Have the content of a folder written and put in its place; whatever fails leaves nothing behind."""
    making = folder.with_name(f"{folder.name}.{os.getpid()}")
    try:
        making.mkdir(parents=True)
        write(making)
        for part in making.rglob("*"):
            if part.is_file():
                _settle(part)
        making.replace(folder)
    finally:
        _remove(making)


def discard(file: Path) -> None:
    """Remove a copy that does not open."""
    _remove(file.parent)


def _folder(cache: Path, digest: str, version: str) -> Path:
    return cache / "models" / f"{digest[:16]}-{version}"


def _settle(part: Path) -> None:
    """Bring a file to the disk: after a power cut zeros in the place of weights would be loaded as they are."""
    with part.open("rb") as file:
        os.fsync(file.fileno())


def _sweep(newest: Path) -> None:
    with suppress(OSError):
        made = newest.stat().st_mtime
        for other in newest.parent.iterdir():
            if other != newest and made - other.stat().st_mtime > _OLD_SECONDS:
                _remove(other)


def _remove(folder: Path) -> None:
    from shutil import rmtree

    rmtree(folder, ignore_errors=True)
