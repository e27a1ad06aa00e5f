"""What is on the disk when the power is cut: of the calls that the shim noted, only what was made safe by fsync.

The bytes of a file are safe when the file was synced after they were written; a name that was given, changed or taken
is safe when a folder it was changed in was synced afterwards, and then so are the earlier changes of that folder. A
rename is in both folders or in none, as journaling file systems have it. With luck more has come to the disk: of each
file and of each folder some of the first of what was not safe, and half of a write.
"""

import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

NAMING = ("create", "rename", "link", "unlink", "mkdir", "rmdir")
Tree = dict[str, bytes | None]
"""Files by path, with their bytes; None for a folder."""


class OneFile(bytes):
    """The bytes of one file, which may have several names: each of them has this very object."""


@dataclass(frozen=True)
class Noted:
    """A call that was made."""

    op: str
    inode: int
    offset: int
    one: str
    two: str
    data: bytes

    @property
    def folders(self) -> set[str]:
        """Return the folders in which it changed a name."""
        return {os.path.dirname(path) for path in (self.two if self.op == "link" else self.one, self.two) if path}


@dataclass
class _File:
    """A file, whatever its names are."""

    old: bytes = b""
    changes: list[Noted] = field(default_factory=list)
    safe: int = 0  # changes that were synced

    def bytes(self, luck: random.Random | None) -> bytes:
        """Return what is on the disk of it."""
        upto = self.safe + (luck.randint(0, len(self.changes) - self.safe) if luck else 0)
        data = bytearray(self.old)
        for number, change in enumerate(self.changes[:upto], 1):
            if change.op == "truncate":
                del data[change.offset :]
                data.extend(bytes(change.offset - len(data)))
                continue
            new = change.data
            if luck and number == upto > self.safe and luck.random() < 0.5:
                new = new[: len(new) // 2]
            data.extend(bytes(max(0, change.offset - len(data))))
            data[change.offset : change.offset + len(new)] = new
        return bytes(data)


def noted(log: Path) -> list[Noted]:
    """Read what the shim noted."""
    raw, found, at = log.read_bytes() if log.exists() else b"", [], 0
    while at < len(raw):
        end = raw.index(b"\n", at)
        op, inode, offset, size, one, two = raw[at:end].decode().split("\t")
        at = end + 1 + int(size)
        one, two = (os.path.normpath(path) if path else "" for path in (one, two))
        found.append(Noted(op, int(inode), int(offset), one, two, raw[end + 1 : at]))
    return found


def tree_of(root: Path) -> tuple[Tree, dict[int, str]]:
    """Read a folder: what is in it, and the path of each inode."""
    tree: Tree = {str(root): None}
    inodes = {}
    for path in root.rglob("*"):
        tree[str(path)] = None if path.is_dir() else path.read_bytes()
        inodes[path.stat().st_ino] = str(path)
    return tree, inodes


def left_by(calls: Sequence[Noted], tree: Tree, inodes: Mapping[int, str], luck: random.Random | None = None) -> Tree:
    """Return the folder as it is when the power is cut after these calls; without luck, only what is safe."""
    files, created = _files(calls, tree, inodes)
    safe = _safe(calls, luck)
    names: dict[str, _File | None] = {
        path: None if data is None else files.setdefault(path, _File(data)) for path, data in tree.items()
    }
    for number, call in enumerate(calls):
        if number in safe:
            _name(names, call, created.get(number))
    left = {id(file): OneFile(file.bytes(luck)) for file in names.values() if file}
    return {path: None if file is None else left[id(file)] for path, file in names.items()}


def _files(calls: Sequence[Noted], tree: Tree, inodes: Mapping[int, str]) -> tuple[dict[str, _File], dict[int, _File]]:
    """Follow the bytes: return the files that were there by path, and new ones by the number of their call."""
    old = {path: _File(data) for path, data in tree.items() if data is not None}
    by_inode = {inode: old[path] for inode, path in inodes.items() if path in old}
    created: dict[int, _File] = {}
    for number, call in enumerate(calls):
        if call.op == "create":
            by_inode[call.inode] = created[number] = _File()
        elif call.op in ("write", "truncate") and not call.one.endswith(" (deleted)"):  # a file without a name
            by_inode[call.inode].changes.append(call)
        elif call.op == "fsync" and call.inode in by_inode:
            by_inode[call.inode].safe = len(by_inode[call.inode].changes)
    return old, created


def _safe(calls: Sequence[Noted], luck: random.Random | None) -> set[int]:
    """Return the numbers of the calls whose names are safe."""
    safe: set[int] = set()
    for number, call in enumerate(calls):
        if call.op == "fsync":
            _settle(calls, call.one, number, safe)
    if luck:
        for folder in sorted(set().union(*(call.folders for call in calls if call.op in NAMING))):
            _settle(calls, folder, luck.randint(0, len(calls)), safe)
    return safe


def _settle(calls: Sequence[Noted], folder: str, before: int, safe: set[int]) -> None:
    """Add what was changed in a folder before a moment, and in other folders what had to come before that."""
    for number in range(before - 1, -1, -1):
        call = calls[number]
        if call.op not in NAMING or number in safe or folder not in call.folders:
            continue
        safe.add(number)
        for other in call.folders - {folder}:
            _settle(calls, other, number, safe)


def _name(names: dict[str, "_File | None"], call: Noted, new: "_File | None") -> None:
    """Give, change or take a name; one in a folder that is not there itself is lost with it."""
    target = call.two or call.one
    if os.path.dirname(target) not in names or (call.two and call.one not in names):
        return
    if call.op == "create":
        names[call.one] = new
    elif call.op == "mkdir":
        names[call.one] = None
    elif call.op == "link":
        names[call.two] = names[call.one]
    elif call.op in ("unlink", "rmdir"):  # a folder that is safely gone takes with it what was in it
        for path in [path for path in names if path == call.one or path.startswith(f"{call.one}/")]:
            del names[path]
    else:
        for path in [path for path in names if path == call.one or path.startswith(f"{call.one}/")]:
            names[call.two + path[len(call.one) :]] = names.pop(path)


def put(root: Path, tree: Tree) -> None:
    """Let a folder be as it is after the cut; files that are as they were keep their times and modes."""
    first: dict[int, Path] = {}
    for path in sorted(root.rglob("*"), reverse=True):
        if str(path) not in tree:
            path.rmdir() if path.is_dir() else path.unlink()
    for name, data in sorted(tree.items()):
        path = Path(name)
        if data is None:
            path.mkdir(exist_ok=True)
        elif isinstance(data, OneFile) and id(data) in first:
            path.unlink(missing_ok=True)
            path.hardlink_to(first[id(data)])
        elif not path.is_file() or path.read_bytes() != data:
            path.write_bytes(data)
        first.setdefault(id(data), path)
