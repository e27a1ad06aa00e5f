"""Which workspaces the user believes: records in the user's own state folder, which no clone can bring.

A record holds a workspace's real path and a random token, and the workspace's `.mem/trust` repeats the token. Another
folder put in the place of the first one has no such token. Where `.mem/` was deleted, the marker file tells: it still
has the inode and the time of change that were recorded. A folder that was moved is known by both together.
"""

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

from ..dataclass import dataclass
from ..errors import MemError, NotFoundError
from ..formats.ids import blake2b
from ..formats.text_lines import STOPS
from . import atomic_files
from .layouts import DERIVED
from .privacy import make_derived

FOLDER, TOKENS, MARKER, PURGED = "workspaces", "trust", "mem.yaml", "purged"
_MOST_TOKENS = 20  # users who share one folder


@dataclass(frozen=True)
class TrustRecord:
    """What is recorded of one workspace."""

    root: str
    token: str
    is_trusted: bool
    marker: str = ""  # inode and time of change of mem.yaml
    notes_to: str = ""  # whose workspace keeps what hooks note: project, user; empty: not settled

    def written(self) -> bytes:
        """Write it as lines of a name and a value."""
        fields = {
            "root": self.root,
            "token": self.token,
            "trusted": "yes" if self.is_trusted else "no",
            "marker": self.marker,
            "notes-to": self.notes_to,
        }
        return "".join(f"{key}: {value}\n" for key, value in fields.items() if value).encode("utf-8", "surrogateescape")


def record_of(state: Path, root: Path) -> TrustRecord | None:
    """Return the record of a workspace, that of the folder it was moved from included; None if there is none."""
    own = _read(_file(state, root))
    if own is not None:
        return own if own.root == str(root) else None
    tokens = tokens_in(root)
    marker = _marker(root)
    for path in sorted((state / FOLDER).glob("*")) if tokens and marker else ():
        other = _read(path)
        if other is not None and other.token in tokens and other.marker == marker:
            moved = replace(other, root=str(root))
            _save(state, root, moved)
            return moved
    return None


def is_trusted(state: Path, root: Path) -> bool:
    """Return whether the user believes what lies in a workspace."""
    record = record_of(state, root)
    if record is None or not record.is_trusted:
        return False
    tokens, marker = tokens_in(root), _marker(root)
    if record.token in tokens:
        if record.marker != marker:  # its settings were changed
            _save(state, root, replace(record, marker=marker))
        return True
    if not marker or record.marker != marker:
        return False
    _repeat(root, record.token)
    return True


def record(state: Path, root: Path, *, trusted: bool | None = None, notes_to: str | None = None) -> bool:
    """Record whether a workspace is trusted, or where hooks note; return whether it could be written down."""
    old = record_of(state, root)
    is_same = old is not None and (old.token in tokens_in(root) or is_trusted(state, root))
    if old is None or not is_same:  # the folder may be another one than before; else what is sealed stays sound
        old = TrustRecord(str(root), os.urandom(16).hex(), is_trusted=False, notes_to=old.notes_to if old else "")
    new = replace(
        old,
        marker=_marker(root),
        is_trusted=old.is_trusted if trusted is None else trusted,
        notes_to=old.notes_to if notes_to is None else notes_to,
    )
    _repeat(root, new.token)
    return _save(state, root, new)


def seal_key(state: Path, root: Path) -> bytes:
    """Return the secret by which what this user's mem put into `.mem/` is known; empty where none can be recorded."""
    own = record_of(state, root)
    if own is None and record(state, root):
        own = record_of(state, root)
    return own.token.encode() if own else b""


def note_purged(state: Path, root: Path, texts: Collection[str], day: str) -> None:
    """Record that texts were deleted for good from a workspace, as digests which only this user's secret makes.

    Beside each stands how many words and characters it has, by which `purged_in` finds it in another text.
    """
    rows = {digest: f"{day} {len(text.split())} {len(text)}" for text, digest in _digests(state, root, texts).items()}
    _keep_purged(state, root, rows | _purged(state, root))


def note_said_again(state: Path, root: Path, texts: Collection[str]) -> None:
    """Record that texts may be kept again."""
    days_by_digest = _purged(state, root)
    returned = set(_digests(state, root, texts).values()) & days_by_digest.keys()
    if returned:
        _keep_purged(state, root, {digest: day for digest, day in days_by_digest.items() if digest not in returned})


