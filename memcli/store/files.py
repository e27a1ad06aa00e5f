"""Open, lock and replace files safely, and match paths with the patterns of an ignore file.

A clone may bring links, named pipes and endless files, so small files are read with care. The
patterns are those of .gitignore: `*`, `**`, `?`, `[…]`, `!`, `/`.
"""

import fcntl
import os
import re
import time
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from typing import IO

from ..errors import BusyError

LOCK_SECONDS = 30.0
# Settings and lists of patterns are far smaller. A larger one is a mistake or an attack.
LARGEST_SMALL_FILE = 1 << 20
IGNORE_FILE = ".secretsignore"  # names files that mem does not read
# More wildcards in one pattern would take an expression forever.
MOST_WILDCARDS = 8
NOTHING = re.compile(r"(?!)")  # matches no path


def open_lock(path: Path, seconds: float) -> int:
    """Open and lock a file, and return its descriptor. Raises BusyError after some seconds.

    Every user, container and sandbox that uses the folder of a workspace shares its lock.
    """
    deadline = time.monotonic() + seconds
    # flock has no timeout, so it is tried again and again.
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Another process may have deleted the file between the opening and the lock.
            with suppress(FileNotFoundError):
                if os.fstat(lock).st_ino == os.stat(path).st_ino:
                    return lock
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(lock)
                raise BusyError("another mem process is writing to this workspace") from None
            time.sleep(0.01)
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def read_small_text(path: Path) -> str:
    """Return the text of a small regular file, or an empty string.

    A clone may bring a link to /dev/zero, or a named pipe that never ends.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        # Opening a folder in this way raises an error too.
        with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
            status = os.fstat(file.fileno())
            if S_ISREG(status.st_mode) and status.st_size <= LARGEST_SMALL_FILE:
                return file.read(LARGEST_SMALL_FILE).decode("utf-8", "replace")
    except (OSError, ValueError):
        pass
    return ""


def save_private(path: Path, data: bytes) -> None:
    """Write a file that only this user can read, completely or not at all."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    # Not write_text, which would create the file as readable as the umask allows.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def replace_whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that replaces another one when it is complete. A failure leaves the old file."""
    # A rename would replace /dev/null or a named pipe by a file.
    if path.exists() and not path.is_file():
        with open(path, "wb") as file:
            yield file
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "xb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def sync_path(path: Path) -> None:
    """Make the content of a file, or the renames and deletions in a folder, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_patterns(root: Path, name: str = IGNORE_FILE) -> tuple[str, ...]:
    """Return the patterns of an ignore file in a folder."""
    lines = read_small_text(root / name).splitlines()
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def is_ignored(patterns: Iterable[str | re.Pattern[str]], path: str) -> bool:
    """Return whether the last pattern that matches a path leaves it out.

    Obsidian's patterns are regular expressions.
    """
    ignored = False
    # macOS lists é as e and an accent, in another Unicode form than most editors write.
    path = unicodedata.normalize("NFC", path)
    # The last match wins, as in .gitignore.
    for pattern in patterns:
        if not isinstance(pattern, str):
            ignored = ignored or bool(pattern.search(path))
            continue
        is_negated = pattern.startswith("!")
        if compile_pattern(pattern.removeprefix("!")).search(path):
            ignored = not is_negated
    return ignored


@lru_cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return the expression of a pattern. It matches a file, or a folder above it."""
    if pattern.count("*") > MOST_WILDCARDS:
        return NOTHING
    pattern = unicodedata.normalize("NFC", pattern)
    start = "(?:^|/)" if "/" not in pattern.rstrip("/") else "^"
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", pattern.strip("/"))
    wildcards = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    expression = ""
    for part in parts:
        if part in wildcards:
            expression += wildcards[part]
        # `[!a-z]` of .gitignore is `[^a-z]` in Python.
        elif part.startswith("[") and part.endswith("]"):
            expression += "[" + part[1:-1].replace("!", "^", 1).replace("\\", "\\\\") + "]"
        else:
            expression += re.escape(part)
    try:
        return re.compile(f"{start}{expression}(?:/|$)")
    except re.error:
        return NOTHING  # such as [z-a]
