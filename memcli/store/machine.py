"""The part of a workspace that belongs to this machine: `.mem/KEY/` and the state folder.

KEY is random and stored in the user's state folder. A clone or an archive cannot guess it, so
nothing that arrived with one is ever read: no index, no undo log, no pending command.
"""

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from errno import ELOOP, ENOENT
from pathlib import Path
from typing import IO, Any

from ..formats import build_digest, build_keyed_digest, find_words, normalize
from .files import LOCK_SECONDS, open_lock, read_small_text, save_private

RECORD = "workspace.json"
DIGESTS = "purged-digests"
CARRIED_PURGES = "carried-purges"
PENDING_PURGES = "pending-purges.json"
ACCESS_COUNTS = "access.json"
LOG = "log"
LARGEST_LOG = 200_000  # bytes; a larger log starts again
NICENESS = 10  # of processes in the background


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
        if self.state_folder is not None and digests != self.read_purged_digests():
            save_private(self.state_folder / DIGESTS, "\n".join(sorted(digests)).encode())

    def store_purged_digests(self, texts: Iterable[str]) -> None:
        """Store the number of words and the digest of purged texts, which refuses exact repeats."""
        self.save_purged_digests(self.read_purged_digests() | self.build_digests(texts))

    def remove_purged_digests(self, texts: Iterable[str]) -> None:
        """Let texts be stored and shown again."""
        self.save_purged_digests(self.read_purged_digests() - self.build_digests(texts))

    def read_carried_purges(self) -> frozenset[str]:
        """Return the ids of purged memories whose texts were deleted on this machine."""
        if self.state_folder is None:
            return frozenset()
        return frozenset(read_small_text(self.state_folder / CARRIED_PURGES).split())

    def note_carried_purges(self, ids: Iterable[str]) -> None:
        """Remember purges, so that nobody looks for their texts again. A failure costs time."""
        known = self.read_carried_purges()
        carried = known.union(ids)
        if self.state_folder is not None and carried != known:
            with suppress(OSError):
                path = self.state_folder / CARRIED_PURGES
                save_private(path, "\n".join(sorted(carried)).encode())

    def read_pending_purges(self) -> dict[str, str]:
        """Return the texts, by id, that the next command that may write has to delete."""
        if self.state_folder is None:
            return {}
        try:
            texts = json.loads(read_small_text(self.state_folder / PENDING_PURGES) or "{}")
        except ValueError:
            return {}
        return {str(name): str(text) for name, text in texts.items()}

    def save_pending_purges(self, texts: dict[str, str]) -> None:
        if self.state_folder is not None and texts != self.read_pending_purges():
            save_private(self.state_folder / PENDING_PURGES, json.dumps(texts).encode())

    def save_notice(self, project: str, text: str) -> None:
        """Keep a line for the user until the next session of an agent starts in a project."""
        if self.state_folder is not None and text:
            with suppress(OSError):
                save_private(self.state_folder / name_notice(project), text.encode())

    def take_notice(self, project: str) -> str:
        """Return that line, and delete it."""
        if self.state_folder is None:
            return ""
        path = self.state_folder / name_notice(project)
        text = read_small_text(path)
        if text:
            with suppress(OSError):
                path.unlink()
        return text

    def build_digests(self, texts: Iterable[str]) -> frozenset[str]:
        word_lists = ([word for _, _, word in find_words(normalize(text))] for text in texts)
        return frozenset(
            f"{len(words)}:{self.build_digest(words)}" for words in word_lists if words
        )

    def build_digest(self, words: list[str]) -> str:
        """Return a keyed digest of a text's words. Without the key nobody can test a guess."""
        return build_keyed_digest(self.key, " ".join(words))

    def read_access_counts(self) -> dict[str, int]:
        """Return how often each memory was shown, by id.

        A memory's file must not change when it is read, so this machine counts for itself.
        """
        if self.state_folder is None:
            return {}
        with suppress(OSError, ValueError):
            counts = json.loads((self.state_folder / ACCESS_COUNTS).read_text("utf-8"))
            if isinstance(counts, dict):
                return {name: count for name, count in counts.items() if isinstance(count, int)}
        return {}

    def count_access(self, ids: Sequence[str]) -> None:
        """Count that memories were shown. Without a writable state folder nothing is counted."""
        if self.state_folder is None or not ids:
            return
        counts = self.read_access_counts()
        for entry_id in ids:
            counts[entry_id] = counts.get(entry_id, 0) + 1
        # Two processes at the same moment can lose a count, which no lock is worth.
        with suppress(OSError):
            save_private(self.state_folder / ACCESS_COUNTS, json.dumps(counts).encode())

    def append_log(self, time: str, text: str) -> None:
        """Add a line to `.mem/KEY/log`: a problem that no user could see when it happened."""
        # A hook that cannot write its problem down must still not stop the agent.
        with suppress(OSError), self.open_log() as file:
            file.write(f"{time} {' '.join(text.split())}\n")

    def open_log(self) -> IO[str]:
        """Open the log to append to it. Raises OSError, for example without a state folder."""
        if self.folder is None:
            raise FileNotFoundError(ENOENT, "no state folder")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        descriptor = os.open(self.folder / LOG, flags, 0o600)
        file = open(descriptor, "w", encoding="utf-8", errors="replace")
        if os.fstat(descriptor).st_size > LARGEST_LOG:
            file.truncate(0)
        return file


def name_notice(project: str) -> str:
    return f"notice-{build_digest(project)}"


def find_machine(root: Path, state: Path | None) -> Machine:
    """Return the state of a workspace on this machine."""
    if state is not None:
        # Usually one; two homes that share a workspace have one each.
        for key in list_keys(root / ".mem"):
            record = read_record(state / key)
            if record and is_same_workspace(record, root, key):
                return Machine(key, root / ".mem" / key, state / key, bool(record.get("trusted")))
    return Machine("", None, None, False)


def build_machine(root: Path, state: Path | None, *, is_trusted: bool) -> Machine:
    """Return the state of a workspace on this machine. Create it if possible."""
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
        # A key is 16 random bytes as hexadecimal digits. The lock and .gitignore are here too.
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