def has_purged(state: Path, root: Path) -> bool:
    """Return whether a text was deleted for good from a workspace, on this machine."""
    return _purged_file(state, root).exists()


def purged_on(state: Path, root: Path, texts: Collection[str]) -> dict[str, str]:
    """Return those of some texts that were deleted for good from a workspace, on this machine, each with when."""
    rows = _purged(state, root)
    digests = _digests(state, root, texts) if rows else {}
    return {text: rows[digest].split()[0] for text, digest in digests.items() if digest in rows}


def purged_in(state: Path, root: Path, text: str) -> Collection[str]:
    """Return what a text says that was deleted for good from a workspace, on this machine, as `normalized` gives it."""
    sizes = {tuple(map(int, row.split()[1:])) for row in _purged(state, root).values() if row.count(" ") == 2}
    words = text.lower().split() if sizes else []
    bare = [len(word.rstrip(STOPS)) for word in words]
    offsets = [0, *accumulate(len(word) + 1 for word in words)]
    phrases = {
        " ".join(words[start : start + count]).rstrip(STOPS)
        for count, size in sizes
        for start in range(len(words) - count + 1)
        if offsets[start + count - 1] - offsets[start] + bare[start + count - 1] == size
    }
    return purged_on(state, root, phrases)


def _digests(state: Path, root: Path, texts: Collection[str]) -> dict[str, str]:
    """Return the keyed digest of each text; none where no secret can be recorded."""
    key = seal_key(state, root)
    return {
        text: blake2b(text.encode("utf-8", "replace"), digest_size=16, key=key).hexdigest() for text in texts if key
    }


def _purged_file(state: Path, root: Path) -> Path:
    return state / PURGED / _file(state, root).name


def _purged(state: Path, root: Path) -> dict[str, str]:
    try:
        lines = atomic_files.read(_purged_file(state, root)).decode("ascii", "replace").splitlines()
    except (MemError, OSError):
        return {}
    return dict(line.split(" ", 1) for line in lines if " " in line)


def _keep_purged(state: Path, root: Path, days: Mapping[str, str]) -> None:
    """Write the digests; where that fails the texts may come back, and the deletion itself holds."""
    _write(_purged_file(state, root), "".join(f"{digest} {day}\n" for digest, day in days.items()).encode())


def _file(state: Path, root: Path) -> Path:
    return state / FOLDER / blake2b(os.fsencode(root), digest_size=8).hexdigest()


def _read(path: Path) -> TrustRecord | None:
    try:
        text = atomic_files.read(path).decode("utf-8", "surrogateescape")
    except (MemError, OSError):
        return None
    fields = dict(line.partition(": ")[::2] for line in text.splitlines())
    if not fields.get("root") or not fields.get("token"):
        return None
    return TrustRecord(
        fields["root"],
        fields["token"],
        fields.get("trusted") == "yes",
        fields.get("marker", ""),
        fields.get("notes-to", ""),
    )


def _save(state: Path, root: Path, new: TrustRecord) -> bool:
    return _write(_file(state, root), new.written())


def _write(path: Path, data: bytes) -> bool:
    """Write a file of the state folder; return whether that was possible."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            old = atomic_files.read(path)
        except NotFoundError:
            atomic_files.create(path, data, 0o600)
        else:
            atomic_files.replace(path, data, atomic_files.digest(old))
    except (MemError, OSError):  # a home that is read-only, or another process that writes the same
        return False
    return True


def tokens_in(root: Path) -> list[str]:
    """Return the tokens of all users whose mem keeps a record of a workspace, as they stand in it."""
    try:
        if (root / DERIVED).is_symlink() or (root / DERIVED / TOKENS).is_symlink():
            return []
        return (root / DERIVED / TOKENS).read_text(encoding="ascii", errors="replace").split()
    except OSError:
        return []


def _repeat(root: Path, token: str) -> None:
    """Put the token into the workspace, beside those of others who use the folder."""
    tokens = tokens_in(root)
    path = root / DERIVED / TOKENS
    if token in tokens or path.parent.is_symlink():
        return
    with suppress(MemError, OSError):
        make_derived(path.parent)
        path.unlink(missing_ok=True)
        atomic_files.create(path, "".join(f"{line}\n" for line in [*tokens, token][-_MOST_TOKENS:]).encode(), 0o600)


def _marker(root: Path) -> str:
    try:
        status = (root / MARKER).stat()
    except OSError:
        return ""
    return f"{status.st_ino} {status.st_ctime_ns}"
