"""The part of a workspace that belongs to this machine: `.mem/KEY/` and the state folder.

KEY is random and stored in the user's state folder. A clone or an archive cannot guess it, so
nothing that arrived with one is ever read: no index, no undo log, no pending command.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from errno import ELOOP
from pathlib import Path
from typing import Any

from ..formats.digests import build_keyed_digest
from ..formats.text import find_words, normalize
from .lock import LOCK_SECONDS, open_lock

RECORD = "workspace.json"
DIGESTS = "purged-digests"


@dataclass(frozen=True)
class Machine:
    """The state of a workspace on this machine. Without a key there is none."""

    key: str
    folder: Path | None  # .mem/KEY of the workspace
    state_folder: Path | None
    is_trusted: bool

    def save_trust(self, root: Path, is_trusted: bool) -> None:
        if self.state_folder is not None:
            save_record(self.state_folder, {"path": str(root), "trusted": is_trusted})

    def read_purged_digests(self) -> frozenset[str]:
        """Return the digests of the texts that were purged on this machine."""
        if self.state_folder is None:
            return frozenset()
        with suppress(OSError):
            return frozenset((self.state_folder / DIGESTS).read_text("ascii").split())
        return frozenset()

    def save_purged_digests(self, digests: frozenset[str]) -> None:
        if self.state_folder is not None and digests:
            save_private(self.state_folder / DIGESTS, "\n".join(sorted(digests)).encode())

    def store_purged_digests(self, texts: Iterable[str]) -> None:
        """Store the number of words and the digest of purged texts, which refuses exact repeats."""
        lines = set()
        for text in texts:
            words = [word for _, _, word in find_words(normalize(text))]
            if words:
                lines.add(f"{len(words)}:{self.build_digest(words)}")
        self.save_purged_digests(self.read_purged_digests() | lines)

    def build_digest(self, words: list[str]) -> str:
        """Return a keyed digest of a text's words. Without the key nobody can test a guess."""
        return build_keyed_digest(self.key, " ".join(words))


def find_machine(root: Path, state: Path | None) -> Machine:
    """Return what this machine knows of a workspace."""
    if state is not None:
        # Usually one; two homes that share a workspace have one each.
        for key in list_keys(root / ".mem"):
            record = read_record(state / key)
            if record and is_same_workspace(record, root, key):
                return Machine(key, root / ".mem" / key, state / key, bool(record.get("trusted")))
    return Machine("", None, None, False)


def build_machine(root: Path, state: Path | None, *, is_trusted: bool) -> Machine:
    """Return the machine's part of a workspace, and create it if possible."""
    machine = find_machine(root, state)
    if machine.key or state is None:
        return machine
    try:
        make_mem_folder(root)
        lock = open_lock(root / ".mem" / "lock", LOCK_SECONDS)
        try:
            # Another process of this user may have made a key meanwhile.
            machine = find_machine(root, state)
            if not machine.key:
                key = os.urandom(16).hex()
                save_record(state / key, {"path": str(root), "trusted": is_trusted})
                (root / ".mem" / key).mkdir(mode=0o700)
                machine = Machine(key, root / ".mem" / key, state / key, is_trusted)
        finally:
            os.close(lock)
    except OSError:
        pass  # a sandbox without a writable state folder: mem works, without index and undo
    return machine


def make_mem_folder(root: Path) -> None:
    """Create `.mem`, which git ignores."""
    folder = root / ".mem"
    folder.mkdir(exist_ok=True)
    if folder.is_symlink():
        raise OSError(ELOOP, "`.mem` is a symbolic link")
    # A clone may bring a link here too, which must not be followed.
    with suppress(FileExistsError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with open(os.open(folder / ".gitignore", flags, 0o666), "w", encoding="ascii") as file:
            file.write("*\n")


def list_keys(mem_folder: Path) -> list[str]:
    # A link could lead to the folder of another workspace.
    if mem_folder.is_symlink():
        return []
    try:
        return [name for name in os.listdir(mem_folder) if len(name) == 32 and name.isalnum()]
    except OSError:
        return []


def is_same_workspace(record: dict[str, Any], root: Path, key: str) -> bool:
    """Return whether a record is about this folder: at its recorded path, or moved from there."""
    recorded = Path(str(record.get("path", "")))
    if recorded == root:
        return True
    # A copy has the key too, but the original still has it at the recorded path.
    return not (recorded / ".mem" / key).exists()


def read_record(folder: Path) -> dict[str, Any]:
    try:
        record = json.loads((folder / RECORD).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def save_record(folder: Path, record: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    save_private(folder / RECORD, json.dumps(record).encode())


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
